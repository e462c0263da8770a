/**
 * A real node for tests: the stock kubelet with containerd, in namespaces and a cgroup of its own, with a cable to the
 * API server that can be pulled and power that can be cut. Any number of them run on one machine, about 130 MB each.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../../control-plane/lock.ts';
import { cgroupsNamed, makeCgroup, processesOfPod, removeCgroup } from './cgroups.ts';
import type { NodePlaces } from './config.ts';
import { waitFor } from '../wait.ts';
import { Namespaces, Service } from './namespaces.ts';
import type { Cable } from './network.ts';
import type { ClusterNode, RealNodeOptions } from './node.ts';
import { keepPodLogs, kubeletArgs, linesOfPod, pluginArgs, volumesMountedFor, writeNodeFiles } from './node.ts';

const prefix = 'fenceline-node-';
/** A directory that goes with what is left of a process that was killed. */
export function scratchDir(purpose: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `${prefix}${process.pid}-${purpose}-`));
}

/** Where it says that it is well; the default of a kubelet. */
const kubeletHealthPort = 10_248;
const forwarder = join(import.meta.dirname, '../programs/forward.ts');

export class RealNode implements ClusterNode {
  readonly name: string;
  readonly address: string;
  /** The system UUID. */
  readonly uuid: string;
  readonly #options: RealNodeOptions;
  readonly #dir: string;
  readonly #places: NodePlaces;
  readonly #cgroup: string;
  readonly #cable: Cable;
  readonly #storageCable: Cable | undefined;
  readonly #containerd: Service;
  readonly #kubelet: Service;
  readonly #forwarder: Service;
  readonly #plugins: readonly { driver: string; service: Service }[];
  readonly #imported = new Set<string>();
  #namespaces: Namespaces | undefined;

