/** What the page shows of the embedded cluster: its API as of any other, and its machines as they really are. */
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeClient as Client } from '../kube/client.ts';
import type { World } from '../world/world.ts';
import { ClusterWatch } from './cluster-watch.ts';
import { DemoDrains } from './demo-drains.ts';
import type { DemoNews } from './demo-news.ts';
import { podPicture } from './incidents.ts';
import { byName } from './now.ts';
import type { PodPicture } from './picture.ts';
import { NODE_ACTS } from './picture.ts';
import type {
  DeviceFault,
  MachineAction,
  MachineSnapshot,
  ReplicaSnapshot,
  StagePicture,
  StoryLine,
  TimeRate,
} from './snapshot.ts';
import { isMachineAction, TIME_RATES } from './snapshot.ts';
import type { ConsoleSource } from './source.ts';
import { ClusterSource } from './source.ts';

const storyLines = 100;

const faultText: Readonly<Record<DeviceFault, string>> = {
  none: 'its power device works',
  hangs: 'its power device does not answer any more',
  refuses: 'its power device refuses every command',
  ignores: 'its power device says yes to every command, and does nothing',
  saysOff: 'its power device says off, whatever is true',
};

export class DemoSource implements ConsoleSource {
  readonly cluster: ClusterWatch;
  readonly #pages: ClusterSource;
  readonly #world: World;
  readonly #clock: Clock;
  readonly #drains: DemoDrains;
  readonly #news: DemoNews;
  readonly #story: StoryLine[] = [];
  readonly #listeners = new Set<() => void>();
  #rate: TimeRate = 1;

  constructor(options: { world: World; clock: Clock; client: KubeClient; random: () => number; news: DemoNews }) {
    const { world, clock, client, random } = options;
    this.#news = options.news;
    this.#world = world;
    this.#clock = clock;
    this.cluster = new ClusterWatch({ client, clock, random });
    this.#pages = new ClusterSource(this.cluster, { can: NODE_ACTS });
    const transport = world.server.transport('kubectl');
    const kubectl = new Client({ transport, clock, userAgent: 'kubectl', fieldManager: 'kubectl' });
    this.#drains = new DemoDrains({ client: kubectl, clock, tell: (text) => this.tell(text) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = this.cluster.onChange(() => this.#clusterChanged());
    await this.cluster.run(signal);
    stop();
    this.#drains.end();
  }

  get nowMs(): number {
    return this.cluster.nowMs;
  }

  get silentMs(): number {
    return this.cluster.silentMs;
  }

  get watchers(): number {
    return this.#listeners.size;
  }

  get story(): readonly StoryLine[] {
    return this.#story;
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

  parts(page: string): Map<string, unknown> {
    const parts = this.#pages.parts(page);
    for (const machine of this.machines()) parts.set(`machine/${machine.name}`, machine);
    const stage: StagePicture = { waiting: this.podsOn(''), story: this.#story, rate: this.#rate };
    return parts.set('stage', stage);
  }

  machines(): MachineSnapshot[] {
    const replicas = this.#replicasByNode();
    return [...this.#world.fleet.kubelets.keys()].toSorted(byName).map((name) => {
      const { power, linked, hung } = this.#world.fleet.machine(name);
      return {
        name,
        zone: this.#zoneOf(name),
        power,
        linked,
        hung,
        fault: this.#world.bmcs.get(name)?.fault ?? 'none',
        pods: this.podsOn(name),
        replicas: replicas.get(name) ?? [],
      };
    });
  }

  /** Of no node: those that wait for one. */
  podsOn(node: string): PodPicture[] {
    return this.cluster.pods
      .filter((pod) => pod.node === node)
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .map((pod) => podPicture(pod));
  }

  /** False: there is no such machine, or nothing of the kind can be done to it. */
  act(node: string, action: string): boolean {
    if (!this.#world.fleet.kubelets.has(node) || !isMachineAction(action)) return false;
    this.#carryOut(node, action);
    return true;
  }

  actZone(zone: string, action: string): boolean {
    const there = [...this.#world.fleet.kubelets.keys()].filter((node) => zone !== '' && this.#zoneOf(node) === zone);
    return there.map((node) => this.act(node, action)).some(Boolean);
  }

  /** How many seconds pass in one; whoever lets time pass asks. */
  get rate(): number {
    return this.#rate;
  }

  /** False: so fast it cannot be. */
  time(text: string): boolean {
    const rate = TIME_RATES.find((one) => String(one) === text);
    if (rate === undefined) return false;
    this.#rate = rate;
    this.changed();
    return true;
  }

  #carryOut(node: string, action: MachineAction): void {
    const machine = this.#world.fleet.machine(node);
    switch (action) {
      case 'power-off':
        machine.powerOff();
        return this.tell(`${node}: somebody pulled the plug`);
      case 'power-on':
        machine.powerOn();
        return this.tell(`${node}: plugged in, booting`);
      case 'partition':
        machine.partition();
        return this.tell(`${node}: its network was cut; it runs on`);
      case 'heal':
        machine.heal();
        return this.tell(`${node}: its network is back`);
      case 'hang':
        machine.hang();
        return this.tell(`${node}: its kernel hangs; it is on, and does nothing`);
      case 'wake':
        machine.resume();
        return this.tell(`${node}: its kernel goes on where it was`);
      case 'drain':
        return this.#drains.begin(node);
      case 'uncordon':
        return this.#drains.uncordon(node);
      case 'device-none':
      case 'device-hangs':
      case 'device-refuses':
      case 'device-ignores':
      case 'device-saysOff': {
        const fault = action.slice('device-'.length) as DeviceFault;
        this.#world.bmcs.get(node)?.setFault(fault);
        return this.tell(`${node}: ${faultText[fault]}`);
      }
    }
  }

  #zoneOf(node: string): string {
    return this.cluster.nodes.find(({ facts }) => facts.name === node)?.facts.zone ?? '';
  }

  #clusterChanged(): void {
    const running = this.cluster.pods.map(({ uid, key, node, ready }) => ({ uid, name: key, node, isReady: ready }));
    for (const text of this.#news.ofPods(running)) this.tell(text);
    for (const name of this.#world.fleet.kubelets.keys()) {
      const fence = this.cluster.record(name)?.status?.fence;
      for (const text of this.#news.ofFence(name, fence)) this.tell(text);
    }
    this.changed();
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
}
