/** What the page shows of the embedded cluster: its API through a client, its machines as they really are. */
import { FENCED } from '../api/reasons.ts';
import { nodeFenceName } from '../api/fence-names.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { Judgement } from '../api/view.ts';
import { VERDICT_REASONS } from '../api/view.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import { nodeFences, nodes, pods } from '../kube/resources.ts';
import type { World } from '../world/world.ts';
import type {
  ConsoleSource,
  MachineAction,
  NodeSnapshot,
  PodSnapshot,
  RecoverySnapshot,
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

const storyLines = 100;

export class DemoSource implements ConsoleSource {
  readonly #world: World;
  readonly #clock: Clock;
  readonly #verdicts: () => ReadonlyMap<string, Judgement>;
  readonly #nodes: ListWatch<WireNode>;
  readonly #pods: ListWatch<WirePod>;
  readonly #fences: ListWatch<Partial<NodeFence['status']>>;
  readonly #story: StoryLine[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(options: {
    world: World;
    clock: Clock;
    client: KubeClient;
    random: () => number;
    verdicts: () => ReadonlyMap<string, Judgement>;
  }) {
    const { world, clock, client, random, verdicts } = options;
    this.#world = world;
    this.#clock = clock;
    this.#verdicts = verdicts;
    const common = { client, clock, random, onChange: () => this.changed() };
    this.#nodes = new ListWatch({ ...common, resource: nodes, project: (object) => object });
    this.#pods = new ListWatch({ ...common, resource: pods, project: (object) => object });
    this.#fences = new ListWatch({
      ...common,
      resource: nodeFences,
      project: (object) => (object as { status?: NodeFence['status'] }).status ?? {},
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#nodes, this.#pods, this.#fences].map((watch) => watch.run(signal)));
  }

  /** Adds a line to what happened. */
  tell(text: string): void {
    this.#story.unshift({ at: new Date(this.#clock.now()).toISOString(), text });
    this.#story.splice(storyLines);
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
    }
    return true;
  }

  snapshot(): Snapshot {
    const byNode = new Map<string, PodSnapshot[]>();
    for (const { value } of this.#pods.entries.values()) {
      const node = value.spec?.nodeName ?? '';
      byNode.set(node, [...(byNode.get(node) ?? []), podOf(value)]);
    }
    const sorted = [...this.#nodes.entries.values()].map(({ value }) => value).sort(byName);
    return {
      at: new Date(this.#clock.now()).toISOString(),
      nodes: sorted.map((node) => this.#nodeOf(node, byNode.get(node.metadata.name) ?? [])),
      waiting: byNode.get('') ?? [],
      story: this.#story,
    };
  }

  #nodeOf(node: WireNode, ownPods: PodSnapshot[]): NodeSnapshot {
    const { name, labels } = node.metadata;
    const judgement = this.#verdicts().get(name);
    const machine = this.#world.fleet.machine(name);
    const taints = node.spec?.taints ?? [];
    const recovery = recoveryOf(this.#fences.entries.get(nodeFenceName(name))?.value);
    return {
      name,
      zone: labels?.['topology.kubernetes.io/zone'] ?? '',
      ready: node.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown',
      schedulable: node.spec?.unschedulable !== true && taints.every(({ effect }) => effect === 'PreferNoSchedule'),
      taints: taints.map(({ key, effect }) => `${key}:${effect}`),
      evidence: judgement?.evidence.map(({ detail }) => detail) ?? [],
      power: machine.power,
      linked: machine.linked,
      pods: ownPods.sort((a, b) => a.name.localeCompare(b.name)),
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
  const { incident, hold, return: back, stuck = [], releases = [], conditions = [] } = status ?? {};
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
