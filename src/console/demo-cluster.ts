/** The cluster that people play with, put together: a world, the operator, what is shown of both, and what is told. */
import { customResourceDefinitions } from '../api/crds.ts';
import type { DrainAction } from '../api/drain-view.ts';
import { featureGates } from '../api/feature-gates.ts';
import { REMEDY_NAMESPACE } from '../api/fence-names.ts';
import type { Judgement } from '../api/view.ts';
import type { Clock } from '../clock.ts';
import { defaultLimits } from '../judge/judge-node.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import { defaultLeaderTimings } from '../kube/leader.ts';
import { customResourceDefinitions as definitionResource, namespaces } from '../kube/resources.ts';
import { Operator } from '../operator/operator.ts';
import type { Pass } from '../report/pass.ts';
import { simulatedDevices } from '../scenario/simulated-devices.ts';
import { simulatedDoors } from '../scenario/simulated-doors.ts';
import { version } from '../version.ts';
import type { Random } from '../world/random.ts';
import { World } from '../world/world.ts';
import { drainNews } from './demo-drains.ts';
import { actNews, DemoNews } from './demo-news.ts';
import { demoDriver, demoNamespace, demoObjects, demoReplicas } from './demo-objects.ts';
import { DemoSource } from './demo-source.ts';

/** Kubernetes takes 50 s to notice a silent node; half of that is enough to see what it does meanwhile. */
const hurried = { nodeMonitorPeriodMs: 1000, nodeMonitorGraceMs: 25_000 };

export const demoGates = { NonGracefulFailover: true };

export class DemoCluster {
  readonly world: World;
  readonly source: DemoSource;
  readonly #clock: Clock;
  readonly #operator: Operator;
  readonly #news = new DemoNews();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    const world = new World({
      clock,
      random,
      nodes: Array.from({ length: 6 }, (_, index) => ({ name: `node-${index + 1}`, zone: `z${(index % 3) + 1}` })),
      drivers: [demoDriver],
      longhorn: demoReplicas,
      onReplicas: () => this.source.changed(),
      bootTimeMs: 15_000,
      timings: hurried,
    });
    this.world = world;
    const told = (fields: object, text: string): void => this.#tell(fields, text);
    this.#operator = new Operator({
      client: this.#clientOf('fenceline'),
      clock,
      random: random.stream('operator'),
      log: { info: told, warn: told, debug: () => {} },
      version,
      limits: defaultLimits,
      gates: featureGates(demoGates),
      identity: 'demo_1',
      namespace: demoNamespace,
      election: { namespace: demoNamespace, name: 'fenceline', timings: defaultLeaderTimings },
      remedyNamespace: REMEDY_NAMESPACE,
      devices: simulatedDevices(world),
      knock: simulatedDoors((address) => world.portAt(address), clock),
      onPass: (pass) => this.#tellActs(pass),
    });
    this.source = new DemoSource({
      world,
      clock,
      client: this.#clientOf('console'),
      random: random.stream('console'),
      news: this.#news,
    });
  }

  /** Machines boot, and what runs on them is created; the operator is not there yet. */
  async start(): Promise<void> {
    this.world.start();
    const client = this.#clientOf('admin');
    const definitions = customResourceDefinitions().map((object) => ({ resource: definitionResource, object }));
    const made = [demoNamespace, REMEDY_NAMESPACE].map((name) => ({
      resource: namespaces,
      object: { metadata: { name } },
    }));
    for (const { resource, object } of [...definitions, ...made, ...demoObjects]) {
      const created = await client.create<KubeObject>(resource, object);
      if (!created.ok) throw new Error(created.error.message);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#operator.run(signal), this.source.run(signal)]);
  }

  /** For whoever sits at the page. */
  get person(): KubeClient {
    return this.#clientOf('kubernetes-admin');
  }

  #clientOf(user: string): KubeClient {
    const transport = this.world.server.transport(user);
    return new KubeClient({ transport, clock: this.#clock, userAgent: user, fieldManager: user });
  }

  #tellActs({ nodeCase, acts }: Pass): void {
    for (const outcome of acts) {
      if (outcome.kind === 'done') this.source.tell(`${nodeCase.name}: ${actNews(outcome.act)}`);
    }
  }

  /** What of the operator's log is for people who watch. */
  #tell(fields: object, text: string): void {
    const { node, pod, why } = fields as { node?: string; pod?: string; why?: string };
    if (text === 'verdict') this.#tellVerdict(fields as VerdictFields);
    if (text === 'drain') this.#tellDrain(fields as DrainFields);
    if (text === 'held') this.source.tell(`${node}: waits: ${why}`);
    if (text === 'stuck') this.source.tell(`${node}: ${pod} is stuck: ${why}`);
  }

  #tellVerdict({ node, ...judged }: VerdictFields): void {
    for (const text of this.#news.ofVerdict(node, judged)) this.source.tell(text);
  }

  #tellDrain({ node, action, object = '' }: DrainFields): void {
    const news = drainNews(action, object);
    // A refusal names no object: it is tried again, and what comes of it is told.
    if (news !== undefined && object !== '') this.source.tell(`${node}: ${news}`);
  }
}

interface VerdictFields extends Pick<Judgement, 'verdict' | 'reason'> {
  node: string;
}

interface DrainFields {
  node: string;
  action: DrainAction['do'];
  object?: string;
}
