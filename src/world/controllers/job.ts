/**
 * Jobs: pods that run to their end. A pod that is being deleted counts as failed at once, unless the Job says that only
 * failed ones are replaced. Simplified: no indexes, no failure policy, and what was counted is remembered in memory.
 */
import { removeFinalizer } from '../../kube/patches.ts';
import type { Condition } from '../objects/meta.ts';
import { conditionOf, controllerOf, isReady, isTerminating } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import { apiTime } from '../objects/times.ts';
import type { Job } from '../objects/workloads.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer } from './informer.ts';
import { generatedName, isActive, podFrom } from './pod-factory.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { jobs, pods } from './resources.ts';

const who = 'job-controller';
const finalizer = 'batch.kubernetes.io/job-tracking';
/**
 * What happens to its pods a Job looks at a second later, all at once. So a pod that is deleted and ends well within that
 * second has succeeded.
 */
const batchMs = 1000;

interface Failures {
  count: number;
  /** Wall time at which the last of them ended. */
  lastAtMs: number;
}

type Ending = { type: 'Complete' | 'Failed'; reason: string; message: string };

export class JobController {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #jobs: Informer<Job>;
  readonly #pods: Informer<Pod>;
  readonly #podsByController: Index<Pod>;
  readonly #counted = new Set<string>();
  readonly #failures = new Map<string, Failures>();

