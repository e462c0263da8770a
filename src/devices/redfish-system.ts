/**
 * What a Redfish service says of a computer system, and how it is told to switch it (DMTF's DSP0266 and DSP2046). Everything that a
 * service sends is taken for what it may be: a path in it is followed only on the same controller, and a state that is neither
 * `On` nor `Off` is neither.
 */
import { canonicalKey } from '../api/agent-parameters.ts';
import { valueClasses } from '../api/agent-values.ts';
import { truth } from './agent-check.ts';
import { at, failureOf, isRecord, jsonOf, listAt, stringAt } from './clouds/cloud.ts';
import { Failure, type Turn } from './clouds/turn.ts';
import type { DeviceParameters, Identity } from './device.ts';
import type { HttpsAnswer } from './http.ts';
import { isUuid } from '../api/machine.ts';

export interface Bmc {
  /** `https://` and where it is. */
  origin: string;
  /** Of the system, on it. */
  path: string;
  authorization: string;
  isUnverified: boolean;
}

export type System = Readonly<Record<string, unknown>>;

/** A system is a few kilobytes. */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** Undefined: what is written is no address, or no path on it. */
export function bmcOf({ plain, secret }: DeviceParameters): Bmc | undefined {
  const values = new Map(Object.entries({ ...plain, ...secret }).map(([key, value]) => [canonicalKey(key), value]));
  const ip = values.get('ip') ?? '';
  const path = values.get('systems_uri') ?? '';
  const isWithPort = /^[^:]+:\d+$/.test(ip);
  const host = ip.includes(':') && !isWithPort && !ip.startsWith('[') ? `[${ip}]` : ip;
  const origin = URL.parse(`https://${isWithPort ? ip : `${host}:${values.get('ipport') ?? '443'}`}`)?.origin;
  if (origin === undefined || urlOn(origin, path) === undefined) return undefined;
  const login = `${values.get('username') ?? ''}:${values.get('password') ?? ''}`;
  return {
    origin,
    path,
    authorization: `Basic ${Buffer.from(login).toString('base64')}`,
    isUnverified: truth(values.get('ssl_insecure') ?? '0') === true,
  };
}

/** Undefined: it is no path on this controller, or would become another one on its way. */
function urlOn(origin: string, path: string): URL | undefined {
  return valueClasses.redfishPath.pattern.test(path) ? new URL(path, origin) : undefined;
}

export async function readSystem(bmc: Bmc, turn: Turn): Promise<System> {
  const system = await readJson(bmc, bmc.path, turn);
  const type = stringAt(system, '@odata.type');
  // A chassis, among others, has a power state as well, and it is not that of the machine in it.
  if (type !== undefined && !type.startsWith('#ComputerSystem.')) {
    throw new Failure('unknown', `what is there is ${shown(type)}, and no computer system`);
  }
  return system;
}

export function powerOf(system: System): 'on' | 'off' {
  const state = system['PowerState'];
  if (state === 'On') return 'on';
  // "PoweringOff" may still write, and "Paused" may go on: neither is off.
  if (state === 'Off') return 'off';
  throw new Failure('unknown', `its power state is ${shown(state)}, which is neither On nor Off`);
}

/** Undefined where the controller does not tell, which is less than to tell of another machine. */
export function identityOf(system: System): Identity | undefined {
  const uuid = stringAt(system, 'UUID');
  return isUuid(uuid) ? { kind: 'systemUUID', value: uuid.toLowerCase() } : undefined;
}

