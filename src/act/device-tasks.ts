/**
 * Device actions under way, one for each node at most. They take their time, so that nobody waits for them: whoever asks
 * learns how it stands, and is told when it has ended. Nothing of this survives the process, and nothing has to: what
 * was begun is in the NodeFence, and beginning it again is harmless (S20).
 */
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { isUuid } from '../api/machine.ts';
import type { DoubtAbout, PowerAnswer, Said } from '../api/power.ts';
import { UNCHECKED } from '../api/power.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { Identity } from '../devices/device.ts';
import { IDENTITY_KINDS } from '../devices/device.ts';
import type { Knock } from '../kube/knock.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import type { DeviceQuestion } from '../api/steps.ts';
import type { PowerOptions, TryOutcome } from './power.ts';
import { asked, bringTo } from './power.ts';

export interface DeviceTasksOptions {
  clock: Clock;
  provider: DeviceProvider;
  /** Whether this instance still leads. */
  guard?: () => boolean;
  /** Notes what was said, and adds what is known of the device. */
  hear: Hear;
  /** What the word of a device is worth. */
  doubt: DoubtAbout;
  /** The power of a node is about to be cut by this device. */
  onCut?: (node: LiveNode, method: Method) => void;
  /** What a device of a node said, if on was its last word. */
  saysOn?: (node: string, method: Method) => string | undefined;
  /** How the ports of kubelets are reached. */
  knock: Knock;
  /** A task of this node has ended. */
  onDone: (node: string) => void;
}

/** Notes what a device of a node said, and adds what is known of it. */
export type Hear = (node: LiveNode, asked: Asked, said: Said) => PowerAnswer;

/** Whose device was asked, and about what: a node that is cut off from its storage lives on (SAF-1). */
export interface Asked {
  method: Method;
  what: DeviceQuestion['what'];
  /** One of several that switch its power, of which others are not off yet. */
  isPart?: boolean | undefined;
  /** It is watched, and may be asked as it was found a moment ago. */
  isKept?: boolean;
}

/** `mayBeSent`: what is to be told may have been told already; absent: it may. */
export type Operated = Asked & Pick<DeviceQuestion, 'door'> & { mayBeSent?: boolean };

export type TaskState = TryOutcome | { outcome: 'running' };

/** Why a machine cannot be taken for off: because its device says on, or does not say, or because that is worth nothing. */
export interface NotOff {
  message: string;
  isOn: boolean;
  isDisbelieved: boolean;
}

/** What is to run. `key` tells tries apart. */
export interface Try {
  key: string;
  /** What is switched by it. */
  method?: Method | undefined;
  run: () => Promise<TryOutcome>;
  /** Waits for its end: what writes to the Node has to be seen by the next decision (S17). */
  isAwaited?: boolean;
  /** What is waited for before it runs, for the same reason; answers how it has ended, if it has by that. */
  first?: () => Promise<TryOutcome | undefined>;
}

/** Asked right before a device is told: why it must not be, or undefined. */
export type MayAct = () => Promise<string | undefined>;

/** Clouds let a guest shut down for a minute or more before they cut its power. */
const cloudConfirmsWithinMs = 180_000;

const decideAnewMs = 500;
/** A machine that answers does so at once; one that does not is not waited for. */
export const knockTimeoutMs = 500;
/**
 * To be silent takes all of that time, and what is let go takes several steps. No machine comes to listen there within a second of
 * being silent; its devices are asked before each step all the same.
 */
const silentForMs = 1000;

interface Task {
  key: string;
  method: Method | undefined;
  state: TaskState;
}

export class DeviceTasks {
  readonly #options: DeviceTasksOptions;
  readonly #tasks = new Map<string, Task>();
  /** Doors at which nobody answered, and since when. */
  readonly #silent = new Map<string, number>();
  /** Ways to storage that this process has told to close: that is so whatever became of the record of it. */
  readonly #closed = new Set<string>();

  constructor(options: DeviceTasksOptions) {
    this.#options = options;
  }

