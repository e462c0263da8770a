/** Where a device is and which of its outlets are meant: two nodes that have one of them in common are not fenced by it. */
import { canonicalKey } from './agent-parameters.ts';
import { hash } from './hash.ts';

const besideAddress = ['ipport', 'plug', 'systems_uri'];
/** The parameters that say it. */
export const PLACE_KEYS: readonly string[] = ['ip', ...besideAddress, 'instance'];

/** What an agent takes where no port is written. */
const usualPorts: readonly (readonly [RegExp, string])[] = [
  [/_snmp$|fence_(?:ifmib|tripplite|wti_snmp)/, '161'],
  [/fence_(?:ipmilan|idrac|ilo[345]|imm)$/, '623'],
  [/fence_redfish$/, '443'],
];

/**
 * Undefined: that is not among the parameters, or told by the node itself. Hashes, because part of it may come from a Secret: one for
 * each outlet, of which a machine with two supplies has two. However it is written, the same outlet has the same.
 */
export function plugOf(driver: string, parameters: Readonly<Record<string, string>>): string | undefined {
  if (driver === 'built-in') return undefined;
  const given = new Map(Object.entries(parameters).map(([key, value]) => [canonicalKey(key), value.trim()]));
  const ip = given.get('ip');
  const instance = given.get('instance');
  if (ip === undefined) return instance === undefined ? undefined : hash([driver, instance].join(' '));
  const usual = usualPorts.find(([agent]) => agent.test(driver))?.[1];
  const port = plain(given.get('ipport') ?? usual ?? '');
  const plugs = (given.get('plug') ?? '').split(',').map((plug) => plain(plug.trim()));
  const uri = given.get('systems_uri') ?? '';
  return plugs.map((plug) => hash([hostOf(ip), port, plug, uri].join(' '))).join();
}

/**
 * A hash of where a device was found, where its Secrets have a say in that: they may be edited, and its configuration stays the same.
 * Undefined: the configuration alone says it, or nobody knows.
 */
export function secretPlace(
  { driver, parameters }: { driver: string; parameters: Readonly<Record<string, string>> },
  plug: string | undefined,
): string | undefined {
  return plug === undefined || plug === plugOf(driver, parameters) ? undefined : hash(plug);
}

/** Two that have one of these in common switch each other's machine. */
export function outletsOf(plug: string): string[] {
  return plug.split(',');
}

/** Names of hosts are the same in any letters, and with the dot that ends them. */
function hostOf(ip: string): string {
  return ip.toLowerCase().replace(/\.$/, '');
}

function plain(text: string): string {
  return /^\d+$/.test(text) ? text.replace(/^0+(?=\d)/, '') : text;
}
