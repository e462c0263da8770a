/**
 * A management controller that speaks Redfish: `sushy-emulator` of OpenStack's sushy-tools over TLS, with two systems,
 * and before it a door of ours that also speaks TLS and in which the faults are.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { realClock } from '../../../src/clock.ts';
import { defaultAgentSettings } from '../../../src/devices/agent.ts';
import { RedfishDriver } from '../../../src/devices/redfish.ts';
import { createCertificateAuthority } from '../../support/certificates.ts';
import { waitFor } from '../../support/wait.ts';
import type { Endpoint, EndpointFault, Machine, Subject } from '../endpoint.ts';
import { pythonWithEndpoints } from '../needs.ts';
import { agentDevices, freePort, listen, Workshop } from './workshop.ts';

const canary = 'RedfishCanary1984';
const uuids = {
  a: '27946b59-9e44-4fa7-8e91-f3527a1ef094',
  b: '38a57c6a-af55-50b8-9fa2-04638b2ff1a5',
} as const;

interface Answer {
  status: number;
  body: string;
}

class Emulator {
  readonly #port: number;
  readonly #ca: string;

  private constructor(port: number, ca: string) {
    this.#port = port;
    this.#ca = ca;
  }

  static async start(workshop: Workshop, authority: ReturnType<typeof createCertificateAuthority>): Promise<Emulator> {
    const python = await pythonWithEndpoints();
    const [certificate, key] = [join(workshop.dir, 'emulator.crt'), join(workshop.dir, 'emulator.key')];
    const pair = authority.issue({ commonName: 'emulator', hosts: ['127.0.0.1'] });
    await writeFile(certificate, pair.certPem);
    await writeFile(key, pair.keyPem);
    const users = join(workshop.dir, 'users');
    await writeFile(users, `admin:${await bcrypt(python, canary)}\n`);
    const config = join(workshop.dir, 'emulator.conf');
    const systems = Object.entries(uuids).map(
      ([name, uuid]) => `{'uuid': '${uuid}', 'name': '${name}', 'power_state': 'On', 'nics': []}`,
    );
    // Its machines take up to eleven seconds to follow; one is enough to see whether somebody waits for them.
    await writeFile(
      config,
      [
        'import random',
        'random.randint = lambda *_: 1',
        `SUSHY_EMULATOR_FAKE_SYSTEMS = [${systems.join(', ')}]`,
        `SUSHY_EMULATOR_STATE_DIR = '${workshop.dir}'`,
        `SUSHY_EMULATOR_AUTH_FILE = '${users}'`,
        '',
      ].join('\n'),
    );
    const port = await freePort('tcp');
    const listen = ['--interface', '127.0.0.1', '--port', String(port)];
    const tls = ['--ssl-certificate', certificate, '--ssl-key', key];
    const args = ['-m', 'sushy_tools.emulator.main', '--fake', '--config', config, ...listen, ...tls];
    const child = workshop.start(python, args);
    const said: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => said.push(chunk));
    const emulator = new Emulator(port, authority.certPem);
    await waitFor('the Redfish emulator', async () => {
      if (child.exitCode !== null) throw new Error(Buffer.concat(said).toString());
      return (await emulator.ask('GET', `/redfish/v1/Systems/${uuids.a}`)).status === 200;
    });
    return emulator;
  }

  ask(method: string, path: string, body = '', headers?: Record<string, string>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.#port, path, method, ca: this.#ca, agent: false } as const;
      const login = `Basic ${Buffer.from(`admin:${canary}`).toString('base64')}`;
      const sent = headers ?? { authorization: login, 'content-type': 'application/json' };
      const asked = request({ ...options, headers: sent }, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      });
      asked.on('error', reject);
      asked.end(body);
    });
  }

  async power(machine: Machine): Promise<'on' | 'off'> {
    const { body } = await this.ask('GET', `/redfish/v1/Systems/${uuids[machine]}`);
    return (JSON.parse(body) as { PowerState: string }).PowerState === 'Off' ? 'off' : 'on';
  }

  async setPower(machine: Machine, power: 'on' | 'off'): Promise<void> {
    if ((await this.power(machine)) === power) return;
    const path = `/redfish/v1/Systems/${uuids[machine]}/Actions/ComputerSystem.Reset`;
    await this.ask('POST', path, JSON.stringify({ ResetType: power === 'on' ? 'On' : 'ForceOff' }));
    await waitFor('the emulated machine to follow', async () => (await this.power(machine)) === power);
  }
}

/** The password goes in by stdin here as well. */
async function bcrypt(python: string, password: string): Promise<string> {
  const code = 'import bcrypt, sys; print(bcrypt.hashpw(sys.stdin.buffer.read(), bcrypt.gensalt(4)).decode())';
  return new Promise((resolve, reject) => {
    const child = execFile(python, ['-c', code], (error, stdout) =>
      error === null ? resolve(stdout.trim()) : reject(new Error('no hash', { cause: error })),
    );
    child.stdin?.end(password);
  });
}

