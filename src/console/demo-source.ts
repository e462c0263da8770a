/** What the page shows of the embedded cluster: its API through a client, its machines as they really are. */
import { FENCED } from '../api/reasons.ts';
import { nodeFenceName } from '../api/fence-names.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { Judgement } from '../api/view.ts';
import { VERDICT_REASONS } from '../api/view.ts';
import type { Clock } from '../clock.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import { drainPolicies, nodeFences, nodes, pods } from '../kube/resources.ts';
import type { DrainPolicyStatus, DrainState } from '../report/drain-status.ts';
import { drainsByNode } from '../report/drain-status.ts';
import { releasesOf } from '../report/incidents.ts';
import type { World } from '../world/world.ts';
import { DemoDrains } from './demo-drains.ts';
import type { DemoNews } from './demo-news.ts';
import type {
  ConsoleSource,
  MachineAction,
  NodeSnapshot,
  PodSnapshot,
  RecoverySnapshot,
  ReplicaSnapshot,
  Snapshot,
  StoryLine,
} from './snapshot.ts';

interface WireNode extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: { key: string; effect: string }[] };
  status?: { conditions?: { type: string; status: string }[] };
}

interface WirePod extends KubeObject {
  spec?: { nodeName?: string; volumes?: { persistentVolumeClaim?: { claimName: string } }[] };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
}

/** What is on one node. */
interface Here {
  pods: PodSnapshot[];
  replicas: ReplicaSnapshot[];
  drain?: DrainState;
}

const storyLines = 100;

