/** Several devices of one machine, in one level or in several, and what becomes of a fence while they are written anew. */
import type { Happening } from './document.ts';
import { seconds } from './document.ts';
import type { Shape } from './configurations.ts';
import { configuration, storageOf, writtenDevice } from './configurations.ts';
import type { Drama, Setting } from './drama.ts';
import { away, hasty, meanwhile } from './drama.ts';
import { database } from './stakes.ts';
import { drivers } from './workloads.ts';

const orders = [
  'pdu-off pdu-on',
  'pdu-off pdu-on | bmc-off bmc-on',
  'bmc-off bmc-on | pdu-off pdu-on',
  'pdu-off bmc-off pdu-on bmc-on',
  'bmc-off | pdu-off pdu-on',
  'bmc-off',
];

/** Levels that are put in front of each other, exchanged and taken away in mid-fence, while a device does not do as it is told. */
export function levels(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const isolation = chance.one<Shape>([{}, {}, { isolation: 'fc-off' }, { isolation: 'fc-off', recovery: 'fc-on' }]);
  const shape: Shape = { ...isolation, power: chance.one(orders), storage: storageOf(chance) };
  const fault = chance.one(['hangs', 'ignores', 'refuses', 'late', 'reportsFailure']);
  const over = chance.one([40, 80, 150]);
  const edits = Array.from({ length: chance.between(1, 2) }, () => chance.between(12 * 2, 60 * 2) / 2);
  const objects = database(nodes.length, chance.one(drivers));
  return {
    ...(chance.maybe(0.3) ? { node: { identity: false } } : {}),
    policy: hasty(chance),
    shape,
    objects,
    events: [
      ...(chance.maybe(0.7)
        ? [
            { at: seconds(0), device: { node: first, fault } },
            { at: seconds(over), device: { node: first, fault: 'none' } },
          ]
        : []),
      ...away(chance, first, 1, chance.one([30, 60, 120, 200])),
      ...edits.map((at): Happening => {
        const power = chance.maybe(0.85) ? { power: chance.one(orders) } : {};
        return { at: seconds(at), apply: configuration(first, { ...isolation, ...power }) };
      }),
      ...(chance.maybe(0.5) ? meanwhile(setting, objects, 14, 60) : []),
    ],
  };
}

/** FenceDevices by hand: changed, deleted and written again while they are needed, also beside a ConfigMap about the same node. */
export function written(setting: Setting): Drama {
  const { chance, nodes, first } = setting;
  const device = (change: object = {}, plug = 1) => writtenDevice(`bmc-of-${first}`, { node: first, ...change }, plug);
  const others = nodes.filter(({ name }) => name !== first);
  const objects = [
    ...database(nodes.length, drivers[0]),
    device(),
    ...others.map(({ name }) => writtenDevice(`bmc-of-${name}`, { node: name })),
  ];
  const at = chance.between(12 * 2, 50 * 2) / 2;
  const gone: Happening = {
    at: seconds(at),
    delete: { kind: 'FenceDevice', name: `bmc-of-${first}`, namespace: 'fenceline' },
  };
  const second = writtenDevice('second', { node: first, level: chance.between(1, 2) }, 2);
  return {
    ...(chance.maybe(0.4) ? { node: { identity: false } } : {}),
    policy: hasty(chance),
    objects,
    events: [
      ...away(chance, first, 1, chance.one([40, 90, 180])),
      ...chance.one<Happening[]>([
        [gone],
        [gone, { at: seconds(at + chance.one([1, 8, 40])), apply: device() }],
        [{ at: seconds(at), apply: device({}, 7) }],
        [{ at: seconds(at), apply: device({ level: 2 }) }],
        [{ at: seconds(at), apply: second }],
        [{ at: seconds(at), apply: configuration(first, { power: 'pdu-off pdu-on' }) }],
      ]),
      ...(chance.maybe(0.5) ? meanwhile(setting, objects, 10, 70) : []),
    ],
  };
}
