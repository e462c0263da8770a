/** What the contract of the kubelet is tried on: an API server, and one node that can be handled like a machine. */
import type { Clock } from '../../../src/clock.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import type { StaticPodFile } from '../../../src/world/kubelet/static-pods.ts';

/** The times that the kubelet under test runs with. */
export interface KubeletTimes {
  leaseDurationSeconds: number;
  /** A quarter of it, with both. */
  leaseRenewMs: number;
  statusEveryMs: number;
}

export const contractTimes: KubeletTimes = { leaseDurationSeconds: 8, leaseRenewMs: 2000, statusEveryMs: 2000 };

export const nodeName = 'node-under-test';
export const nodeLabels = { 'contract.test/role': 'subject' };
/** Installed on the node. Nobody attaches its volumes but the behaviours themselves. */
export const driver = 'csi.contract.test';

export interface NodeUnderTest {
  /** Of the current boot, as the machine itself knows it. */
  bootId(): Promise<string>;
  /** The containers of a pod that really run, whatever the API says; each start is another one. */
  containersOf(podUid: string): Promise<string[]>;
  /** The CSI volumes that are really mounted for a pod, by the names of their PersistentVolumes. */
  mountsOf(podUid: string): Promise<string[]>;
  /** As a crash would end it. */
  stopKubelet(): Promise<void>;
  startKubelet(): Promise<void>;
  /** Cut off from the API. */
  partition(): Promise<void>;
  heal(): Promise<void>;
  /** Power off and on: nothing but the disk is left, and the boot ID is another one. */
  powerOff(): Promise<void>;
  powerOn(): Promise<void>;
  addStaticPod(file: StaticPodFile): Promise<void>;
  removeStaticPod(file: Pick<StaticPodFile, 'name' | 'namespace'>): Promise<void>;
}

/** A request of the kubelet that the API server has answered. */
export interface KubeletRequest {
  verb: string;
  resource: string;
  namespace: string;
  name: string;
  body: unknown;
}

export interface Subject {
  clock: Clock;
  random: () => number;
  client: KubeClient;
  node: NodeUnderTest;
  /** All that the kubelet asked of the API server so far. */
  requests(): Promise<KubeletRequest[]>;
  stop(failed: boolean): Promise<void>;
}
