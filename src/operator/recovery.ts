/**
 * Attends to nodes in trouble, one pass at a time: read live, decide, record, act. A pass holds nothing over to the next
 * but what is stored in the NodeFence, so that another instance can go on at any point.
 */
import { isDeepStrictEqual } from 'node:util';
import type { NodeFence } from '../api/node-fence.ts';
import type { FeatureGates } from '../api/feature-gates.ts';
import { clockTime, isOver, isStatus } from '../api/facts.ts';
import type { Judgement } from '../api/view.ts';
import type { LiveNode, NodeCase, PodFacts, PolicyMatch } from '../api/release-view.ts';
import { FenceStore } from '../act/fence-store.ts';
import type { AskDevices } from '../act/grounds.ts';
import { perform } from '../act/perform.ts';
import { Room } from '../act/room.ts';
import type { Outcome as ActOutcome } from '../act/perform.ts';
import type { Clock } from '../clock.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import { repeatedTrouble } from '../judge/problems.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import { nodes } from '../kube/resources.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { NodePods } from '../observe/node-pods.ts';
import type { Observer } from '../observe/observer.ts';
import { liveNode } from '../observe/project-release.ts';
import { isQuarantined } from '../return/return-node.ts';
import type { Decision } from './decide.ts';
import { decide } from './decide.ts';
import { alarmsFor, isSameAlarm, nextStatus } from './fence-status.ts';
import type { FencingDecision } from './decide-fencing.ts';
import type { Fencing } from './fencing.ts';
import type { CrashReports } from './crash-reports.ts';
import { ReleaseRate } from './release-rate.ts';
import { ServerTime } from './server-time.ts';

export interface RecoveryOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  observer: Observer;
  cluster: ClusterView;
  fencing: Fencing;
  crashes: CrashReports;
  gates: FeatureGates;
  identity: string;
  /** Asked at the wire before every write. */
  isLeading: () => boolean;
  /** A node whose pods have changed. */
  onNode: (name: string) => void;
  onPass: (pass: Pass) => void;
  onProblem: (source: string, error: KubeError) => void;
}

/** One pass over one node: what was known, decided and done. Log, events and metrics all tell from this. */
export interface Pass {
  known: NodeCase;
  decision: Decision;
  acts: readonly ActOutcome[];
  /** What was added to its history. */
  news: readonly HistoryEntry[];
  fence: NodeFence | undefined;
  tookMs: number;
}

const callTimeoutMs = 10_000;
const firstRetryMs = 500;
const maxRetryMs = 15_000;
const conflictRetryMs = 100;
/** Acts under way at a time, over all nodes. */
const maxActs = 100;
/** Whoever was taken over from lets the other be for so long: two that both believe to lead would take turns for ever. */
const deposedForMs = 15_000;
/** A view that is older than this may hide what came since. */
const maxViewAgeMs = 80_000;

