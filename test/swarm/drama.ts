/** What a drama of the swarm is made of. */
import type { Chance } from '../twins/chance.ts';
import type { Happening, Manifest, SwarmNode } from './document.ts';
import { seconds } from './document.ts';
import type { Shape } from './policies.ts';

export interface Drama {
  /** What the nodes are like. */
  node?: Partial<SwarmNode>;
  /** Of the cluster. */
  kubernetes?: object;
  operators?: unknown;
  gates?: Record<string, boolean>;
  /** Parts of the spec of the only policy; absent: whatever there is. */
  policy?: Record<string, unknown>;
  /** How all nodes are fenced; absent: by their devices. */
  shape?: Shape;
  objects: Manifest[];
  events: Happening[];
}

export interface Setting {
  chance: Chance;
  nodes: readonly SwarmNode[];
  /** Whom it is about, and the others. */
  first: string;
  others: readonly string[];
  quietAt: number;
}

const leaseFence = { lease: { staleFor: '12s' }, remedies: [{ name: 'fence', period: '10s' }] };
export const fenceRemedy = { name: 'fence', fence: {} };
export const uncordonRemedy = { name: 'uncordon', uncordon: {} };

/** Fences at once whoever falls silent, with few limits: what holds it back is not its timers. */
export function hasty(chance: Chance, change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    mode: 'Enforce',
    thresholds: [leaseFence],
    remedies: [fenceRemedy, uncordonRemedy],
    fence: {
      isolateAfter: '0s',
      powerManagementAfter: '0s',
      bootTimeout: '60s',
      retries: chance.between(0, 1),
      restarts: chance.between(0, 1),
    },
    release: {},
    storm: { maxUnresponsive: '100%', maxConcurrent: chance.between(1, 2), cooldown: '10s' },
    return: { soak: '10s' },
    ...change,
  };
}

/** Away, and back when it may be just the wrong moment. */
export function away(chance: Chance, node: string, from: number, to: number): Happening[] {
  const [begin, end] = chance.one([
    ['partition', 'heal'],
    ['partition', 'heal'],
    ['hang', 'resume'],
    ['kubeletStop', 'kubeletStart'],
  ]);
  return [
    { at: seconds(from), [begin]: node },
    { at: seconds(to), [end]: node },
  ];
}
