/** A real node that is a machine: the stock kubelet with containerd on a kernel of its own, whose memory a loss of power takes. */
import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { command } from './commands.ts';
import type { NodePlaces } from './config.ts';
import { ensureGuest, guestPrograms, type Guest } from './guest.ts';
import type { Tap } from './network.ts';
import type { ClusterNode, RealNodeOptions } from './node.ts';
import { keepPodLogs, kubeletArgs, linesOfPod, pluginArgs, volumesMountedFor, writeNodeFiles } from './node.ts';
import { removeAbandonedNodes, scratchDir } from './real-node.ts';
import { VirtualMachine } from './virtual-machine.ts';

/** As the guest sees what it shares with this machine: what it was given, and what it logs (guest/init). */
const given = '/machine';
const services = '/run/services';

/** What is told of programs waits for them to have been started. */
const booted = 'until [ -e /run/booted ]; do sleep 0.2; done';

const places: NodePlaces = {
  containerdRoot: '/var/lib/containerd',
  containerdState: '/run/containerd',
  containerdSocket: '/run/containerd/containerd.sock',
  cniConfig: `${given}/cni`,
  kubeletRoot: '/var/lib/kubelet',
  certificates: '/var/lib/kubelet/pki',
  manifests: `${given}/manifests`,
  podLogs: '/var/log/pods',
};

interface Link {
  tap: Tap;
  /** A cable that is pulled stays so, whatever is done to the machine. */
  isUp: boolean;
}

type LinkName = 'cluster' | 'storage';

export class VirtualNode implements ClusterNode {
  readonly name: string;
  readonly uuid: string;
  readonly #options: RealNodeOptions;
  readonly #dir: string;
  readonly #guest: Guest;
  readonly #links: Partial<Record<LinkName, Link>> & { cluster: Link };
  #machine: VirtualMachine | undefined;

