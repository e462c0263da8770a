/**
 * Asks controllers how their machines are, each once in a period and all of them spread over it, by our driver or by the agent. Its
 * orders come as one JSON argument; it prints `warm` when each has answered, and every second how it goes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { realClock } from '../../src/clock.ts';
import { agentDriver, defaultAgentSettings, readMetadata } from '../../src/devices/agent.ts';
import type { DeviceDriver } from '../../src/devices/device.ts';
import { RedfishDriver } from '../../src/devices/redfish.ts';
import { percentile } from '../lib/table.ts';

export interface Orders {
  by: 'driver' | 'agent';
  ports: number[];
  trustFile: string;
  everyMs: number;
}

export interface Progress {
  answers: number;
  /** Neither on nor off. */
  others: number;
  p50Ms: number;
  p99Ms: number;
}

const orders = JSON.parse(process.argv[2] ?? '') as Orders;
const driver = await driverOf(orders);
const signal = new AbortController().signal;
const warm = new Set<number>();
let tookMs: number[] = [];
let others = 0;

async function driverOf({ by, trustFile }: Orders): Promise<DeviceDriver> {
  const settings = { ...defaultAgentSettings, trustFile };
  if (by === 'driver') return new RedfishDriver(settings);
  const metadata = await readMetadata('fence_redfish', settings, realClock);
  if (typeof metadata === 'string') throw new Error(metadata);
  return agentDriver('fence_redfish', metadata, settings);
}

async function ask(port: number): Promise<void> {
  const plain = { ip: '127.0.0.1', ipport: String(port), username: 'admin', systems_uri: '/redfish/v1/Systems/1' };
  const startedAt = performance.now();
  // A device for each question, as the operator makes it.
  const answer = await driver.device({ plain, secret: { password: 'secret' } }, realClock).ask('status', signal);
  tookMs.push(performance.now() - startedAt);
  if (answer.kind !== 'status') others += 1;
  if (!warm.has(port) && warm.add(port).size === orders.ports.length) console.log('warm');
}

async function askForEver(port: number, index: number): Promise<void> {
  await delay((index * orders.everyMs) / orders.ports.length);
  let dueAt = performance.now();
  for (;;) {
    await ask(port);
    dueAt += orders.everyMs;
    await delay(Math.max(0, dueAt - performance.now()));
  }
}

if (orders.ports.length === 0) console.log('warm');
for (const [index, port] of orders.ports.entries()) void askForEver(port, index);
setInterval(() => {
  const sorted = tookMs.sort((one, other) => one - other);
  const progress: Progress = {
    answers: sorted.length,
    others,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
  };
  console.log(JSON.stringify(progress));
  tookMs = [];
}, 1000);
