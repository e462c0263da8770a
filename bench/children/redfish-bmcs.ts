/**
 * Management controllers that speak Redfish over TLS, each at a port of its own, in a process of its own so that it is not
 * counted. Prints `{ports, trustFile}` as one line when all of them listen.
 *
 *     node bench/children/redfish-bmcs.ts COUNT DIR
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createCertificateAuthority } from '../../test/support/certificates.ts';

const [, , count = '1', dir = '.'] = process.argv;
const authority = createCertificateAuthority();
const { certPem: cert, keyPem: key } = authority.issue({ commonName: 'bmc', hosts: ['127.0.0.1'] });
const trustFile = join(dir, 'bmcs.pem');
writeFileSync(trustFile, authority.certPem);

const system = JSON.stringify({
  '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
  '@odata.id': '/redfish/v1/Systems/1',
  UUID: '27946b59-9e44-4fa7-8e91-f3527a1ef094',
  PowerState: 'On',
  Actions: { '#ComputerSystem.Reset': { target: '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset' } },
  // A real one has some kilobytes of what nobody asked for.
  Oem: Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`Detail${index}`, `a value of detail ${index}`])),
});

const ports: number[] = [];
for (let index = 0; index < Number(count); index += 1) {
  const server = createServer({ cert, key, keepAliveTimeout: 60_000 }, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(system);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports.push((server.address() as AddressInfo).port);
}
console.log(JSON.stringify({ ports, trustFile }));
