/** Which page is open, as it stands in the address: what is sent to somebody else opens the same. */
import { decoded } from '../decoded.ts';

export interface Route {
  page: 'now' | 'node' | 'workloads' | 'devices' | 'policies' | 'rehearse' | 'drains' | 'record';
  node?: string;
  incident?: string;
  /** The lane that is shown as a table. */
  lane?: string;
  /** What is to be rehearsed. */
  ask?: Readonly<Record<string, string>>;
}

const pages: readonly string[] = ['workloads', 'devices', 'policies', 'rehearse', 'drains', 'record'];

export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [first = '', node = '', incident = ''] = path.split('/').map(decoded);
  const asked = new URLSearchParams(query);
  const lane = asked.get('lane');
  const open = lane === null ? {} : { lane };
  if (first === 'node' && node !== '') return { page: 'node', node, ...(incident === '' ? {} : { incident }), ...open };
  if (first === 'rehearse') return { page: first, ...(query === '' ? {} : { ask: Object.fromEntries(asked) }) };
  return { page: pages.includes(first) ? (first as Route['page']) : 'now' };
}

export function hashOf({ page, node, incident, lane, ask }: Route): string {
  const names = page === 'now' ? [] : [page, node, incident].filter((name) => name !== undefined);
  const asked = Object.entries({ ...(lane === undefined ? {} : { lane }), ...ask });
  const query = asked.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return `#/${names.map(encodeURIComponent).join('/')}${query === '' ? '' : `?${query}`}`;
}

/** What the server is asked for. */
export function pageOf({ page, node, incident }: Route): string {
  return [page, node, incident]
    .filter((name) => name !== undefined)
    .map(encodeURIComponent)
    .join('/');
}
