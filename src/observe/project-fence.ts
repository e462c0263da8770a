/** What is kept of the NodeFence of every node: what other nodes, the brake and the metrics have to know of it. */
import { holdsSlot, isUnderFence } from '../api/facts.ts';
import { FENCE_PHASES } from '../api/fence-names.ts';
import type { FenceRequest } from '../api/fence-request.ts';
import { requestOf } from '../api/fence-request.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { ownOf } from '../api/own.ts';
import { ALARM } from '../api/reasons.ts';
import type { StormSign } from '../api/storm-sign.ts';
import { attendedSign } from '../api/storm-sign.ts';
import type { KubeObject } from '../kube/client.ts';

export interface FenceSummary {
  node: string;
  /** It has something under way, or something to undo. */
  open: boolean;
  /** A fence was begun and has not ended, and when its present step began. */
  fenced: boolean;
  stepMs: number | undefined;
  /** A command of it, which may have gone out, is on record. */
  told: boolean;
  /** It has a slot, for a fence or for another remedy that cannot be taken back. */
  fencing: boolean;
  remedying: boolean;
  /** The last storm that it was in; of a node that nobody attends to any more it has ended. */
  storm: StormSign | undefined;
  /** Whether problems were counted that an alarm may be about, and whether one is raised. */
  problems: 'none' | 'counted' | 'alarmed';
  /** Where its fence stands, if it has not ended, and why a person should look at the node, if one should: to be counted. */
  phase: (typeof FENCE_PHASES)[number] | undefined;
  alarm: string | undefined;
  /** How many pods each record lets go: since when, and when the last was gone. */
  released: readonly { recordedMs: number; goneMs?: number; pods: number }[];
}

/** As we write it; undefined: none is raised. */
function alarmOf(conditions: readonly { type: string; status: string; reason: string }[] = []): string | undefined {
  const raised = conditions.find(({ type, status }) => type === ALARM.of && status === 'True');
  return raised && ownOf<string>(ALARM.reason, raised.reason);
}

function problemsOf(alarm: string | undefined, problems: readonly object[] = []): FenceSummary['problems'] {
  if (alarm === ALARM.reason.RepeatedTrouble) return 'alarmed';
  return problems.length === 0 ? 'none' : 'counted';
}

export function projectFence(object: KubeObject): FenceSummary {
  const { spec, status } = object as KubeObject & {
    spec?: { node?: string; policy?: string; stop?: boolean; requested?: FenceRequest };
    status?: Pick<NodeFenceStatus, 'incident' | 'request' | 'storm' | 'ladders' | 'hold'> & {
      applied?: object[];
      fence?: {
        phase: string;
        stepStartedAt: string;
        releasedAt?: string;
        waitsFor?: string;
        switched?: { commandSentAt?: string; confirmedAt?: string }[];
        told?: string[];
      };
      problems?: object[];
      conditions?: { type: string; status: string; reason: string }[];
      releases?: { recordedAt?: string; joinedAt?: string; podsGoneAt?: string; pods?: object[] }[];
    };
  };
  const alarm = alarmOf(status?.conditions);
  return {
    node: spec?.node ?? '',
    phase: FENCE_PHASES.find((phase) => phase === status?.fence?.phase && phase !== 'finished'),
    alarm,
    fenced: isUnderFence(status?.fence),
    stepMs: isUnderFence(status?.fence) ? Date.parse(status?.fence?.stepStartedAt ?? '') : undefined,
    told: (status?.fence?.switched ?? []).some(({ commandSentAt }) => commandSentAt !== undefined),
    fencing: holdsSlot('fence', { spec, status }),
    remedying: holdsSlot('remedy', { spec, status }),
    storm: attendedSign(spec?.node ?? '', status, spec?.policy),
    problems: problemsOf(alarm, status?.problems),
    released: (status?.releases ?? []).map(({ recordedAt, joinedAt, podsGoneAt, pods = [] }) => ({
      recordedMs: Date.parse(joinedAt ?? recordedAt ?? ''),
      ...(podsGoneAt === undefined ? {} : { goneMs: Date.parse(podsGoneAt) }),
      pods: pods.length,
    })),
    open:
      status?.incident !== undefined ||
      (status?.applied ?? []).length > 0 ||
      requestOf({ spec: { requested: spec?.requested }, ...(status && { status }) }) !== undefined,
  };
}
