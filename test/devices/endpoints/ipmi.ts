/** BMCs that speak IPMI over LAN: two `ipmi_sim` of OpenIPMI, one for each machine. */
import type { ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceParameters } from '../../../src/devices/device.ts';
import { waitFor } from '../../support/wait.ts';
import type { Endpoint, Machine, Subject } from '../endpoint.ts';
import { agentDevices, endProcess, freePort, Workshop } from './workshop.ts';

const canary = 'IpmiCanary4711';
const guids = { a: 'a123456789abcdef0123456789abcdef', b: 'b023456789abcdef0123456789abcdef' } as const;

/** Asked by ipmi_sim for the power, and told to set it. */
const chassis = `#!/bin/sh
dir=$1; shift
if [ "$1" = get ]; then echo "$2:$(cat "$dir/power")"; exit 0; fi
[ "$2" = power ] || exit 0
echo "$*" >> "$dir/actions"
case "$(cat "$dir/fault")" in
  refuses) exit 1;;
  ignores) ;;
  late) echo "$3" > "$dir/held";;
  reportsFailure) echo "$3" > "$dir/power"; exit 1;;
  *) echo "$3" > "$dir/power";;
esac
exit 0
`;

export interface Bmc {
  dir: string;
  port: number;
  process: ChildProcess;
}

/** What a BMC with `startcmd` takes for its machine: a process that does not end when it is told to. */
const machine = `#!/bin/sh
trap '' TERM
echo $$ > "$1/machine.pid"
exec sleep 600
`;

/** A BMC that is a `liar` takes a power-off and does not carry it out. */
export async function startBmc(
  workshop: Workshop,
  { name, guid, liar = false }: { name: string; guid: string; liar?: boolean },
): Promise<Bmc> {
  const dir = join(workshop.dir, name);
  await mkdir(join(dir, 'state'), { recursive: true });
  const files = { power: '1\n', fault: 'none\n', actions: '', 'chassis.sh': chassis, 'machine.sh': machine };
  for (const [file, text] of Object.entries(files)) await writeFile(join(dir, file), text, { mode: 0o755 });
  if (liar) workshop.onClose(async () => endProcess(Number(await readFile(join(dir, 'machine.pid'), 'utf8'))));
  const port = await freePort('udp');
  const auths = ['callback', 'user', 'operator', 'admin'].map((who) => `allowed_auths_${who} none md2 md5 straight`);
  const lan = [
    `name "${name}"`,
    'set_working_mc 0x20',
    'startlan 1',
    `addr 127.0.0.1 ${port}`,
    'priv_limit admin',
    ...auths,
    `guid ${guid}`,
    'endlan',
    liar
      ? `startcmd "${dir}/machine.sh ${dir}"\nstartnow true\npoweroff_wait 0\nkill_wait 0`
      : `chassis_control "${dir}/chassis.sh ${dir}"`,
    'user 1 true "" "test" user 10 none md2 md5 straight',
    `user 2 true "admin" "${canary}" admin 10 none md2 md5 straight`,
  ];
  await writeFile(join(dir, 'lan.conf'), `${lan.join('\n')}\n`);
  const emu = ['mc_setbmc 0x20', 'mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02', 'mc_enable 0x20'];
  await writeFile(join(dir, 'sim.emu'), `${emu.join('\n')}\n`);
  const args = ['-c', join(dir, 'lan.conf'), '-f', join(dir, 'sim.emu'), '-s', join(dir, 'state'), '-n'];
  return { dir, port, process: workshop.start('ipmi_sim', args) };
}

export function ipmiParameters({ port }: Bmc, { isWrong = false, powerTimeout = '20' } = {}): DeviceParameters {
  return {
    plain: {
      ip: '127.0.0.1',
      ipport: String(port),
      username: 'admin',
      lanplus: '1',
      cipher: '3',
      power_timeout: powerTimeout,
    },
    secret: { password: isWrong ? canary.toLowerCase() : canary },
  };
}

type Devices = Awaited<ReturnType<typeof agentDevices>>;

async function start(): Promise<Endpoint> {
  return Workshop.build(async (workshop) => {
    const devices = await agentDevices('fence_ipmilan');
    const bmcs: Record<Machine, Bmc> = {
      a: await startBmc(workshop, { name: 'a', guid: guids.a }),
      b: await startBmc(workshop, { name: 'b', guid: guids.b }),
    };
    const endpoint = endpointOf(workshop, bmcs, devices);
    for (const machine of ['a', 'b'] as const) {
      await waitFor(`BMC ${machine}`, async () => {
        const answer = await endpoint.device(machine).ask('status', new AbortController().signal);
        return answer.kind === 'status';
      });
    }
    return endpoint;
  });
}

function endpointOf(workshop: Workshop, bmcs: Record<Machine, Bmc>, devices: Devices): Endpoint {
  // Agents wait for the machine to follow; where it will not, that need not take long.
  const impatient = new Set<Machine>();
  const file = (machine: Machine, name: string): string => join(bmcs[machine].dir, name);
  const written = async (machine: Machine, name: string): Promise<string> =>
    (await readFile(file(machine, name), 'utf8')).trim();
  return {
    device(machine, { credential, wiredTo = machine, timeoutMs } = {}) {
      const parameters = ipmiParameters(bmcs[wiredTo], {
        isWrong: credential === 'wrong',
        powerTimeout: impatient.has(machine) ? '3' : '20',
      });
      return devices(parameters, timeoutMs === undefined ? {} : { timeoutMs });
    },
    power: async (machine) => ((await written(machine, 'power')) === '1' ? 'on' : 'off'),
    setPower: (machine, power) => writeFile(file(machine, 'power'), power === 'on' ? '1\n' : '0\n'),
    async fault(machine, fault) {
      if (fault === 'none' || fault === 'hangs') impatient.delete(machine);
      else impatient.add(machine);
      await writeFile(file(machine, 'fault'), `${fault}\n`);
      await writeFile(file(machine, 'actions'), '');
      bmcs[machine].process.kill(fault === 'hangs' ? 'SIGSTOP' : 'SIGCONT');
    },
    async catchUp(machine) {
      await writeFile(file(machine, 'power'), await readFile(file(machine, 'held')));
    },
    actions: async (machine) => (await written(machine, 'actions')).split('\n').filter(Boolean).length,
    async stop() {
      await workshop.close();
    },
  };
}

export const ipmi: Subject = {
  name: 'IPMI: fence_ipmilan against ipmi_sim',
  start,
  faults: ['refuses', 'hangs', 'ignores', 'late', 'reportsFailure'],
  identity: guids,
  wrongCredential: 'refused',
  checksTrust: false,
  canary,
  handedOnTo: ['ipmitool'],
};
