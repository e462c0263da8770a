/** How the nodes of the swarm are fenced: configurations of every shape, as ConfigMaps and as typed devices. */
import type { Chance } from '../twins/chance.ts';
import type { Manifest, SwarmNode } from './document.ts';
import { drivers } from './workloads.ts';

export interface Shape {
  isolation?: string;
  power?: string;
  recovery?: string;
  /** What the switch cuts off. */
  storage?: readonly string[];
}

/** One device, or two power supplies of one machine, or levels of them; a switch before, with and without a way back. */
export const shapes: readonly Shape[] = [
  { power: 'pdu-off pdu-on' },
  { isolation: 'fc-off', power: 'pdu-off pdu-on', recovery: 'fc-on' },
  { isolation: 'fc-off', power: 'pdu-off pdu-on' },
  { isolation: 'fc-off', recovery: 'fc-on' },
  { isolation: 'fc-off' },
  { power: 'pdu-off' },
  { power: 'pdu-off pdu-on | pdu-off pdu-on' },
  { power: 'pdu-off pdu-on | bmc-off bmc-on' },
  { power: 'bmc-off | pdu-off pdu-on' },
  { power: 'pdu-off bmc-off pdu-on bmc-on' },
  { isolation: 'fc-off', power: 'bmc-off bmc-on | pdu-off pdu-on', recovery: 'fc-on' },
  { isolation: 'mark-unschedulable', power: 'pdu-off pdu-on', recovery: 'mark-schedulable' },
  { isolation: 'mark-unschedulable' },
];

/** Of all nodes, or of some; those without one have that of their device. Now and then each its own. */
export function configurations(chance: Chance, nodes: readonly SwarmNode[]): Manifest[] {
  if (chance.maybe(0.4)) return [];
  if (chance.maybe(0.2)) return writtenDevices(chance, nodes);
  const chosen = chance.maybe(0.7) ? nodes : chance.some(nodes, 1);
  const storage = storageOf(chance);
  const shape = { ...chance.one(shapes), storage };
  if (chance.maybe(0.8)) return configurationsOf(chosen, shape);
  return [...templates(shape), ...chosen.map(({ name }) => configuration(name, chance.one(shapes)))];
}

/** Switches are for one kind of storage, or for several. */
export function storageOf(chance: Chance): readonly string[] {
  return chance.maybe(0.5) ? [drivers[0]] : chance.some(drivers, chance.between(1, drivers.length));
}

export function configurationsOf(nodes: readonly SwarmNode[], shape: Shape): Manifest[] {
  return [...templates(shape), ...nodes.map(({ name }) => configuration(name, shape))];
}

function configMap(name: string, data: Record<string, string>): Manifest {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'fenceline' }, data };
}

function templates({ storage = [drivers[0]] }: Shape): Manifest[] {
  return [
    configMap('fence-method-template-fc-switch', {
      'template.properties': `driver=simulated-switch\nstorage=${storage.join(' ')}`,
    }),
    configMap('fence-method-template-pdu', { 'template.properties': 'driver=simulated' }),
  ];
}

export function configuration(node: string, { isolation, power, recovery }: Shape, plug = 1): Manifest {
  const lines = [
    `node_name=${node}`,
    ...(isolation === undefined ? [] : [`isolation=${isolation}`]),
    ...(power === undefined ? [] : [`power_management=${power}`]),
    ...(recovery === undefined ? [] : [`recovery=${recovery}`]),
  ];
  return configMap(`fence-config-${node}`, {
    'config.properties': lines.join('\n'),
    'fence-method-fc-on': 'template=fence-method-template-fc-switch\nplug=2\naction=on',
    'fence-method-fc-off': 'template=fence-method-template-fc-switch\nplug=2\naction=off',
    'fence-method-pdu-on': `template=fence-method-template-pdu\nplug=${plug}\naction=on`,
    'fence-method-pdu-off': `template=fence-method-template-pdu\nplug=${plug}\naction=off`,
    'fence-method-bmc-on': 'template=fence-method-template-pdu\nplug=9\naction=on',
    'fence-method-bmc-off': 'template=fence-method-template-pdu\nplug=9\naction=off',
  });
}

/** What is known of a device is kept under the name of its node and of what switches it off. */
export const methodsOff = ['power-off', 'pdu-off', 'bmc-off', 'fc-off'] as const;

/** A FenceDevice for all nodes or one for each, with a second level or without. */
export function writtenDevices(chance: Chance, nodes: readonly SwarmNode[]): Manifest[] {
  const all = { selector: { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] } };
  const second = chance.maybe(0.4) ? [writtenDevice('outlets', { ...all, level: chance.between(1, 2) }, 2)] : [];
  const port = { ...all, driver: 'simulated-switch', cuts: 'Storage', storage: storageOf(chance) };
  const ports = chance.maybe(0.3) ? [writtenDevice('ports', port, 3)] : [];
  const first = chance.maybe(0.5)
    ? [writtenDevice('controllers', all)]
    : nodes.map(({ name }) => writtenDevice(`bmc-of-${name}`, { node: name }));
  return [...first, ...second, ...ports];
}

export function writtenDevice(name: string, spec: object, plug = 1): Manifest {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'FenceDevice',
    metadata: { name, namespace: 'fenceline' },
    spec: { driver: 'simulated', parameters: { plug: `${plug}-{{node}}` }, ...spec },
  };
}
