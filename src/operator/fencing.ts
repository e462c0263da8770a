/**
 * Ladders and fences of nodes in trouble: gathers what they rest on and has the methods run. Like everything about a node
 * it is done in passes; what has to survive is in the NodeFence.
 */
import { isUnderFence } from '../api/facts.ts';
import type { ConfigResult, FenceConfig, Method } from '../api/fence-config.ts';
import { requestOf } from '../api/fence-request.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { Grounds, LiveNode, NodeCase } from '../api/release-view.ts';
import type { Judgement } from '../api/view.ts';
import type { DeviceProvider } from '../act/device-tasks.ts';
import { DeviceTasks } from '../act/device-tasks.ts';
import { verify } from '../act/grounds.ts';
import { deleteMachine } from '../act/delete-machine.ts';
import { drainNode } from '../act/drain-node.ts';
import type { SeenJob } from '../act/jobs.ts';
import { runJob } from '../act/jobs.ts';
import type { PowerOutcome } from '../act/power.ts';
import { setScheduling } from '../act/scheduling.ts';
import type { Clock } from '../clock.ts';
import { configOf } from '../fence/config.ts';
import { levelsOf } from '../fence/stored.ts';
import type { ClusterCount } from '../judge/storm.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { Observer } from '../observe/observer.ts';
import { holdOf } from '../release/hold.ts';
import { jobOf, NODE_LABEL } from '../remedy/job.ts';
import type { TroubleFacts } from '../remedy/ladder.ts';
import type { FencingDecision } from './decide-fencing.ts';
import { decideFencing, keptFencing, remedyOf } from './decide-fencing.ts';

export interface FencingOptions {
  client: KubeClient;
  clock: Clock;
  observer: Observer;
  cluster: ClusterView;
  provider: DeviceProvider;
  /** Where the Jobs of remedies are made. */
  namespace: string;
  isLeading: () => boolean;
  verdicts: () => ReadonlyMap<string, Judgement>;
  onNode: (name: string) => void;
}

const callTimeoutMs = 10_000;

export class Fencing {
  readonly #options: FencingOptions;
  readonly #tasks: DeviceTasks;
  /** Since when each node has had which condition, by our own clock: what others wrote may be old or wrong. */
  readonly #seen = new Map<string, Map<string, { status: string; sinceMs: number }>>();
  /** Nodes whose fence was begun in this process, until the view of the records has caught up. */
  readonly #begun = new Set<string>();
  /** Nodes that were confirmed off and whose devices say on: what they say. */
  readonly #onAgain = new Map<string, string>();
  /** The Jobs that run: by their name, what is known of them. */
  readonly #jobs = new Map<string, SeenJob>();

