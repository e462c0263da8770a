/**
 * Brings a device to a state and believes it only when a later question says so (S4).
 *
 * Asked first: a device that answers for another machine is not used (S29), and what is so already needs no action, which
 * makes every repetition harmless (S20). A command that was taken, or may have been, is followed by questions until the
 * answer is right or the time is up.
 */
import type { Clock } from '../clock.ts';
import { sleep, within } from '../clock.ts';
import type { Device, DeviceAnswer, Identity } from '../devices/device.ts';
import { isSameMachine } from '../devices/identity.ts';

/** How one try of what takes its time has ended: a device switched, a Job, a drain, a machine removed. */
export type TryOutcome =
  | { outcome: 'succeeded'; message: string }
  /** Nothing was done, or what was done has provably not worked. */
  | { outcome: 'failed'; message: string }
  | { outcome: 'unknown'; message: string }
  /** Nothing was done, because what it rested on is not so any more, or another instance has to see to it: decide anew. */
  | { outcome: 'dropped'; message: string };

export interface PowerOptions {
  clock: Clock;
  /** What the node is known by; an answer that contradicts one of these is about another machine. */
  identities: readonly Identity[];
  /** Asked right before the command: why it must not be given, or undefined. */
  mayAct?: () => Promise<string | undefined>;
  /** Whether this instance still leads; one that does not leaves the rest to its successor, and need not stay for it. */
  guard?: () => boolean;
  /** How long a command may take to show. Longer than devices need, because a repeated command may act twice. */
  confirmWithinMs?: number;
  askTimeoutMs?: number;
  pollEveryMs?: number;
}

const defaults = {
  confirmWithinMs: 90_000,
  askTimeoutMs: 60_000,
  pollEveryMs: 1000,
  mayAct: async () => undefined,
  guard: () => true,
};

export async function bringTo(power: 'on' | 'off', device: Device, options: PowerOptions): Promise<TryOutcome> {
  const settings = { ...defaults, ...options };
  const before = await ask(device, 'status', settings);
  const wrong = wrongMachine(device, before, settings.identities);
  if (wrong !== undefined) return wrong;
  if (before.kind !== 'status') {
    return { outcome: before.kind === 'refused' ? 'failed' : 'unknown', message: `${device.name}: ${textOf(before)}` };
  }
  if (before.power === power) return { outcome: 'succeeded', message: `${device.name} was ${power} already` };
  const objection = await settings.mayAct();
  if (objection !== undefined) return { outcome: 'dropped', message: objection };
  const answer = await ask(device, power, settings);
  if (answer.kind === 'refused') return { outcome: 'failed', message: `${device.name} refused: ${answer.message}` };
  return confirm(power, device, answer, settings);
}

/** Whether it is in that state now: read again right before something rests on it. */
export async function isAt(
  power: 'on' | 'off',
  device: Device,
  options: PowerOptions,
): Promise<{ ok: true } | { ok: false; message: string; isOpposite: boolean }> {
  const settings = { ...defaults, ...options };
  const answer = await ask(device, 'status', settings);
  const wrong = wrongMachine(device, answer, settings.identities);
  if (wrong !== undefined) return { ok: false, message: wrong.message, isOpposite: false };
  if (answer.kind === 'status' && answer.power === power) return { ok: true };
  const isOpposite = answer.kind === 'status' && answer.power === (power === 'on' ? 'off' : 'on');
  return { ok: false, message: `${device.name}: ${textOf(answer)}`, isOpposite };
}

async function confirm(
  power: 'on' | 'off',
  device: Device,
  answer: DeviceAnswer,
  settings: Required<PowerOptions>,
): Promise<TryOutcome> {
  const { clock } = settings;
  const untilMs = clock.monotonic() + settings.confirmWithinMs;
  let last: DeviceAnswer = answer;
  while (clock.monotonic() < untilMs) {
    if (!settings.guard()) return { outcome: 'dropped', message: 'this instance does not lead any more' };
    last = await ask(device, 'status', settings);
    const wrong = wrongMachine(device, last, settings.identities);
    if (wrong !== undefined) return wrong;
    if (last.kind === 'status' && last.power === power) {
      return { outcome: 'succeeded', message: `${device.name} says ${power}` };
    }
    await sleep(clock, settings.pollEveryMs);
  }
  const message = `${device.name} was told ${power} (${textOf(answer)}), and ${settings.confirmWithinMs / 1000} s later: ${textOf(last)}`;
  return { outcome: last.kind === 'status' ? 'failed' : 'unknown', message };
}

function ask(
  device: Device,
  action: 'status' | 'on' | 'off',
  { clock, askTimeoutMs }: Required<PowerOptions>,
): Promise<DeviceAnswer> {
  return within(clock, askTimeoutMs, (signal) => device.ask(action, signal));
}

export function wrongMachine(
  device: Device,
  answer: DeviceAnswer,
  identities: readonly Identity[],
): Extract<TryOutcome, { outcome: 'failed' }> | undefined {
  if (answer.kind !== 'status' || answer.identity === undefined) return undefined;
  const { identity } = answer;
  const known = identities.find(({ kind }) => kind === identity.kind);
  if (known === undefined || isSameMachine(known, identity)) return undefined;
  return { outcome: 'failed', message: `${device.name} answers for ${identity.value}, and the node is ${known.value}` };
}

function textOf(answer: DeviceAnswer): string {
  switch (answer.kind) {
    case 'status':
      return `it says ${answer.power}`;
    case 'accepted':
      return 'accepted';
    case 'refused':
    case 'unknown':
      return answer.message;
  }
}
