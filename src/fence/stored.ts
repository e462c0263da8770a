/** The state of a fence as NodeFence keeps it, in the words of the source, and back. */
import { boundedName } from '../api/bounded-name.ts';
import { timeOf } from '../api/facts.ts';
import { MAX_YOUNG_OTHERS } from '../api/fence-names.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { FenceState, Phase } from './state.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { idOf, levelId, levelsOf } from './place.ts';
import type { Switched } from './switched.ts';
import { onOf } from './switched.ts';

export type StoredFence = NonNullable<NodeFenceStatus['fence']>;

const words: Record<Phase, Pick<StoredFence, 'step' | 'status'>> = {
  waiting: { step: 'isolation', status: 'new' },
  isolating: { step: 'isolation', status: 'new' },
  isolated: { step: 'isolation', status: 'running' },
  poweringOff: { step: 'power-management', status: 'running' },
  off: { step: 'power-management', status: 'running' },
  poweringOn: { step: 'power-management', status: 'running' },
  booting: { step: 'power-management', status: 'done' },
  recovering: { step: 'recovery', status: 'done' },
  finished: { step: 'recovery', status: 'final' },
  failed: { step: 'power-management', status: 'error' },
};

export function stateOf(stored: StoredFence): FenceState {
  return {
    phase: stored.phase,
    level: stored.level,
    method: stored.index,
    retries: stored.retries,
    restarts: stored.restarts,
    startedAtMs: Date.parse(stored.startedAt),
    phaseStartedAtMs: Date.parse(stored.stepStartedAt),
    ...(stored.nodeUid === undefined ? {} : { nodeUid: stored.nodeUid }),
    ...(stored.recordUid === undefined ? {} : { recordUid: stored.recordUid }),
    bootId: stored.bootId ?? '',
    switched: stored.switched.map(readEntry),
    ...(stored.planned === undefined ? {} : { planned: stored.planned }),
    ...(stored.told === undefined ? {} : { told: stored.told }),
    ...(stored.lost === undefined ? {} : { lost: stored.lost }),
    ...(stored.wasCut === undefined
      ? {}
      : { wasCut: { devices: stored.wasCut.devices, untilMs: Date.parse(stored.wasCut.until) } }),
    ...(stored.offAgain === undefined ? {} : { offAgain: stored.offAgain }),
    ...(stored.others === undefined ? {} : { others: readOthers(stored.others) }),
    ...(stored.missed === undefined ? {} : { missed: stored.missed }),
    ...(stored.phase === 'failed' ? { failedIn: stored.step } : {}),
    ...(stored.until === undefined ? {} : { notBeforeMs: Date.parse(stored.until) }),
    ...(stored.swapped === undefined ? {} : { swapped: stored.swapped }),
    ...(stored.neverOff === undefined ? {} : { neverOff: stored.neverOff }),
    ...(stored.isUnconfirmed === undefined ? {} : { isUnconfirmed: stored.isUnconfirmed }),
    ...(stored.isForGood === undefined ? {} : { isForGood: stored.isForGood }),
    ...(stored.message === undefined ? {} : { message: stored.message }),
  };
}

type StoredEntry = StoredFence['switched'][number];

function readEntry({ commandSentAt, confirmedAt, device, silentBeside, ...rest }: StoredEntry): Switched {
  return {
    ...rest,
    ...(silentBeside === undefined ? {} : { silentBeside }),
    ...(device === undefined ? {} : { device }),
    ...(commandSentAt === undefined ? {} : { sentAtMs: Date.parse(commandSentAt) }),
    ...(confirmedAt === undefined ? {} : { confirmedAtMs: Date.parse(confirmedAt) }),
  };
}

function writtenEntry({ sentAtMs, confirmedAtMs, device, storage, silentBeside, ...rest }: Switched): StoredEntry {
  return {
    ...rest,
    ...(silentBeside === undefined ? {} : { silentBeside: [...silentBeside] }),
    ...(device === undefined ? {} : { device }),
    storage: [...storage],
    ...(sentAtMs === undefined ? {} : { commandSentAt: timeOf(sentAtMs) }),
    ...(confirmedAtMs === undefined ? {} : { confirmedAt: timeOf(confirmedAtMs) }),
  };
}

type Others = NonNullable<FenceState['others']>;
type StoredOthers = NonNullable<StoredFence['others']>;

