/** What the status of a DrainPolicy says, from what was decided. Pure, so that a command can say the same. */
import type { Condition } from '../api/common.ts';
import type { DrainPolicy } from '../api/drain-policy.ts';
import type { GuardingReason, NodeDrainDecision } from '../api/drain-view.ts';
import { clockTime } from '../api/facts.ts';
import type { Selector } from '../api/node-choice.ts';
import { NOBODY } from '../api/node-choice.ts';
import { DRAIN_READY, GUARDING } from '../api/reasons.ts';

export type DrainPolicyStatus = Partial<DrainPolicy['status']>;

export interface DrainFindings {
  policy: { name: string; generation: number; selector?: Selector };
  /** Absent: the storage system is not there, or the policy is not in force for anybody. */
  nodes: readonly NodeDrainDecision[];
  withdrawing?: string;
  /** Why nothing could be decided at all. */
  notFound?: string;
}

/** What the drain of one cordoned node waits for, as people are shown it. */
export interface DrainState {
  blocked: boolean;
  /** Replicas are leaving the node because of the policy. */
  autoEvicting: boolean;
  reason?: string;
  message?: string;
  since?: string;
}

const maxDraining = 256;
const maxMessage = 1024;
/** What keeps drains from being guarded comes first. */
const order: readonly GuardingReason[] = [
  'StorageNotFound',
  'ForeignBudget',
  'StorageAllows',
  'Observing',
  'StorageEnforces',
  'Guarding',
];
const holds: ReadonlySet<GuardingReason> = new Set(['Guarding', 'StorageEnforces']);
/** As the policy asks for it: also where it asks to observe, or where no node is there to be guarded. */
const asWanted: ReadonlySet<GuardingReason> = new Set([...holds, 'Observing', 'NoNodes']);

export function drainStatusOf(findings: DrainFindings, before: DrainPolicyStatus, nowMs: number): DrainPolicyStatus {
  const { policy, nodes, withdrawing } = findings;
  const own = nodes.filter((one) => one.policy.kind === 'one' && one.policy.name === policy.name);
  const { withdrawn: _, ...kept } = before;
  return {
    ...kept,
    observedGeneration: policy.generation,
    nodes: own.length,
    blocking: own.filter(isHeldUp).length,
    ...(withdrawing !== undefined && own.some(({ node }) => node === withdrawing) && { withdrawn: withdrawing }),
    draining: drainingOf(own, before, nowMs),
    conditions: withConditions(findings, before.conditions ?? [], nowMs),
  };
}

/** By node, from what the operator wrote: whoever shows it says the same. A node may have been uncordoned since. */
export function drainsByNode(statuses: Iterable<DrainPolicyStatus | undefined>): Map<string, DrainState> {
  const found = new Map<string, DrainState>();
  for (const status of statuses) {
    for (const { node, blocked, autoEvicting, reason, message, since } of status?.draining ?? []) {
      found.set(node, {
        blocked,
        autoEvicting,
        ...(reason !== undefined && { reason }),
        ...(message !== undefined && { message }),
        ...(since !== undefined && { since }),
      });
    }
  }
  return found;
}

type Draining = NonNullable<DrainPolicyStatus['draining']>;

function drainingOf(own: readonly NodeDrainDecision[], before: DrainPolicyStatus, nowMs: number): Draining {
  const known = new Map((before.draining ?? []).map((one) => [one.node, one]));
  return own
    .filter(({ cordoned, reason }) => cordoned === true || reason === 'OwnCordon')
    .slice(0, maxDraining)
    .map((one) => {
      const { node, autoEvicting, reason } = one;
      const blocked = isHeldUp(one);
      const message = one.blocked && !blocked ? `nothing holds it up, although ${one.message}` : one.message;
      const last = known.get(node);
      const isSame = last?.blocked === blocked && last.reason === reason;
      const since = (isSame ? last.since : undefined) ?? clockTime(nowMs);
      return { node, blocked, autoEvicting, reason, message: message.slice(0, maxMessage), since };
    });
}

/** Who only watches says what is at risk, and holds nothing up. */
function isHeldUp({ blocked, guarding }: NodeDrainDecision): boolean {
  return blocked && guarding !== 'Observing';
}

function withConditions(findings: DrainFindings, before: readonly Condition[], nowMs: number): Condition[] {
  const { reason, message } = guardingOf(findings);
  const said = (type: string, holdsTrue: boolean): Condition => {
    const status = holdsTrue ? 'True' : 'False';
    const known = before.find((one) => one.type === type);
    return {
      type,
      status,
      reason,
      message: message.slice(0, maxMessage),
      observedGeneration: findings.policy.generation,
      lastTransitionTime: known?.status === status ? known.lastTransitionTime : clockTime(nowMs),
    };
  };
  const ours: readonly string[] = [DRAIN_READY.of, GUARDING.of];
  const others = before.filter(({ type }) => !ours.includes(type));
  return [...others, said(DRAIN_READY.of, asWanted.has(reason)), said(GUARDING.of, holds.has(reason))];
}

function guardingOf({ policy, nodes, notFound }: DrainFindings): { reason: GuardingReason; message: string } {
  if (policy.selector === NOBODY) {
    const message = 'it does not say which nodes it is about, and guards none: write selector, or allNodes: true';
    return { reason: 'NodesMissing', message };
  }
  if (notFound !== undefined) return { reason: 'StorageNotFound', message: notFound };
  const lost = nodes.flatMap(({ node, policy: match }) =>
    match.kind === 'one' && match.over?.includes(policy.name) === true ? [{ node, winner: match.name }] : [],
  );
  const [first] = lost;
  if (first !== undefined) {
    const names = lost.map(({ node }) => node).join(', ');
    const message = `${first.winner} selects ${names} just as specifically, is older, and guards there: write another priority in one of the two`;
    return { reason: 'Conflict', message };
  }
  const concerned = nodes.filter(({ policy: match }) => match.kind === 'one' && match.name === policy.name);
  for (const reason of order) {
    const found = concerned.filter(({ guarding }) => guarding === reason);
    const [first] = found;
    if (first === undefined) continue;
    const rest = found.length === 1 ? '' : ` (and ${found.length - 1} more nodes)`;
    const many = `drains of ${concerned.length} nodes wait where they have to`;
    const isAll = reason === 'Guarding' && found.length > 1;
    return { reason, message: isAll ? many : `${first.guardingMessage}${rest}` };
  }
  return { reason: 'NoNodes', message: 'no node is selected' };
}

/** The API server does not show what the storage system keeps. */
export function whyNothingIsGuarded(refused: {
  resource: { plural: string; group: string };
  kind: 'notFound' | 'forbidden';
}): string {
  const { plural, group } = refused.resource;
  return refused.kind === 'notFound'
    ? `the API server knows no ${plural}.${group}: the storage system is not installed, and nothing is guarded`
    : `the operator may not read ${plural}.${group}, and guards nothing: give it the rights for drains`;
}

export function noStorageNode(namespace: string): string {
  return `no storage node is in namespace ${namespace}`;
}
