/**
 * A fence whose Node object is gone. What was cut is a fact about the machine, by its devices, and not about that object: it is said
 * for as long as it is so, and whichever Node object has the machine next has it with what is cut of it.
 */
import { phaseHasEnded } from '../api/facts.ts';
import type { ConfigResult, FenceConfig } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import type { FenceState } from './state.ts';
import type { StoredFence } from './stored.ts';
import { stateOf } from './stored.ts';
import { cutsOf, levelTold, mayBeOurs, wasFound } from './switched.ts';

/**
 * Nothing more is cut, and nobody else is held up. `isRemoved`: the policy says that a machine that is off is removed, so that there is
 * nothing left to undo.
 */
export function withoutNode(fence: StoredFence, { now, isRemoved }: { now: string; isRemoved: boolean }): StoredFence {
  if (fence.phase === 'finished') return fence;
  const { waitsFor: _, ...rest } = fence;
  const left = leftCut(stateOf(fence));
  if (fence.phase === 'failed' && left.length === 0) return fence;
  // All that was cut is undone, as far as anybody can see.
  const isOn = fence.phase === 'booting' && left.length === 0;
  if (isOn || (isRemoved && fence.phase === 'off')) {
    return { ...rest, step: 'recovery', status: 'final', phase: 'finished', stepStartedAt: now };
  }
  const message = ['the Node object was deleted before the fence had ended', ...left].join('; ').slice(0, 1024);
  const stepStartedAt = fence.phase === 'failed' ? fence.stepStartedAt : now;
  const isForGood = left.length > 0;
  return { ...rest, status: 'error', phase: 'failed', stepStartedAt, message, ...(isForGood ? { isForGood } : {}) };
}

/** Whether its power is to be switched on, and by devices that are found without a Node object. What has failed is a person's. */
export function isLeftOff(fence: StoredFence, result: ConfigResult): boolean {
  if (phaseHasEnded(fence.phase) || !result.ok || !mayBeOurs(stateOf(fence))) return false;
  const { on } = result.config.powerManagement[levelTold(stateOf(fence), result.config)] ?? { on: [] };
  // An instance is found by an ID that its Node object had.
  return on.length > 0 && on.every(({ driver }) => driver !== 'built-in') && isByThese(fence, result.config);
}

/** Something was cut by a device that is configured. */
function isByThese(fence: StoredFence, { isolation, powerManagement }: FenceConfig): boolean {
  const own = new Set([...isolation, ...powerManagement].flatMap(({ off }) => off.map((one) => deviceHash(one))));
  return devicesOf(fence).some((device) => own.has(device));
}

/** By which it has cut something, or may have. */
function devicesOf({ switched, told = [] }: StoredFence): string[] {
  const now = switched.flatMap(({ device, commandSentAt }) => (commandSentAt === undefined ? [] : (device ?? [])));
  return [...now, ...told];
}

function leftCut(state: FenceState): string[] {
  const cuts = cutsOf(state.switched).filter((cut) => !wasFound(cut));
  return [
    ...cuts.map(
      ({ method }) => `${method} still cuts its machine off from its storage: look what runs there, then switch it on`,
    ),
    ...(mayBeOurs(state) ? ['its machine was switched off, and may be off still: switch it on, or remove it'] : []),
    ...(state.lost ?? []).map(({ method }) => `${method} was told off, and may be off still: switch it on by hand`),
  ];
}