function readOthers({ at, young, ...rest }: StoredOthers): Others {
  return { ...rest, atMs: Date.parse(at), ...(young === undefined ? {} : { young }) };
}

function writtenOthers({ count, atMs, young = [] }: Others): StoredOthers {
  return { count, at: timeOf(atMs), ...(young.length === 0 ? {} : { young: young.slice(0, MAX_YOUNG_OTHERS) }) };
}

export interface Storing {
  config: FenceConfig;
  cleanResources: boolean;
  /** Since when all that may go has gone; absent: it has not. */
  releasedAt?: string | undefined;
}

export function storedOf(state: FenceState, { config, cleanResources, releasedAt }: Storing): StoredFence {
  const names = methodNames(state, config);
  const under = levelsOf(state.phase, config)[state.level];
  // A release says by whom it is in the same words.
  const method = names === undefined ? undefined : boundedName(names, 253);
  // With nothing to isolate it by, a node that waits for its power to be cut is told like one that waits to be isolated.
  const onlyWaits = state.phase === 'isolated' && state.switched.length === 0;
  const { step, status } = words[onlyWaits ? 'waiting' : state.phase];
  return {
    // A step that has failed is told by its name, not by that of the failure.
    step: state.failedIn ?? step,
    status,
    phase: state.phase,
    level: state.level,
    ...(under === undefined ? {} : { levelId: levelId(under) }),
    index: state.method,
    retries: state.retries,
    restarts: state.restarts,
    startedAt: timeOf(state.startedAtMs),
    stepStartedAt: timeOf(state.phaseStartedAtMs),
    ...(state.nodeUid === undefined ? {} : { nodeUid: state.nodeUid }),
    ...(state.recordUid === undefined ? {} : { recordUid: state.recordUid }),
    bootId: state.bootId,
    cleanResources,
    switched: state.switched.map(writtenEntry),
    ...(state.planned === undefined
      ? {}
      : { planned: state.planned.map(({ step, off }) => ({ step, off: [...off] })) }),
    ...(state.told === undefined ? {} : { told: [...state.told] }),
    ...(state.lost === undefined ? {} : { lost: [...state.lost] }),
    ...(state.wasCut === undefined
      ? {}
      : { wasCut: { devices: [...state.wasCut.devices], until: timeOf(state.wasCut.untilMs) } }),
    ...(state.offAgain === undefined ? {} : { offAgain: state.offAgain }),
    ...(state.missed === undefined ? {} : { missed: [...state.missed] }),
    ...(state.phase === 'poweringOn' ? { onId: idOf(onOf(state, config)) } : {}),
    ...(state.others === undefined ? {} : { others: writtenOthers(state.others) }),
    ...(method === undefined ? {} : { method }),
    ...(releasedAt === undefined ? {} : { releasedAt }),
    ...(state.notBeforeMs === undefined ? {} : { until: timeOf(state.notBeforeMs) }),
    ...(state.swapped === undefined ? {} : { swapped: [...state.swapped] }),
    ...(state.neverOff === undefined ? {} : { neverOff: state.neverOff.slice(0, 1024) }),
    ...(state.isUnconfirmed === undefined ? {} : { isUnconfirmed: state.isUnconfirmed }),
    ...(state.isForGood === undefined ? {} : { isForGood: state.isForGood }),
    ...(state.message === undefined ? {} : { message: state.message.slice(0, 1024) }),
  };
}

/** What was told last in these, or is to be, is to switch on. */
const goesOn: ReadonlySet<Phase> = new Set(['poweringOn', 'booting', 'recovering', 'finished']);

/** The method under way; of a level that is done, all that made it so. */
function methodNames(state: FenceState, config: FenceConfig): string | undefined {
  const done = state.phase === 'off' ? 'power-management' : state.phase === 'isolated' ? 'isolation' : undefined;
  if (done !== undefined) {
    const names = state.switched.flatMap((one) => (one.step === done ? [one.method] : []));
    return names.join(' ') || undefined;
  }
  const level = levelsOf(state.phase, config)[state.level];
  if (level === undefined) return undefined;
  const methods = state.phase === 'poweringOn' ? onOf(state, config) : goesOn.has(state.phase) ? level.on : level.off;
  const current = methods[state.method]?.name;
  return (current ?? methods.map(({ name }) => name).join(' ')) || undefined;
}
