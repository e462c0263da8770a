/** Where a device is and which of its outlets is meant: two nodes that have the same are not fenced by it. */
import { canonicalKey } from './agent-parameters.ts';
import { hash } from './hash.ts';

const besideAddress = ['ipport', 'plug', 'systems_uri'];
/** The parameters that say it. */
export const PLACE_KEYS: readonly string[] = ['ip', ...besideAddress, 'instance'];

/** Undefined: that is not among the parameters, or told by the node itself. A hash, because part of it may come from a Secret. */
export function plugOf(driver: string, parameters: Readonly<Record<string, string>>): string | undefined {
  if (driver === 'built-in') return undefined;
  const given = new Map(Object.entries(parameters).map(([key, value]) => [canonicalKey(key), value]));
  const ip = given.get('ip');
  if (ip !== undefined) return hash([ip, ...besideAddress.map((key) => given.get(key))].join(' '));
  const instance = given.get('instance');
  return instance === undefined ? undefined : hash([driver, instance].join(' '));
}
