/** What is cut, what says so, and what is believed of it. */
import type { Happening } from './document.ts';
import { seconds } from './document.ts';
import type { Drama, Setting } from './drama.ts';
import { away, hasty } from './drama.ts';
import { fenceObject } from './people.ts';
import { configuration } from './configurations.ts';
import { database } from './stakes.ts';

/** Cut off from its storage and back with what runs there; its record may be lost in between. */
export function cutOff({ chance, nodes, first }: Setting): Drama {
  const back = chance.one([40, 60, 60, 90, 120]);
  const between = chance.between(25, back + 10);
  const lost: Happening[] = [{ at: seconds(between), delete: { kind: 'NodeFence', name: `node-fence-${first}` } }];
  const restored: Happening[] = [...lost, { at: seconds(between + 1), apply: fenceObject(first) }];
  return {
    policy: hasty(chance, {
      fence: { isolateAfter: '0s', powerManagementAfter: chance.one(['30s', '5m', '1h']), retries: 1, restarts: 0 },
    }),
    shape: chance.one([
      { isolation: 'fc-off', recovery: 'fc-on' },
      { isolation: 'fc-off', recovery: 'fc-on' },
      { isolation: 'fc-off', power: 'pdu-off pdu-on', recovery: 'fc-on' },
      { isolation: 'fc-off' },
    ]),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      { at: seconds(1), partition: first },
      { at: seconds(back), heal: first },
      ...chance.one([[], [], lost, restored]),
    ],
  };
}

/** Outlets that do not know whose they are and say off whatever is true, from before anybody has seen them say otherwise. */
export function lyingOutlet({ chance, nodes, first }: Setting): Drama {
  const shape = { power: 'pdu-off pdu-on' };
  const from = chance.one([30, 60, 100]);
  // With another plug it is another device, which nobody has seen on; with another order it is the same, and asked again.
  const changed = chance.maybe(0.6)
    ? configuration(first, shape, 7)
    : configuration(first, { power: 'pdu-off pdu-on | pdu-off pdu-on' });
  return {
    node: { identity: chance.maybe(0.2) },
    policy: hasty(chance),
    shape,
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      { at: seconds(0), device: { node: first, fault: 'saysOff' } },
      ...(chance.maybe(0.8) ? [{ at: seconds(5), apply: changed }] : []),
      { at: seconds(from), partition: first },
      { at: seconds(from + chance.one([30, 60, 90])), heal: first },
      { at: seconds(200), device: { node: first, fault: 'none' } },
    ],
  };
}

/** A message from a kernel that has not crashed, or had, long ago; then life, then silence. */
export function staleCrash({ chance, nodes, first }: Setting): Drama {
  const from = chance.one([25, 60, 120]);
  return {
    policy: hasty(chance, {
      fence: {
        isolateAfter: chance.one(['0s', '2m']),
        powerManagementAfter: '5m',
        retries: 0,
        restarts: 0,
        kdump: { enabled: true, timeout: chance.one(['20s', '90s']) },
      },
    }),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      { at: seconds(chance.between(2, 8)), [chance.one(['kdumpSent', 'kdumpSent', 'kdump'])]: first },
      ...away(chance, first, from, from + chance.one([40, 90])),
    ],
  };
}

/** A driver that is said to detach safely, which has nothing to detach, or shares what it holds. */
export function safeDetach({ chance, nodes, first }: Setting): Drama {
  const driver = chance.one(['noattach.example.com', 'noattach.example.com', 'safe.example.com']);
  return {
    gates: { NonGracefulFailover: true },
    policy: hasty(chance, {
      ...(chance.maybe(0.6) ? { thresholds: [], remedies: [] } : {}),
      release: chance.maybe(0.8) ? { safeDetach: [driver] } : {},
    }),
    objects: database(nodes.length, driver),
    events: away(chance, first, 1, chance.one([60, 120, 200])),
  };
}

/** Back right before, while or after its device is told, which may be slow to hear. */
export function backInTime({ chance, nodes, first }: Setting): Drama {
  const fault = chance.one(['hangs', 'hangs', 'refuses', 'late', 'ignores', 'reportsFailure']);
  const back = chance.between(28, 60) / 2 + chance.one([0, 10, 20]);
  const over = chance.one([back + 5, back + 30, 120]);
  return {
    policy: hasty(chance),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      ...(chance.maybe(0.8)
        ? [
            { at: seconds(0), device: { node: first, fault } },
            { at: seconds(over), device: { node: first, fault: 'none' } },
          ]
        : []),
      ...away(chance, first, 1, back),
    ],
  };
}

/** What a fence rests on is written anew while it is under way. */
export function edited({ chance, nodes, first }: Setting): Drama {
  const shapes = [
    { power: 'pdu-off pdu-on' },
    { power: 'pdu-off' },
    { isolation: 'mark-unschedulable' },
    { isolation: 'fc-off', recovery: 'fc-on' },
    {},
  ];
  const fault = chance.one(['hangs', 'ignores', 'refuses', 'late']);
  const at = chance.between(12, 45);
  return {
    policy: hasty(chance),
    shape: chance.one([{ power: 'pdu-off pdu-on' }, { isolation: 'fc-off', power: 'pdu-off pdu-on' }]),
    objects: database(nodes.length, 'driver.longhorn.io'),
    events: [
      ...(chance.maybe(0.7)
        ? [
            { at: seconds(0), device: { node: first, fault } },
            { at: seconds(120), device: { node: first, fault: 'none' } },
          ]
        : []),
      { at: seconds(1), partition: first },
      { at: seconds(at), apply: configuration(first, chance.one(shapes)) },
      { at: seconds(chance.one([60, 100, 150])), heal: first },
      ...(chance.maybe(0.3)
        ? [{ at: seconds(at + 10), apply: configuration(first, { power: 'pdu-off pdu-on' }) }]
        : []),
    ],
  };
}
