/** The Job of a remedy, from what is known and stored: what has to be made, what is on record of it, how it ended. */
import { timeOf } from '../api/facts.ts';
import { MAX_JOBS } from '../api/fence-names.ts';
import { signsOf } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, PresentCase, Remediation } from '../api/release-view.ts';
import type { JobOrder } from '../api/steps.ts';
import { jobName } from '../remedy/job.ts';
import type { LadderState } from '../remedy/ladder.ts';

/** Which incident it belongs to is known when that is on record. */
export type PlannedJob = Omit<JobOrder, 'incident'>;
export type JobRecord = NodeFenceStatus['jobs'][number];

export function orderOf({ policy, node }: PresentCase, ladder: LadderState): PlannedJob {
  const templates = policy.kind === 'one' ? policy.policy.remedy?.templates : undefined;
  return {
    name: jobName(ladder, node.uid),
    remedy: ladder.remedy,
    template: templates?.[ladder.remedy] ?? '',
    node: { name: node.name, uid: node.uid },
    trouble: ladder.threshold,
  };
}

/** On record before it is made. */
export function withJob(
  jobs: readonly JobRecord[],
  { name, remedy, template }: PlannedJob,
  { namespace, serverNowMs, job: seen }: NodeCase,
): readonly JobRecord[] {
  const uid = seen?.name === name ? seen.uid : undefined;
  if (jobs.some((job) => job.name === name)) {
    return uid === undefined ? jobs : jobs.map((job) => (job.name === name ? { ...job, uid } : job));
  }
  return [...jobs, { namespace, name, purpose: remedy, template, startedAt: timeOf(serverNowMs) }].slice(-MAX_JOBS);
}

/** One that was seen before does not run a second time, should it be gone. */
export function wasMade({ fence, node }: PresentCase, ladder: LadderState): boolean {
  const name = jobName(ladder, node.uid);
  return (fence?.status.jobs ?? []).some((job) => job.name === name && job.uid !== undefined);
}

/** The same, also where that is not on record yet. */
export function isMade(nodeCase: PresentCase, ladder: LadderState): boolean {
  return nodeCase.job?.name === jobName(ladder, nodeCase.node.uid) || wasMade(nodeCase, ladder);
}

const outcomes = { succeeded: 'Succeeded', failed: 'Failed', unknown: 'Unknown' } as const;

/** With what its kubelet had written last: whatever it writes later voids what the Job has achieved (S35). */
export function endedJobs(
  jobs: readonly JobRecord[],
  nodeCase: PresentCase,
  ladder: LadderState | undefined,
): readonly JobRecord[] {
  const { task, node, serverNowMs } = nodeCase;
  if (ladder === undefined || task === undefined) return jobs;
  if (task.outcome === 'running' || task.outcome === 'dropped') return jobs;
  const name = jobName(ladder, node.uid);
  const end = { endedAt: timeOf(serverNowMs), outcome: outcomes[task.outcome], signs: signsOf(nodeCase) };
  return jobs.map((job) => (job.name === name && job.endedAt === undefined ? { ...job, ...end } : job));
}

export function remediationOf(
  { job: seen }: NodeCase,
  { name }: PlannedJob,
  jobs: readonly JobRecord[],
): Remediation | undefined {
  const pod = seen?.name === name ? seen.pod : undefined;
  const since = jobs.find((job) => job.name === name)?.startedAt;
  return pod === undefined || since === undefined ? undefined : { since, pod };
}