export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #store: FenceStore;
  readonly #serverTime: ServerTime;
  readonly #pods = new Map<string, NodePods>();
  readonly #failures = new Map<string, number>();
  readonly #room = new Room(maxActs);
  readonly #rate = new ReleaseRate();
  /** The epoch that we last wrote of each node, and until when we leave it to who took it over. */
  readonly #held = new Map<string, number>();
  readonly #deposedUntilMs = new Map<string, number>();
  /** When we looked at the alarms of nodes with problems: at which state of the policies, and when to look again. */
  readonly #alarms = new Map<string, { at: string; againMs: number }>();
  readonly #broken = Promise.withResolvers<never>();

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { client, isLeading } = options;
    this.#store = new FenceStore({ client, guard: isLeading, timeoutMs: callTimeoutMs });
    this.#serverTime = new ServerTime(options.clock);
    this.#broken.promise.catch(() => {});
  }

  /** Rejects when a watch of pods is broken beyond repair; never resolves. */
  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  /** Nodes that are attended to. */
  get attended(): Iterable<string> {
    return this.#pods.keys();
  }

  /** Whether a node needs attention. One that is down in a cluster without policy or gate is left to Kubernetes. */
  concerns(name: string, judgement: Judgement): boolean {
    const { observer, cluster, gates } = this.#options;
    if (cluster.hasOpenFence(name) || this.#hasAlarmDue(name, judgement)) return true;
    if ((observer.view(name).node?.marks ?? []).length > 0) return true;
    if (judgement.reason === 'NodeGone') return false;
    if (judgement.verdict === 'down' && (gates.NonGracefulFailover || cluster.policies.length > 0)) return true;
    return this.#isTrouble(name, judgement);
  }

  /**
   * An alarm about repeated trouble ends, or is raised by an edit of a policy, while the node is well and nobody attends to
   * it. One pass finds out how it stands, and when that has to be found out again.
   */
  #hasAlarmDue(name: string, judgement: Judgement): boolean {
    const { cluster, clock } = this.#options;
    const problems = cluster.problemsOf(name);
    if (problems === 'none') return false;
    const isWatched = problems === 'alarmed' || cluster.policies.some(({ alarms }) => alarms.length > 0);
    if (!isWatched) return false;
    const looked = this.#alarms.get(name);
    return looked?.at !== this.#alarmStamp(judgement) || clock.monotonic() >= looked.againMs;
  }

  /** What an alarm depends on besides time and incidents: the policies, and that there is such a node. */
  #alarmStamp({ reason }: Judgement): string {
    const policies = this.#options.cluster.policies.map(({ uid, generation }) => `${uid} ${generation}`);
    return [reason === 'NodeGone', ...policies].join();
  }

  #lookedAtAlarm(at: string, known: NodeCase, fence: NodeFence | undefined): void {
    const { serverNowMs, name } = known;
    const stands = repeatedTrouble(fence?.status.problems ?? [], alarmsFor(known), serverNowMs);
    const inMs = stands === undefined ? Infinity : this.#serverTime.until(stands.untilMs, serverNowMs);
    this.#alarms.set(name, { at, againMs: this.#options.clock.monotonic() + inMs });
  }

  /** Whether a policy has a ladder for what is seen of the node. */
  #isTrouble(name: string, judgement: Judgement): boolean {
    const { observer, cluster } = this.#options;
    const conditions = observer.view(name).node?.conditions ?? [];
    return cluster.policies.some(({ remedy }) =>
      remedy?.thresholds.some(({ condition, lease }) =>
        lease === undefined
          ? conditions.some(({ type, status }) => type === condition?.type && isStatus(status, condition.status))
          : judgement.verdict === 'suspect',
      ),
    );
  }

  leave(name: string): void {
    this.#options.fencing.forget(name);
    this.#pods.get(name)?.close();
    this.#pods.delete(name);
    this.#failures.delete(name);
    this.#held.delete(name);
    this.#deposedUntilMs.delete(name);
    // Otherwise it is remembered how its alarm stands: that is why nobody has to look.
    if (this.#options.cluster.problemsOf(name) === 'none') this.#alarms.delete(name);
  }

  close(): void {
    for (const name of this.#pods.keys()) this.leave(name);
    this.#alarms.clear();
  }

  /** One pass; answers when to come back, in milliseconds. */
  async attend(name: string, judgement: Judgement): Promise<number> {
    const { clock, cluster, isLeading } = this.#options;
    const pods = this.#podsOf(name);
    if (!cluster.synced || !pods.synced || Math.max(pods.ageMs, cluster.ageMs) > maxViewAgeMs) return maxRetryMs;
    // It looks again when the view of pods changes.
    if (!pods.showsOwnWrites) return maxRetryMs;
    const startedMs = clock.monotonic();
    const stamp = this.#alarmStamp(judgement);
    const read = await this.#read(name, pods);
    if (!read.ok) return this.#failed(name, read.error);
    const deposedMs = this.#deposedFor(name, read.value.fence);
    if (deposedMs > 0) return deposedMs;
    if (!isLeading()) return maxRetryMs;
    const { fencing } = this.#options;
    const fenced = fencing.decide(read.value);
    const known = withFence(read.value, fenced);
    const epoch = epochOf(known, this.#options.identity);
    // Nothing is awaited between the look at what others have let go and the decision: two never take the same share.
    const decision = decide(known, epoch, fenced, this.#rate.allowance(known, cluster.released));
    this.#rate.took(name, known.serverNowMs, newPods(known, decision));
    const recorded = await this.#record(read.value, decision, judgement);
    if (!recorded.ok) return this.#failed(name, recorded.error);
    this.#lookedAtAlarm(stamp, known, recorded.value);
    if (recorded.value?.status.holder === this.#options.identity) this.#held.set(name, recorded.value.status.epoch);
    await fencing.perform(known, fenced, recorded.value);
    const { client } = this.#options;
    const at = clockTime(known.serverNowMs);
    const onPod = pods.wrote.bind(pods);
    const notOff: AskDevices = (what) => fencing.notOff(known, what);
    const calls = { client, guard: isLeading, at, timeoutMs: callTimeoutMs, onPod, room: this.#room, notOff };
    const target = known.node === undefined ? { name } : { name, uid: known.node.uid };
    const acts = await perform(decision.steps, target, calls);
    const news = newsOf(read.value.fence, recorded.value);
    const tookMs = clock.monotonic() - startedMs;
    this.#options.onPass({ known, decision, acts, news, fence: recorded.value, tookMs });
    return this.#again(name, known, decision, acts);
  }

  #deposedFor(name: string, fence: NodeFence | undefined): number {
    const nowMs = this.#options.clock.monotonic();
    const held = this.#held.get(name);
    const { epoch = 0, holder } = fence?.status ?? {};
    if (held !== undefined && epoch > held && holder !== this.#options.identity) {
      this.#held.delete(name);
      this.#deposedUntilMs.set(name, nowMs + deposedForMs);
    }
    return Math.max(0, (this.#deposedUntilMs.get(name) ?? 0) - nowMs);
  }

  #again(name: string, known: NodeCase, decision: Decision, acts: readonly ActOutcome[]): number {
    const failed = acts.find((act) => act.kind === 'failed');
    if (failed?.kind === 'failed') return this.#failed(name, failed.error);
    if (acts.some(({ kind }) => kind === 'changed')) return this.#pause(name, conflictRetryMs);
    if (acts.some(({ kind }) => kind === 'unconfirmed')) return this.#pause(name, firstRetryMs);
    this.#failures.delete(name);
    return this.#serverTime.until(decision.recheckAtMs, known.serverNowMs);
  }

  #failed(name: string, error: KubeError): number {
    this.#options.onProblem(`release of ${name}`, error);
    return this.#pause(name, error.kind === 'conflict' ? conflictRetryMs : firstRetryMs);
  }

  /** Longer each time in a row: what does not change by itself must not keep us busy. */
  #pause(name: string, firstMs: number): number {
    const failures = this.#failures.get(name) ?? 0;
    this.#failures.set(name, failures + 1);
    return Math.min(maxRetryMs, firstMs * 2 ** failures);
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

  /** Node and NodeFence by quorum reads, so that our own writes are in what the next decision sees (S15, S17). */
  async #read(name: string, pods: NodePods): Promise<Result<NodeCase>> {
    const { client, observer, cluster, gates } = this.#options;
    const [node, fence] = await Promise.all([
      client.get({ resource: nodes, name }, { timeoutMs: callTimeoutMs }),
      this.#store.read(name),
    ]);
    if (!fence.ok) return fence;
    if (!node.ok && node.error.kind !== 'notFound') return node;
    const serverNowMs = node.ok ? node.serverTime : fence.serverTime;
    if (serverNowMs === undefined) return failure('the API server does not say what time it is');
    this.#serverTime.note(serverNowMs);
    const live = node.ok ? liveNode(node.value) : undefined;
    const policy = policyFor(cluster, live, fence.value);
    const here = pods.pods;
    const volumes = await pods.volumesOf(here);
    const names = new Set([...volumes.values()].flatMap((volume) => (volume.known ? [volume.volume] : [])));
    const elsewhere = [...names].flatMap((volume) =>
      cluster.attachmentsOfVolume(volume).filter((attachment) => attachment.node !== name),
    );
    const awaited = await awaitedFor(policy, here, pods);
    if (!awaited.ok) return awaited;
    const lease = observer.leaseSign(name);
    const crash = this.#options.crashes.of(name);
    const value: NodeCase = {
      name,
      serverNowMs,
      ...(live === undefined ? {} : { node: live }),
      ...(lease === undefined ? {} : { lease }),
      policy,
      gates,
      pods: here,
      volumes,
      drivers: cluster.drivers,
      attachments: [...cluster.attachmentsOf(name), ...elsewhere],
      awaited: awaited.value,
      ...(fence.value === undefined ? {} : { fence: fence.value }),
      ...(crash === undefined ? {} : { crash }),
    };
    return { ok: true, value };
  }

  /** The intent, before any act. Answers with the NodeFence as it is stored, if there is one. */
  async #record(known: NodeCase, decision: Decision, judgement: Judgement): Promise<Result<NodeFence | undefined>> {
    const policy = known.policy.kind === 'one' ? known.policy.policy.name : undefined;
    let { fence } = known;
    if (fence === undefined) {
      if (!isWorthRecording(known, decision)) return { ok: true, value: undefined };
      const created = await this.#store.create(known.name, policy);
      if (!created.ok) return created;
      fence = created.value;
    } else if (policy !== undefined && fence.spec.policy !== policy && decision.trouble !== undefined) {
      const updated = await this.#store.setPolicy(fence, policy);
      if (!updated.ok) return updated;
      fence = updated.value;
    }
    const status = nextStatus({ known: { ...known, fence }, decision, judgement, identity: this.#options.identity });
    if (isDeepStrictEqual(status, fence.status)) return { ok: true, value: fence };
    const isWell = fence.status.incident === undefined && decision.trouble === undefined;
    if (isWell && isSameAlarm(fence.status, status)) return { ok: true, value: fence };
    return this.#store.update(fence, status);
  }
}

/** As if what is decided about the fence were stored already: it is, before anything rests on it. */
function withFence(known: NodeCase, { fence }: FencingDecision): NodeCase {
  if (known.fence === undefined) return known;
  const { fence: _, ...status } = known.fence.status;
  return { ...known, fence: { ...known.fence, status: fence === undefined ? status : { ...status, fence } } };
}

type HistoryEntry = NodeFence['status']['history'][number];

function newsOf(before: NodeFence | undefined, after: NodeFence | undefined): HistoryEntry[] {
  const old = before?.status.history ?? [];
  return (after?.status.history ?? []).filter((entry) => !old.some((one) => isDeepStrictEqual(one, entry)));
}

function newPods({ fence }: NodeCase, { records }: Decision): number {
  const uids = (all: readonly { pods: readonly { uid: string }[] }[]): string[] =>
    all.flatMap(({ pods }) => pods.map(({ uid }) => uid));
  const before = new Set(uids(fence?.status.releases ?? []));
  return uids(records).filter((uid) => !before.has(uid)).length;
}

function epochOf({ fence }: NodeCase, identity: string): number {
  const { epoch = 0, holder } = fence?.status ?? {};
  return holder === identity ? epoch : epoch + 1;
}

function failure(message: string): Result<never> {
  return { ok: false, error: { kind: 'malformed', message, mayHaveHappened: false } };
}

/** Where there is no Node object the policy last recorded for it applies (POD-3); none recorded means none. */
function policyFor(cluster: ClusterView, node: LiveNode | undefined, fence: NodeFence | undefined): PolicyMatch {
  if (node !== undefined) return matchPolicy(cluster.policies, node.labels);
  const recorded = cluster.policies.find(({ name }) => name === fence?.spec.policy);
  return recorded === undefined ? { kind: 'none' } : { kind: 'one', policy: recorded };
}

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

/** Where nobody asked for anything, nothing is written: Kubernetes is alone with its node. */
function isWorthRecording(known: NodeCase, { trouble, outcomes, stuck, assertion }: Decision): boolean {
  if (trouble === undefined) return false;
  if (known.policy.kind !== 'none' || assertion !== undefined) return true;
  return outcomes.some(({ goes }) => goes) || stuck.length > 0 || isQuarantined(known);
}
