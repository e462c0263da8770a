/** The Job of a remedy, from what is known and stored: what has to be made, what is on record of it, how it ended. */
import { MAX_JOBS } from '../api/fence-names.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { Remediation } from '../api/release-view.ts';
import type { TaskOutcome } from '../fence/automaton.ts';
import type { JobOrder } from '../remedy/job.ts';
import { jobName } from '../remedy/job.ts';
import type { LadderState } from '../remedy/ladder.ts';
import type { FencingInput } from './decide-fencing.ts';

/** Which incident it belongs to is known when that is on record. */
export type PlannedJob = Omit<JobOrder, 'incident'>;
export type JobRecord = NodeFenceStatus['jobs'][number];

export function orderOf({ known, node }: FencingInput, ladder: LadderState): PlannedJob {
  const { policy } = known;
  const templates = policy.kind === 'one' ? policy.policy.remedy?.templates : undefined;
  const template = templates?.[ladder.remedy] ?? {};
  return {
    name: jobName(ladder, node.uid),
    remedy: ladder.remedy,
    template,
    node: { name: node.name, uid: node.uid },
    trouble: ladder.threshold,
  };
}

/** On record before it is made. */
export function withJob(
  jobs: readonly JobRecord[],
  { name, remedy }: PlannedJob,
  { namespace, known, seenJob }: FencingInput,
): readonly JobRecord[] {
  const uid = seenJob(name)?.uid;
  if (jobs.some((job) => job.name === name)) {
    return uid === undefined ? jobs : jobs.map((job) => (job.name === name ? { ...job, uid } : job));
  }
  return [...jobs, { namespace, name, purpose: remedy, startedAt: new Date(known.serverNowMs).toISOString() }].slice(
    -MAX_JOBS,
  );
}

/** One that was seen before does not run a second time, should it be gone. */
export function wasMade({ known, node }: FencingInput, ladder: LadderState): boolean {
  const name = jobName(ladder, node.uid);
  return (known.fence?.status.jobs ?? []).some((job) => job.name === name && job.uid !== undefined);
}

const outcomes = { succeeded: 'Succeeded', failed: 'Failed', unknown: 'Unknown' } as const;

export function endedJobs(
  jobs: readonly JobRecord[],
  name: string | undefined,
  task: { outcome: TaskOutcome } | undefined,
  nowMs: number,
): readonly JobRecord[] {
  if (task === undefined || task.outcome === 'running') return jobs;
  const end = { endedAt: new Date(nowMs).toISOString(), outcome: outcomes[task.outcome] };
  return jobs.map((job) => (job.name === name && job.endedAt === undefined ? { ...job, ...end } : job));
}

export function remediationOf(
  { seenJob }: FencingInput,
  { name }: PlannedJob,
  jobs: readonly JobRecord[],
): Remediation | undefined {
  const pod = seenJob(name)?.pod;
  const since = jobs.find((job) => job.name === name)?.startedAt;
  return pod === undefined || since === undefined ? undefined : { since, pod };
}
