/**
 * Reads what a decision about one node rests on: Node and NodeFence by quorum reads, so that our own writes are in what the
 * next decision sees (S15, S17), the rest from watches. Pods are watched from the first time that somebody wants them.
 */
import { setBy, withoutAhead } from '../api/ahead.ts';
import { belongsToNode, isOver } from '../api/facts.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { nodeFenceName } from '../api/fence-names.ts';
import { undisputed } from '../api/machine.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { LiveNode, NodeCase, PodFacts, PolicyMatch, Sighting } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { ServerTime } from '../kube/server-time.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import { nodeFences, nodes } from '../kube/resources.ts';
import type { ClusterView } from './cluster-view.ts';
import type { CrashReports } from './crash-reports.ts';
import { NodePods } from './node-pods.ts';
import type { Observer } from './observer.ts';
import { OthersElsewhere } from './others-elsewhere.ts';
import { liveNode } from './project-release.ts';

export interface CaseReaderOptions {
  client: KubeClient;
  clock: Clock;
  serverTime: Pick<ServerTime, 'leptMs'>;
  random: () => number;
  observer: Observer;
  cluster: ClusterView;
  crashes: CrashReports;
  /** Which policy is in force for a node; where there is no Node object, the one that is on record. */
  policyOf: (node: LiveNode | undefined, recorded: string | undefined) => PolicyMatch;
  /** A node whose pods have changed. */
  onNode: (name: string) => void;
  onProblem: (source: string, error: KubeError) => void;
}

/** What was read, and takes time to read. What other nodes do is added in the tick of the decision. */
export type ReadCase = Sighting &
  Hanging &
  Pick<
    NodeCase,
    'serverNowMs' | 'policy' | 'drivers' | 'node' | 'lease' | 'fence' | 'isMended' | 'crash' | 'elsewhere'
  >;

/** What hangs on a node by its pods; attachments are those elsewhere of their volumes. */
type Hanging = Pick<NodeCase, 'pods' | 'isUnread' | 'volumes' | 'attachments' | 'awaited' | 'budgets'>;

const unread: Result<Hanging> = {
  ok: true,
  value: { pods: [], isUnread: true, volumes: {}, attachments: [], awaited: [] },
};

const callTimeoutMs = 10_000;
/** A view that is older than this may hide what came since. */
const maxViewAgeMs = 80_000;
/** Of so many nodes pods are watched before anybody wants them: then they are there when a machine is found off. */
const watchedAtEase = 32;

export class CaseReader {
  readonly #options: CaseReaderOptions;
  readonly #pods = new Map<string, NodePods>();
  /** Who else is at work on those that are attended to. */
  readonly others: OthersElsewhere;
  readonly #broken = Promise.withResolvers<never>();
  /** By node: by how much the clock had been set when what is on its record was written down, and when it was read last. */
  readonly #lept = new Map<string, { writtenMs: number; readMs: number }>();

  constructor(options: CaseReaderOptions) {
    this.#options = options;
    this.others = new OthersElsewhere(options);
    this.#broken.promise.catch(() => {});
  }

  /** Rejects when a watch of pods is broken beyond repair; never resolves. */
  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  /** Nodes whose pods are watched. */
  get attended(): Iterable<string> {
    return this.#pods.keys();
  }

  isWatched(name: string): boolean {
    return this.#pods.has(name);
  }

  /** Its pods are watched, or may be without anybody wanting it. */
  hasRoomFor(name: string): boolean {
    return this.#pods.has(name) || this.#pods.size < watchedAtEase;
  }

  /**
   * Its pods are watched from now on, unless so many are already that somebody has to want it: half of a cluster that falls silent
   * is a storm, in which nothing is done. Undefined: not everything is known yet, or known well enough.
   */
  ready(name: string, isWanted: boolean): NodePods | 'unread' | undefined {
    const { cluster } = this.#options;
    const isAtEase = this.hasRoomFor(name);
    // What was never listed is older than anything.
    const isClusterKnown = cluster.ageMs <= maxViewAgeMs;
    if (!isWanted && !isAtEase) return isClusterKnown ? 'unread' : undefined;
    const pods = this.#podsOf(name);
    if (!isClusterKnown || pods.ageMs > maxViewAgeMs) return undefined;
    // Whoever asks is told when the view of pods has changed.
    if (pods.showsOwnWrites) return pods;
    pods.awaitOwnWrites();
    return undefined;
  }

  /** What was read live of its pods is not what was decided on: a watch may have lost that, and is not waited for (S15). */
  doubt(name: string): void {
    this.#pods.get(name)?.doubt();
  }

  forget(name: string): void {
    this.#pods.get(name)?.close();
    this.#pods.delete(name);
    this.#lept.delete(name);
    this.others.forget(name);
  }

