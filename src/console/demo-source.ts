/** What the page shows of the embedded cluster: its API through a client, its machines as they really are. */
import type { Judgement } from '../api/view.ts';
import { VERDICT_REASONS } from '../api/view.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import { nodes, pods } from '../kube/resources.ts';
import type { World } from '../world/world.ts';
import type { ConsoleSource, MachineAction, NodeSnapshot, PodSnapshot, Snapshot, StoryLine } from './snapshot.ts';

interface WireNode extends KubeObject {
  spec?: { unschedulable?: boolean };
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
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#nodes.run(signal), this.#pods.run(signal)]);
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
    return {
      name,
      zone: labels?.['topology.kubernetes.io/zone'] ?? '',
      ready: node.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown',
      schedulable: node.spec?.unschedulable !== true,
      evidence: judgement?.evidence.map(({ detail }) => detail) ?? [],
      power: machine.power,
      linked: machine.linked,
      pods: ownPods.sort((a, b) => a.name.localeCompare(b.name)),
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
