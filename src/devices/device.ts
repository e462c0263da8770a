/**
 * What can be asked of a power device, a switch port, a cloud instance: one interface for all of them.
 *
 * A device is asked and answers; whether an answer is believed is decided elsewhere. In particular `off` answered with
 * `accepted` says nothing about power: only a later `status` does (S4). There is no reboot: it is always off, confirm,
 * release, on, because what must happen between off and on cannot happen inside a device.
 */
export type DeviceAction = 'status' | 'off' | 'on';

export type DeviceAnswer =
  | { kind: 'status'; power: 'on' | 'off'; identity?: Identity }
  /** An `off` or `on` was taken. It may take effect later, or never. */
  | { kind: 'accepted' }
  /** The device or whoever stands before it said no: nothing was done. */
  | { kind: 'refused'; message: string }
  /** No answer, a broken one, or one that can mean anything. The action may have been carried out. */
  | { kind: 'unknown'; message: string };

export const IDENTITY_KINDS = ['systemUUID', 'providerID', 'name'] as const;

/** By what a device knows the machine behind it; compared with the node before it is used (S29). */
export interface Identity {
  kind: (typeof IDENTITY_KINDS)[number];
  value: string;
}

export interface Device {
  /** For people: what it is and where. Never holds a credential (S28). */
  readonly name: string;
  /** Ends with an answer for whatever happens; gives up, with `unknown`, when `signal` fires. */
  ask(action: DeviceAction, signal: AbortSignal): Promise<DeviceAnswer>;
}

/**
 * Parameters as the user gives them, credentials apart: those come from Secrets, and nothing that holds them may be
 * written anywhere but to the device.
 */
export interface DeviceParameters {
  plain: Readonly<Record<string, string>>;
  secret: Readonly<Record<string, string>>;
}

/** The key, and what to write instead. Never repeats a value: it may be a credential. */
export interface ParameterProblem {
  key: string;
  problem: string;
}

/** What a driver needs of the world; all injected, so that tests and the simulator bring their own. */
export interface DeviceWorld {
  /** Wall clock, milliseconds since the epoch: clouds want to know when a request was signed. */
  now: () => number;
  /** Milliseconds on a clock that never goes back. */
  monotonic: () => number;
  /** Fires after so many milliseconds; the answer cancels it. */
  after: (ms: number, callback: () => void) => () => void;
}

export interface DeviceDriver {
  /** As templates name it: `agent=fence_ipmilan`, `driver=aws`. */
  readonly name: string;
  /** Finds what is wrong with the parameters before a node dies (FEN-7). */
  check(parameters: DeviceParameters): ParameterProblem[];
  /** A device whose parameters do not pass `check` refuses whatever is asked of it. */
  device(parameters: DeviceParameters, world: DeviceWorld): Device;
  /** The same, to be asked all the time at little cost, and told nothing; undefined or absent: it costs too much. */
  watched?(parameters: DeviceParameters, world: DeviceWorld): Device | undefined;
}