  private constructor(options: RealNodeOptions, dir: string) {
    this.name = options.name;
    this.#options = options;
    this.#dir = dir;
    this.#cable = options.network.cable();
    this.#storageCable = options.storage?.network.cable();
    this.address = this.#cable.address;
    this.uuid = options.uuid ?? randomUUID();
    this.#cgroup = `${prefix}${process.pid}-${options.name}`;
    this.#places = {
      containerdRoot: join(dir, 'containerd'),
      containerdState: '/run/containerd',
      containerdSocket: '/run/containerd/containerd.sock',
      cniConfig: join(dir, 'cni'),
      kubeletRoot: join(dir, 'kubelet'),
      certificates: join(dir, 'pki'),
      manifests: join(dir, 'manifests'),
      podLogs: '/var/log/pods',
    };
    const service = (name: string): Service => new Service(name, join(options.logDir, `${options.name}-${name}.log`));
    this.#containerd = service('containerd');
    this.#kubelet = service('kubelet');
    this.#forwarder = service('forwarder');
    this.#plugins = (options.drivers ?? []).map((driver) => ({ driver, service: service(driver) }));
  }

  /** Starts it; whether it joins the cluster is for the API to tell. */
  static async start(options: RealNodeOptions): Promise<RealNode> {
    await removeAbandonedNodes();
    const node = new RealNode(options, await scratchDir('disk'));
    try {
      await node.#install();
      await node.powerOn();
      return node;
    } catch (error) {
      await node.remove();
      throw error;
    }
  }

  /** Where the files of static pods go. */
  get manifestDir(): string {
    return this.#places.manifests;
  }

  /** Changes with every boot. */
  async bootId(): Promise<string> {
    return (await readFile(this.#bootIdPath, 'utf8')).trim();
  }

  async powerOn(): Promise<void> {
    if (this.#namespaces !== undefined) return;
    await makeCgroup(this.#cgroup);
    await writeFile(this.#bootIdPath, `${randomUUID()}\n`);
    this.#namespaces = await Namespaces.make(join(this.#dir, 'log'), join(this.#dir, 'machine'), this.name);
    await this.#cable.lay(this.#namespaces);
    await this.#storageCable?.lay(this.#namespaces);
    await this.#containerd.start(this.#namespaces, ['containerd', '--config', join(this.#dir, 'containerd.toml')]);
    await this.#containerd.untilReady(() => this.#ctr('version').then(() => true));
    await this.#importImages();
    await this.#serveApi(this.#namespaces);
    for (const { driver, service } of this.#plugins) await service.start(this.#namespaces, this.#pluginArgs(driver));
    await this.startKubelet();
  }

  /** Everything that runs on it is gone at once, and so is what it had sent; its disk stays. */
  async powerOff(): Promise<void> {
    await Promise.all([this.#cable.tearOut(), this.#storageCable?.tearOut()]);
    const ended = this.#namespaces?.end();
    this.#namespaces = undefined;
    for (const service of this.#services) service.wake();
    await ended;
    for (const service of this.#services) await service.ended();
    await removeCgroup(this.#cgroup);
  }

  async startKubelet(): Promise<void> {
    if (this.#namespaces === undefined) throw new Error(`node ${this.name} has no power`);
    if (this.#kubelet.running) return;
    const namespaces = this.#namespaces;
    // containerd answers before it serves kubelets, and one that comes too early ends: whatever runs a node starts it again.
    await waitFor(
      `the kubelet of ${this.name} to stay`,
      async () => {
        if (!this.#kubelet.running) await this.#kubelet.start(namespaces, this.#kubeletArgs());
        return namespaces.run('bash', '-c', `: < /dev/tcp/127.0.0.1/${kubeletHealthPort}`).then(
          () => true,
          () => false,
        );
      },
      { timeoutMs: 60_000 },
    );
  }

  /** The containers run on. */
  async stopKubelet(): Promise<void> {
    await this.#kubelet.kill();
  }

  /** It hangs: nothing on it does anything, until it is resumed or loses its power. */
  async pause(): Promise<void> {
    await this.#namespaces?.signal('SIGSTOP');
  }

  async resume(): Promise<void> {
    await this.#namespaces?.signal('SIGCONT');
    for (const service of this.#services) service.wake();
  }

  /** Its kernel crashes: nothing runs any more but what writes the dump, and tells these addresses of it. Its power stays on. */
  async crash(told: readonly string[]): Promise<void> {
    await this.#namespaces?.signal('SIGKILL');
    // For as long as the dump takes, as its service does it.
    const sends = `setsid /usr/libexec/fence-agents/fence_kdump_send --count=0 --interval=2 ${told.join(' ')}`;
    await this.#namespaces?.run('bash', '-c', `${sends} > /dev/null 2>&1 &`);
  }

  /** The processes of a container of a pod, from outside. */
  async kill(podUid: string): Promise<void> {
    for (const { pid } of await processesOfPod(this.#cgroup, podUid)) {
      const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
      if (words[1] !== 'pause') process.kill(pid, 'SIGKILL');
    }
  }

  /** Its link to the cluster carries so few bits a second. */
  async slowDown(bitsPerSecond: number): Promise<void> {
    const bucket = ['tbf', 'rate', `${bitsPerSecond}bit`, 'burst', '4kb', 'latency', '200ms'];
    await this.#namespaces?.run('tc', 'qdisc', 'replace', 'dev', 'eth0', 'root', ...bucket);
  }

  async fullSpeed(): Promise<void> {
    await this.#namespaces?.run('tc', 'qdisc', 'delete', 'dev', 'eth0', 'root');
  }

  async partition(): Promise<void> {
    await this.#cable.unplug();
  }

  async heal(): Promise<void> {
    await this.#cable.plug();
  }

  get isOn(): boolean {
    return this.#namespaces !== undefined;
  }

  /** Of the node in the network of its storage. */
  get storageAddress(): string {
    if (this.#storageCable === undefined) throw new Error(`node ${this.name} has no storage`);
    return this.#storageCable.address;
  }

  async cutStorage(): Promise<void> {
    await this.#storageCable?.unplug();
  }

  async healStorage(): Promise<void> {
    await this.#storageCable?.plug();
  }

  /** What its containers said, of this boot and those before, by the UIDs of their pods. */
  async saidBy(podUid: string): Promise<string[]> {
    return linesOfPod(join(this.#dir, 'log', 'pods'), podUid);
  }

  /** Everything that its containers said, of all boots, into another directory. */
  async keepLogs(dir: string): Promise<void> {
    await keepPodLogs(join(this.#dir, 'log', 'pods'), dir);
  }

  /** The containers of a pod that run, without the one that only holds its namespaces. */
  async containersOf(podUid: string): Promise<string[]> {
    const found = await processesOfPod(this.#cgroup, podUid);
    const own = await Promise.all(
      found.map(async ({ pid, id }) => {
        const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
        return words[0] === '/workload' && words[1] !== 'pause' ? [id] : [];
      }),
    );
    return [...new Set(own.flat())].sort();
  }

  /** The volumes of CSI drivers that are mounted for a pod, by the names of their PersistentVolumes. */
  async mountsOf(podUid: string): Promise<string[]> {
    if (this.#namespaces === undefined) return [];
    return volumesMountedFor(podUid, await readFile(`/proc/${this.#namespaces.pid}/mountinfo`, 'utf8'));
  }

  /** Ends it and leaves nothing of it behind. */
  async remove(): Promise<void> {
    await this.powerOff();
    await rm(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }

  get #services(): Service[] {
    return [this.#kubelet, this.#containerd, this.#forwarder, ...this.#plugins.map(({ service }) => service)];
  }

  get #bootIdPath(): string {
    return join(this.#dir, 'boot-id');
  }

  async #install(): Promise<void> {
    const { containerdRoot, cniConfig: cniDir, kubeletRoot, certificates, manifests } = this.#places;
    for (const dir of [containerdRoot, cniDir, kubeletRoot, certificates, manifests]) {
      await mkdir(dir, { recursive: true });
    }
    await writeNodeFiles(this.#dir, this.#options, this.#places, this.#cgroup);
    const machine = join(this.#dir, 'machine', 'dmi', 'id');
    await mkdir(machine, { recursive: true });
    await writeFile(join(machine, 'product_uuid'), `${this.uuid}\n`);
  }

  /** They stay on the disk. */
  async #importImages(): Promise<void> {
    for (const archive of [join(this.#dir, 'images', 'images.tar'), ...(this.#options.images ?? [])]) {
      if (this.#imported.has(archive)) continue;
      await this.#ctr('--namespace=k8s.io', 'images', 'import', archive);
      this.#imported.add(archive);
    }
  }

  async #serveApi(namespaces: Namespaces): Promise<void> {
    const { apiService, network, api } = this.#options;
    if (apiService === undefined) return;
    await namespaces.run('ip', 'address', 'add', `${apiService}/32`, 'dev', 'lo');
    const args = [apiService, '443', network.address, String(api.port)];
    await this.#forwarder.start(namespaces, [process.execPath, forwarder, ...args]);
  }

  #kubeletArgs(): string[] {
    const args = kubeletArgs(this.#dir, this, this.#places, this.#options);
    return [this.#options.binaries.kubelet, ...args, `--boot-id-file=${this.#bootIdPath}`];
  }

  #pluginArgs(driver: string): string[] {
    const args = pluginArgs(driver, join(this.#dir, 'volumes'), this.#places, this.#options);
    return [this.#options.binaries['csi-plugin'], ...args];
  }

  async #ctr(...args: string[]): Promise<string> {
    if (this.#namespaces === undefined) throw new Error(`node ${this.name} has no power`);
    return this.#namespaces.run('ctr', `--address=${this.#places.containerdSocket}`, ...args);
  }
}

/** What the tests of a process that was killed left behind: its nodes died with it, their disks and names did not. */
export async function removeAbandonedNodes(): Promise<void> {
  const isAbandoned = (name: string): boolean => {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN;
    return Number.isInteger(pid) && !isAlive(pid);
  };
  for (const name of (await readdir(tmpdir())).filter(isAbandoned)) {
    await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
  for (const name of (await cgroupsNamed(prefix)).filter(isAbandoned)) await removeCgroup(name);
}