  async read(seen: Sighting, from: NodePods | 'unread'): Promise<Result<ReadCase>> {
    const { client, observer, cluster, crashes, policyOf } = this.#options;
    const { name } = seen;
    const [node, fence] = await Promise.all([
      client.get({ resource: nodes, name }, { timeoutMs: callTimeoutMs }),
      this.#fence(name),
    ]);
    if (!fence.ok) return fence;
    if (!node.ok && node.error.kind !== 'notFound') return node;
    const serverNowMs = node.ok ? node.serverTime : fence.serverTime;
    if (serverNowMs === undefined) return failure('the API server does not say what time it is');
    const found = node.ok ? undisputed(liveNode(node.value), (key) => observer.rival(name, key)) : undefined;
    const live = found && { ...found, ...(observer.sharesBoot(found) ? { sharesBootId: true } : {}) };
    const policy = policyOf(live, fence.value?.spec.policy);
    const hanging = from === 'unread' ? unread : await this.#hangingOn(name, policy, from);
    if (!hanging.ok) return hanging;
    const lease = observer.leaseSign(name);
    const crash = crashes.of(name);
    const value: ReadCase = {
      ...seen,
      serverNowMs,
      ...(live === undefined ? {} : { node: live }),
      ...(lease === undefined ? {} : { lease }),
      policy,
      ...hanging.value,
      drivers: Object.fromEntries(cluster.drivers),
      attachments: [...cluster.attachmentsOf(name), ...hanging.value.attachments],
      ...recordAt(serverNowMs, fence.value, this.#setSince(name, fence.value)),
      ...(crash === undefined ? {} : { crash }),
      ...this.#elsewhere(live, policy, from),
    };
    return { ok: true, value };
  }

  /** Whoever leads meanwhile writes by the clock as it is then. */
  endTerm(): void {
    this.#lept.clear();
  }

  /** Its record is stored as it was read last: by the clock as it was then. */
  kept(name: string): void {
    const known = this.#lept.get(name);
    if (known !== undefined) this.#lept.set(name, { ...known, writtenMs: known.readMs });
  }

  /** By how much the clock was set since its record was written down, as far as this process has seen it. */
  #setSince(name: string, fence: NodeFence | undefined): number {
    const readMs = this.#options.serverTime.leptMs;
    const { writtenMs = readMs } = fence === undefined ? {} : (this.#lept.get(name) ?? {});
    this.#lept.set(name, { writtenMs, readMs });
    return readMs - writtenMs;
  }

  /** Where nothing is remedied nobody is in the way, and in a storm nothing begins. */
  #elsewhere(node: LiveNode | undefined, policy: PolicyMatch, from: NodePods | 'unread'): Pick<ReadCase, 'elsewhere'> {
    const isRemedied = policy.kind === 'one' && policy.policy.remedy !== undefined;
    return node === undefined || from === 'unread' || !isRemedied ? {} : { elsewhere: this.others.of(node) };
  }

  async #hangingOn(name: string, policy: PolicyMatch, pods: NodePods): Promise<Result<Hanging>> {
    const { cluster } = this.#options;
    const here = pods.pods;
    const [volumes, budgets] = await Promise.all([pods.volumesOf(here), this.#budgetsFor(policy, here, pods)]);
    const names = new Set([...volumes.values()].flatMap((volume) => (volume.known ? [volume.volume] : [])));
    const elsewhere = [...names].flatMap((volume) =>
      cluster.attachmentsOfVolume(volume).filter((attachment) => attachment.node !== name),
    );
    const awaited = await awaitedFor(policy, here, pods);
    if (!awaited.ok) return awaited;
    const value = {
      pods: here,
      volumes: Object.fromEntries(volumes),
      attachments: elsewhere,
      awaited: [...awaited.value],
      ...(budgets === undefined ? {} : { budgets }),
    };
    return { ok: true, value };
  }

  /** Of pods that somebody might let go. Undefined: they could not be read. */
  async #budgetsFor(policy: PolicyMatch, here: readonly PodFacts[], pods: NodePods): Promise<NodeCase['budgets']> {
    const going = here.filter((pod) => pod.deletionAtMs === undefined && !isOver(pod) && !belongsToNode(pod));
    if (going.length === 0) return [];
    const isLive = policy.kind === 'one' && policy.policy.budgets === 'Respect';
    const read = await pods.budgetsIn(new Set(going.map(({ namespace }) => namespace)), isLive);
    if (read.ok) return read.value;
    this.#options.onProblem('disruption budgets', read.error);
    return undefined;
  }

  /** Undefined: there is none. */
  async #fence(name: string): Promise<Result<NodeFence | undefined>> {
    const ref = { resource: nodeFences, name: nodeFenceName(name) };
    const read = await this.#options.client.get<NodeFence & KubeObject>(ref, { timeoutMs: callTimeoutMs });
    if (read.ok) return { ...read, value: { ...read.value, status: { ...EMPTY_STATUS, ...read.value.status } } };
    return read.error.kind === 'notFound' ? { ok: true, value: undefined } : read;
  }

  #podsOf(name: string): NodePods {
    const open = this.#pods.get(name);
    if (open !== undefined) return open;
    const { client, clock, random, onNode, onProblem } = this.#options;
    const pods = new NodePods({
      client,
      clock,
      random,
      node: name,
      onChange: () => onNode(name),
      onProblem: (error) => onProblem('pods', error),
    });
    pods.running.catch((error: unknown) => this.#broken.reject(error));
    this.#pods.set(name, pods);
    return pods;
  }
}

function recordAt(nowMs: number, fence: NodeFence | undefined, setMs: number): Pick<NodeCase, 'fence' | 'isMended'> {
  if (fence === undefined) return {};
  const counted = setMs === 0 ? fence.status : setBy(fence.status, setMs);
  const status = withoutAhead(counted, nowMs) ?? counted;
  return status === fence.status ? { fence } : { fence: { ...fence, status }, isMended: true };
}

function failure(message: string): Result<never> {
  return { ok: false, error: { kind: 'malformed', message, mayHaveHappened: false } };
}

/** Read only where a policy can make use of it. */
async function awaitedFor(
  policy: PolicyMatch,
  here: readonly PodFacts[],
  pods: NodePods,
): Promise<Result<Set<string>>> {
  const none = { ok: true, value: new Set<string>() } as const;
  if (policy.kind !== 'one' || policy.policy.volumeAttachmentRecovery === 'never') return none;
  const claims = here
    .filter((pod) => pod.deletionAtMs !== undefined && !isOver(pod))
    .flatMap((pod) => pod.claims.map(({ claim }) => `${pod.namespace}/${claim}`));
  return claims.length === 0 ? none : pods.awaitedOf(new Set(claims));
}
