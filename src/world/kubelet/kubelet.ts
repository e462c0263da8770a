/** A kubelet: a service of a machine that starts with it, dies with it, and can be stopped and started by itself. */
import type { Machine } from '../machines/machine.ts';
import type { ConditionOverride, NodeSpec } from './node-status.ts';
import type { KubeletDisk, KubeletOptions, KubeletTimings } from './run.ts';
import { KubeletRun } from './run.ts';
import type { StaticPodFile } from './static-pods.ts';
import { mirrorOf } from './static-pods.ts';

export type { KubeletOptions, KubeletTimings } from './run.ts';
export type { PodBehaviour } from './pod-worker.ts';

/** Those of the stock kubelet, but for volumes in use, which it reports at once instead of within ten seconds. */
export const defaultKubeletTimings: KubeletTimings = {
  leaseRenewMs: 10_000,
  leaseDurationSeconds: 40,
  statusEveryMs: 10_000,
  retryMs: 500,
  reconnectMs: 1000,
};

/** `refused`: the machine answers that nobody listens. `silent`: nobody answers. `unknown`: whoever knocks is not let out. */
export type PortState = 'open' | 'refused' | 'silent' | 'unknown';

/** What lies between a kubelet and whoever knocks: a firewall that drops, or a way that is not there. */
export const portFaults = ['drops', 'unreachable', 'none'] as const;
export type PortFault = (typeof portFaults)[number];

export class Kubelet {
  readonly machine: Machine;
  readonly spec: NodeSpec;
  readonly #options: KubeletOptions;
  readonly #disk: KubeletDisk = { overrides: new Map(), manifests: new Map() };
  #enabled = true;
  #run: KubeletRun | undefined;
  #portFault: PortFault = 'none';

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.machine = options.machine;
    this.spec = options.spec;
    this.machine.on((event) => {
      if (event.type === 'off') this.#end();
      if (event.type === 'booted') this.#begin();
    });
    this.#begin();
  }

  /** Its process runs, which a hung machine does not change. */
  get running(): boolean {
    return this.#run !== undefined;
  }

  /** What somebody finds who connects to its port over the same network as the API. */
  get port(): PortState {
    const { alive, linked } = this.machine;
    if (this.#portFault === 'unreachable') return 'unknown';
    if (this.#portFault === 'drops' || !alive || !linked) return 'silent';
    return this.running ? 'open' : 'refused';
  }

  setPortFault(fault: PortFault): void {
    this.#portFault = fault;
  }

  /** As systemd has it when somebody shuts the machine down: what it runs is ended, and said to be, before the power goes. */
  shutDown(): void {
    if (this.machine.alive) this.#run?.shutDown();
  }

  start(): void {
    this.#enabled = true;
    this.#begin();
  }

  /** As a crash would: nothing is told to anyone, and the pods go on running. */
  stop(): void {
    this.#enabled = false;
    this.#end();
  }

  /** Lease and status now, and from now on at their usual distance. */
  heartbeat(): void {
    if (this.machine.alive) this.#run?.heartbeat();
  }

  /** No: it reports all the time that it is well, and does not renew its Lease, until it is started again. */
  keepLease(isKept: boolean): void {
    this.#run?.keepLease(isKept);
  }

  /** What the node reports of itself; undefined: as if all were well. Outlives reboots, like a broken disk. */
  report(conditionType: string, status: ConditionOverride | undefined): void {
    if (status === undefined) this.#disk.overrides.delete(conditionType);
    else this.#disk.overrides.set(conditionType, status);
    if (this.machine.alive) this.#run?.reportChanged();
  }

  /** Puts the file of a static pod on the disk; the hash stands for its content. */
  addStaticPod(hash: string, file: StaticPodFile): void {
    this.#disk.manifests.set(hash, {
      pod: mirrorOf(hash, file, this.spec.name, this.machine.clock.now()),
      removed: false,
    });
    if (this.machine.alive) this.#run?.manifestsChanged();
  }

  /** Takes the file of a static pod off the disk: its process ends and its mirror goes. */
  removeStaticPod(hash: string): void {
    const manifest = this.#disk.manifests.get(hash);
    if (manifest !== undefined) manifest.removed = true;
    if (this.machine.alive) this.#run?.manifestsChanged();
  }

  #begin(): void {
    if (!this.#enabled || this.#run !== undefined || !this.machine.alive) return;
    this.#run = new KubeletRun(this.#options, this.#disk);
  }

  #end(): void {
    this.#run?.end();
    this.#run = undefined;
  }
}