export class DemoSource implements ConsoleSource {
  readonly #world: World;
  readonly #clock: Clock;
  readonly #verdicts: () => ReadonlyMap<string, Judgement>;
  readonly #nodes: ListWatch<WireNode>;
  readonly #pods: ListWatch<WirePod>;
  readonly #fences: ListWatch<Partial<NodeFence['status']>>;
  readonly #policies: ListWatch<DrainPolicyStatus>;
  readonly #drains: DemoDrains;
  readonly #news: DemoNews;
  readonly #story: StoryLine[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(options: {
    world: World;
    clock: Clock;
    client: KubeClient;
    random: () => number;
    verdicts: () => ReadonlyMap<string, Judgement>;
    news: DemoNews;
  }) {
    const { world, clock, client, random, verdicts } = options;
    this.#news = options.news;
    this.#world = world;
    this.#clock = clock;
    this.#verdicts = verdicts;
    const common = { client, clock, random, onChange: () => this.changed() };
    this.#nodes = new ListWatch({ ...common, resource: nodes, project: (object) => object });
    this.#pods = new ListWatch({
      ...common,
      resource: pods,
      project: (object) => object,
      onChange: () => this.#podsChanged(),
    });
    this.#fences = new ListWatch({
      ...common,
      onChange: () => this.#fencesChanged(),
      resource: nodeFences,
      project: (object) => (object as { status?: NodeFence['status'] }).status ?? {},
    });
    this.#policies = new ListWatch({
      ...common,
      resource: drainPolicies,
      project: (object) => (object as { status?: DrainPolicyStatus }).status ?? {},
    });
    const transport = world.server.transport('kubectl');
    const kubectl = new KubeClient({ transport, clock, userAgent: 'kubectl', fieldManager: 'kubectl' });
    this.#drains = new DemoDrains({ client: kubectl, clock, tell: (text) => this.tell(text) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const watches = [this.#nodes, this.#pods, this.#fences, this.#policies];
    await Promise.all(watches.map((watch) => watch.run(signal)));
    this.#drains.end();
  }

  /** Adds a line to what happened. */
  tell(text: string): void {
    this.#story.unshift({ at: new Date(this.#clock.now()).toISOString(), text });
    this.#story.splice(storyLines);
    this.changed();
  }

  #podsChanged(): void {
    const running = [...this.#pods.entries.values()].map(({ value }) => ({
      uid: value.metadata.uid ?? '',
      name: `${value.metadata.namespace}/${value.metadata.name}`,
      node: value.spec?.nodeName ?? '',
      isReady: podOf(value).ready,
    }));
    for (const text of this.#news.ofPods(running)) this.tell(text);
    this.changed();
  }

  #fencesChanged(): void {
    for (const name of this.#world.fleet.kubelets.keys()) {
      const { fence } = this.#fences.entries.get(nodeFenceName(name))?.value ?? {};
      for (const text of this.#news.ofFence(name, fence)) this.tell(text);
    }
    this.changed();
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  onChange(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  }

  act(node: string, action: MachineAction): boolean {
    if (!this.#world.fleet.kubelets.has(node)) return false;
    const machine = this.#world.fleet.machine(node);
    switch (action) {
      case 'power-off':
        machine.powerOff();
        this.tell(`${node}: somebody pulled the plug`);
        break;
      case 'power-on':
        machine.powerOn();
        this.tell(`${node}: plugged in, booting`);
        break;
      case 'partition':
        machine.partition();
        this.tell(`${node}: its network was cut; it runs on`);
        break;
      case 'heal':
        machine.heal();
        this.tell(`${node}: its network is back`);
        break;
      case 'drain':
        this.#drains.begin(node);
        break;
      case 'uncordon':
        this.#drains.uncordon(node);
        break;
    }
    return true;
  }

  snapshot(): Snapshot {
    const byNode = new Map<string, PodSnapshot[]>();
    for (const { value } of this.#pods.entries.values()) {
      const node = value.spec?.nodeName ?? '';
      byNode.set(node, [...(byNode.get(node) ?? []), podOf(value)]);
    }
    const drains = drainsByNode([...this.#policies.entries.values()].map(({ value }) => value));
    const replicas = this.#replicasByNode();
    const sorted = [...this.#nodes.entries.values()].map(({ value }) => value).sort(byName);
    return {
      at: new Date(this.#clock.now()).toISOString(),
      nodes: sorted.map((node) => {
        const { name } = node.metadata;
        const drain = node.spec?.unschedulable === true ? drains.get(name) : undefined;
        const here = { pods: byNode.get(name) ?? [], replicas: replicas.get(name) ?? [] };
        return this.#nodeOf(node, { ...here, ...(drain && { drain }) });
      }),
      waiting: byNode.get('') ?? [],
      story: this.#story,
    };
  }

  #replicasByNode(): Map<string, ReplicaSnapshot[]> {
    const byNode = new Map<string, ReplicaSnapshot[]>();
    for (const { name, replicas } of this.#world.longhorn?.truth.volumes.values() ?? []) {
      for (const { node, state } of replicas.values()) {
        byNode.set(node, [...(byNode.get(node) ?? []), { volume: name, state }]);
      }
    }
    return byNode;
  }

  #nodeOf(node: WireNode, here: Here): NodeSnapshot {
    const { name, labels } = node.metadata;
    const judgement = this.#verdicts().get(name);
    const machine = this.#world.fleet.machine(name);
    const taints = node.spec?.taints ?? [];
    const recovery = recoveryOf(this.#fences.entries.get(nodeFenceName(name))?.value);
    return {
      name,
      zone: labels?.['topology.kubernetes.io/zone'] ?? '',
      ready: node.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown',
      cordoned: node.spec?.unschedulable === true,
      schedulable: node.spec?.unschedulable !== true && taints.every(({ effect }) => effect === 'PreferNoSchedule'),
      taints: taints.map(({ key, effect }) => `${key}:${effect}`),
      evidence: judgement?.evidence.map(({ detail }) => detail) ?? [],
      power: machine.power,
      linked: machine.linked,
      ...here,
      pods: here.pods.toSorted((a, b) => a.name.localeCompare(b.name)),
      ...(recovery && { recovery }),
      ...(judgement && {
        verdict: judgement.verdict,
        reason: judgement.reason,
        explanation: VERDICT_REASONS[judgement.reason],
      }),
    };
  }
}

function byName(a: KubeObject, b: KubeObject): number {
  return a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true });
}

/** Also of an incident that is over: what was released on which basis is what people come back to read. */
function recoveryOf(status: Partial<NodeFence['status']> | undefined): RecoverySnapshot | undefined {
  const { incident, hold, return: back, stuck = [], conditions = [] } = status ?? {};
  const releases = releasesOf(status ?? {});
  const fenced = conditions.find(({ type }) => type === FENCED.of);
  if (incident === undefined && releases.length === 0 && fenced === undefined) return undefined;
  return {
    trouble: incident?.trouble ?? 'over',
    ...(hold && { hold: hold.message }),
    ...(fenced && { fence: { reason: fenced.reason, message: fenced.message } }),
    ...(back && { stage: back.stage }),
    ...(back?.waitsFor !== undefined && { waitsFor: back.waitsFor }),
    stuck: stuck.map(({ name, message, until }) => ({
      pod: name,
      why: message,
      ...(until !== undefined && { until }),
    })),
    releases: releases.map(({ recordedAt, basis, by, pods: released, endedAt }) => ({
      at: recordedAt,
      basis,
      ...(by !== undefined && { by }),
      pods: released.map(({ name }) => name),
      ended: endedAt !== undefined,
    })),
  };
}

function podOf(pod: WirePod): PodSnapshot {
  const claims = pod.spec?.volumes?.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []) ?? [];
  return {
    namespace: pod.metadata.namespace ?? '',
    name: pod.metadata.name,
    phase: pod.status?.phase ?? 'Pending',
    ready: pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false,
    terminating: pod.metadata.deletionTimestamp !== undefined,
    volumes: claims,
  };
}
