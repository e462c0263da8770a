/**
 * S16: the view never goes back in time. Seen from the wire: whoever has watched a collection up to a version and then
 * asks to watch it from an earlier one has taken over an older state. Lists alone say nothing: they may be refused.
 */
import { compareVersions } from '../../kube/resource-version.ts';
import type { Invariant } from './checker.ts';

export const s16: Invariant = {
  id: 'S16',
  check: ({ violated }) => {
    const seen = new Map<string, string>();
    return {
      onWire(event) {
        if (event.type !== 'delivered' && event.type !== 'watching' && event.type !== 'started') return;
        if (event.type === 'started') {
          // A new process begins with what is there now.
          for (const key of seen.keys()) if (key.startsWith(`${event.operator} `)) seen.delete(key);
          return;
        }
        const key = `${event.operator} ${event.collection}`;
        const known = seen.get(key);
        if (event.type === 'delivered') {
          if (known === undefined || compareVersions(event.version, known) > 0) seen.set(key, event.version);
          return;
        }
        if (known !== undefined && compareVersions(event.from, known) < 0) {
          violated(`operator ${event.operator} knew ${event.collection} at ${known} and went back to ${event.from}`);
        }
        seen.set(key, event.from);
      },
    };
  },
};