  constructor(options: FencingOptions) {
    this.#options = options;
    const { client, clock, provider, isLeading, onNode } = options;
    const calls = { client, guard: isLeading, timeoutMs: callTimeoutMs };
    this.#tasks = new DeviceTasks({
      clock,
      provider,
      schedule: (node, action) => setScheduling(node, action, calls),
      guard: isLeading,
      onDone: onNode,
    });
  }

  forget(name: string): void {
    this.#seen.delete(name);
    this.#begun.delete(name);
    this.#onAgain.delete(name);
    this.#tasks.forget(name);
  }

  /** Nothing is awaited between the look at what others do and the decision to begin: two never begin at once. */
  decide(known: NodeCase): FencingDecision {
    const { name, node, fence } = known;
    if (node === undefined) this.#begun.delete(name);
    const held = holdOf(known)?.holds;
    if (node === undefined || held === 'everything' || held === 'remedies') return keptFencing(known);
    const isAsked = fence !== undefined && requestOf(fence) !== undefined;
    if (remedyOf(known) === undefined && fence?.status.fence === undefined && !isAsked)
      return { jobs: fence?.status.jobs ?? [] };
    const decided = decideFencing({
      known,
      node,
      config: this.#configOf(node),
      facts: this.#troubleOf(node),
      count: this.#count(),
      taskOf: (key) => this.#tasks.stateOf(name, key),
      namespace: this.#options.namespace,
      seenJob: (job) => this.#jobs.get(job),
      onAgain: this.#onAgain.get(name),
    });
    if (isUnderFence(decided.fence)) this.#begun.add(name);
    else this.#begun.delete(name);
    if (decided.fence?.phase !== 'off') this.#onAgain.delete(name);
    return decided;
  }

  /** `stored`: the record as it was written, without which nothing runs. */
  async perform({ node, policy }: NodeCase, { run }: FencingDecision, stored: NodeFence | undefined): Promise<void> {
    if (node === undefined || run === undefined || stored === undefined) return;
    if (!('method' in run))
      return this.#tasks.ensure(node, { key: run.key, run: () => this.#runOther(node, run, stored) });
    const { name, uid: nodeUid, bootId } = node;
    const grounds: Grounds = {
      node: name,
      nodeUid,
      bootId,
      mayBeReady: true,
      epoch: stored.status.epoch,
      ...(policy.kind === 'one' ? { policy: policy.policy } : {}),
      taints: [],
      safeDrivers: [],
      freed: [],
    };
    await this.#tasks.ensure(node, { ...run, mayAct: () => this.#mayAct(grounds) });
  }

  async #runOther(
    node: LiveNode,
    run: Exclude<NonNullable<FencingDecision['run']>, { method: unknown }>,
    { status }: NodeFence,
  ): Promise<PowerOutcome> {
    const { client, clock, isLeading, namespace, onNode } = this.#options;
    const calls = { client, clock, guard: isLeading, timeoutMs: callTimeoutMs };
    if ('drain' in run) return drainNode(node.name, calls);
    if ('deleteMachine' in run) return run.isFenced ? deleteMachine(node, calls) : notFenced(node);
    const { wasMade } = run;
    const job = { ...run.job, incident: status.incident?.id ?? '' };
    const label = { key: NODE_LABEL, value: node.uid };
    const onSeen = (seen: SeenJob): void => {
      this.#jobs.set(job.name, seen);
      onNode(node.name);
    };
    try {
      return await runJob({ namespace, name: job.name, label, object: jobOf(job), wasMade }, { ...calls, onSeen });
    } finally {
      this.#jobs.delete(job.name);
    }
  }

  /** Why the machine, or its way to the storage, cannot be taken for off, asked of its devices now; undefined: it is. */
  async notOff({ name, node, fence }: NodeCase, what: 'power' | 'storage'): Promise<string | undefined> {
    const stored = fence?.status.fence;
    const config = node === undefined ? undefined : this.#configOf(node);
    const phase = what === 'power' ? 'off' : 'isolated';
    // A machine that its provider removes stays off when its fence has ended.
    const isThere = stored?.phase === phase || (what === 'power' && stored?.phase === 'finished');
    if (node === undefined || config?.ok !== true || !isThere) return 'its fence is not there any more';
    const found = await this.#tasks.notOff(node, devicesOf(config.config, phase, stored.level));
    if (what === 'power' && found?.isOn) this.#onAgain.set(name, found.message);
    return found?.message;
  }

  /** Devices are slow to say how they are: what the act rests on is read again before they are told (S15, S19). */
  async #mayAct(grounds: Grounds): Promise<string | undefined> {
    const { client, isLeading } = this.#options;
    const refusal = await verify(client, grounds, { timeoutMs: callTimeoutMs });
    if (!isLeading()) return 'this instance does not lead any more';
    if (refusal === undefined) return undefined;
    return refusal.kind === 'unreadable' ? refusal.error.message : refusal.what;
  }

  #configOf(node: LiveNode): ConfigResult {
    const { cluster, provider } = this.#options;
    const result = configOf({ name: node.name, labels: node.labels }, { maps: cluster.fenceConfigs });
    const own = provider.defaultConfig?.(node);
    return result.ok && result.config.source === undefined && own !== undefined ? { ok: true, config: own } : result;
  }

  #count(): ClusterCount {
    const { observer, cluster, verdicts } = this.#options;
    const known = verdicts();
    return {
      fencing: new Set([...cluster.fencingNodes, ...this.#begun]),
      nodes: [...observer.nodeNames].map((name) => ({
        name,
        zone: observer.view(name).node?.zone ?? '',
        // Of a node that nobody has judged yet it is not known: after a change of leaders that is every one.
        isUnresponsive: known.get(name)?.verdict !== 'healthy',
      })),
    };
  }

  #troubleOf({ name, conditions = [] }: LiveNode): TroubleFacts {
    const { clock, observer } = this.#options;
    const now = clock.monotonic();
    const known = this.#seen.get(name) ?? new Map<string, { status: string; sinceMs: number }>();
    this.#seen.set(name, known);
    const seen = conditions.map(({ type, status }) => {
      const before = known.get(type);
      const sinceMs = before?.status === status ? before.sinceMs : now;
      known.set(type, { status, sinceMs });
      return { type, status, forMs: now - sinceMs };
    });
    const { lease } = observer.view(name);
    return { conditions: seen, ...(lease?.confirmed === true ? { leaseSilentMs: lease.unchangedForMs } : {}) };
  }
}

/** What was switched off to come to this phase; a cordon is none of it. */
function devicesOf(config: FenceConfig, phase: 'off' | 'isolated', level: number): Method[] {
  return (levelsOf(phase, config)[level]?.off ?? []).filter(
    ({ action, storage = [] }) => action === 'off' && (phase === 'off' || storage.length > 0),
  );
}

/** S13: what may still write is not given away. */
function notFenced({ name }: LiveNode): PowerOutcome {
  return { outcome: 'failed', message: `${name} was not switched off before: put a fence before it on the ladder` };
}
