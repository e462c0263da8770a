/** Management controllers that own a real node: what they are told happens to the machine, and they say whose power it is. */
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort, type Workshop } from '../../devices/endpoints/workshop.ts';
import type { CertificateAuthority } from '../certificates.ts';
import { RedfishBmc } from '../redfish-bmc.ts';
import type { MachinePower } from './machine-power.ts';

export interface Bmc {
  readonly kind: 'ipmi' | 'redfish';
  readonly port: number;
  readonly username: string;
  readonly password: string;
}

/** Asked by ipmi_sim for the power, and told to set it; whoever owns the machine listens at $1. */
const chassis = `#!/bin/bash
port=$1; shift
exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
echo "$*" >&3
read -r answer <&3 || exit 1
[ "$answer" = ok ] || echo "$answer"
`;

/** OpenIPMI's simulator. It waits for its script, so that a machine must not be waited for: it boots, and goes off, by itself. */
export async function startIpmiBmc(workshop: Workshop, address: string, power: MachinePower): Promise<Bmc> {
  const { node } = power;
  const password = 'IpmiCanary4711';
  const line = await powerLine(workshop, power);
  const dir = join(workshop.dir, node.name);
  await mkdir(join(dir, 'state'), { recursive: true });
  await writeFile(join(dir, 'chassis.sh'), chassis, { mode: 0o755 });
  const port = await freePort('udp');
  const auths = ['callback', 'user', 'operator', 'admin'].map((who) => `allowed_auths_${who} none md2 md5 straight`);
  const lan = [
    `name "${node.name}"`,
    'set_working_mc 0x20',
    'startlan 1',
    `addr ${address} ${port}`,
    'priv_limit admin',
    ...auths,
    `guid ${node.uuid.replaceAll('-', '')}`,
    'endlan',
    `chassis_control "${dir}/chassis.sh ${line}"`,
    'user 1 true "" "test" user 10 none md2 md5 straight',
    `user 2 true "admin" "${password}" admin 10 none md2 md5 straight`,
  ];
  await writeFile(join(dir, 'lan.conf'), `${lan.join('\n')}\n`);
  const emu = ['mc_setbmc 0x20', 'mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02', 'mc_enable 0x20'];
  await writeFile(join(dir, 'sim.emu'), `${emu.join('\n')}\n`);
  workshop.start('ipmi_sim', ['-c', join(dir, 'lan.conf'), '-f', join(dir, 'sim.emu'), '-s', join(dir, 'state'), '-n']);
  return { kind: 'ipmi', port, username: 'admin', password };
}

/** Answers the port at which `get power` and `set power 0` are said. */
async function powerLine(workshop: Workshop, power: MachinePower): Promise<number> {
  const answer = (said: string): string => {
    const [verb, what, value] = said.split(' ');
    if (verb === 'get') return `${what}:${what === 'power' ? Number(power.state === 'on') : 0}`;
    if (what === 'power' && value === '0') void power.off('bmc');
    if (what === 'power' && value === '1') power.on('bmc');
    return 'ok';
  };
  const server = createServer((socket: Socket) => {
    socket.on('error', () => socket.destroy());
    createInterface(socket).once('line', (said) => socket.end(`${answer(said)}\n`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  workshop.onClose(async () => {
    const closed = once(server, 'close');
    server.close();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}

/** Redfish over TLS, with a certificate of the authority. */
export async function startRedfishBmc(
  workshop: Workshop,
  address: string,
  power: MachinePower,
  authority: CertificateAuthority,
): Promise<Bmc> {
  const machine = { address, uuid: power.node.uuid };
  const bmc = await RedfishBmc.start({ hosts: [address] }, authority, machine);
  workshop.onClose(() => bmc[Symbol.asyncDispose]());
  bmc.follows = () => (power.state === 'on' ? 'On' : 'Off');
  bmc.onReset = (to) => void (to === 'Off' ? power.off('bmc') : power.on('bmc'));
  return { kind: 'redfish', port: bmc.port, ...bmc.credential };
}
