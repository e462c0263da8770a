/**
 * Where a fence stands in its configuration, which may have been edited since. Levels and methods are known by what they are and
 * not by their number: what a level has begun the same level brings to its end (FEN-14), and the answer of a device counts for
 * its own method and for no other one that stands in its place by now (S40).
 */
import type { FenceConfig, Level, Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { timeOf } from '../api/facts.ts';
import { hash } from '../api/hash.ts';
import type { FenceState, Phase } from './state.ts';
import type { SwitchedStep } from './switched.ts';
import { entryFor, isConfirmed, onOf, undoing } from './switched.ts';

export function levelsOf(phase: Phase, config: FenceConfig): readonly Level[] {
  switch (phase) {
    case 'waiting':
    case 'isolating':
    case 'isolated':
      return config.isolation;
    case 'poweringOff':
    case 'off':
    case 'poweringOn':
    case 'booting':
    case 'failed':
      return config.powerManagement;
    case 'recovering':
    case 'finished':
      return config.recovery;
  }
}

/** By what it switches off: with what it is switched on may be mended at any time. */
export function levelId({ off }: Level): string {
  return idOf(off);
}

export function idOf(methods: readonly Method[]): string {
  return hash(JSON.stringify(methods.map((method) => [method.name, deviceHash(method)])));
}

/** Which level it is about, and what was to switch it on; absent: nobody has noted it. */
interface Noted {
  levelId?: string | undefined;
  onId?: string | undefined;
}

/** The state as it was stored, in the configuration as it is now. */
export function placed(state: FenceState, config: FenceConfig, { levelId: id, onId }: Noted): FenceState {
  const level = levelNow(state, levelsOf(state.phase, config), id);
  // What has to be told was edited: to tell one of them twice does no harm, to leave one out would.
  const isEdited = onId !== undefined && onId !== idOf(onOf({ ...state, level }, config));
  return { ...state, level, method: isEdited ? 0 : state.method };
}

/** Where the level itself was edited, it is the one whose devices have been told. */
function levelNow(
  { switched, told = [], phase, level }: FenceState,
  levels: readonly Level[],
  id: string | undefined,
): number {
  const isSame = (one: Level | undefined): boolean => one !== undefined && levelId(one) === id;
  const isTold = (one: Level | undefined): boolean =>
    one?.off.some(
      (method) =>
        entryFor(switched, stepOf(phase), method) !== undefined ||
        (phase === 'poweringOn' && told.includes(deviceHash(method) ?? '')),
    ) ?? false;
  for (const isIt of [isSame, isTold]) {
    const moved = levels.findIndex(isIt);
    if (moved >= 0) return isIt(levels[level]) ? level : moved;
  }
  return level;
}

const ofIsolation: ReadonlySet<Phase> = new Set(['waiting', 'isolating', 'isolated']);

function stepOf(phase: Phase): SwitchedStep {
  return ofIsolation.has(phase) ? 'isolation' : 'power-management';
}

/** The method that is tried in this state, or would be; undefined: none is. */
export function underWay(state: FenceState, config: FenceConfig): Method | undefined {
  const { phase, level, method, switched } = state;
  switch (phase) {
    case 'isolating':
    case 'poweringOff':
      return levelsOf(phase, config)[level]?.off.find((one) => !isConfirmed(switched, stepOf(phase), one));
    case 'poweringOn':
      return onOf(state, config)[method];
    case 'recovering':
      return undoing(state, config, level)[method]?.method;
    case 'failed':
      return undoing(state, config, -1).find((one) => !state.missed?.includes(one.method.name))?.method;
    case 'waiting':
    case 'isolated':
    case 'off':
    case 'booting':
    case 'finished':
      return undefined;
  }
}

/** One try of one method: another try is another task, and so is that of another method. */
export function tryKey(state: FenceState, method: Method): string {
  const { phase, retries, restarts, phaseStartedAtMs, notBeforeMs } = state;
  const until = notBeforeMs === undefined ? '' : timeOf(notBeforeMs);
  return [phase, retries, restarts, timeOf(phaseStartedAtMs), until, method.name, deviceHash(method) ?? ''].join(' ');
}
