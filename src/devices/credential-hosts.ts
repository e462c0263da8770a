/**
 * To whom a credential may be sent (SEC-1). Who writes a FenceDevice or a ConfigMap names a Secret without being able to read it, and an
 * address, which may be one of their own: the operator would bring them the password. So a Secret can say by an annotation which hosts
 * it is for; then it is used for none but these, whoever names it. What stands in the Secret itself is the word of who looks after it.
 */
import { BlockList, isIP } from 'node:net';
import { canonicalKey } from '../api/agent-parameters.ts';
import { truth } from './agent-check.ts';

export const HOSTS_ANNOTATION = 'fenceline.dev/hosts';

/** Whose value says where something is sent. */
const addresses: ReadonlySet<string> = new Set([
  'ip',
  'auth_url',
  'session_url',
  'endpoint',
  'login_endpoint',
  'token_uri',
]);

export interface Unsent {
  key?: string;
  problem: string;
}

type Values = Readonly<Record<string, string>>;

/** `written`: the annotation; `told`: what is written elsewhere than in its Secret; `own`: in it. Undefined: it may be sent there. */
export function whyNotSent(written: string, told: Values, own: Values = {}): Unsent | undefined {
  const entries = written.split(/[\s,]+/).filter(Boolean);
  const rules = entries.map(ruleOf);
  const unreadable = entries.find((_, index) => rules[index] === undefined);
  if (unreadable !== undefined || entries.length === 0) {
    const which = unreadable === undefined ? 'names no host' : `has "${unreadable}", which is none`;
    return {
      problem: `its annotation ${HOSTS_ANNOTATION} ${which}: write addresses, networks such as 192.0.2.0/24, or names`,
    };
  }
  const other = placesIn(told, own).find(([, host]) => !rules.some((rule) => rule?.(host) === true));
  if (other === undefined) return undefined;
  const [key] = other;
  return {
    key,
    problem: `it is for ${entries.join(', ')} alone (its annotation ${HOSTS_ANNOTATION}), and ${key} is another host`,
  };
}

function placesIn(told: Values, own: Values): [key: string, host: string][] {
  const all = [...Object.entries(own), ...Object.entries(told)];
  const isAddress = all.some(([key, value]) => canonicalKey(key) === 'port_as_ip' && truth(value) !== false);
  return Object.entries(told).flatMap(([key, value]): [string, string][] => {
    const name = canonicalKey(key);
    return addresses.has(name) || (name === 'plug' && isAddress) ? [[key, hostIn(value)]] : [];
  });
}

/** Without port, brackets and zone; of an address of the web its host. */
function hostIn(value: string): string {
  const host = value.includes('://') ? (URL.parse(value)?.hostname ?? '') : value;
  const bare = isIP(host) === 6 ? host : host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return bare.replace(/%.*$/, '').replace(/\.$/, '').toLowerCase();
}

function ruleOf(entry: string): ((host: string) => boolean) | undefined {
  const [address = '', length] = entry.split('/');
  const family = isIP(address);
  if (family !== 0) {
    const most = family === 4 ? 32 : 128;
    const prefix = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) : most + 1;
    if (prefix > most) return undefined;
    const network = new BlockList();
    network.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
    return (host) => network.check(host, family === 4 ? 'ipv4' : 'ipv6');
  }
  // Digits and dots alone are an address to some, and it is not this one.
  if (!/^(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?$/.test(entry) || /^[\d.]+$/.test(entry)) return undefined;
  const name = hostIn(entry);
  return name.startsWith('*.') ? (host) => host.endsWith(name.slice(1)) && isIP(host) === 0 : (host) => host === name;
}
