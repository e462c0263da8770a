/**
 * A real Kubernetes control plane for one test: etcd and kube-apiserver, and on demand the stock controller manager and
 * scheduler, on free ports of the loopback interface. Any number of them run side by side.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ensureControlPlane, type ControlPlaneBinaries } from '../../control-plane/build.ts';
import { createCertificateAuthority, type CertificateAuthority, type CertificatePair } from './certificates.ts';
import { readAuditEvents, type AuditEvent } from './control-plane/audit.ts';
import {
  apiserverArgs,
  auditLogPath,
  controllerManagerArgs,
  etcdArgs,
  schedulerArgs,
  type ApiserverOptions,
  type ComponentName,
  type ComponentOptions,
  type ControllerManagerOptions,
} from './control-plane/components.ts';
import { etcdCompact, etcdHasMember, etcdPut, etcdRevision, type EtcdEntry } from './control-plane/etcd.ts';
import {
  writeFiles,
  writeKubeconfig,
  type AuditLevel,
  type ControlPlaneFiles,
  type User,
} from './control-plane/files.ts';
import { httpRequest } from './control-plane/http.ts';
import { runKubectl, type KubectlResult } from './control-plane/kubectl.ts';
import { makeDataDir, makeLogDir, removeDir } from './control-plane/places.ts';
import { freePort, ManagedProcess, Watchdog } from './control-plane/process.ts';
import { waitFor } from './wait.ts';

export type { AuditEvent } from './control-plane/audit.ts';
export type { ComponentName } from './control-plane/components.ts';
export type { EtcdEntry } from './control-plane/etcd.ts';
export type { AuditLevel, User } from './control-plane/files.ts';
export type { KubectlResult } from './control-plane/kubectl.ts';

export interface ControlPlaneOptions {
  /** Names the log directory. */
  readonly name?: string;
  /** Kubernetes minor, one of the recipes in control-plane/. */
  readonly version?: string;
  /** Users beside `admin`; they may do what the test grants them. */
  readonly users?: readonly User[];
  readonly audit?: boolean | AuditLevel;
  readonly etcd?: ComponentOptions;
  readonly apiserver?: ApiserverOptions;
  readonly controllerManager?: boolean | ControllerManagerOptions;
  readonly scheduler?: boolean | ComponentOptions;
}

