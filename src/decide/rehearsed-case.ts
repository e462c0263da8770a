/** The case of a node as it would be if all that was rehearsed about it had been done, and its policy acted. */
import { emptyRecord } from '../api/empty-status.ts';
import { timeOf } from '../api/facts.ts';
import { signsOf } from '../api/life.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, PodFacts, PresentCase } from '../api/release-view.ts';
import type { TaskSign } from '../api/task.ts';
import { isKnown, volumesOf } from '../release/checks.ts';
import type { JobRecord } from './jobs.ts';
import { remedyOf } from './of-case.ts';
import { ownOf } from '../api/own.ts';

/** Which incident it belongs to is known when that is on record. */
export type Rehearsing = Omit<NonNullable<NodeFenceStatus['rehearsal']>, 'incident'>;

/** What a rehearsal does not keep: no try of it fails. */
const untold = { step: 'power-management', status: 'running', index: 0, retries: 0 } as const;

export function rehearsedCase(nodeCase: PresentCase, rehearsal: Rehearsing, task: TaskSign | undefined): PresentCase {
  const { policy } = nodeCase;
  // What was seen of others is seen once more, since the rehearsed fence began; what was really begun is none of it.
  const { around, beside } = nodeCase.rehearsed ?? {};
  const seen: PresentCase = { ...nodeCase };
  delete seen.job;
  delete seen.onAgain;
  delete seen.unconfirmed;
  delete seen.refused;
  delete seen.refusedGrounds;
  delete seen.task;
  delete seen.around;
  delete seen.beside;
  delete seen.deeds;
  return {
    ...seen,
    ...(around === undefined ? {} : { around }),
    ...(beside === undefined ? {} : { beside }),
    ...(task === undefined ? {} : { task }),
    ...(policy.kind === 'one' ? { policy: { kind: 'one', policy: { ...policy.policy, mode: 'Enforce' } } } : {}),
    ...withoutReleased(nodeCase, rehearsal),
    fence: recordOf(nodeCase, rehearsal),
  };
}

/** Those pods are gone, and with them what they alone had attached. */
function withoutReleased(
  nodeCase: PresentCase,
  { pods: released }: Rehearsing,
): Pick<NodeCase, 'pods' | 'attachments'> {
  const volumesOfAll = (some: readonly PodFacts[]): string[] =>
    some.flatMap((pod) => volumesOf(nodeCase, pod).filter(isKnown)).map(({ volume }) => volume);
  const isGone = ({ uid }: PodFacts): boolean => released.includes(uid);
  const pods = nodeCase.pods.filter((pod) => !isGone(pod));
  const used = new Set(volumesOfAll(pods));
  const freed = new Set(volumesOfAll(nodeCase.pods.filter(isGone)).filter((volume) => !used.has(volume)));
  const attachments = nodeCase.attachments.filter(({ node, volume }) => node !== nodeCase.name || !freed.has(volume));
  return { pods, attachments };
}

/** Nobody has asked for anything, or approved it: whoever does means it. */
function recordOf(nodeCase: PresentCase, rehearsal: Rehearsing): NodeFence {
  const record = nodeCase.fence ?? emptyRecord(nodeCase.name);
  const spec = { ...record.spec };
  const status = { ...record.status };
  delete spec.requested;
  delete status.approval;
  delete status.request;
  delete status.fence;
  const { ladders, fence: stands } = rehearsal;
  return {
    ...record,
    spec,
    status: {
      ...status,
      ladders,
      jobs: jobsOf(nodeCase, rehearsal),
      ...(stands === undefined ? {} : { fence: { ...untold, ...stands } }),
    },
  };
}

/** Each Job that a ladder has behind it has succeeded. */
function jobsOf(nodeCase: PresentCase, { ladders }: Rehearsing): JobRecord[] {
  const { kinds = {}, templates = {} } = remedyOf(nodeCase) ?? {};
  const { namespace, serverNowMs } = nodeCase;
  const now = timeOf(serverNowMs);
  return ladders
    .filter(
      ({ phase, remedy }) => (phase === 'waiting' || phase === 'exhausted') && ownOf(kinds, remedy) === 'podTemplate',
    )
    .map(({ remedy, startedAt }) => ({
      namespace,
      name: remedy,
      purpose: remedy,
      template: ownOf(templates, remedy) ?? '',
      startedAt,
      endedAt: now,
      outcome: 'Succeeded',
      signs: signsOf(nodeCase),
    }));
}

/** What is stored of it: all, while the trouble goes on; then what was said, until the next one. Where a policy acts, nothing. */
export function rehearsalAfter(
  rehearsing: Rehearsing | undefined,
  { incident, rehearsal: before }: NodeFenceStatus,
  hasTrouble: boolean,
): NodeFenceStatus['rehearsal'] {
  if (rehearsing === undefined || incident === undefined) return hasTrouble ? undefined : before;
  const { steps } = rehearsing;
  return { incident: incident.id, ...(hasTrouble ? rehearsing : { steps, ladders: [], pods: [] }) };
}
