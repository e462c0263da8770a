/**
 * A management controller with one machine that speaks Redfish over TLS, on loopback: obeys by default, and does to a request
 * whatever a test wants done to it instead.
 */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { realClock } from '../../src/clock.ts';
import type { Device, DeviceAnswer } from '../../src/devices/device.ts';
import { RedfishDriver } from '../../src/devices/redfish.ts';
import { createCertificateAuthority, type CertificateRequest } from './certificates.ts';

export const SYSTEM = '/redfish/v1/Systems/1';
export const RESET = `${SYSTEM}/Actions/ComputerSystem.Reset`;

/** What is done to a request instead of answering it as a controller should; false: nothing. */
export type Mischief = (asked: IncomingMessage, response: ServerResponse) => false | void;

export class RedfishBmc implements AsyncDisposable {
  readonly #server: Server;
  readonly #dir: string;
  /** The authority that its certificate is of, and another one. */
  readonly trustFile: string;
  readonly strangerFile: string;
  readonly credential = { username: 'admin', password: 'RedfishCanary1984' };
  readonly uuid: string;
  power: unknown = 'On';
  /** Where a machine is behind it: what its power is, whatever was said to it. */
  follows: (() => 'On' | 'Off') | undefined;
  /** Added to what the system says of itself, or in the place of it. */
  more: Readonly<Record<string, unknown>> = {};
  mischief: Mischief = () => false;
  /** The machine behind it follows. */
  onReset: (power: 'On' | 'Off') => void = () => {};
  /** Method and path of each request that has arrived, and what a POST said. */
  readonly requests: string[] = [];
  connections = 0;

  private constructor(dir: string, server: Server, uuid: string) {
    this.#dir = dir;
    this.uuid = uuid;
    this.#server = server;
    this.trustFile = join(dir, 'trusted.pem');
    this.strangerFile = join(dir, 'stranger.pem');
  }

  /** Several of the same authority are trusted by one file. */
  static async start(
    certificate: Partial<CertificateRequest> = {},
    authority = createCertificateAuthority(),
    { address = '127.0.0.1', uuid = '27946b59-9e44-4fa7-8e91-f3527a1ef094' } = {},
  ): Promise<RedfishBmc> {
    const { certPem, keyPem } = authority.issue({ commonName: 'bmc', hosts: [address], ...certificate });
    const server = createServer({ cert: certPem, key: keyPem });
    const bmc = new RedfishBmc(await mkdtemp(join(tmpdir(), 'fenceline-bmc-')), server, uuid);
    await writeFile(bmc.trustFile, authority.certPem);
    await writeFile(bmc.strangerFile, createCertificateAuthority('stranger').certPem);
    server.on('request', (asked, response) => {
      bmc.#handle(asked, response).catch(() => response.destroy());
    });
    server.on('secureConnection', () => (bmc.connections += 1));
    server.listen(0, address);
    await once(server, 'listening');
    return bmc;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that are open now. */
  async open(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
    );
  }

  /** As a controller that restarts does it. */
  dropConnections(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    await rm(this.#dir, { recursive: true, force: true });
  }

  system(): Record<string, unknown> {
    return {
      '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
      '@odata.id': SYSTEM,
      UUID: this.uuid,
      PowerState: this.follows?.() ?? this.power,
      Actions: { '#ComputerSystem.Reset': { target: RESET } },
      ...this.more,
    };
  }

  async #handle(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = asked;
    const body = await text(asked);
    this.requests.push([method, url, body].filter((part) => part !== '').join(' '));
    if (this.mischief(asked, response) !== false) return;
    const { username, password } = this.credential;
    const login = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    if (asked.headers.authorization !== login) return json(response, 401, { error: { message: 'who are you?' } });
    if (method === 'GET' && url === SYSTEM) return json(response, 200, this.system());
    if (method === 'POST' && url === RESET) {
      const { ResetType } = JSON.parse(body) as { ResetType: string };
      const power = ResetType === 'ForceOff' ? 'Off' : 'On';
      this.power = power;
      this.onReset(power);
      response.writeHead(204).end();
      return;
    }
    json(response, 404, { error: { message: 'nothing here' } });
  }
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export interface Change {
  plain?: Record<string, string>;
  password?: string;
  trustFile?: string;
  timeoutMs?: number;
}

export function driverOf(bmc: RedfishBmc, { trustFile = bmc.trustFile, timeoutMs = 5000 }: Change = {}): RedfishDriver {
  return new RedfishDriver({ timeoutMs, trustFile, allowed: [] });
}

/** Its machine, by our driver. */
export function deviceOf(bmc: RedfishBmc, change: Change = {}, driver = driverOf(bmc, change)): Device {
  const { username, password } = bmc.credential;
  const plain = { ip: '127.0.0.1', ipport: String(bmc.port), username, systems_uri: SYSTEM, ...change.plain };
  return driver.device({ plain, secret: { password: change.password ?? password } }, realClock);
}

/** What is said of a machine that is on. */
export function on({ uuid }: RedfishBmc): DeviceAnswer {
  return { kind: 'status', power: 'on', identity: { kind: 'systemUUID', value: uuid } };
}
