/**
 * What is kept of a device from what it says: by this its word is weighed later on, perhaps by another instance. It changes
 * only where something is new.
 */
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import { isSameDevice, learntWith } from '../api/learnt.ts';
import type { Heard, PowerAnswer, Said, Together } from '../api/power.ts';

/** Only a person can say of these that they are mended: such a device is on under a living node like all others. */
const forAPerson: ReadonlySet<string | undefined> = new Set(['OutletsSwapped', 'NeverOff']);

export function learn(before: FenceDeviceStatus, heard: Heard): FenceDeviceStatus {
  const { configuration, device, said, at, by, isAlive } = heard;
  // What was known of another configuration, or in another place, is about another device.
  const known = learntWith(isSameDevice(before, heard) ? before : {}, heard.machine);
  const { machine } = known;
  const place = heard.place ?? known.place;
  const isOn = said.power === 'on' && isAlive && said.identity !== 'other';
  const seenOn = known.seenOn ?? (isOn ? at : undefined);
  const wrong = wrongBy(known.wrong, heard);
  const answer = known.power === said.power ? pick(known) : { power: said.power, since: at, askedBy: by };
  const { fenceable, reason, message, watch } = known;
  const identity = identityBy(known, said);
  return {
    device,
    configuration,
    ...(machine === undefined ? {} : { machine }),
    ...(place === undefined ? {} : { place }),
    ...(heard.what === 'storage' ? { cuts: 'Storage' as const } : {}),
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
  { cut, drilled, drilledLevel }: FenceDeviceStatus,
  { said, at, isAlive, isContradicted, bootId, isPart = false }: Heard,
  isWrong: boolean,
): Pick<FenceDeviceStatus, 'cut' | 'drilled' | 'drilledLevel'> {
  if (isWrong || isContradicted) return {};
  const known = drilled === undefined ? {} : drill(drilled, drilledLevel);
  if (cut === undefined) return known;
  if (said.power === 'off') {
    // It was booted, and lives, while all of them are off: it has its power by something else.
    if (isAlive && !isPart && bootId !== cut.bootId) return known;
    return { ...known, cut: isAlive || isPart ? cut : { ...cut, isSilent: true } };
  }
  if (said.power === 'unknown' || !isAlive) return { ...known, cut };
  // Whether it is back or has never been away: now it can be told.
  return cut.isSilent === true && bootId !== cut.bootId ? drill(at, cut.level) : known;
}

function drill(at: string, level: string | undefined): Pick<FenceDeviceStatus, 'drilled' | 'drilledLevel'> {
  return { drilled: at, ...(level === undefined ? {} : { drilledLevel: level }) };
}

/** It is about to be switched off. Of a node that is silent already a cut shows nothing. */
export function learnCut(
  before: FenceDeviceStatus,
  { at, configuration, bootId, isAlive, level, machine }: Cut,
): FenceDeviceStatus {
  const { cut: _, ...known } = learntWith(before.configuration === configuration ? before : { configuration }, machine);
  const together = level === undefined ? {} : { level };
  return isAlive && bootId !== '' ? { ...known, cut: { at, bootId, ...together } } : known;
}

type Cut = Pick<Heard, 'at' | 'configuration' | 'bootId' | 'isAlive' | 'machine'> & { level?: string | undefined };

/** Another node went dark when it was cut, or this one when another was: only a person can say that it is right. */
export function learnSwapped(
  before: FenceDeviceStatus,
  { at, message }: { at: string; message: string },
): FenceDeviceStatus {
  const { cut: _, drilled: __, drilledLevel: ___, ...known } = before;
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
  const { cut: _, drilled: __, drilledLevel: ___, ...rest } = before;
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

/** What a device said, as it is weighed. `isShown`: somebody has shown whose port it is. */
export function withMemory(
  said: Said,
  { seenOn, wrong, cuts }: FenceDeviceStatus,
  { together, isShown = false }: Beside = {},
): PowerAnswer {
  const isBlind = said.identity === 'none';
  const needsDrill = isBlind && together !== undefined && isUnshown(together) ? together.node : undefined;
  const isPort = isBlind && cuts === 'Storage' && !isShown;
  return {
    ...said,
    wasSeenOn: seenOn !== undefined,
    ...(wrong === undefined ? {} : { wrong: wrong.message }),
    ...(needsDrill === undefined ? {} : { needsDrill }),
    ...(isPort ? { isUnshown: true } : {}),
  };
}

interface Beside {
  together?: Together | undefined;
  isShown?: boolean;
}

/**
 * Of several outlets that cannot say whose power they are, one may be that of a neighbour, and its own be the neighbour's: each of
 * the two machines lives on when one of each is cut, so that nobody falls dark who could be missed (SAF-17). Only a cut of all of
 * them shows it, of a node that was alive: an earlier one, or this one.
 */
function isUnshown({ level, outlets, known, bootId }: Together): boolean {
  if (outlets < 2 || known.some(({ identity }) => identity !== undefined)) return false;
  const isCutAlive = ({ cut }: FenceDeviceStatus): boolean => cut?.bootId === bootId && cut.level === level;
  return !known.every((one) => isDrilled(one, level)) && !known.every(isCutAlive);
}

/** Whether a cut has shown that it is the power of its node, with these others. */
export function isDrilled({ drilled, drilledLevel }: FenceDeviceStatus, level: string | undefined): boolean {
  return drilled !== undefined && drilledLevel === level;
}
