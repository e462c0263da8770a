/**
 * What a fence has switched, one entry for each method: when its command may have gone out, and when its device confirmed
 * it. These are the facts that everything else rests on (SAF-5). An edit of a configuration leaves entries without a method,
 * or methods without an entry: that is more work, or an end with a sentence, and never a fact.
 */
import type { FenceConfig, Level, Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';

export type SwitchedStep = 'isolation' | 'power-management';

export interface Switched {
  step: SwitchedStep;
  method: string;
  /** Absent: there is no device, as with a cordon, and nothing is confirmed by it. */
  device?: string;
  /** The CSI drivers whose storage it cuts the node off from. */
  storage: readonly string[];
  /** Stored before the command: it may have been sent. */
  sentAtMs?: number;
  /** Who else was silent by then, of those whose devices cannot say whose power they are. */
  silentBeside?: readonly string[];
  confirmedAtMs?: number;
}

export function entryFor<T extends { step: SwitchedStep; method: string; device?: string | undefined }>(
  switched: readonly T[],
  step: SwitchedStep,
  method: Method,
): T | undefined {
  const device = deviceHash(method);
  return switched.find((one) => one.step === step && one.method === method.name && one.device === device);
}

export function isConfirmed(switched: readonly Switched[], step: SwitchedStep, method: Method): boolean {
  return entryFor(switched, step, method)?.confirmedAtMs !== undefined;
}

/** When the first command of a step may have been sent; undefined: none was. */
export function sentAtMs(switched: readonly Switched[], step: SwitchedStep): number | undefined {
  const times = switched.flatMap((one) => (one.step === step && one.sentAtMs !== undefined ? [one.sentAtMs] : []));
  return times.length === 0 ? undefined : Math.min(...times);
}

type Times = Pick<Switched, 'sentAtMs' | 'silentBeside' | 'confirmedAtMs'>;

/** An entry about which nothing is known any more is none. */
export function withEntry(
  switched: readonly Switched[],
  { step, method }: { step: SwitchedStep; method: Method },
  times: Times,
): Switched[] {
  const device = deviceHash(method);
  const known = entryFor(switched, step, method);
  const next: Switched = {
    step,
    method: method.name,
    ...(device === undefined ? {} : { device }),
    storage: [...(method.storage ?? [])],
    ...times,
  };
  const others = switched.filter((one) => one !== known);
  return times.sentAtMs === undefined && times.confirmedAtMs === undefined ? others : [...others, next];
}

/** It has to be confirmed anew; what may have been sent stays so. */
export function unconfirmed(switched: readonly Switched[], step: SwitchedStep): Switched[] {
  return switched.flatMap((one) => {
    if (one.step !== step) return [one];
    const { confirmedAtMs: _, ...rest } = one;
    return rest.sentAtMs === undefined ? [] : [rest];
  });
}

function without(switched: readonly Switched[], step: SwitchedStep): Switched[] {
  return switched.filter((one) => one.step !== step);
}

export function ofStep(switched: readonly Switched[], step: SwitchedStep): Switched[] {
  return switched.filter((one) => one.step === step);
}

/** So long after a command its effect may still come: devices are slow, and clouds let a guest shut down first. */
export const commandTakesMs = 180_000;

/** By which devices it was cut before, and until when what they were told may still strike it. */
export interface WasCut {
  devices: readonly string[];
  untilMs: number;
}

interface Feed {
  method: string;
  device: string;
}

interface Cut {
  switched: readonly Switched[];
  told?: readonly string[] | undefined;
  wasCut?: WasCut | undefined;
  /** The levels of several devices that there were when the fence began, and which of those nobody can tell any more. */
  planned?: readonly { step: SwitchedStep; off: readonly Feed[] }[] | undefined;
  lost?: readonly Feed[] | undefined;
}

/** The power: a command may have gone out, now or before it was begun anew. */
export function mayBeOurs(cut: Cut): boolean {
  return toldBy(cut).length > 0;
}

/**
 * The same; or it was cut, and nobody has heard of it since that could not strike any more: whoever finds it off finds what we have
 * done, in whatever boot it was.
 */
export function isOurs(cut: Cut, { heardMs = -Infinity }: { heardMs?: number | undefined }): boolean {
  return mayBeOurs(cut) || (cut.wasCut !== undefined && heardMs < cut.wasCut.untilMs);
}

/** Until when a command that was not confirmed may still strike; undefined: there is none. */
export function openUntilMs(switched: readonly Switched[]): number | undefined {
  const times = ofStep(switched, 'power-management').flatMap(({ sentAtMs: at, confirmedAtMs }) =>
    at === undefined || confirmedAtMs !== undefined ? [] : [at],
  );
  return times.length === 0 ? undefined : Math.max(...times) + commandTakesMs;
}

/** What has to be known of commands that are forgotten otherwise: to whom they were told, and how long they may take. */
export function noted(cut: Cut & { phase?: string; phaseStartedAtMs?: number }): Pick<Cut, 'wasCut'> {
  const { wasCut, phase, phaseStartedAtMs = 0 } = cut;
  const failedAtMs = phase === 'failed' ? phaseStartedAtMs : 0;
  // One that was told again was so before it was confirmed, or had failed.
  const times = ofStep(cut.switched, 'power-management').flatMap(({ sentAtMs: sent, confirmedAtMs = 0 }) =>
    sent === undefined ? [] : [Math.max(sent, confirmedAtMs, failedAtMs) + commandTakesMs],
  );
  const untilMs = Math.max(wasCut?.untilMs ?? 0, ...times);
  return untilMs === 0
    ? {}
    : { wasCut: { devices: [...new Set([...(wasCut?.devices ?? []), ...toldBy(cut)])], untilMs } };
}

/** By which devices the power may have been cut, each once. */
function toldBy({ switched, told = [] }: Cut): string[] {
  const now = ofStep(switched, 'power-management').flatMap(({ device, sentAtMs: sent }) =>
    sent === undefined ? [] : (device ?? []),
  );
  return [...new Set([...told, ...now])];
}

/**
 * What switches a machine on: what belongs to the level that has cut it, and then what belongs to others that were told before. Their
 * commands may strike late, and a machine that two of them have cut does not go on by one.
 */
export function onOf(state: Cut & { level: number }, config: FenceConfig): Method[] {
  const own = config.powerManagement[state.level]?.on ?? [];
  const beside = config.powerManagement.flatMap((level, at) =>
    at !== state.level && isTold(state, level) ? level.on : [],
  );
  return [...own, ...beside];
}

/** The last level that was told, where that was before it began anew; the first, where nobody knows. */
export function levelTold(state: Cut, { powerManagement }: FenceConfig): number {
  return Math.max(
    0,
    powerManagement.findLastIndex((level) => isTold(state, level)),
  );
}

function isTold(cut: Cut, { off }: Level): boolean {
  const told = toldBy(cut);
  return off.some((method) => told.includes(deviceHash(method) ?? ''));
}

/** What one that begins anew knows: each command is another one, and by which an earlier one may have struck is remembered. */
export function carried(earlier: Cut): Cut {
  const switched = unconfirmed(without(earlier.switched, 'power-management'), 'isolation');
  const told = toldBy(earlier);
  const lost = earlier.lost === undefined ? {} : { lost: earlier.lost };
  return { switched, ...(told.length === 0 ? {} : { told }), ...lost, ...noted(earlier) };
}

/** What was cut of its power, by device alone: not all of it was ever confirmed off, so that its machine may have run on. */
export function asTold<T extends Cut>(state: T): T {
  const told = toldBy(state);
  return told.length === 0 ? state : { ...undone(state), told };
}

/** Its power is on, until a command of before strikes late. */
export function undone<T extends Cut>(state: T): T {
  const { told: _, ...rest } = { ...state, ...noted(state), switched: without(state.switched, 'power-management') };
  return rest as T;
}

/** These are on, or nobody has to be asked any more whether they are. */
function withoutTold<T extends Cut>(state: T, isOn: (device: string) => boolean): T {
  const told = toldBy(state);
  const left = told.filter((device) => !isOn(device));
  if (left.length === told.length) return state;
  return left.length === 0 ? undone(state) : { ...undone(state), told: left };
}

/** One device has said on. */
export function seenOn<T extends Cut>(state: T, by: Method): T {
  const device = deviceHash(by);
  return withoutTold(state, (one) => one === device);
}

/**
 * What of its power may still be off, of a machine that is back. One that is in another boot has power by the only device of a level;
 * by one of several, nobody knows by which. Of what was edited or removed since nobody knows what it fed: everything that is
 * configured has to be on. What was one of several is not forgotten: the machine runs without it, and nobody else would say so.
 */
export function leftOff<T extends Cut>(state: T, { powerManagement }: FenceConfig, isRebooted: boolean): T {
  const levels = powerManagement.map(({ off }) => off.flatMap((method) => deviceHash(method) ?? []));
  const known = new Set(levels.flat());
  const told = toldBy(state);
  const isLost = told.some((device) => !known.has(device));
  const found = (state.lost ?? []).flatMap(({ device }) => (known.has(device) ? [device] : []));
  const added = [...(isLost ? known : []), ...found];
  const all = added.length > 0 ? { ...state, told: [...new Set([...told, ...added])] } : state;
  const several = new Set(levels.filter(({ length }) => length > 1).flat());
  const left = withoutTold(all, (device) => !known.has(device) || (isRebooted && !several.has(device)));
  return left === state ? state : withLost(left, lostFeeds(state, known));
}

/** What was told or lost of those of which a machine could lose one and run on when its fence began. */
function lostFeeds({ planned = [], lost = [], ...cut }: Cut, known: ReadonlySet<string>): Feed[] {
  const told = new Set(toldBy(cut));
  const feeds = planned.flatMap(({ step, off }) => (step === 'power-management' ? off : []));
  const all = [...lost, ...feeds.filter(({ device }) => told.has(device))].filter(({ device }) => !known.has(device));
  return all.filter(({ device }, at) => all.findIndex((one) => one.device === device) === at);
}

function withLost<T extends Cut>(state: T, lost: readonly Feed[]): T {
  const { lost: _, ...rest } = state;
  return (lost.length === 0 ? rest : { ...rest, lost }) as T;
}

/** What was told off and is written otherwise by now, for people: nobody can tell it to go on. Undefined: nothing. */
export function lostOf(state: Cut, { powerManagement }: FenceConfig): string | undefined {
  const known = new Set(powerManagement.flatMap(({ off }) => off.flatMap((method) => deviceHash(method) ?? [])));
  const feeds = lostFeeds(state, known);
  const devices = [...new Set([...toldBy(state), ...feeds.map(({ device }) => device)])];
  const lost = devices.filter((device) => !known.has(device));
  if (lost.length === 0) return undefined;
  const named = [...feeds, ...ofStep(state.switched, 'power-management')];
  const nameOf = (device: string): string => named.find((one) => one.device === device)?.method ?? 'a device';
  const what = [...new Set(lost.map(nameOf))].join(', ');
  return `${what} was told off as it was written before, and may be off still, and nothing that is configured switches it on: look what it named then, and switch that on by hand`;
}

/**
 * What is left when these methods have failed to switch it on, and all others have not. Of several devices each is on when it was told so
 * itself: of one that nothing configured switches on, the others say nothing. What is written otherwise by now was told nothing.
 */
export function stillOff<T extends Cut>(state: T, missed: readonly string[], { powerManagement }: FenceConfig): T {
  const on = new Set(
    powerManagement.flatMap(({ off, on: methods }) => {
      const devices = off.flatMap((method) => deviceHash(method) ?? []);
      const isMissed = ({ name }: Method): boolean => missed.includes(name);
      const failed = methods.filter(isMissed).map((method) => deviceHash(method) ?? '');
      // What is not told apart may be any of them.
      if (!failed.every((device) => devices.includes(device))) return [];
      if (devices.length === 1) return failed.length === 0 ? devices : [];
      return methods.filter((method) => !isMissed(method)).flatMap((method) => deviceHash(method) ?? []);
    }),
  );
  return withoutTold(state, (device) => on.has(device));
}

/** How a machine that is back is asked after what of its power may still be off: each device that was told by itself. */
export interface Undo {
  method: Method;
  /** Nothing is configured that switches it on: whether somebody has is all that can be asked. */
  isQuestion: boolean;
}

export function powerBack(state: Cut, { powerManagement }: FenceConfig): Undo[] {
  const left = new Set(toldBy(state));
  return powerManagement.flatMap(({ off, on }) =>
    off.flatMap((method): Undo[] => {
      const device = deviceHash(method) ?? '';
      if (!left.delete(device)) return [];
      const own = on.find((one) => one.action === 'on' && deviceHash(one) === device);
      return [
        own === undefined
          ? { method: { ...method, action: 'on' }, isQuestion: true }
          : { method: own, isQuestion: false },
      ];
    }),
  );
}

/** Why nothing rests any more on what devices have confirmed; undefined: it does. */
export function edited(
  switched: readonly Switched[],
  step: SwitchedStep,
  levels: readonly Level[],
): string | undefined {
  const methods = levels.flatMap(({ off }) => off);
  const lost = ofStep(switched, step).find(
    (one) =>
      one.confirmedAtMs !== undefined &&
      !methods.some((method) => method.name === one.method && deviceHash(method) === one.device),
  );
  return (
    lost && `${lost.method} was edited or removed after it was switched off: nobody can be asked whether it still is`
  );
}

/**
 * What connects a node again: what is configured for that, and for each device that cut it off and is not among it, that
 * device itself, the last one first (RET-2).
 */
export function undoOf(switched: readonly Switched[], config: FenceConfig, level: number): Undo[] {
  const configured = config.recovery[level]?.on ?? [];
  const covered = new Set(configured.map((method) => deviceHash(method) ?? method.action));
  const known = config.isolation.flatMap(({ off }) => off);
  const own = ofStep(switched, 'isolation')
    .toReversed()
    .flatMap((entry): Method[] => {
      const method = known.find((one) => one.name === entry.method && deviceHash(one) === entry.device);
      if (method === undefined) return [];
      const undo: Method = { ...method, action: method.action === 'cordon' ? 'uncordon' : 'on' };
      return covered.has(deviceHash(undo) ?? undo.action) ? [] : [undo];
    });
  const cuts = cutsOf(switched);
  return [...configured, ...own].map((method) => {
    const device = deviceHash(method);
    const cut = cuts.find((one) => one.device === device);
    // Not our doing, as far as anybody remembers: whether somebody has ended it is all that we may ask.
    return { method, isQuestion: cut !== undefined && wasFound(cut) };
  });
}

/** All that is to be undone of a node that is back: what is left of its power first, which it may have by one supply of several. */
export function undoing(state: Cut, config: FenceConfig, level: number): Undo[] {
  return [...powerBack(state, config), ...undoOf(state.switched, config, level)];
}

/** After one that connects was confirmed. */
export function connected(switched: readonly Switched[], by: Method): Switched[] {
  const device = deviceHash(by);
  return switched.filter((one) => one.step !== 'isolation' || one.device !== device);
}

/** What cuts the node off, or may: an outage of its storage that somebody has to end. */
export function cutsOf(switched: readonly Switched[]): Switched[] {
  return ofStep(switched, 'isolation').filter(({ device }) => device !== undefined);
}

/** It was so before anything was told to it: not our doing, as far as anybody remembers. */
export function wasFound({ sentAtMs: sent, confirmedAtMs: confirmed }: Switched): boolean {
  return sent === undefined && confirmed !== undefined;
}

export function notSwitchedOn({ name }: Method): string {
  return `${name} was switched off, and nothing that is configured switches it on: somebody has to`;
}

export function notUndone(cut: Switched): string {
  const why = wasFound(cut)
    ? 'it was so before this fence, and nobody remembers why: look what runs there, then switch it on'
    : 'nothing that is configured connects it again: switch it on by hand';
  return `${cut.method} cuts the node off from its storage, and ${why}`;
}