  /** What was begun last, and how it is doing; undefined: this process has begun nothing. */
  current(node: string): ({ key: string; onAgain?: string } & TaskState) | undefined {
    const task = this.#tasks.get(node);
    if (task === undefined) return undefined;
    const { key, method, state } = task;
    const isOff = method?.action === 'off' && state.outcome === 'succeeded';
    const onAgain = isOff ? this.#options.saysOn?.(node, method) : undefined;
    return { key, ...state, ...(onAgain === undefined ? {} : { onAgain }) };
  }

  /** Begins it, unless it is under way. */
  async ensure(node: LiveNode, { key, method, run, isAwaited = false, first }: Try): Promise<void> {
    const known = this.#tasks.get(node.name);
    const isDropped = known?.state.outcome === 'dropped';
    if ((known?.key === key && !isDropped) || known?.state.outcome === 'running') return;
    const task: Task = { key, method, state: { outcome: 'running' } };
    this.#tasks.set(node.name, task);
    const begun = first?.().catch(broken);
    const done = (begun === undefined ? run() : begun.then((end) => end ?? run())).catch(broken).then((outcome) => {
      task.state = outcome;
      if (outcome.outcome !== 'dropped') {
        this.#options.onDone(node.name);
        return;
      }
      // Where a device was to be told, that it was not is worth knowing.
      if (outcome.told === undefined) this.#tasks.delete(node.name);
      // What it rested on is not so any more, or not yet in our view: decided anew, but not as fast as can be.
      this.#options.clock.after(decideAnewMs, () => this.#options.onDone(node.name));
    });
    await (isAwaited ? done : begun);
  }

