/**
 * What is kept of a device from what it says: by this its word is weighed later on, perhaps by another instance. It changes
 * only where something is new.
 */
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import type { Heard, PowerAnswer, Said } from '../api/power.ts';

/** Only a person can say of these that they are mended: such a device is on under a living node like all others. */
const forAPerson: ReadonlySet<string | undefined> = new Set(['OutletsSwapped', 'NeverOff']);

export function learn(before: FenceDeviceStatus, heard: Heard): FenceDeviceStatus {
  const { configuration, device, said, at, by, isAlive } = heard;
  // What was known of another configuration is about another device.
  const known = before.configuration === configuration ? before : {};
  const isOn = said.power === 'on' && isAlive && said.identity !== 'other';
  const seenOn = known.seenOn ?? (isOn ? at : undefined);
  const wrong = wrongBy(known.wrong, heard);
  const answer = known.power === said.power ? pick(known) : { power: said.power, since: at, askedBy: by };
  const { fenceable, reason, message, watch } = known;
  const identity = identityBy(known, said);
  return {
    device,
    configuration,
    ...answer,
    ...(watch === undefined ? {} : { watch }),
    ...(identity === undefined ? {} : { identity }),
    ...(seenOn === undefined ? {} : { seenOn }),
    ...proofBy(known, heard, wrong !== undefined),
    ...(wrong === undefined ? {} : { wrong }),
    ...clearedBy(known, heard, wrong),
    ...(fenceable === undefined ? {} : { fenceable }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function pick({ power, since, askedBy }: FenceDeviceStatus): Pick<FenceDeviceStatus, 'power' | 'since' | 'askedBy'> {
  return {
    ...(power === undefined ? {} : { power }),
    ...(since === undefined ? {} : { since }),
    ...(askedBy === undefined ? {} : { askedBy }),
  };
}

/** What it could say before it did not answer, it still can. What nobody can compare is no identity. */
function identityBy(known: FenceDeviceStatus, { power, identity, says }: Said): string | undefined {
  if (power === 'unknown') return known.identity;
  return identity === 'none' ? undefined : says?.slice(0, 256);
}

/** What a cut of a living node shows: it fell silent by it, and was booted again since (SAF-17). */
function proofBy(
  { cut, drilled }: FenceDeviceStatus,
  { said, at, isAlive, isContradicted, bootId }: Heard,
  isWrong: boolean,
): Pick<FenceDeviceStatus, 'cut' | 'drilled'> {
  if (isWrong || isContradicted) return {};
  const known = drilled === undefined ? {} : { drilled };
  if (cut === undefined) return known;
  if (said.power === 'off') return { ...known, cut: isAlive ? cut : { ...cut, isSilent: true } };
  if (said.power === 'unknown' || !isAlive) return { ...known, cut };
  // Whether it is back or has never been away: now it can be told.
  return cut.isSilent === true && bootId !== cut.bootId ? { drilled: at } : known;
}

/** It is about to be switched off. Of a node that is silent already a cut shows nothing. */
export function learnCut(
  before: FenceDeviceStatus,
  { at, configuration, bootId, isAlive }: Pick<Heard, 'at' | 'configuration' | 'bootId' | 'isAlive'>,
): FenceDeviceStatus {
  const { cut: _, ...known } = before.configuration === configuration ? before : { configuration };
  return isAlive && bootId !== '' ? { ...known, cut: { at, bootId } } : known;
}

/** Another node went dark when it was cut, or this one when another was: only a person can say that it is right. */
export function learnSwapped(
  before: FenceDeviceStatus,
  { at, message }: { at: string; message: string },
): FenceDeviceStatus {
  const { cut: _, drilled: __, ...known } = before;
  const wrong = { since: at, reason: 'OutletsSwapped' as const, message: message.slice(0, 512) };
  return before.wrong?.reason === wrong.reason ? before : { ...known, wrong };
}

/**
 * Its node was back in the boot in which it had confirmed that it was off: it was not the power of that machine, or a lie, whoever it
 * says that it is. `at`: when it said so. What a person has cleared since is not found wrong again for that.
 */
export function learnNeverOff(
  before: FenceDeviceStatus,
  { at, message }: { at: string; message: string },
): FenceDeviceStatus {
  const { wrong: known, cleared } = before;
  const isCleared = cleared?.reason === 'NeverOff' && Date.parse(cleared.at) > Date.parse(at);
  if (forAPerson.has(known?.reason) || isCleared) return before;
  const { cut: _, drilled: __, ...rest } = before;
  return { ...rest, wrong: { since: at, reason: 'NeverOff', message } };
}

type Wrong = NonNullable<FenceDeviceStatus['wrong']>;

/** Since when it has been wrong is kept; only a check that finds it right clears it. */
function wrongBy(before: FenceDeviceStatus['wrong'], heard: Heard): Wrong | undefined {
  const found = wrongNow(heard);
  if (found === undefined) return before !== undefined && isCleared(before, heard) ? undefined : before;
  return before?.reason === found.reason || forAPerson.has(before?.reason)
    ? before
    : { since: heard.at, ...found, message: found.message.slice(0, 512) };
}

function wrongNow({ said, isContradicted, sharedWith, isAlive }: Heard): Omit<Wrong, 'since'> | undefined {
  if (said.identity === 'other') return { reason: 'AnotherMachine', message: said.message };
  if (sharedWith !== undefined) {
    return {
      reason: 'SharedWithAnotherNode',
      message: `node ${sharedWith} is configured with the same device and plug`,
    };
  }
  // One that says on again, under a living node, may have been restarted.
  if (!isContradicted || (said.power === 'on' && isAlive)) return undefined;
  return { reason: 'OffWhileAlive', message: 'it said off, and the kubelet went on renewing its Lease' };
}

/** Who has cleared it is kept: of what was wrong last. */
function clearedBy(
  { wrong: before, cleared }: FenceDeviceStatus,
  heard: Heard,
  wrong: Wrong | undefined,
): Pick<FenceDeviceStatus, 'cleared'> {
  if (before === undefined || wrong !== undefined) return cleared === undefined ? {} : { cleared };
  const by = isSaidToBeRight(before, heard) ? (heard.cleared?.by ?? '') : 'check';
  return { cleared: { by, at: heard.at, reason: before.reason } };
}

function isSaidToBeRight({ since }: Wrong, { cleared }: Heard): boolean {
  return cleared !== undefined && Date.parse(cleared.wrongSince) === Date.parse(since);
}

function isCleared(wrong: Wrong, heard: Heard): boolean {
  const { reason } = wrong;
  const { by, said, isAlive, sharedWith } = heard;
  if (reason === 'SharedWithAnotherNode') return sharedWith === undefined;
  if (forAPerson.has(reason) && !isSaidToBeRight(wrong, heard)) return false;
  if (by !== 'check' || said.power === 'unknown') return false;
  if (reason === 'AnotherMachine') return said.identity === 'same' || (said.power === 'on' && isAlive);
  return said.power === 'on' && isAlive;
}

/** What a device said, as it is weighed. */
export function withMemory(said: Said, { seenOn, wrong }: FenceDeviceStatus): PowerAnswer {
  return { ...said, wasSeenOn: seenOn !== undefined, ...(wrong === undefined ? {} : { wrong: wrong.message }) };
}
