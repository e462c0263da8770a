/** What is kept of an incident while it goes on: its beginning, how much was done about it, and who was there. */
import { darkBeside } from '../api/beside.ts';
import { sharesBoot } from '../api/facts.ts';
import { MAX_QUARANTINED_PODS, MAX_RELEASED_PODS } from '../api/fence-names.ts';
import { signsOf } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { incidentIdOf } from '../api/quarantine.ts';
import type { NodeCase } from '../api/release-view.ts';
import { UNREAD_PODS, unseenVolume } from '../api/unseen.ts';
import { lateAfter } from '../release/latecomers.ts';
import type { PowerAnswer } from '../api/power.ts';
import { deviceHash, isAboutThisMachine, latelySaid, powerMethods } from '../api/power.ts';
import { entryFor } from '../fence/switched.ts';
import { cameOnMs, wasShuttingDown } from '../release/patience.ts';
import { isQuarantined } from '../return/return-node.ts';
import type { ReleaseDecision, Trouble } from './decide-release.ts';
import type { RemedyDecision } from './decide-remedy.ts';
import { isAliveSince } from '../release/by-power.ts';
import { isOfEarlierFence } from './boot-of.ts';
import { withSilence } from './silence.ts';

type Incident = NonNullable<NodeFenceStatus['incident']>;

interface Decided {
  nodeCase: NodeCase;
  decision: ReleaseDecision;
  remedy: RemedyDecision;
  trouble: Trouble;
}

/** `before`: of this very node; undefined: it begins now. */
export function incidentAfter(decided: Decided, before: Incident | undefined, now: string): Incident {
  const { nodeCase, decision, remedy, trouble } = decided;
  const { node } = nodeCase;
  const incident = (before && resumed(before, node)) ?? {
    id: incidentIdOf(nodeCase),
    startedAt: now,
    trouble: trouble.text,
    nodeUid: node?.uid ?? '',
    ...(node === undefined ? {} : { bootId: node.bootId }),
    flaps: 0,
    late: [],
    acts: 0,
    ...ofMachine(nodeCase.fence?.status.incident),
  };
  const known = withUnseen(nodeCase, remedy.fence, incident);
  const powered = withFoundOff(nodeCase, remedy.fence, {
    now,
    incident: withPowerOff(nodeCase, remedy.fence, { now, incident: known }),
  });
  const heard = withSilence(nodeCase, withSharedBoot(nodeCase, powered));
  return withDeeds(nodeCase, decision, withShutdown(nodeCase, now, heard));
}

/** What is known of a boot of the machine is so under whatever Node object it is. */
function ofMachine(earlier: Incident | undefined): Pick<Incident, 'unseen' | 'sharedBootId' | 'poweredOff'> {
  const { unseen, sharedBootId, poweredOff } = earlier ?? {};
  const isShared = poweredOff !== undefined && poweredOff.bootId === sharedBootId;
  return {
    ...(unseen === undefined ? {} : { unseen }),
    ...(sharedBootId === undefined ? {} : { sharedBootId }),
    // Where boot IDs say nothing, what it had written until then does.
    ...(isShared ? { poweredOff } : {}),
  };
}

/**
 * Whoever lets such a pod go, nothing tells afterwards that it was there: remembered for its boot until a fence connects the node
 * again. Of more than fit the first are enough: one of them that is gone says as much.
 */
function withUnseen(nodeCase: NodeCase, fence: NodeFenceStatus['fence'], { unseen, ...incident }: Incident): Incident {
  const { node, pods } = nodeCase;
  if (node === undefined) return { ...incident, ...(unseen === undefined ? {} : { unseen }) };
  if (fence?.phase === 'finished') return incident;
  const before = unseen?.bootId === node.bootId ? unseen.pods : [];
  // What comes now has come to a kubelet that is back, which ends it as it should.
  const here = fence?.phase === 'recovering' ? [] : pods.filter((pod) => unseenVolume(nodeCase, pod) !== undefined);
  const unread = nodeCase.isUnread === true ? [UNREAD_PODS] : [];
  const all = [...new Set([...unread, ...before, ...here.map(({ uid }) => uid)])].slice(0, MAX_RELEASED_PODS);
  return all.length === 0 ? incident : { ...incident, unseen: { bootId: node.bootId, pods: all } };
}

/** Kubernetes overwrites what a kubelet has said of its shutdown as soon as it misses it: remembered here, for that boot. */
function withShutdown(nodeCase: NodeCase, now: string, { shutDown, ...incident }: Incident): Incident {
  const { node } = nodeCase;
  if (node === undefined || !wasShuttingDown(nodeCase)) return incident;
  const isKnown = shutDown?.bootId === node.bootId;
  return { ...incident, shutDown: isKnown ? shutDown : { at: now, bootId: node.bootId } };
}

/** That another node has its boot ID is remembered for that ID: the other one may be deleted before this one is back. */
function withSharedBoot(nodeCase: NodeCase, before: Incident): Incident {
  const { node } = nodeCase;
  const { sharedBootId: _, ...incident } = before;
  return node !== undefined && sharesBoot(nodeCase) ? { ...incident, sharedBootId: node.bootId } : incident;
}