  forget(node: string): void {
    if (this.#tasks.get(node)?.state.outcome !== 'running') this.#tasks.delete(node);
  }

  /** Asked right before something rests on it: undefined if every one of them says off, else who says otherwise. */
  async notOff(node: LiveNode, { what, methods, offForMs, door }: DeviceQuestion): Promise<NotOff | undefined> {
    if (methods.length === 0)
      return { message: 'no device is known to have switched it off', isOn: false, isDisbelieved: false };
    const [isMissed, ...answers] = await Promise.all([
      this.#isMissed(door),
      ...methods.map((method) => this.ask(node, { method, what })),
    ]);
    const found = answers.map((answer): NotOff | undefined => {
      const doubt = this.#options.doubt(node, answer, { what, offForMs, isMissed, isBasis: true });
      if (doubt !== undefined) return { message: doubt.message, isOn: false, isDisbelieved: true };
      if (answer.power === 'off') return undefined;
      // By an ID that is disputed nobody can be asked.
      const isDisbelieved = node.disputed !== undefined;
      return { message: answer.message, isOn: answer.power === 'on', isDisbelieved };
    });
    return found.find((one) => one?.isOn) ?? found.find((one) => one !== undefined);
  }

  /** Who answers, that nobody listens there or otherwise, lives; of one that does not, its devices say what it is. */
  async #isMissed(door: DeviceQuestion['door']): Promise<boolean> {
    if (door === undefined) return false;
    const { clock, knock } = this.#options;
    const key = `${door.address} ${door.port}`;
    if (clock.monotonic() <= (this.#silent.get(key) ?? -Infinity) + silentForMs) return true;
    const isMissed = (await knock(door, knockTimeoutMs)) === 'silent';
    if (isMissed) this.#silent.set(key, clock.monotonic());
    else this.#silent.delete(key);
    return isMissed;
  }

  /** How the device of a method is; one that cannot be asked has not answered. */
  async ask(node: LiveNode, { method, what, isKept = false }: Asked): Promise<PowerAnswer> {
    const { clock, provider, hear } = this.#options;
    const unknown = { device: method.name, power: 'unknown', identity: 'none', wasSeenOn: false } as const;
    try {
      const found = await provider.device(node, method, { isKept });
      if (!found.ok) return { ...unknown, message: `${method.name}: ${found.problem}` };
      const answer = await asked(found.device, { clock, identities: identitiesOf(node, method) });
      const said = { ...answer, ...plugged(found), message: `${method.name}: ${answer.message}` };
      return hear(node, { method, what, isKept }, said);
    } catch (error) {
      return { ...unknown, message: `${method.name}: ${broken(error).message}` };
    }
  }

  /** Has the device of a method switch the machine, or its way to the storage, and believes only what it says afterwards. */
  async operate(node: LiveNode, asked: Operated, mayAct: MayAct): Promise<TryOutcome> {
    const { method, what, isPart, door, mayBeSent = true } = asked;
    const { action } = method;
    if (action !== 'off' && action !== 'on') throw new Error(`${method.name} has no device`);
    try {
      const found = await this.#options.provider.device(node, method);
      if (!found.ok) return { outcome: 'failed', message: `${method.name}: ${found.problem}` };
      const isCloud = method.driver.startsWith('driver:') || method.driver === 'built-in';
      const patience = isCloud ? { confirmWithinMs: cloudConfirmsWithinMs } : {};
      const noted: MayAct = async () => {
        const objection = await mayAct();
        // From here on the command may have reached a machine, whichever it is.
        if (objection === undefined && what === 'power' && action === 'off') this.#options.onCut?.(node, method);
        if (objection === undefined && what === 'storage') this.#noteWay(node, method);
        return objection;
      };
      const outcome = await bringTo(action, found.device, {
        ...this.#powerOptions(node, { method, what, isPart }, found),
        mayAct: noted,
        mayBeOurs: what === 'power' || mayBeSent || this.#closed.has(wayOf(node, method)),
        isMissed: () => this.#isMissed(door),
        ...patience,
      });
      // One that was open already was opened by somebody else, and is told nothing: it is not closed by us any more.
      if (what === 'storage' && action === 'on' && outcome.outcome === 'succeeded') this.#noteWay(node, method);
      return { ...outcome, message: `${method.name}: ${outcome.message}` };
    } catch (error) {
      const { outcome, message } = broken(error);
      return { outcome, message: `${method.name}: ${message}` };
    }
  }

  /** Until it is told to be open again. */
  #noteWay(node: LiveNode, method: Method): void {
    if (method.action === 'off') this.#closed.add(wayOf(node, method));
    else this.#closed.delete(wayOf(node, method));
  }

  #powerOptions(node: LiveNode, { method, what, isPart }: Asked, found: { plug?: string }): PowerOptions {
    const { clock, guard = () => true, doubt, hear } = this.#options;
    return {
      clock,
      guard,
      identities: identitiesOf(node, method),
      hear: (said) => hear(node, { method, what }, { ...said, ...plugged(found) }),
      doubt: (answer, about) => doubt(node, answer, { what, isPart, ...about }),
    };
  }
}

/** A way of a node to its storage, however the methods are called that open and close it. */
function wayOf({ uid }: LiveNode, method: Method): string {
  return `${uid} ${deviceHash(method)}`;
}

/** Which outlet it is, where that is known. */
export function plugged({ plug }: { plug?: string }): { plug?: string } {
  return plug === undefined ? {} : { plug };
}

/** What throws is broken, such as a driver, or a template that cannot become a Job; what it did before is not known. */
function broken(error: unknown): Extract<TryOutcome, { outcome: 'unknown' }> {
  return { outcome: 'unknown', message: error instanceof Error ? error.message : 'failed' };
}

/** What a node is known by; what a person says that its device answers overrules that (SAF-2). */
export function identitiesOf({ name, systemUuid, providerId }: LiveNode, { identity }: Method): Identity[] {
  if (identity === UNCHECKED) return [];
  if (identity !== undefined) return IDENTITY_KINDS.map((kind) => ({ kind, value: identity }));
  const identities: Identity[] = [{ kind: 'name', value: name }];
  // Firmware that was never told writes anything there: that is no identity, not another one (SAF-2).
  if (isUuid(systemUuid)) identities.push({ kind: 'systemUUID', value: systemUuid });
  if (providerId !== undefined && providerId !== '') identities.push({ kind: 'providerID', value: providerId });
  return identities;
}