  constructor(host: ControllerHost, { podsByController }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#jobs = host.informers.of(jobs);
    this.#pods = host.informers.of(pods);
    this.#podsByController = podsByController;
    const queue = host.queue(who, (key) => this.#sync(key));
    const orphans = host.queue(who, (key) => this.#releaseOrphan(key));
    this.#jobs.on(({ key, object, previous }) => {
      const isStatus = object !== undefined && object.metadata.generation === previous?.metadata.generation;
      if (isStatus) queue.addAfter(key, batchMs);
      else queue.add(key);
      if (object !== undefined) return;
      for (const pod of podsByController.of(previous.metadata.uid ?? '').keys()) orphans.add(pod);
    });
    this.#pods.on(({ key, object, previous }) => {
      const pod = object ?? previous;
      const owner = pod === undefined ? undefined : controllerOf(pod);
      if (pod === undefined || owner?.kind !== 'Job') return;
      if (object === undefined) this.#counted.delete(pod.metadata.uid ?? '');
      queue.addAfter(`${pod.metadata.namespace ?? ''}/${owner.name}`, batchMs);
      if (object !== undefined && isTerminating(object)) orphans.add(key);
    });
  }

  /** Nobody will count what belongs to a Job that is gone. */
  async #releaseOrphan(key: string): Promise<undefined> {
    const pod = this.#pods.get(key);
    const owner = pod === undefined ? undefined : controllerOf(pod);
    if (pod === undefined || owner === undefined) return;
    const job = this.#jobs.get(`${pod.metadata.namespace ?? ''}/${owner.name}`);
    if (job === undefined || job.metadata.uid !== owner.uid || isTerminating(job)) await this.#release(pod);
  }

  async #release(pod: Pod): Promise<void> {
    const operations = removeFinalizer(pod, finalizer);
    if (operations.length > 0) await this.#api.patch(pods, pod, operations);
  }

  async #sync(key: string): Promise<number | undefined> {
    const job = this.#jobs.get(key);
    if (job === undefined || isTerminating(job)) return undefined;
    const own = [...this.#podsByController.of(job.metadata.uid ?? '').values()];
    if (endOf(job) !== undefined) {
      for (const pod of own.filter((one) => isFinished(one) || isTerminating(one))) await this.#release(pod);
      return undefined;
    }
    const news = own.filter((pod) => this.#isNews(job, pod));
    const won = news.filter(({ status }) => status?.phase === 'Succeeded');
    const counts = {
      succeeded: (job.status?.succeeded ?? 0) + won.length,
      failed: (job.status?.failed ?? 0) + news.length - won.length,
    };
    this.#noteFailures(
      key,
      won.length,
      news.filter((pod) => !won.includes(pod)),
    );
    const active = own.filter(isActive);
    const ending = this.#endingOf(job, counts, active.length);
    if (ending !== undefined) return this.#finish(job, { ending, counts, news, own });
    const nextMs = await this.#manage(job, counts.succeeded, active);
    await this.#report(key, counts, news);
    return nextMs;
  }

  #isNews(job: Job, pod: Pod): boolean {
    if (pod.metadata.finalizers?.includes(finalizer) !== true) return false;
    if (this.#counted.has(pod.metadata.uid ?? '')) return false;
    const onlyFailed = job.spec.podReplacementPolicy === 'Failed' || job.spec.podFailurePolicy !== undefined;
    return isFinished(pod) || (isTerminating(pod) && !onlyFailed);
  }

  #noteFailures(key: string, won: number, lost: readonly Pod[]): void {
    if (won > 0) this.#failures.delete(key);
    if (lost.length === 0) return;
    const count = (this.#failures.get(key)?.count ?? 0) + lost.length;
    this.#failures.set(key, { count, lastAtMs: Math.max(...lost.map(endedAtMs)) });
  }

  #endingOf(job: Job, counts: { succeeded: number; failed: number }, active: number): Ending | undefined {
    const { backoffLimit = 6, completions } = job.spec;
    const target = conditionOf(job, 'FailureTarget');
    if (target !== undefined) return { type: 'Failed', reason: target.reason ?? '', message: target.message ?? '' };
    if (counts.failed > backoffLimit) {
      const message = 'Job has reached the specified backoff limit';
      return { type: 'Failed', reason: 'BackoffLimitExceeded', message };
    }
    const done = completions === undefined ? counts.succeeded > 0 && active === 0 : counts.succeeded >= completions;
    const message = 'Reached expected number of succeeded pods';
    return done ? { type: 'Complete', reason: 'CompletionsReached', message } : undefined;
  }

  /** The end is told when nothing of the Job runs any more. */
  async #finish(
    job: Job,
    scene: { ending: Ending; counts: { succeeded: number; failed: number }; news: Pod[]; own: Pod[] },
  ): Promise<undefined> {
    const { ending, counts, news, own } = scene;
    const active = own.filter(isActive);
    for (const pod of active) await this.#api.delete(pods, pod);
    const running = own.filter((pod) => !isFinished(pod));
    const over = running.length === 0;
    const interim = ending.type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget';
    const time = apiTime(this.#host.clock.now());
    const condition = (type: string): Condition => ({
      type,
      status: 'True',
      reason: ending.reason,
      message: ending.message,
      lastProbeTime: time,
      lastTransitionTime: time,
    });
    const conditions = over ? [condition(interim), condition(ending.type)] : [condition(interim)];
    const completion = over && ending.type === 'Complete' ? { completionTime: time } : {};
    const fields = { ...this.#statusOf(job, counts), ...completion, active: undefined, ready: undefined };
    if (over) Object.assign(fields, { terminating: undefined });
    await this.#api.counters(jobs, job, fields, conditions);
    await this.#settle(news);
  }

  async #manage(job: Job, succeeded: number, active: Pod[]): Promise<number | undefined> {
    const { parallelism = 1, completions, suspend } = job.spec;
    const rest = completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded;
    const wanted = suspend === true ? 0 : Math.max(0, Math.min(parallelism, rest));
    for (const pod of active.slice(wanted)) await this.#api.delete(pods, pod);
    if (active.length >= wanted) return undefined;
    const failures = this.#failures.get(`${job.metadata.namespace ?? ''}/${job.metadata.name}`);
    if (failures !== undefined) {
      const { jobBackoffFirstMs, jobBackoffMaxMs } = this.#host.timings;
      const pauseMs = Math.min(jobBackoffMaxMs, jobBackoffFirstMs * 2 ** (failures.count - 1));
      const waitMs = failures.lastAtMs + pauseMs - this.#host.clock.now();
      if (waitMs > 0) return Math.max(batchMs, waitMs);
    }
    const { name, uid = '' } = job.metadata;
    const labels = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': name };
    for (let made = active.length; made < wanted; made += 1) {
      const identity = { name: generatedName(name, this.#host.random), labels, finalizers: [finalizer] };
      await this.#api.create<Pod>(pods, podFrom(job.spec.template, job, jobs, identity));
    }
    return undefined;
  }

  async #report(key: string, counts: { succeeded: number; failed: number }, news: Pod[]): Promise<void> {
    const job = this.#jobs.get(key);
    if (job === undefined) return;
    const own = [...this.#podsByController.of(job.metadata.uid ?? '').values()];
    const active = own.filter(isActive);
    await this.#api.counters(jobs, job, {
      ...this.#statusOf(job, counts),
      active: active.length,
      ready: active.filter(isReady).length,
      terminating: own.filter((pod) => isTerminating(pod) && !isFinished(pod)).length,
    });
    await this.#settle(news);
  }

  #statusOf(job: Job, counts: { succeeded: number; failed: number }): Record<string, unknown> {
    const startTime =
      job.status?.startTime ?? (job.spec.suspend === true ? undefined : apiTime(this.#host.clock.now()));
    return { ...counts, startTime };
  }

  /** Counted, and written down: the pods may go. */
  async #settle(news: Pod[]): Promise<void> {
    for (const { metadata } of news) this.#counted.add(metadata.uid ?? '');
    for (const pod of news)
      await this.#release(this.#pods.get(`${pod.metadata.namespace ?? ''}/${pod.metadata.name}`) ?? pod);
  }
}

/**
 * As the stock controller reckons: when the containers ended, else when the pod was last ready, else when it was deleted.
 * On a dead node that is long ago when the pod is at last evicted, and the next one does not have to wait.
 */
function endedAtMs(pod: Pod): number {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp = '' } = pod.metadata;
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => state.terminated?.finishedAt);
  const known = ends.filter((end) => end !== undefined);
  if (known.length > 0 && known.length === ends.length) return Math.max(...known.map((end) => Date.parse(end)));
  const ready = conditionOf(pod, 'Ready');
  if (ready?.status === 'False' && ready.lastTransitionTime !== undefined) return Date.parse(ready.lastTransitionTime);
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return Date.parse(creationTimestamp);
}

function endOf(job: Job): Condition | undefined {
  return [conditionOf(job, 'Complete'), conditionOf(job, 'Failed')].find((condition) => condition?.status === 'True');
}
