/**
 * Whose power it is that a fence agent reports (S29). The agents do not say, so the protocol behind them is asked: IPMI
 * for the system's GUID, Redfish for the system's UUID. Both usually are what the node's own firmware tells Kubernetes.
 */
import { readFile } from 'node:fs/promises';
import { truth } from './agent-check.ts';
import { isIpmi } from './agent-list.ts';
import { runProgram } from './agent-process.ts';
import { Failure, Turn } from './clouds/turn.ts';
import type { DeviceParameters, DeviceWorld, Identity } from './device.ts';
import { firmwareOrder, isUuid } from '../api/machine.ts';
import { ofTheSystem } from './redfish-connections.ts';
import { bmcOf, BODY_LIMIT_BYTES, identityOf, readSystem, type System } from './redfish-system.ts';

export interface IdentityQuestion {
  agent: string;
  parameters: DeviceParameters;
  settings: { trustFile?: string };
  environment: Readonly<Record<string, string>>;
  world: DeviceWorld;
  signal: AbortSignal;
  /** What is left of the time for the whole question. */
  timeoutMs: number;
}

/** Undefined where the device does not tell, for whatever reason: that is less than to tell of another machine. */
export async function readIdentity(question: IdentityQuestion): Promise<Identity | undefined> {
  if (question.agent === 'fence_redfish') return readRedfishUuid(question);
  const uuid = isIpmi(question.agent) ? await readIpmiGuid(question) : undefined;
  return isUuid(uuid) ? { kind: 'systemUUID', value: uuid } : undefined;
}

/**
 * Many a controller takes a second to answer. One that does not tell its cipher suites has ipmitool wait for ten before it goes
 * on without: given up then, it would never say whose power it is.
 */
const TIMEOUT_MS = 25_000;

async function readIpmiGuid(question: IdentityQuestion): Promise<string | undefined> {
  const value = valuesOf(question.parameters);
  const isLanplus = truth(value('lanplus') ?? (question.agent === 'fence_ipmilan' ? '0' : '1')) === true;
  const option = (flag: string, text: string | undefined): string[] => (text === undefined ? [] : [flag, text]);
  const end = await runProgram(
    {
      file: 'ipmitool',
      args: [
        '-I',
        isLanplus ? 'lanplus' : 'lan',
        '-H',
        value('ip', 'ipaddr') ?? '',
        '-L',
        'USER',
        ...option('-p', value('ipport')),
        ...option('-U', value('username', 'login')),
        ...option('-C', value('cipher')),
        ...option('-t', value('target')),
        // The password comes by stdin. As an argument it could be read in the list of processes (S28).
        '-a',
        'raw',
        '0x06',
        '0x37',
      ],
      input: `${value('password', 'passwd') ?? ''}\n`,
      environment: question.environment,
      signal: question.signal,
      timeoutMs: Math.min(TIMEOUT_MS, question.timeoutMs),
      outputLimitBytes: 4096,
    },
    question.world,
  );
  if (end.kind !== 'exited' || end.code !== 0) return undefined;
  const bytes = end.stdout.match(/\b[0-9a-f]{2}\b/g) ?? [];
  return bytes.length === 16 ? firmwareOrder(bytes.join('')) : undefined;
}

async function readRedfishUuid(question: IdentityQuestion): Promise<Identity | undefined> {
  const system = await readRedfish(question).catch(() => undefined);
  return system && identityOf(system);
}

/** fence_redfish does not look at the status of an answer and cannot say that a credential is wrong; this can. */
export function whyRedfishRefuses(question: IdentityQuestion): Promise<string | undefined> {
  return readRedfish(question).then(
    () => undefined,
    (error: unknown) => (error instanceof Failure && error.kind === 'refused' ? error.message : undefined),
  );
}

async function readRedfish({ parameters, settings, world, signal, timeoutMs }: IdentityQuestion): Promise<System> {
  const bmc = bmcOf(parameters);
  if (bmc === undefined) throw new Failure('unknown', 'there is no such address');
  const { isUnverified } = bmc;
  const ca = settings.trustFile === undefined ? ofTheSystem() : await readFile(settings.trustFile, 'utf8');
  const deadline = world.monotonic() + Math.min(TIMEOUT_MS, timeoutMs);
  const way = { ca, isUnverified, bodyLimitBytes: BODY_LIMIT_BYTES };
  const trustedBy = '--agent-trust-file';
  return readSystem(
    bmc,
    new Turn({ world, signal, deadline, callTimeoutMs: TIMEOUT_MS, way, hide: () => {}, trustedBy }),
  );
}

function valuesOf({ plain, secret }: DeviceParameters): (...keys: string[]) => string | undefined {
  const all: Readonly<Record<string, string>> = { ...plain, ...secret };
  return (...keys) => keys.map((key) => all[key]).find((text) => text !== undefined);
}