/** Passes on what it is asked, and spoils what a fault says to spoil. */
class Door {
  readonly faults: Record<Machine, EndpointFault> = { a: 'none', b: 'none' };
  readonly actions: Record<Machine, number> = { a: 0, b: 0 };
  readonly claims: Partial<Record<Machine, unknown>> = {};
  readonly held: Partial<Record<Machine, () => Promise<unknown>>> = {};
  readonly #emulator: Emulator;

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
  }

  async handle(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = asked;
    const sent = await text(asked);
    const headers = Object.fromEntries(
      ['authorization', 'content-type', 'accept'].flatMap((name) => {
        const value = asked.headers[name];
        return typeof value === 'string' ? [[name, value]] : [];
      }),
    );
    const pass = (): Promise<Answer> => this.#emulator.ask(method, url, sent, headers);
    const machine = (['a', 'b'] as const).find((one) => url.includes(uuids[one]));
    const fault = machine === undefined ? 'none' : this.faults[machine];
    if (fault === 'hangs') return;
    if (machine !== undefined && method === 'POST') {
      const { status, body } = await this.#spoiled(machine, fault, pass);
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      return;
    }
    const answer = await pass();
    const claim = machine && this.claims[machine];
    const body =
      claim === undefined ? answer.body : JSON.stringify({ ...(JSON.parse(answer.body) as object), PowerState: claim });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
  }

  async #spoiled(machine: Machine, fault: EndpointFault, pass: () => Promise<Answer>): Promise<Answer> {
    this.actions[machine] += 1;
    const failed = { status: 500, body: '{"error": {"message": "internal error"}}' };
    const done = { status: 204, body: '' };
    switch (fault) {
      case 'refuses':
        return { status: 403, body: '{"error": {"message": "insufficient privileges"}}' };
      case 'ignores':
        return done;
      case 'late':
        this.held[machine] = pass;
        return done;
      case 'reportsFailure':
        await pass();
        return failed;
      default:
        return pass();
    }
  }
}

type Devices = Awaited<ReturnType<typeof agentDevices>>;

export interface RedfishEndpoint extends Endpoint {
  /** The same machine, by other hands. */
  by(devices: Devices): Pick<Endpoint, 'device'>;
  /** What the system says of its power from now on; undefined: the truth. */
  claim(machine: Machine, state: unknown): void;
}

/** One driver for all questions that are asked alike, as in an operator: connections are kept by it. */
export function driverDevices(): Devices {
  const drivers = new Map<string, RedfishDriver>();
  return (parameters, settings = {}) => {
    const key = JSON.stringify(settings);
    const driver = drivers.get(key) ?? new RedfishDriver({ ...defaultAgentSettings, ...settings });
    drivers.set(key, driver);
    const { power_timeout: _, ...plain } = parameters.plain;
    const understood = { ...parameters, plain };
    if (!driver.understands(understood)) throw new Error('this is for the agent');
    return driver.device(understood, realClock);
  };
}

export async function startRedfish(devices: Devices): Promise<RedfishEndpoint> {
  return Workshop.build(async (workshop) => {
    const authority = createCertificateAuthority();
    const emulator = await Emulator.start(workshop, authority);
    const door = new Door(emulator);
    const { certPem: cert, keyPem: key } = authority.issue({ commonName: 'bmc', hosts: ['127.0.0.1'] });
    const server = createServer({ cert, key }, (asked, response) => {
      door.handle(asked, response).catch(() => response.destroy());
    });
    const port = await listen(workshop, server);
    const trusted = join(workshop.dir, 'trusted.pem');
    await writeFile(trusted, authority.certPem);
    const stranger = join(workshop.dir, 'stranger.pem');
    await writeFile(stranger, createCertificateAuthority('stranger').certPem);
    const by = (devices: Devices): Pick<Endpoint, 'device'> => ({
      device(machine, { credential, trust, wiredTo = machine, timeoutMs } = {}) {
        const plain = {
          ip: '127.0.0.1',
          ipport: String(port),
          username: 'admin',
          systems_uri: `/redfish/v1/Systems/${uuids[wiredTo]}`,
          // Off, and it has to stay off: the agent takes the very word for a yes.
          ssl_insecure: '0',
          ...(door.faults[machine] !== 'none' && { power_timeout: '3' }),
        };
        const password = credential === 'wrong' ? canary.toLowerCase() : canary;
        const trustFile = trust === 'missing' ? stranger : trusted;
        return devices({ plain, secret: { password } }, { trustFile, ...(timeoutMs !== undefined && { timeoutMs }) });
      },
    });
    return {
      ...by(devices),
      by,
      claim: (machine, state) => (door.claims[machine] = state),
      power: (machine) => emulator.power(machine),
      setPower: (machine, power) => emulator.setPower(machine, power),
      async fault(machine, fault) {
        door.faults[machine] = fault;
        door.actions[machine] = 0;
      },
      async catchUp(machine) {
        await door.held[machine]?.();
      },
      actions: (machine) => Promise.resolve(door.actions[machine]),
      stop: () => workshop.close(),
    };
  });
}

const common = {
  faults: ['refuses', 'hangs', 'ignores', 'late', 'reportsFailure'],
  identity: uuids,
  wrongCredential: 'refused',
  checksTrust: true,
  canary,
} as const;

export const redfishByAgent: Subject = {
  ...common,
  name: 'Redfish: fence_redfish against sushy-emulator over TLS',
  start: async () => startRedfish(await agentDevices('fence_redfish')),
};

export const redfishByDriver: Subject = {
  ...common,
  name: 'Redfish: our driver against sushy-emulator over TLS',
  start: () => startRedfish(driverDevices()),
};
