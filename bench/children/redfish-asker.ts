/**
 * Asks controllers how their machines are, each once in a period and all of them spread over it, by our driver, by the agent, or by
 * the watch of the operator with all that it keeps of the answers. Its orders come as one JSON argument; it prints `warm` when each has answered, and every second how it goes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { DeviceMemory } from '../../src/act/device-memory.ts';
import { DeviceTasks } from '../../src/act/device-tasks.ts';
import { PowerQuestions } from '../../src/act/power-questions.ts';
import { PowerWatch } from '../../src/act/power-watch.ts';
import type { Method } from '../../src/api/fence-config.ts';
import type { LiveNode } from '../../src/api/release-view.ts';
import { realClock } from '../../src/clock.ts';
import { agentDriver, defaultAgentSettings, readMetadata } from '../../src/devices/agent.ts';
import type { Device, DeviceDriver } from '../../src/devices/device.ts';
import { RedfishDriver } from '../../src/devices/redfish.ts';
import { isDrilled, learn, learnCut, learnNeverOff, learnSwapped, withMemory } from '../../src/fence/memory.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { percentile } from '../lib/table.ts';

export interface Orders {
  by: 'driver' | 'agent' | 'watch';
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

interface Stored {
  metadata: object;
}

const orders = JSON.parse(process.argv[2] ?? '') as Orders;
const driver = await driverOf(orders);
const signal = new AbortController().signal;
const warm = new Set<number>();
let tookMs: number[] = [];
let others = 0;

async function driverOf({ by, trustFile }: Orders): Promise<DeviceDriver> {
  const settings = { ...defaultAgentSettings, trustFile };
  if (by !== 'agent') return new RedfishDriver(settings);
  const metadata = await readMetadata('fence_redfish', settings, realClock);
  if (typeof metadata === 'string') throw new Error(metadata);
  return agentDriver('fence_redfish', metadata, settings);
}

async function ask(port: number): Promise<void> {
  const startedAt = performance.now();
  // A device for each question, as the operator makes it where nobody watches.
  const answer = await deviceAt(port).ask('status', signal);
  noted(port, performance.now() - startedAt, answer.kind === 'status');
}

function noted(port: number, ms: number, isAnswer: boolean): void {
  tookMs.push(ms);
  if (!isAnswer) others += 1;
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

/** As the operator does it: one device for each is kept, and what it says is weighed and remembered. */
function watch(): void {
  const stored: Stored[] = [];
  const client = {
    create: async (_: unknown, object: Stored) => ({
      ok: true,
      value: { ...object, metadata: { ...object.metadata, resourceVersion: String(stored.push(object)), uid: 'u' } },
    }),
    replace: async (_: unknown, object: Stored) => ({ ok: true, value: object }),
  } as unknown as KubeClient;
  const lease = { renewTime: 't', unchangedForMs: 1000, renewedSinceNotReady: false, renewed: true };
  const memory = new DeviceMemory({
    client,
    clock: realClock,
    namespace: 'default',
    isLeading: () => true,
    onProblem: (source, error) => console.error(source, error.message),
    lifeOf: () => ({ lease, bootId: 'b' }),
    rivalOf: () => undefined,
    learn,
    learnCut,
    learnSwapped,
    learnNeverOff,
    recall: withMemory,
    isDrilled,
  });
  const devices = new Map(orders.ports.map((port) => [String(port), deviceAt(port)]));
  const tasks = new DeviceTasks({
    clock: realClock,
    provider: {
      device: async (_, { parameters }) => ({
        ok: true,
        isCheap: true,
        device: devices.get(parameters['ipport'] ?? '')!,
      }),
    },
    doubt: () => undefined,
    hear: (node, asked, said) => memory.hear(node, asked, { said, by: 'watch' }),
    knock: async () => 'silent',
    onDone: () => {},
  });
  const questions = new PowerQuestions({
    clock: realClock,
    ask: async (node, method) => {
      const startedAt = performance.now();
      const answer = await tasks.ask(node, { method, what: 'power', isKept: true });
      noted(Number(method.parameters['ipport']), performance.now() - startedAt, answer.power !== 'unknown');
      return answer;
    },
    isWatched: () => true,
    knock: async () => 'silent',
    onAnswer: () => {},
  });
  new PowerWatch({
    clock: realClock,
    random: Math.random,
    questions,
    doors: { learn: async () => true, forget: () => {} },
    isCheap: async () => true,
    isBusy: () => false,
    onState: (node, method, state) => memory.watched(node, method, state),
  }).update(orders.ports.map((port) => ({ node: nodeAt(port), methods: [methodAt(port)], everyMs: orders.everyMs })));
}

function deviceAt(port: number): Device {
  return driver.device({ plain: plainAt(port), secret: { password: 'secret' } }, realClock);
}

function plainAt(port: number): Record<string, string> {
  return { ip: '127.0.0.1', ipport: String(port), username: 'admin', systems_uri: '/redfish/v1/Systems/1' };
}

function methodAt(port: number): Method {
  return { name: 'bmc-off', action: 'off', driver: 'agent:fence_redfish', parameters: plainAt(port), secrets: ['bmc'] };
}

function nodeAt(port: number): LiveNode {
  const name = `node-${port}`;
  return {
    name,
    uid: name,
    resourceVersion: '1',
    bootId: 'b',
    labels: {},
    ready: 'True',
    taints: [],
    volumesInUse: [],
  };
}

if (orders.ports.length === 0) console.log('warm');
if (orders.by === 'watch') watch();
else for (const [index, port] of orders.ports.entries()) void askForEver(port, index);
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
