/** A Brocade Fibre Channel switch over SSH: both machines are at ports of the same one. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { DeviceParameters } from '../../../src/devices/device.ts';
import type { Endpoint, Machine, Subject, Variant } from '../endpoint.ts';
import { pythonWithEndpoints } from '../needs.ts';
import { agentDevices, Workshop } from './workshop.ts';

const canary = 'BrocadeCanary2342';
const ports = { a: '2', b: '3' } as const;

export interface SwitchEndpoint extends Endpoint {
  /** Where `port-N` and `actions-N` tell of each port, as 1 and 0. */
  dir: string;
  parameters(machine: Machine, variant?: Variant): DeviceParameters;
}

export async function startSwitch(): Promise<SwitchEndpoint> {
  return Workshop.build(async (workshop) => {
    const devices = await agentDevices('fence_brocade');
    const server = workshop.start(await pythonWithEndpoints(), [
      join(import.meta.dirname, 'brocade_switch.py'),
      workshop.dir,
    ]);
    const errors: Buffer[] = [];
    server.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
    server.stdin?.write(`${canary}\n`);
    if (server.stdout === null) throw new Error('the switch has no output');
    const [line] = (await Promise.race([
      once(createInterface(server.stdout), 'line'),
      once(server, 'exit').then(() => [`{}${Buffer.concat(errors).toString()}`]),
    ])) as [string];
    const { port, key } = JSON.parse(line) as { port: number; key: string };

    const trusted = join(workshop.dir, 'known_hosts');
    await writeFile(trusted, `[127.0.0.1]:${port} ${key}\n`);
    const nobody = join(workshop.dir, 'no_hosts');
    await writeFile(nobody, '');
    const file = (machine: Machine, name: string): string => join(workshop.dir, `${name}-${ports[machine]}`);
    const read = (machine: Machine, name: string): Promise<string> =>
      readFile(file(machine, name), 'utf8').then(
        (text) => text.trim(),
        () => '',
      );
    const impatient = new Set<Machine>();
    const sshOptions = (hosts: string): string => `-o StrictHostKeyChecking=yes -o UserKnownHostsFile=${hosts}`;
    // As an operator has to be started for it: it names a file.
    const allowed = [trusted, nobody].map((hosts) => ({
      agent: 'fence_brocade',
      key: 'ssh_options',
      value: sshOptions(hosts),
    }));
    const parameters: SwitchEndpoint['parameters'] = (machine, { credential, trust, wiredTo = machine } = {}) => ({
      plain: {
        ip: '127.0.0.1',
        ipport: String(port),
        username: 'admin',
        plug: ports[wiredTo],
        ssh: '1',
        ssh_options: sshOptions(trust === 'missing' ? nobody : trusted),
        ...(impatient.has(machine) && { power_timeout: '2' }),
        // Who is asked for the password again waits for another one in vain.
        ...(credential === 'wrong' && { login_timeout: '2' }),
      },
      secret: { password: credential === 'wrong' ? canary.toLowerCase() : canary },
    });
    return {
      dir: workshop.dir,
      parameters,
      device: (machine, variant = {}) =>
        devices(parameters(machine, variant), {
          allowed,
          ...(variant.timeoutMs !== undefined && { timeoutMs: variant.timeoutMs }),
        }),
      power: async (machine) => ((await read(machine, 'port')) === '0' ? 'off' : 'on'),
      setPower: (machine, power) => writeFile(file(machine, 'port'), power === 'on' ? '1' : '0'),
      async fault(machine, fault) {
        if (fault === 'none' || fault === 'hangs') impatient.delete(machine);
        else impatient.add(machine);
        await writeFile(file(machine, 'fault'), fault);
        await writeFile(file(machine, 'actions'), '');
      },
      catchUp: async (machine) => writeFile(file(machine, 'port'), await read(machine, 'held')),
      actions: async (machine) => (await read(machine, 'actions')).split('\n').filter(Boolean).length,
      stop: () => workshop.close(),
    };
  });
}

export const brocade: Subject = {
  name: 'SSH: fence_brocade against a Fibre Channel switch',
  start: startSwitch,
  faults: ['refuses', 'hangs', 'ignores', 'late', 'reportsFailure'],
  wrongCredential: 'refused',
  checksTrust: true,
  canary,
  hangsAsAWhole: true,
};