  private constructor(options: RealNodeOptions, dir: string, guest: Guest) {
    const { name, uuid = randomUUID(), network, storage } = options;
    this.name = name;
    this.uuid = uuid;
    this.#options = options;
    this.#dir = dir;
    this.#guest = guest;
    this.#links = {
      cluster: { tap: network.tap(), isUp: true },
      ...(storage !== undefined && { storage: { tap: storage.network.tap(), isUp: true } }),
    };
  }

  /** Starts it; whether it joins the cluster is for the API to tell. */
  static async start(options: RealNodeOptions): Promise<VirtualNode> {
    await removeAbandonedNodes();
    const guest = await ensureGuest();
    const node = new VirtualNode(options, await scratchDir('machine'), guest);
    try {
      await node.#install();
      await node.powerOn();
      return node;
    } catch (error) {
      await node.remove();
      throw error;
    }
  }

  get address(): string {
    return this.#links.cluster.tap.address;
  }

  get storageAddress(): string {
    if (this.#links.storage === undefined) throw new Error(`node ${this.name} has no storage`);
    return this.#links.storage.tap.address;
  }

  get isOn(): boolean {
    return this.#machine !== undefined;
  }

  async powerOn(): Promise<void> {
    this.#machine ??= await VirtualMachine.start({
      name: this.name,
      uuid: this.uuid,
      guest: this.#guest,
      dir: this.#dir,
      disk: this.#disk,
      log: join(this.#options.logDir, `${this.name}-console.log`),
      shares: { machine: this.#given, services: this.#options.logDir },
      links: this.#links,
    });
  }

  async powerOff(): Promise<void> {
    const machine = this.#machine;
    this.#machine = undefined;
    await machine?.end();
  }

  async startKubelet(): Promise<void> {
    await this.run(`${booted}; kill -0 "$(< /run/kubelet.pid)" 2> /dev/null || bash ${given}/kubelet`);
  }

  async stopKubelet(): Promise<void> {
    await this.run(`${booted}; kill -KILL "$(< /run/kubelet.pid)"`);
  }

  async pause(): Promise<void> {
    await this.#machine?.pause();
  }

  async resume(): Promise<void> {
    await this.#asLongAsItIsOn((machine) => machine.resume());
  }

  /** There is no second kernel that would write a dump and tell of it: the first one says its last words, and nothing follows. */
  async crash(told: readonly string[]): Promise<void> {
    if (told.length > 0) throw new Error('a virtual machine has no kernel that writes dumps');
    await this.run('echo 1 > /proc/sys/kernel/sysrq; (sleep 1; echo c > /proc/sysrq-trigger) > /dev/null 2>&1 &');
  }

  async kill(podUid: string): Promise<void> {
    const pids = (await this.#processesOf(podUid)).map(({ pid }) => pid);
    if (pids.length > 0) await this.run(`kill -KILL ${pids.join(' ')}`);
  }

  async slowDown(bitsPerSecond: number): Promise<void> {
    await this.run(`tc qdisc replace dev eth0 root tbf rate ${bitsPerSecond}bit burst 4kb latency 200ms`);
  }

  /** Its link to the cluster loses so many of what it sends. */
  async losePackets(percent: number): Promise<void> {
    await this.run(`tc qdisc replace dev eth0 root netem loss ${percent}%`);
  }

  async fullSpeed(): Promise<void> {
    // It may have booted since.
    await this.run('tc qdisc delete dev eth0 root 2> /dev/null || true');
  }

  partition(): Promise<void> {
    return this.#set('cluster', false);
  }

  heal(): Promise<void> {
    return this.#set('cluster', true);
  }

  cutStorage(): Promise<void> {
    return this.#set('storage', false);
  }

  healStorage(): Promise<void> {
    return this.#set('storage', true);
  }

  saidBy(podUid: string): Promise<string[]> {
    return linesOfPod(this.#podLogs, podUid);
  }

  keepLogs(dir: string): Promise<void> {
    return keepPodLogs(this.#podLogs, dir);
  }

  async containersOf(podUid: string): Promise<string[]> {
    if (!this.isOn) return [];
    return [...new Set((await this.#processesOf(podUid)).map(({ container }) => container))].sort();
  }

  async mountsOf(podUid: string): Promise<string[]> {
    return this.isOn ? volumesMountedFor(podUid, await this.run('cat /proc/self/mountinfo')) : [];
  }

  async remove(): Promise<void> {
    await this.powerOff();
    await rm(this.#dir, { recursive: true, force: true });
  }

  get #given(): string {
    return join(this.#dir, 'given');
  }

  get #podLogs(): string {
    return join(this.#given, 'log', 'pods');
  }

  get #disk(): string {
    return join(this.#dir, 'disk.img');
  }

  async #install(): Promise<void> {
    for (const dir of ['log', 'manifests', 'images']) await mkdir(join(this.#given, dir), { recursive: true });
    await writeNodeFiles(this.#given, this.#options, places, '');
    const archives = ['images.tar'];
    for (const archive of this.#options.images ?? []) {
      await copyFile(archive, join(this.#given, 'images', basename(archive)));
      archives.push(basename(archive));
    }
    await writeFile(join(this.#given, 'kubelet'), this.#kubeletScript());
    await writeFile(join(this.#given, 'start'), this.#startScript(archives));
    await command('truncate', '--size=2G', this.#disk);
    await command('mke2fs', '-q', '-t', 'ext4', this.#disk);
  }

  #logged(program: string, args: readonly string[], name: string): string {
    const words = [program, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
    return `${words.join(' ')} >> ${services}/${this.name}-${name}.log 2>&1 &`;
  }

  #kubeletScript(): string {
    const args = kubeletArgs(given, this, places, this.#options);
    return `${this.#logged(guestPrograms.kubelet, args, 'kubelet')}\necho $! > /run/kubelet.pid\n`;
  }

  /** What an init would do on a machine that is nothing but a node. */
  #startScript(archives: readonly string[]): string {
    const links = [this.#links.cluster, this.#links.storage].flatMap((link, index) =>
      link === undefined ? [] : [`ip address add ${link.tap.address}/24 dev eth${index}`, `ip link set eth${index} up`],
    );
    const containerd = this.#logged('containerd', ['--config', `${given}/containerd.toml`], 'containerd');
    const plugins = (this.#options.drivers ?? []).map((driver) =>
      this.#logged(guestPrograms['csi-plugin'], pluginArgs(driver, '/var/lib/volumes', places, this.#options), driver),
    );
    const imports = archives.map((one) => `ctr --namespace=k8s.io images import ${given}/images/${one}`);
    return [
      'set -e',
      `echo '${this.name}' > /proc/sys/kernel/hostname`,
      'ip link set lo up',
      ...links,
      containerd,
      'until ctr version > /dev/null 2>&1; do sleep 0.2; done',
      // Written to the disk before it counts: half an image would never be replaced.
      `[ -e /var/lib/imported ] || { ${imports.join(' && ')} && sync && touch /var/lib/imported && sync; }`,
      ...plugins,
      `bash ${given}/kubelet`,
      'touch /run/booted',
      '',
    ].join('\n');
  }

  /** Without the one that only holds its namespaces. */
  async #processesOf(podUid: string): Promise<{ pid: number; container: string }[]> {
    const said = await this.run(`
      shopt -s nullglob
      for group in /sys/fs/cgroup/kubepods/{,besteffort/,burstable/}pod${podUid}/*/cgroup.procs; do
        while read -r pid; do
          container=\${group%/*}
          echo "$pid \${container##*/} $(tr '\\0' ' ' < /proc/$pid/cmdline)"
        done < "$group"
      done`);
    return said.split('\n').flatMap((line) => {
      const [pid = '', container = '', program, verb] = line.split(' ');
      return program === '/workload' && verb !== 'pause' ? [{ pid: Number(pid), container }] : [];
    });
  }

  async #set(name: LinkName, isUp: boolean): Promise<void> {
    const link = this.#links[name];
    if (link === undefined) return;
    link.isUp = isUp;
    await this.#asLongAsItIsOn((machine) => machine.setLink(name, isUp));
  }

  /** It may lose its power at this very moment. */
  async #asLongAsItIsOn(tell: (machine: VirtualMachine) => Promise<void>): Promise<void> {
    const machine = this.#machine;
    if (machine === undefined) return;
    await tell(machine).catch((error: unknown) => {
      if (this.#machine === machine) throw error;
    });
  }

  /** In the guest, as soon as that listens. */
  async run(shell: string): Promise<string> {
    if (this.#machine === undefined) throw new Error(`node ${this.name} has no power`);
    return this.#machine.run(shell);
  }
}
