/**
 * Real fence agents against live endpoints, wired to the simulated machines: what a device switches off is off, and what
 * loses its power reads off.
 */
import { readFileSync, renameSync, watch, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Machine } from '../../src/world/machines/machine.ts';
import type { Bmc } from '../devices/endpoints/ipmi.ts';
import { ipmiParameters, startBmc } from '../devices/endpoints/ipmi.ts';
import { startSwitch, type SwitchEndpoint } from '../devices/endpoints/brocade.ts';
import { startEaton, type PduEndpoint } from '../devices/endpoints/snmp.ts';
import { agentDevices, Workshop } from '../devices/endpoints/workshop.ts';
import { waitFor } from '../support/wait.ts';

export type BmcFault = 'none' | 'ignores';

export interface WiredBmc {
  /** For the template of a method, and for the Secret that it names. */
  plain: Readonly<Record<string, string>>;
  secret: Readonly<Record<string, string>>;
  /** What it was told, oldest first. */
  told(): ('off' | 'on')[];
  close(): Promise<void>;
}

/** An `ipmi_sim` of its own for the machine. One with a fault says yes and does nothing. */
export async function wireBmc(
  machine: Machine,
  { systemUuid, fault = 'none' }: { systemUuid: string; fault?: BmcFault },
): Promise<WiredBmc> {
  return Workshop.build(async (workshop) => {
    const bmc = await startBmc(workshop, { name: machine.name, guid: systemUuid.replaceAll('-', '') });
    replaceFile(join(bmc.dir, 'fault'), `${fault}\n`);
    // A device that does not follow need not be waited for for long.
    const parameters = ipmiParameters(bmc, { powerTimeout: fault === 'none' ? '20' : '3' });
    const device = (await agentDevices('fence_ipmilan'))(parameters);
    await waitFor(
      `the BMC of ${machine.name}`,
      async () => (await device.ask('status', new AbortController().signal)).kind === 'status',
      { timeoutMs: 60_000 },
    );
    wirePower(workshop, machine, bmc);
    return {
      ...parameters,
      told: () => {
        const all = linesOf(join(bmc.dir, 'actions')).map((line) => (line.endsWith('1') ? 'on' : 'off'));
        // The protocol repeats what it is not sure of.
        return all.filter((power, index) => power !== all[index - 1]);
      },
      close: () => workshop.close(),
    };
  });
}

function wirePower(workshop: Workshop, machine: Machine, { dir }: Bmc): void {
  const file = join(dir, 'power');
  watchFile(workshop, file, (text) => {
    if (text === '0') machine.powerOff();
    else if (text === '1') machine.powerOn();
  });
  const unwire = machine.on(({ type }) => {
    const power = { off: '0', booting: '1' }[type as string];
    if (power !== undefined && textOf(file) !== power) replaceFile(file, `${power}\n`);
  });
  workshop.onClose(() => {
    unwire();
  });
}

/** A command that a device has taken. */
export interface Command {
  atMs: number;
  method: 'fc-off' | 'fc-on' | 'eaton-off' | 'eaton-on';
}

export interface Rack {
  fcSwitch: SwitchEndpoint;
  pdu: PduEndpoint;
  commands: Command[];
  close(): Promise<void>;
}

/** Where the machine is plugged in. */
export interface Plugs {
  port: string;
  outlet: string;
  /** Whether the machine reaches its storage. */
  onPort: (isOpen: boolean) => void;
}

/** A Fibre Channel switch and a power distribution unit, with one machine at both. */
export async function wireRack(machine: Machine, { port, outlet, onPort }: Plugs): Promise<Rack> {
  const workshop = await Workshop.open();
  const commands: Command[] = [];
  const note = (method: Command['method']): void => {
    // The protocol repeats what it is not sure of.
    if (commands.at(-1)?.method !== method) commands.push({ atMs: performance.now(), method });
  };
  try {
    const pdu = await startEaton((plug, power) => {
      if (plug !== outlet) return;
      note(`eaton-${power}`);
      if (power === 'off') machine.powerOff();
      else machine.powerOn();
    });
    workshop.onClose(() => pdu.stop());
    const fcSwitch = await startSwitch();
    workshop.onClose(() => fcSwitch.stop());
    watchFile(workshop, join(fcSwitch.dir, `actions-${port}`), (text) => {
      const isOpen = text.endsWith('1');
      note(isOpen ? 'fc-on' : 'fc-off');
      onPort(isOpen);
    });
    return { fcSwitch, pdu, commands, close: () => workshop.close() };
  } catch (error) {
    await workshop.close();
    throw error;
  }
}

/** Tells what is in the file whenever it was written; one that is being written is empty for a moment. */
function watchFile(workshop: Workshop, file: string, onText: (text: string) => void): void {
  const watcher = watch(dirname(file), (_, name) => {
    if (name !== basename(file)) return;
    const text = textOf(file);
    if (text !== '') onText(text);
  });
  workshop.onClose(() => watcher.close());
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}

function linesOf(file: string): string[] {
  return textOf(file).split('\n').filter(Boolean);
}

/** At once: whoever reads it meanwhile never finds half of it. */
function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
