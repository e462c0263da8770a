/**
 * Runs the Job of a remedy: makes it, unless it is there already, and looks until it has ended. Only its success or failure
 * counts (REM-2); one that is gone before anybody saw its end is neither.
 */
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import { jobs, pods } from '../kube/resources.ts';
import type { MayAct } from './device-tasks.ts';
import type { TryOutcome } from './power.ts';

interface WireJob extends KubeObject {
  spec?: { activeDeadlineSeconds?: number };
  status?: { conditions?: { type?: string; status?: string; message?: string }[] };
}

export interface JobRun {
  namespace: string;
  name: string;
  /** By which it is known to be ours. */
  label: { key: string; value: string };
  object: Record<string, unknown>;
  /** It was made before; if it is not there now, it does not run a second time. */
  wasMade: boolean;
}

/** It is there, and which pod does the work, once there is one. */
export interface SeenJob {
  uid: string;
  pod?: string;
}

export interface JobCalls {
  client: KubeClient;
  clock: Clock;
  guard: () => boolean;
  timeoutMs: number;
  onSeen: (job: SeenJob) => void;
  /** Asked before it is made: why it must not be, or undefined. */
  mayAct: MayAct;
}

const lookEveryMs = 1000;
/** Beyond its own deadline, which the Job controller enforces. */
const marginMs = 60_000;
const defaultDeadlineMs = 600_000;

export async function runJob(run: JobRun, calls: JobCalls): Promise<TryOutcome> {
  const { client, clock, timeoutMs } = calls;
  const ref = { resource: jobs, namespace: run.namespace, name: run.name };
  const made = await findOrMake(run, calls);
  if ('objection' in made) return { outcome: 'dropped', message: made.objection };
  if (!made.ok) {
    const outcome = made.error.mayHaveHappened ? 'unknown' : 'failed';
    return { outcome, message: `Job ${run.name}: ${made.error.message}` };
  }
  if (made.value === undefined) return { outcome: 'unknown', message: `Job ${run.name} is gone; its end was not seen` };
  if (made.value.metadata.labels?.[run.label.key] !== run.label.value) {
    return { outcome: 'failed', message: `there is a Job ${run.name} already that is not ours: delete it` };
  }
  const deadlineSeconds = made.value.spec?.activeDeadlineSeconds;
  const allowedMs = (deadlineSeconds === undefined ? defaultDeadlineMs : deadlineSeconds * 1000) + marginMs;
  const untilMs = clock.monotonic() + allowedMs;
  const { uid = '' } = made.value.metadata;
  calls.onSeen({ uid });
  let podSeen = false;
  // An instance that no longer leads leaves it to the one that does: the Job runs on, and is found again.
  while (calls.guard() && clock.monotonic() < untilMs) {
    const read = await client.get<WireJob>(ref, { timeoutMs });
    if (!read.ok && read.error.kind === 'notFound') {
      return { outcome: 'unknown', message: `Job ${run.name} was deleted before it had ended` };
    }
    const ended = read.ok ? endOf(read.value, run.name) : undefined;
    if (ended !== undefined) return ended;
    podSeen ||= await seePod(run, uid, calls);
    await sleep(clock, lookEveryMs);
  }
  if (!calls.guard()) return { outcome: 'dropped', message: 'this instance does not lead any more' };
  return { outcome: 'unknown', message: `Job ${run.name} has not ended in ${allowedMs / 1000} s` };
}

async function findOrMake(
  { namespace, name, object, wasMade }: JobRun,
  { client, guard, timeoutMs, mayAct }: JobCalls,
): Promise<Result<WireJob | undefined> | { objection: string }> {
  const ref = { resource: jobs, namespace, name };
  const found = await client.get<WireJob>(ref, { timeoutMs });
  if (found.ok || found.error.kind !== 'notFound') return found;
  if (wasMade) return { ok: true, value: undefined };
  const objection = await mayAct();
  if (objection !== undefined) return { objection };
  const { metadata } = object as { metadata: object };
  const job = { ...object, metadata: { ...metadata, name, namespace } };
  const created = await client.create<WireJob>(jobs, job, { timeoutMs, guard });
  if (created.ok || created.error.kind !== 'alreadyExists') return created;
  return client.get<WireJob>(ref, { timeoutMs });
}

function endOf({ status }: WireJob, name: string): TryOutcome | undefined {
  const isTrue = (type: string): boolean =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
  if (isTrue('Complete')) return { outcome: 'succeeded', message: `Job ${name} is complete` };
  if (!isTrue('Failed')) return undefined;
  const why = status?.conditions?.find(({ type }) => type === 'Failed')?.message;
  return { outcome: 'failed', message: `Job ${name} failed${why === undefined ? '' : `: ${why}`}` };
}

async function seePod(run: JobRun, uid: string, { client, timeoutMs, onSeen }: JobCalls): Promise<boolean> {
  const labelSelector = `batch.kubernetes.io/job-name=${run.name}`;
  const listed = await client.list(pods, { namespace: run.namespace, labelSelector }, { timeoutMs });
  const [pod] = listed.ok ? listed.value.items : [];
  if (pod === undefined) return false;
  onSeen({ uid, pod: pod.metadata.name });
  return true;
}
