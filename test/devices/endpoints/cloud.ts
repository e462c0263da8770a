/** What the endpoints of clouds share: a TLS door, processes that are asked by lines, and the faults of two machines. */
import type { ChildProcess } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { createInterface, type Interface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { realClock } from '../../../src/clock.ts';
import { cloudDriver, defaultCloudSettings } from '../../../src/devices/clouds/cloud.ts';
import type { Cloud } from '../../../src/devices/clouds/interface.ts';
import type { Device, DeviceParameters } from '../../../src/devices/device.ts';
import { createCertificateAuthority } from '../../support/certificates.ts';
import type { Endpoint, EndpointFault, Machine, Variant } from '../endpoint.ts';
import { listen, type Workshop } from './workshop.ts';

export interface Asked {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  /** Names and values in turn, as they came: who passes a signed request on must not touch it. */
  rawHeaders: readonly string[];
  body: string;
}

export interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** Never answered. */
export const SILENCE = Symbol('silence');

export interface Door {
  /** Without a slash at its end. */
  url: string;
  ca: string;
  /** Of an authority that has nothing to do with it. */
  strangersCa: string;
  /** How often it was knocked at. */
  asked: () => number;
}

export async function openDoor(
  workshop: Workshop,
  handle: (asked: Asked) => Promise<Reply | typeof SILENCE> | Reply | typeof SILENCE,
): Promise<Door> {
  const authority = createCertificateAuthority();
  const { certPem: cert, keyPem: key } = authority.issue({ commonName: 'cloud', hosts: ['127.0.0.1'] });
  let asked = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    asked += 1;
    const { method = '', headers, rawHeaders } = request;
    const body = await text(request);
    const reply = await handle({ method, url: new URL(request.url ?? '/', url), headers, rawHeaders, body });
    if (reply === SILENCE) return;
    response.writeHead(reply.status, reply.headers).end(reply.body);
  };
  const server = createServer({ cert, key }, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  const url = `https://127.0.0.1:${await listen(workshop, server)}`;
  return {
    url,
    ca: authority.certPem,
    strangersCa: createCertificateAuthority('stranger').certPem,
    asked: () => asked,
  };
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** A process that is told something and answers by a line each time. */
export class LineProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(child: ChildProcess) {
    this.#child = child;
    if (child.stdout === null) throw new Error('its output cannot be read');
    child.stderr?.resume();
    const lines: Interface = createInterface({ input: child.stdout });
    this.#lines = lines[Symbol.asyncIterator]();
  }

  ask(line: string): Promise<string> {
    const answer = this.#last.then(async () => {
      this.#child.stdin?.write(`${line}\n`);
      const next = await this.#lines.next();
      if (next.done) throw new Error('the process has ended');
      return next.value;
    });
    this.#last = answer.catch(() => {});
    return answer;
  }
}

/** What is wrong with which machine, and how often it was told something. */
export class Faults {
  readonly of: Record<Machine, EndpointFault> = { a: 'none', b: 'none' };
  readonly actions: Record<Machine, number> = { a: 0, b: 0 };
  readonly held: Partial<Record<Machine, () => unknown>> = {};

  set(machine: Machine, fault: EndpointFault): void {
    this.of[machine] = fault;
    this.actions[machine] = 0;
    delete this.held[machine];
  }

  async catchUp(machine: Machine): Promise<void> {
    await this.held[machine]?.();
  }
}

/** A process for the watch over credentials to see: a driver that speaks for itself starts none. */
export function startBystander(workshop: Workshop): void {
  workshop.start('sleep', ['600']);
}

/** A device with parameters that pass its driver's check. */
export function cloudDevice(
  cloud: Cloud,
  parameters: DeviceParameters,
  timeoutMs = defaultCloudSettings.timeoutMs,
): Device {
  const driver = cloudDriver(cloud, { ...defaultCloudSettings, timeoutMs });
  const problems = driver.check(parameters);
  if (problems.length > 0) throw new Error(problems.map(({ key, problem }) => `${key}: ${problem}`).join('; '));
  return driver.device(parameters, realClock);
}

/** How long a question may take: an operation that never ends need not be followed for long. */
function patience(fault: EndpointFault, { timeoutMs }: Variant): number {
  return timeoutMs ?? (fault === 'late' ? 1_000 : defaultCloudSettings.timeoutMs);
}

/** What is the same of every cloud's endpoint: its devices, their faults, and its end. */
export function cloudEndpoint(
  workshop: Workshop,
  {
    cloud,
    faults,
    parameters,
  }: { cloud: Cloud; faults: Faults; parameters: (machine: Machine, variant: Variant) => DeviceParameters },
): Omit<Endpoint, 'power' | 'setPower'> {
  return {
    device: (machine, variant = {}) =>
      cloudDevice(cloud, parameters(machine, variant), patience(faults.of[machine], variant)),
    fault: async (machine, fault) => faults.set(machine, fault),
    catchUp: (machine) => faults.catchUp(machine),
    actions: async (machine) => faults.actions[machine],
    stop: () => workshop.close(),
  };
}
