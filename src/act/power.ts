/**
 * Brings a device to a state and believes it only when a later question says so (S4), and only where its word is worth
 * something: `doubt` is the one rule about that (S34).
 *
 * Asked first: a device that answers for another machine is not used (S29), and what is so already needs no action, which
 * makes every repetition harmless (S20). A command that was taken, or may have been, is followed by questions until the
 * answer is right or the time is up.
 */
import type { Circumstances, Doubt, PowerAnswer, Said } from '../api/power.ts';
import type { Clock } from '../clock.ts';
import { sleep, within } from '../clock.ts';
import type { Device, DeviceAnswer, Identity } from '../devices/device.ts';
import { isSameMachine } from '../devices/identity.ts';

/**
 * How one try of what takes its time has ended: a device switched, a Job, a drain, a machine removed. `told`: a command has
 * gone out, or may have; absent where there is no device.
 */
export type TryOutcome = { told?: boolean } & (
  | { outcome: 'succeeded'; message: string }
  /** Nothing was done, or what was done has provably not worked. */
  | { outcome: 'failed'; message: string }
  | { outcome: 'unknown'; message: string }
  /** Nothing was done, because what it rested on is not so any more, or another instance has to see to it: decide anew. */
  | { outcome: 'dropped'; message: string }
);

export interface PowerOptions {
  clock: Clock;
  /** What the node is known by; an answer that contradicts one of these is about another machine. */
  identities: readonly Identity[];
  /** Notes what was said, and adds what is known of the device. */
  hear: (said: Said) => PowerAnswer;
  /** Why an answer is not believed. */
  doubt: (answer: PowerAnswer, about?: Pick<Circumstances, 'offForMs' | 'isMissed'>) => Doubt | undefined;
  /** Whether nobody answers at the port of its kubelet; absent: that is not to be found out. */
  isMissed?: () => Promise<boolean>;
  /** That it is off already may be by what we have told it; false: nobody of us has. */
  mayBeOurs?: boolean;
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
  isMissed: async () => false,
  mayBeOurs: true,
  guard: () => true,
};

export async function bringTo(power: 'on' | 'off', device: Device, options: PowerOptions): Promise<TryOutcome> {
  const settings = { ...defaults, ...options };
  const answered = await ask(device, 'status', settings);
  const before = settings.hear(saidBy(device, answered, settings.identities));
  const { message } = before;
  if (before.identity === 'other' || answered.kind === 'refused') return { outcome: 'failed', message };
  if (before.power === 'unknown') return { outcome: 'unknown', message };
  // What we switched off is switched on again, whatever was learnt of its device since.
  const isMissed = power === before.power && power === 'off' && (await settings.isMissed());
  const doubt = power === 'off' ? settings.doubt(before, { isMissed }) : undefined;
  if (doubt !== undefined) return { outcome: 'failed', message: doubt.message };
  if (before.power === power) return found(before, device, settings);
  const objection = await settings.mayAct();
  if (objection !== undefined) return { outcome: 'dropped', message: objection };
  const answer = await ask(device, power, settings);
  if (answer.kind === 'refused') return { outcome: 'failed', message: `${device.name} refused: ${answer.message}` };
  return confirm(power, device, answer, settings);
}

/**
 * It is so already. A way to the storage that was closed by nobody of us may be somebody else's since the cables were changed, or say so
 * whatever is true: its node writes on by another one.
 */
function found({ power }: PowerAnswer, device: Device, { mayBeOurs }: { mayBeOurs: boolean }): TryOutcome {
  if (power === 'off' && !mayBeOurs) {
    return { outcome: 'failed', message: `${device.name} was off before it was told, which proves nothing` };
  }
  return { outcome: 'succeeded', message: `${device.name} was ${power} already` };
}

/** What it says now. */
export async function asked(device: Device, options: Pick<PowerOptions, 'clock' | 'identities'>): Promise<Said> {
  const answer = await ask(device, 'status', { ...defaults, ...options });
  return saidBy(device, answer, options.identities);
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
  let doubt: string | undefined;
  while (clock.monotonic() < untilMs) {
    if (!settings.guard()) return { outcome: 'dropped', message: 'this instance does not lead any more' };
    last = await ask(device, 'status', settings);
    const said = settings.hear(saidBy(device, last, settings.identities));
    if (said.identity === 'other') return { outcome: 'failed', message: said.message };
    // Nothing that it says will be believed any more: who waits for it keeps others from their turn (S41).
    if (power === 'off' && said.wrong !== undefined) {
      return { outcome: 'failed', message: `${said.message}, and it is known to be wrong: ${said.wrong}` };
    }
    doubt = said.power === power && power === 'off' ? settings.doubt(said, { offForMs: 0 })?.message : undefined;
    if (said.power === power && doubt === undefined) {
      return { outcome: 'succeeded', message: `${device.name} says ${power}` };
    }
    await sleep(clock, settings.pollEveryMs);
  }
  const message = `${device.name} was told ${power} (${textOf(answer)}), and ${settings.confirmWithinMs / 1000} s later: ${doubt ?? textOf(last)}`;
  return { outcome: last.kind === 'status' ? 'failed' : 'unknown', message };
}

function ask(
  device: Device,
  action: 'status' | 'on' | 'off',
  { clock, askTimeoutMs }: Pick<Required<PowerOptions>, 'clock' | 'askTimeoutMs'>,
): Promise<DeviceAnswer> {
  return within(clock, askTimeoutMs, (signal) => device.ask(action, signal));
}

/** An answer as a plain value, with whose machine it is about. */
export function saidBy(device: Device, answer: DeviceAnswer, identities: readonly Identity[]): Said {
  const said = { device: device.name, power: powerOf(answer), message: `${device.name}: ${textOf(answer)}` };
  const identity = answer.kind === 'status' ? answer.identity : undefined;
  const known = identity && identities.find(({ kind }) => kind === identity.kind);
  if (identity === undefined) return { ...said, identity: 'none' };
  const says = identity.value;
  if (known === undefined) return { ...said, identity: 'none', says };
  if (isSameMachine(known, identity)) return { ...said, identity: 'same', says };
  const message = `${device.name} answers for ${says}, and the node is ${known.value}`;
  return { ...said, identity: 'other', says, message };
}

function powerOf(answer: DeviceAnswer): Said['power'] {
  return answer.kind === 'status' ? answer.power : 'unknown';
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