const READY_TIMEOUT_MS = 120_000;
/** Whoever won a race for the port may accept a connection and never answer. */
const PROBE_TIMEOUT_MS = 3_000;
const PORT_ATTEMPTS = 5;

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await ensureControlPlane(options.version);
  const dir = await makeDataDir();
  const watchdog = new Watchdog(dir);
  const controlPlane = new ControlPlane(options, {
    dir,
    logs: await makeLogDir(options.name ?? 'control-plane'),
    binaries,
    watchdog,
    authority: createCertificateAuthority(),
  });
  try {
    await controlPlane.start();
    return controlPlane;
  } catch (error) {
    await controlPlane.stop({ keepLogs: true });
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the control plane did not start, logs in ${controlPlane.logs}: ${reason}`, { cause: error });
  }
}

interface Foundation {
  readonly dir: string;
  readonly logs: string;
  readonly binaries: ControlPlaneBinaries;
  readonly watchdog: Watchdog;
  readonly authority: CertificateAuthority;
}

interface Component {
  readonly process: ManagedProcess;
  readonly ready: () => Promise<boolean>;
}

interface ComponentPlan {
  readonly args: (port: number) => string[] | Promise<string[]>;
  readonly ready: (port: number) => Promise<boolean>;
}

export class ControlPlane implements AsyncDisposable {
  /** Data, keys and kubeconfigs; removed by `stop`. */
  readonly dir: string;
  /** One log per component, and the audit log; removed by `stop` unless told otherwise. */
  readonly logs: string;
  /** PEM of the authority that signed the server's certificate and signs those of its clients. */
  readonly caCert: string;
  /** Of `admin`, who is in system:masters. */
  readonly token: string;
  readonly kubeconfigPath: string;
  port = 0;
  etcdPort = 0;

  readonly #options: ControlPlaneOptions;
  readonly #foundation: Foundation;
  readonly #users: ReadonlyMap<string, User>;
  readonly #components = new Map<ComponentName, Component>();
  #stopped: Promise<void> | undefined;

  constructor(options: ControlPlaneOptions, foundation: Foundation) {
    this.#options = options;
    this.#foundation = foundation;
    this.dir = foundation.dir;
    this.logs = foundation.logs;
    this.caCert = foundation.authority.certPem;
    this.token = newToken();
    this.kubeconfigPath = this.#kubeconfigPathOf('admin');
    const users: readonly User[] = [
      { name: 'admin', groups: ['system:masters'], token: this.token },
      { name: 'system:kube-controller-manager', token: newToken() },
      { name: 'system:kube-scheduler', token: newToken() },
      ...(options.users ?? []),
    ];
    this.#users = new Map(users.map((user) => [user.name, user]));
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get etcdUrl(): string {
    return `http://127.0.0.1:${this.etcdPort}`;
  }

  /** Called once, by `startControlPlane`. */
  async start(): Promise<void> {
    const { audit, controllerManager, scheduler } = this.#options;
    const files = await writeFiles({
      dir: this.dir,
      authority: this.#foundation.authority,
      users: [...this.#users.values()],
      auditLevel: typeof audit === 'string' ? audit : 'Metadata',
    });
    await this.#startEtcd();
    await this.#startApiserver(files);
    await this.kubeconfigFor('admin');
    await Promise.all([
      controllerManager ? this.#startControllerManager(files, asOptions(controllerManager)) : undefined,
      scheduler ? this.#startScheduler(files, asOptions(scheduler)) : undefined,
    ]);
  }

  /** Ends every process and removes the data; a second call waits for the first. */
  stop(options: { readonly keepLogs?: boolean } = {}): Promise<void> {
    this.#stopped ??= this.#stop(options.keepLogs ?? false);
    return this.#stopped;
  }

  async #stop(keepLogs: boolean): Promise<void> {
    await Promise.all([...this.#components.values()].map(({ process }) => process.kill()));
    await this.#foundation.watchdog.close();
    await removeDir(this.dir);
    if (!keepLogs) await removeDir(this.logs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** As a crash would end it: at once, with nothing put in order. */
  async kill(component: ComponentName): Promise<void> {
    await this.#component(component).process.kill();
  }

  /** Starts it again on the same port and data, after killing it if it still runs, and waits until it is ready. */
  async restart(component: ComponentName): Promise<void> {
    const { process, ready } = this.#component(component);
    await process.kill();
    process.start();
    await untilReady(process, ready);
  }

  /** Stops it from doing anything, while its connections stay open. */
  pause(component: ComponentName): void {
    this.#component(component).process.signal('SIGSTOP');
  }

  resume(component: ComponentName): void {
    this.#component(component).process.signal('SIGCONT');
  }

  /** The processes that run now. */
  pids(): Partial<Record<ComponentName, number>> {
    return Object.fromEntries(
      [...this.#components].flatMap(([name, { process }]) => (process.pid === undefined ? [] : [[name, process.pid]])),
    );
  }

  /** A kubeconfig for one of the users, with a token or with a certificate; answers its path. */
  async kubeconfigFor(user: string, by: 'token' | 'certificate' = 'token'): Promise<string> {
    const path = this.#kubeconfigPathOf(by === 'token' ? user : `${user}-${by}`);
    const credentials = by === 'token' ? { token: this.tokenOf(user) } : this.clientCertificate(user);
    await writeKubeconfig({ path, url: this.url, caPem: this.caCert, user: credentials });
    return path;
  }

  tokenOf(user: string): string {
    return this.#user(user).token;
  }

  clientCertificate(user: string): CertificatePair {
    const { name, groups = [] } = this.#user(user);
    return this.#foundation.authority.issue({ commonName: name, organizations: groups });
  }

  /** Runs kubectl as admin, or with another kubeconfig. */
  kubectl(
    args: readonly string[],
    { input, kubeconfig = this.kubeconfigPath }: { readonly input?: string; readonly kubeconfig?: string } = {},
  ): Promise<KubectlResult> {
    return runKubectl({ file: this.#foundation.binaries.kubectl, dir: this.dir, kubeconfig, args, input });
  }

  /** Requests that were answered so far, in order. Needs the option `audit`. */
  auditEvents(): Promise<AuditEvent[]> {
    if (!this.#options.audit) throw new Error('this control plane was started without an audit log');
    return readAuditEvents(auditLogPath(this.logs));
  }

  /** Writes past the API server, which sees it as any other change: for seeding many objects fast. */
  etcdPut(entries: Iterable<EtcdEntry>): Promise<void> {
    return etcdPut(this.etcdUrl, entries);
  }

  etcdRevision(): Promise<number> {
    return etcdRevision(this.etcdUrl);
  }

  /**
   * Makes etcd forget all history before the current revision, which it answers; the latest change stays, so a watch may
   * go on from the revision just before. The API server goes on answering from its own memory of recent history: clients
   * meet 410 after it was restarted, or at once if it was started with `--watch-cache=false`.
   */
  compact(): Promise<number> {
    return etcdCompact(this.etcdUrl);
  }

  async #startEtcd(): Promise<void> {
    const member = `etcd-${randomBytes(6).toString('hex')}`;
    this.etcdPort = await this.#startComponent('etcd', {
      args: (port) => etcdArgs({ dir: this.dir, port, member, options: this.#options.etcd ?? {} }),
      // Asks for the name as well: whoever won a race for the port would answer just as healthily.
      ready: (port) => etcdHasMember(`http://127.0.0.1:${port}`, member, PROBE_TIMEOUT_MS),
    });
  }

  async #startApiserver(files: ControlPlaneFiles): Promise<void> {
    const { apiserver = {}, audit } = this.#options;
    this.port = await this.#startComponent('kube-apiserver', {
      args: (port) =>
        apiserverArgs({
          files,
          port,
          etcdUrl: this.etcdUrl,
          auditLog: audit ? auditLogPath(this.logs) : undefined,
          options: apiserver,
        }),
      ready: (port) => this.#answersOk(port, '/readyz'),
    });
  }

  async #startControllerManager(files: ControlPlaneFiles, options: ControllerManagerOptions): Promise<void> {
    const kubeconfig = await this.kubeconfigFor('system:kube-controller-manager');
    await this.#startComponent('kube-controller-manager', {
      args: (port) => controllerManagerArgs({ files, port, kubeconfig, options }),
      ready: (port) => this.#answersOk(port, '/healthz'),
    });
  }

  async #startScheduler(files: ControlPlaneFiles, options: ComponentOptions): Promise<void> {
    const kubeconfig = await this.kubeconfigFor('system:kube-scheduler');
    await this.#startComponent('kube-scheduler', {
      args: (port) => schedulerArgs({ files, port, kubeconfig, options }),
      ready: (port) => this.#answersOk(port, '/healthz'),
    });
  }

  /** Answers the port. Another process may take it between our look and the component's, so it has several tries. */
  async #startComponent(name: ComponentName, plan: ComponentPlan): Promise<number> {
    const { binaries, watchdog } = this.#foundation;
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      const command = { file: binaries[name], args: await plan.args(port), logPath: join(this.logs, `${name}.log`) };
      const process = new ManagedProcess(name, command, watchdog);
      const ready = () => plan.ready(port);
      this.#components.set(name, { process, ready });
      process.start();
      try {
        await untilReady(process, ready);
        return port;
      } catch (error) {
        await process.kill();
        const lostRace = error instanceof Error && error.message.includes('address already in use');
        if (!lostRace || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  async #answersOk(port: number, path: string): Promise<boolean> {
    const url = `https://127.0.0.1:${port}${path}`;
    const { status } = await httpRequest({ url, caCert: this.caCert, token: this.token, timeoutMs: PROBE_TIMEOUT_MS });
    return status === 200;
  }

  #component(name: ComponentName): Component {
    const component = this.#components.get(name);
    if (component === undefined) throw new Error(`this control plane has no ${name}`);
    return component;
  }

  /** For whoever stands in front of the API server and is taken for it. */
  servingCertificate(): CertificatePair {
    return this.#foundation.authority.issue({ commonName: 'kube-apiserver', hosts: ['127.0.0.1'] });
  }

  #user(name: string): User {
    const user = this.#users.get(name);
    if (user === undefined) throw new Error(`this control plane has no user ${name}`);
    return user;
  }

  #kubeconfigPathOf(user: string): string {
    return join(this.dir, `${user.replaceAll(/[^\w.-]+/g, '-')}.kubeconfig`);
  }
}

async function untilReady(process: ManagedProcess, ready: () => Promise<boolean>): Promise<void> {
  const outcome = await waitFor(
    `${process.name} to be ready`,
    async () => (process.running ? (await ready()) && 'ready' : 'ended'),
    { timeoutMs: READY_TIMEOUT_MS },
  );
  if (outcome === 'ended') throw await process.failure();
}

function asOptions<Options extends ComponentOptions>(option: true | Options): Options | Record<string, never> {
  return option === true ? {} : option;
}

function newToken(): string {
  return randomBytes(16).toString('hex');
}