/** By force: a guest that hangs does not shut itself down. Returns when the controller has taken it. */
export async function reset(power: 'on' | 'off', system: System, bmc: Bmc, turn: Turn): Promise<void> {
  const action = at(system, 'Actions', '#ComputerSystem.Reset');
  const target = stringAt(action, 'target') ?? '';
  const url = urlOn(bmc.origin, target);
  const isItsOwn = [bmc.path, stringAt(system, '@odata.id')].some(
    (path) => path && target.startsWith(`${trim(path)}/`),
  );
  if (url === undefined || !isItsOwn) {
    throw new Failure('refused', `it does not say where its power is switched, or elsewhere: ${shown(target)}`);
  }
  const ResetType = resetType(power, await allowedTypes(action, bmc, turn));
  const answer = await turn.call({
    method: 'POST',
    url,
    headers: { ...headersFor(bmc), 'content-type': 'application/json' },
    body: JSON.stringify({ ResetType }),
  });
  if (answer.status < 200 || answer.status > 299) throw failure(answer);
}

const typesFor = { off: ['ForceOff'], on: ['On', 'ForceOn'] } as const;

function resetType(power: 'on' | 'off', allowed: readonly unknown[]): string {
  const [first, ...others] = typesFor[power];
  if (allowed.length === 0) return first;
  const type = [first, ...others].find((one) => allowed.includes(one));
  if (type !== undefined) return type;
  throw new Failure('refused', `it cannot be told ${first}, but only ${shown(allowed.join(', '))}`);
}

/** Empty: it does not say. Newer services tell it in a resource of its own. */
async function allowedTypes(action: unknown, bmc: Bmc, turn: Turn): Promise<readonly unknown[]> {
  const here = listAt(action, 'ResetType@Redfish.AllowableValues');
  const path = stringAt(action, '@Redfish.ActionInfo');
  if (here.length > 0 || path === undefined) return here;
  try {
    const parameters = listAt(await readJson(bmc, path, turn), 'Parameters');
    return listAt(
      parameters.find((one) => stringAt(one, 'Name') === 'ResetType'),
      'AllowableValues',
    );
  } catch (error) {
    // What it says there would only have chosen a word.
    if (error instanceof Failure) return [];
    throw error;
  }
}

async function readJson(bmc: Bmc, path: string, turn: Turn): Promise<System> {
  const ask = (url: URL): Promise<HttpsAnswer> => turn.call({ method: 'GET', url, headers: headersFor(bmc) });
  const url = urlOn(bmc.origin, path);
  if (url === undefined) throw new Failure('unknown', `it points to ${shown(path)}, which is no path on it`);
  const first = await ask(url);
  const moved = movedBySlash(first, url);
  const answer = moved === undefined ? first : await ask(moved);
  if (answer.status !== 200) throw failure(answer);
  return jsonOf(answer);
}

/** Some services want a slash at the end of a path, or none, and send whoever forgets it there. Nothing else is followed. */
function movedBySlash({ status, headers }: HttpsAnswer, asked: URL): URL | undefined {
  if (![301, 302, 307, 308].includes(status)) return undefined;
  const to = URL.parse(headers['location'] ?? '', asked.href);
  if (to?.origin !== asked.origin || to.search !== '' || to.pathname === asked.pathname) return undefined;
  return trim(to.pathname) === trim(asked.pathname) ? urlOn(asked.origin, to.pathname) : undefined;
}

function headersFor({ authorization }: Bmc): Readonly<Record<string, string>> {
  return { authorization, accept: 'application/json', 'odata-version': '4.0' };
}

function failure(answer: HttpsAnswer): Failure {
  const { status, headers } = answer;
  if (status >= 300 && status < 400) {
    return new Failure(
      'unknown',
      `it sends us to ${shown(headers['location'])}, where we do not go (status ${status})`,
    );
  }
  // The message itself mostly says that there is more information.
  const [more] = listAt(bodyOf(answer), 'error', '@Message.ExtendedInfo');
  const told = stringAt(more, 'Message');
  return failureOf(told === undefined ? answer : { ...answer, body: JSON.stringify({ message: told }) }, 'the service');
}

function bodyOf({ body }: HttpsAnswer): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function trim(path: string): string {
  return path.replace(/\/$/, '');
}

/** Not as it was sent: it may be anything. */
function shown(value: unknown): string {
  return JSON.stringify(value ?? null).slice(0, 80);
}