/** That its power was off is remembered with the boot that it was about: another one has to be fenced anew. */
function withPowerOff(
  nodeCase: NodeCase,
  fence: NodeFenceStatus['fence'],
  { now, incident }: { now: string; incident: Incident },
): Incident {
  const { poweredOff } = incident;
  if (fence?.phase !== 'off' && fence?.phase !== 'poweringOn') return incident;
  const isEarlier = poweredOff !== undefined && isOfEarlierFence(poweredOff, fence);
  if (fence.phase === 'poweringOn' && (poweredOff === undefined || isEarlier)) return incident;
  // It may be another machine that went dark.
  if (fence.phase === 'off' && darkBeside(nodeCase) !== undefined) return incident;
  const { bootId = '' } = fence;
  const isKnown = poweredOff?.bootId === bootId && !isEarlier;
  const wasAlive = (isKnown && poweredOff.wasAlive === true) || isAliveSince(nodeCase, nodeCase.fence?.status.fence);
  // What a kubelet had written until the power went: whatever is written later tells that it lives, and in which boot. Where the ID of
  // that says nothing, until the power went on.
  const isLate = isKnown && nodeCase.serverNowMs > Date.parse(poweredOff.at) + arrivesWithinMs;
  const signs = isLate && !sharesBoot(nodeCase) ? poweredOff.signs : signsOf(nodeCase);
  const at = isKnown ? poweredOff.at : now;
  const by = fence.phase === 'off' ? confirmedBy(nodeCase, fence) : devicesOf(poweredOff);
  return { ...incident, poweredOff: { at, bootId, ...(signs && { signs }), ...by, ...(wasAlive ? { wasAlive } : {}) } };
}

/** What a machine had sent before it lost its power is stored by then, however slow the API server is. */
const arrivesWithinMs = 10_000;

type PoweredOff = NonNullable<Incident['poweredOff']>;

function devicesOf({ devices, isFound }: Partial<PoweredOff> = {}): Pick<PoweredOff, 'devices' | 'isFound'> {
  return { ...(devices === undefined ? {} : { devices }), ...(isFound === undefined ? {} : { isFound }) };
}

/** Which devices say so, as they are configured now, and whether any was told to. */
function confirmedBy(
  { config }: NodeCase,
  { switched, told }: NonNullable<NodeFenceStatus['fence']>,
): Pick<PoweredOff, 'devices' | 'isFound'> {
  const confirmed = powerMethods(config).flatMap((method) => {
    const entry = entryFor(switched, 'power-management', method);
    return entry?.confirmedAt === undefined ? [] : [{ entry, device: deviceHash(method) }];
  });
  const isFound = told === undefined && confirmed.every(({ entry }) => entry.commandSentAt === undefined);
  return { devices: [...new Set(confirmed.map(({ device }) => device))], ...(isFound ? { isFound } : {}) };
}

/** From here on its devices say what we have told them. */
const afterOff: ReadonlySet<string | undefined> = new Set(['poweringOn', 'booting', 'recovering', 'finished']);

/** What its devices said of its power while we told them nothing: whoever leads next has not heard them (SAF-18). */
function withFoundOff(
  nodeCase: NodeCase,
  fence: NodeFenceStatus['fence'],
  { now, incident: before }: { now: string; incident: Incident },
): Incident {
  const { node } = nodeCase;
  const { foundOff, ...incident } = before;
  if (node === undefined) return before;
  const isTold = fence?.switched.some(
    ({ step, commandSentAt }) => step === 'power-management' && commandSentAt !== undefined,
  );
  if (isTold || afterOff.has(fence?.phase)) return incident;
  const lately = latelySaid(nodeCase);
  const { bootId } = node;
  const known = foundOff?.bootId === bootId ? foundOff : undefined;
  // What is said of another machine is no word about this one.
  const isOff = (one: PowerAnswer): boolean => one.power === 'off' && isAboutThisMachine(one);
  if (lately.kind === 'said' && lately.answers.every(isOff)) {
    return { ...incident, foundOff: { at: known?.at ?? now, bootId } };
  }
  if (known === undefined) return incident;
  const isOn = cameOnMs({ ...nodeCase, node }, known) !== undefined;
  return { ...incident, foundOff: { ...known, ...(isOn ? { onAt: known.onAt ?? now } : {}) } };
}

/** What was done so far, and of which controllers a latecomer goes: both have their limits. */
function withDeeds(nodeCase: NodeCase, { fates, records }: ReleaseDecision, incident: Incident): Incident {
  const onRecord = new Set(records.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  const going = fates.filter(({ pod }) => onRecord.has(pod.uid));
  return { ...incident, late: lateAfter(nodeCase, going), acts: incident.acts + (nodeCase.deeds ?? 0) };
}

/** It went away and is back: the same incident, in whatever boot the machine is now. */
function resumed(incident: Incident, node: NodeCase['node']): Incident {
  const { clearedAt, ...rest } = incident;
  if (clearedAt === undefined) return rest;
  return { ...rest, flaps: rest.flaps + 1, acts: 0, ...(node === undefined ? {} : { bootId: node.bootId }) };
}

/** Who is there is written down before the taint is put on, and again if it was not there in the end. */
export function quarantineOf(
  nodeCase: NodeCase,
  quarantine: NodeFenceStatus['quarantine'],
  now: string,
): Pick<NodeFenceStatus, 'quarantine'> {
  if (isQuarantined(nodeCase) && quarantine !== undefined) return { quarantine };
  return { quarantine: { since: now, pods: nodeCase.pods.map(({ uid }) => uid).slice(0, MAX_QUARANTINED_PODS) } };
}
