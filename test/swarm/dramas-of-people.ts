/** What people ask for, take back and write. */
import type { Happening, Manifest } from './document.ts';
import { seconds } from './document.ts';
import type { Drama, Setting } from './drama.ts';
import { away, fenceRemedy, hasty, uncordonRemedy } from './drama.ts';
import { clock, fenceObject } from './people.ts';
import { policyObject } from './policies.ts';
import { database } from './stakes.ts';

/** What people asked for yesterday, or ask for tomorrow, of nodes that are well. */
export function requests({ chance, nodes }: Setting): Drama {
  const shift = chance.one([-86_400, -3600, -3600, -200, 90, 3600]);
  const at = chance.between(5, 150);
  const without = chance.maybe(0.5) ? { withoutPolicy: true } : {};
  const ask = (node: string, index: number): Happening[] => {
    const apply = fenceObject(node, { requested: { by: 'somebody', at: clock(at + shift), ...without } });
    const gone = { at: seconds(at - 1), delete: { kind: 'NodeFence', name: `node-fence-${node}` } };
    return [gone, { at: seconds(at + index * chance.one([0, 2])), apply }];
  };
  return {
    policy: hasty(chance, chance.maybe(0.3) ? { mode: chance.one(['DryRun', 'Paused', 'Approve']) } : {}),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: chance.some(nodes, chance.between(1, nodes.length)).flatMap(({ name }, index) => ask(name, index)),
  };
}

/** A mode that does not act, while a machine is off through us, or about to be. */
export function changedMind({ chance, nodes, first }: Setting): Drama {
  const policy = hasty(chance);
  const manifest = (mode: string): Manifest => policyObject({ allNodes: true, ...policy, mode });
  const at = chance.between(24, 70) / 2;
  return {
    policy,
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      { at: seconds(1), partition: first },
      chance.maybe(0.3)
        ? { at: seconds(at), delete: { kind: 'RemedyPolicy', name: 'policy-0' } }
        : { at: seconds(at), apply: manifest(chance.one(['Paused', 'Paused', 'DryRun', 'Approve'])) },
      ...(chance.maybe(0.4) ? [{ at: seconds(at + 60), apply: manifest('Enforce') }] : []),
      { at: seconds(chance.one([45, 90, 180])), heal: first },
    ],
  };
}

/** Ladders that only cordon, that are exhausted, or that have a Job before the fence. */
export function ladders({ chance, nodes, first }: Setting): Drama {
  const job = {
    podTemplate: {
      metadata: { annotations: { 'simulation.fenceline.dev/exit-code': chance.one(['0', '1']) } },
      spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/remedy:1' }] },
    },
  };
  const rungs = chance.some(['cordon', 'repair', 'drain'], chance.between(1, 2)).map((name) => ({
    name,
    period: chance.one(['5s', '20s']),
  }));
  const ready = { condition: { type: 'Ready', status: 'NotTrue', for: '5s' } };
  const deadlock = { condition: { type: 'KernelDeadlock', status: 'True', for: '1s' } };
  return {
    policy: hasty(chance, {
      thresholds: [
        { ...deadlock, remedies: rungs },
        { ...ready, remedies: [...(chance.maybe(0.5) ? rungs : []), { name: 'fence', period: '10s' }] },
      ],
      remedies: [
        fenceRemedy,
        uncordonRemedy,
        { name: 'cordon', cordon: {} },
        { name: 'drain', drain: {} },
        { name: 'repair', ...job },
      ],
    }),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      { at: seconds(5), condition: { node: first, type: 'KernelDeadlock', status: 'True' } },
      ...(chance.maybe(0.6) ? away(chance, first, chance.one([30, 60]), chance.one([120, 180])) : []),
      { at: seconds(200), condition: { node: first, type: 'KernelDeadlock', status: 'False' } },
    ],
  };
}
