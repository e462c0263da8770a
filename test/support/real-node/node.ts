/** What every node of a real cluster can do, and what can be done to it: one in namespaces, or a virtual machine. */
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeBinaries } from '../../../control-plane/build.ts';
import type { KubeletTimes, NodePlaces } from './config.ts';
import { cniConfig, containerdConfig, kubeletConfig, kubeletKubeconfig } from './config.ts';
import { makeImages } from './images.ts';
import type { NodeNetwork } from './network.ts';

export interface RealNodeOptions {
  name: string;
  binaries: NodeBinaries;
  network: NodeNetwork;
  api: { port: number; caPem: string; token: string };
  logDir: string;
  times?: Partial<KubeletTimes>;
  labels?: Readonly<Record<string, string>>;
  /** What the machine calls itself; another one for each node. */
  uuid?: string;
  /** CSI drivers, each served by a plugin on the node. */
  drivers?: readonly string[];
  /** Where their volumes are, over a network of its own; without it, directories of the node. */
  storage?: { network: NodeNetwork; port: number };
  /** Archives of images beyond those that every node has. */
  images?: readonly string[];
  /** Pods reach the API server by its Service, at this address, as kube-proxy would let them. */
  apiService?: string;
}

export interface ClusterNode {
  readonly name: string;
  readonly address: string;
  /** Of the node in the network of its storage. */
  readonly storageAddress: string;
  /** The system UUID. */
  readonly uuid: string;
  readonly isOn: boolean;
  powerOn(): Promise<void>;
  /** Everything that runs on it is gone at once; its disk stays. */
  powerOff(): Promise<void>;
  startKubelet(): Promise<void>;
  /** The containers run on. */
  stopKubelet(): Promise<void>;
  /** It hangs: nothing on it does anything, until it is resumed or loses its power. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Its kernel crashes, and who is given is told so while it writes its dump. Its power stays on. */
  crash(told: readonly string[]): Promise<void>;
  /** The processes of a container of a pod, from outside. */
  kill(podUid: string): Promise<void>;
  /** Its link to the cluster carries so few bits a second. */
  slowDown(bitsPerSecond: number): Promise<void>;
  fullSpeed(): Promise<void>;
  partition(): Promise<void>;
  heal(): Promise<void>;
  cutStorage(): Promise<void>;
  healStorage(): Promise<void>;
  /** What its containers said, of this boot and those before, by the UIDs of their pods. */
  saidBy(podUid: string): Promise<string[]>;
  /** Everything that its containers said, of all boots, into another directory. */
  keepLogs(dir: string): Promise<void>;
  /** The containers of a pod that run, without the one that only holds its namespaces. */
  containersOf(podUid: string): Promise<string[]>;
  /** The volumes of CSI drivers that are mounted for a pod, by the names of their PersistentVolumes. */
  mountsOf(podUid: string): Promise<string[]>;
  /** Ends it and leaves nothing of it behind. */
  remove(): Promise<void>;
}

/** The configuration of its programs, into `dir`. */
export async function writeNodeFiles(
  dir: string,
  { api, network, times = {}, binaries }: RealNodeOptions,
  places: NodePlaces,
  cgroup: string,
): Promise<void> {
  const json = (name: string, value: object): Promise<void> =>
    writeFile(join(dir, name), JSON.stringify(value, undefined, 2), { mode: 0o600 });
  await writeFile(join(dir, 'containerd.toml'), containerdConfig(places));
  await mkdir(join(dir, 'cni'), { recursive: true });
  await json('cni/pods.conflist', cniConfig('10.88.0'));
  const usual = { leaseDurationSeconds: 8, statusEveryMs: 2000 };
  await json('kubelet.json', kubeletConfig(places, cgroup, { ...usual, ...times }));
  await json('kubeconfig', kubeletKubeconfig({ ...api, server: `https://${network.address}:${api.port}` }));
  await makeImages(join(dir, 'images'), binaries.workload);
}

/** With the files of above, as the node itself sees them. */
export function kubeletArgs(dir: string, node: ClusterNode, places: NodePlaces, options: RealNodeOptions): string[] {
  const shown = Object.entries(options.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return [
    `--config=${join(dir, 'kubelet.json')}`,
    `--kubeconfig=${join(dir, 'kubeconfig')}`,
    `--hostname-override=${node.name}`,
    `--node-ip=${node.address}`,
    `--root-dir=${places.kubeletRoot}`,
    `--cert-dir=${places.certificates}`,
    ...(shown.length === 0 ? [] : [`--node-labels=${shown.join()}`]),
  ];
}

export function pluginArgs(
  driver: string,
  volumes: string,
  { kubeletRoot }: NodePlaces,
  { name, storage }: RealNodeOptions,
): string[] {
  return [
    `--driver=${driver}`,
    `--node-id=${name}`,
    `--socket=${join(kubeletRoot, 'plugins', driver, 'csi.sock')}`,
    `--registry=${join(kubeletRoot, 'plugins_registry')}`,
    `--volumes=${join(volumes, driver)}`,
    ...(storage === undefined ? [] : [`--server=${storage.network.address}:${storage.port}`]),
  ];
}

/** As containers are logged: the time, the stream, whether the line is whole, and the line. */
export async function linesOfPod(root: string, podUid: string): Promise<string[]> {
  const files = (await readdir(root, { recursive: true }).catch(() => []))
    .filter((file) => file.includes(podUid) && file.endsWith('.log'))
    .sort();
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), 'utf8')));
  return texts.flatMap((text) => [...text.matchAll(/^\S+ \S+ F (.*)$/gm)].map(([, line = '']) => line));
}

export async function keepPodLogs(root: string, dir: string): Promise<void> {
  await cp(root, dir, { recursive: true, force: true }).catch(() => undefined);
}

/** By the mounts of a node as its kernel tells them. */
export function volumesMountedFor(podUid: string, mountinfo: string): string[] {
  const dir = `/pods/${podUid}/volumes/kubernetes.io~csi/`;
  return mountinfo.split('\n').flatMap((line) => {
    const at = line.indexOf(dir);
    return at < 0 ? [] : [line.slice(at + dir.length).split('/')[0] ?? ''];
  });
}
