/** Something that speaks the protocol of a device, with two machines behind it whose power is really known. */
import type { Device } from '../../src/devices/device.ts';

export type Machine = 'a' | 'b';

/** What a device does to an `off` or `on`; "answers for another machine" is a device that is wired to the other one. */
export type EndpointFault =
  | 'none'
  /** Says no and does nothing. */
  | 'refuses'
  /** Does not answer any more, whatever it is asked. */
  | 'hangs'
  /** Says yes and does nothing. */
  | 'ignores'
  /** Says yes and does it when `catchUp` is called. */
  | 'late'
  /** Does it and says that it failed. */
  | 'reportsFailure';

export interface Variant {
  credential?: 'wrong';
  /** The certificate or host key of the device is not one that is trusted. */
  trust?: 'missing';
  wiredTo?: Machine;
  timeoutMs?: number;
}

export interface Endpoint {
  device(machine: Machine, variant?: Variant): Device;
  /** The truth, not asked through the device under test. */
  power(machine: Machine): Promise<'on' | 'off'>;
  setPower(machine: Machine, power: 'on' | 'off'): Promise<void>;
  fault(machine: Machine, fault: EndpointFault): Promise<void>;
  /** A machine with the fault `late` does what it was told. */
  catchUp(machine: Machine): Promise<void>;
  /** How often the machine was told to switch, with or without effect. */
  actions(machine: Machine): Promise<number>;
  /** Ends everything that it started; also after a failure half-way. */
  stop(): Promise<void>;
}

export interface Subject {
  name: string;
  start: () => Promise<Endpoint>;
  faults: readonly EndpointFault[];
  /** By what the device knows its machines; absent where the protocol does not tell. */
  identity?: Readonly<Record<Machine, string>>;
  /** A device that cannot tell a wrong credential from silence can only be silent. */
  wrongCredential: 'refused' | 'unknown';
  /** Whether the device has to prove who it is. */
  checksTrust: boolean;
  /** One that hangs does so for all of its machines. */
  hangsAsAWhole?: boolean;
  /** Appears in nothing but the device's input. */
  canary: string;
  /** Programs behind a fence agent to which the agent hands the credential as an argument, against which we can do nothing. */
  handedOnTo?: readonly string[];
}
