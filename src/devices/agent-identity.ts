/**
 * Whose power it is that a fence agent reports (S29). The agents do not say, so the protocol behind them is asked: IPMI
 * for the system's GUID, Redfish for the system's UUID. Both usually are what the node's own firmware tells Kubernetes.
 */
import { request } from 'node:https';
import { readFile } from 'node:fs/promises';
import { truth } from './agent-check.ts';
import { isIpmi } from './agent-list.ts';
import { runProgram } from './agent-process.ts';
import type { DeviceParameters, DeviceWorld, Identity } from './device.ts';
import { firmwareOrder } from './identity.ts';

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
  const uuid = isIpmi(question.agent)
    ? await readIpmiGuid(question)
    : question.agent === 'fence_redfish'
      ? await readRedfishUuid(question)
      : undefined;
  return uuid === undefined || /^[0-]+$/.test(uuid) ? undefined : { kind: 'systemUUID', value: uuid };
}

/**
 * Many a controller takes a second to answer. One that does not tell its cipher suites has ipmitool wait for ten before it goes
 * on without: given up then, it would never say whose power it is.
 */
const TIMEOUT_MS = 25_000;
const BODY_LIMIT = 1024 * 1024;

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

async function readRedfishUuid(question: IdentityQuestion): Promise<string | undefined> {
  const answer = await askRedfish(question).catch(() => undefined);
  const uuid = answer?.status === 200 && isRecord(answer.body) ? answer.body['UUID'] : undefined;
  return typeof uuid === 'string' && uuid.replaceAll('-', '').length === 32 ? uuid.toLowerCase() : undefined;
}

/** fence_redfish does not look at the status of an answer and cannot say that a credential is wrong; this can. */
export async function whyRedfishRefuses(question: IdentityQuestion): Promise<string | undefined> {
  const answer = await askRedfish(question).catch(() => undefined);
  if (answer?.status === 401) return 'the device does not accept the credential (status 401)';
  if (answer?.status === 403) return 'the user may not do this (status 403)';
  return answer?.status === 404 ? 'there is no such system (status 404)' : undefined;
}

interface RedfishAnswer {
  status: number | undefined;
  body: unknown;
}

async function askRedfish({
  parameters,
  settings,
  world,
  signal,
  timeoutMs,
}: IdentityQuestion): Promise<RedfishAnswer> {
  const value = valuesOf(parameters);
  const ip = value('ip', 'ipaddr') ?? '';
  const isWithPort = /^[^:]+:\d+$/.test(ip);
  const host = ip.includes(':') && !isWithPort && !ip.startsWith('[') ? `[${ip}]` : ip;
  const place = isWithPort ? ip : `${host}:${value('ipport') ?? '443'}`;
  const ca = settings.trustFile === undefined ? undefined : await readFile(settings.trustFile);
  const options = {
    auth: `${value('username', 'login') ?? ''}:${value('password', 'passwd') ?? ''}`,
    rejectUnauthorized: truth(value('ssl_insecure') ?? '0') !== true,
    agent: false,
    signal,
    ...(ca && { ca }),
  };
  return new Promise((resolve, reject) => {
    const url = `https://${place}${value('systems_uri', 'systems-uri') ?? ''}`;
    const asked = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > BODY_LIMIT) asked.destroy(new Error('the answer is too long'));
        chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, body: json(Buffer.concat(chunks)) }));
    });
    const cancel = world.after(Math.min(TIMEOUT_MS, timeoutMs), () => asked.destroy(new Error('no answer in time')));
    asked.on('close', cancel);
    asked.on('error', reject);
    asked.end();
  });
}

function json(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

function valuesOf({ plain, secret }: DeviceParameters): (...keys: string[]) => string | undefined {
  const all: Readonly<Record<string, string>> = { ...plain, ...secret };
  return (...keys) => keys.map((key) => all[key]).find((text) => text !== undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
