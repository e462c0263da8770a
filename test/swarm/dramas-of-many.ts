/** Many at once, one after the other, and what goes on without end. */
import type { Happening } from './document.ts';
import { seconds } from './document.ts';
import type { Drama, Setting } from './drama.ts';
import { away, fenceRemedy, hasty, uncordonRemedy } from './drama.ts';
import { fenceObject } from './people.ts';
import { database, pinned, staying } from './stakes.ts';

/** The same condition on most nodes at once, or one after the other; what is begun for it cannot be taken back. */
export function everywhere({ chance, nodes, quietAt }: Setting): Drama {
  const podTemplate = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/remedy:1' }] } };
  const remedy = chance.one([fenceRemedy, { name: 'fence', podTemplate }, { name: 'fence', drain: {} }]);
  const spread = chance.one([0, 0, 1, 8]);
  const condition = { type: 'KernelDeadlock', status: 'True', for: chance.one(['1s', '5s', '10s']) };
  const report = (at: number, node: string, status: string): Happening => ({
    at: seconds(at),
    condition: { node, type: 'KernelDeadlock', status },
  });
  return {
    policy: hasty(chance, {
      thresholds: [{ condition, remedies: [{ name: 'fence', period: '20s' }] }],
      remedies: [remedy, uncordonRemedy],
      storm: { maxUnresponsive: chance.one(['40%', '50%', 1]), maxConcurrent: chance.between(1, 3), cooldown: '10s' },
    }),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: chance
      .some(nodes, chance.between(nodes.length - 1, nodes.length))
      .flatMap(({ name }, index) => [
        report(10 + index * spread, name, 'True'),
        report(quietAt - 60 + index, name, 'False'),
      ]),
  };
}

/** Many fall silent within one renewal, so that some of them are noticed before the others. */
export function staggered({ chance, nodes, quietAt }: Setting): Drama {
  const first = chance.between(6, 9);
  const to = chance.one([90, 200, quietAt]);
  return {
    policy: hasty(chance, {
      storm: { maxUnresponsive: chance.one(['40%', '50%']), maxConcurrent: 3, cooldown: '10s' },
    }),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: chance
      .some(nodes, chance.between(Math.ceil(nodes.length / 2), nodes.length))
      .flatMap(({ name }, index) => away(chance, name, first + index * chance.one([1, 2, 4]), to)),
  };
}

/** One that is stopped, paused, failed or off for good, and then another that needs its turn. */
export function slots({ chance, nodes, first, others }: Setting): Drama {
  const second = chance.one(others);
  const policy = hasty(chance, { storm: { maxUnresponsive: '100%', maxConcurrent: 1, cooldown: '5s' } });
  const held: Happening = chance.one<Happening>([
    { at: seconds(chance.between(14, 40)), apply: fenceObject(first, { stop: true }) },
    { at: seconds(chance.between(14, 40)), apply: fenceObject(first, { stop: true }) },
    { at: seconds(0), device: { node: first, fault: 'refuses' } },
    { at: seconds(0), device: { node: first, fault: 'ignores' } },
  ]);
  return {
    policy,
    shape: chance.one([{ power: 'pdu-off' }, { power: 'pdu-off pdu-on' }]),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      { at: seconds(0.5), partition: first },
      held,
      { at: seconds(chance.one([20, 45, 60])), partition: second },
      { at: seconds(220), heal: second },
      { at: seconds(240), heal: first },
      { at: seconds(240), device: { node: first, fault: 'none' } },
    ],
  };
}

/** Another instance takes over, with a view of yesterday, while one fence is under way and another is due. */
export function takenOver({ chance, nodes, first, others }: Setting): Drama {
  const at = chance.between(13, 40);
  const second = chance.one(others);
  return {
    operators: 2,
    policy: hasty(chance, { storm: { maxUnresponsive: '100%', maxConcurrent: 1, cooldown: '5s' } }),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      { at: seconds(1), partition: first },
      { at: seconds(chance.between(1, 20)), partition: second },
      { at: seconds(at - 5), apiFault: { operator: 2, fault: chance.one(['lags', 'lags', 'slow', 'breaks']) } },
      { at: seconds(at), ...chance.one([{ crashOperator: 1 }, { isolateOperator: 1 }]) },
      { at: seconds(at + 60), apiFault: { operator: 2, fault: 'none' } },
      { at: seconds(at + 60), restoreOperator: 1 },
      { at: seconds(180), heal: first },
      { at: seconds(190), heal: second },
    ],
  };
}

/** Kubelets that renew seldom, or often. */
export function otherLeases({ chance, nodes, first }: Setting): Drama {
  const leaseDuration = chance.one(['20s', '60s', '80s', '80s']);
  return {
    kubernetes: { leaseDuration, nodeMonitorGracePeriod: '50s' },
    policy: hasty(chance),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: away(chance, first, chance.between(1, 15), chance.one([20, 35, 60, 100])),
  };
}

/** What is made again as soon as it is gone, on the node that is dead, and what stays there with its volumes. */
export function endless({ chance, nodes, first }: Setting): Drama {
  const force = chance.maybe(0.4);
  const on = chance.one([90, 150]);
  return {
    gates: { ForceEviction: force },
    policy: hasty(chance),
    objects: [
      ...pinned(chance, first, !force),
      ...(chance.maybe(0.5) ? staying(first) : []),
      ...database(nodes.length - 1, 'driver.longhorn.io'),
    ],
    events: [
      { at: seconds(chance.between(0, 9)), powerOff: first },
      ...(force
        ? [{ at: seconds(40), taint: { node: first, key: 'fenceline.dev/force-eviction', effect: 'NoExecute' } }]
        : []),
      ...(chance.maybe(0.5)
        ? [
            { at: seconds(0), detach: { driver: 'driver.longhorn.io', fault: 'hangs' } },
            { at: seconds(80), detach: { driver: 'driver.longhorn.io', fault: 'none' } },
          ]
        : []),
      { at: seconds(on), powerOn: first },
    ],
  };
}
