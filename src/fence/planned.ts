/**
 * What a fence was to switch off, as it was configured when it began. Of several devices that feed a machine, or lead to its storage, all
 * have to be off: to take one out of the configuration meanwhile says nothing of what it does, and must not make the others enough (S40).
 */
import type { FenceConfig, Level } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import type { SwitchedStep } from './switched.ts';

export interface Planned {
  step: SwitchedStep;
  off: readonly { method: string; device: string }[];
}

/** Levels of one device are left out: whoever takes that out has taken all of it, and nothing is left that could be believed. */
export function planOf({ isolation, powerManagement }: FenceConfig): Planned[] {
  const of = (step: SwitchedStep, levels: readonly Level[]): Planned[] =>
    levels.map(({ off }) => ({ step, off: devicesOf(off) })).filter(({ off }) => off.length > 1);
  return [...of('isolation', isolation), ...of('power-management', powerManagement)];
}

function devicesOf(methods: Level['off']): Planned['off'] {
  return methods.flatMap((method) => {
    const device = deviceHash(method);
    return device === undefined ? [] : [{ method: method.name, device }];
  });
}

/** What was taken out of a level, in a sentence; undefined: nothing. A level with other devices alone is another one. */
export function takenOut(
  planned: readonly Planned[] = [],
  step: SwitchedStep,
  level: Level | undefined,
): string | undefined {
  const now = new Set(devicesOf(level?.off ?? []).map(({ device }) => device));
  const lost = planned
    .filter((one) => one.step === step && one.off.some(({ device }) => now.has(device)))
    .flatMap(({ off }) => off.filter(({ device }) => !now.has(device)));
  if (lost.length === 0) return undefined;
  const names = lost.map(({ method }) => method).join(', ');
  return `${names} was edited or taken out after its fence had begun, and nothing goes by the rest of its level: write it as it was`;
}
