/** What a drama of the swarm is made of. */
import type { Chance } from '../twins/chance.ts';
import type { Happening, Manifest, SwarmNode } from './document.ts';
import { seconds } from './document.ts';
import { complication } from './faults.ts';
import { deed } from './people.ts';
import type { Shape } from './configurations.ts';
import { powerWatch } from './policies.ts';

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
  operators: number;
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
      ...powerWatch(chance),
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

/** Whatever else can happen to the node in that time, by chance or by people: in it, something lasts that usually is over in a moment. */
export function meanwhile(setting: Setting, objects: readonly Manifest[], from: number, to: number): Happening[] {
  const { chance, nodes, operators, quietAt, first } = setting;
  const node = nodes.find(({ name }) => name === first);
  if (node === undefined) return [];
  return Array.from({ length: chance.between(2, 4) }, () => {
    const at = chance.between(from * 2, to * 2) / 2;
    return chance.maybe(0.6)
      ? complication({ chance, nodes, operators, quietAt }, at, node)
      : deed({ chance, nodes, objects, node: first, at });
  }).flat();
}

/** Volumes that do not let go for a while: so long is a release open. */
export function stuck(chance: Chance, driver: string, from: number, to: number): Happening[] {
  return [
    { at: seconds(from), detach: { driver, fault: chance.one(['hangs', 'errors']) } },
    { at: seconds(to), detach: { driver, fault: 'none' } },
  ];
}
