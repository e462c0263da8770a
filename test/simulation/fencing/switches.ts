/** Fence configurations of the source's own example, for every node: a switch before its storage, and its power. */
import { driver } from '../trouble.ts';

const nodes = ['node-1', 'node-2', 'node-3'];

export function configMap(name: string, data: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'fenceline' }, data };
}

const templates = [
  configMap('fence-method-template-fc-switch', {
    'template.properties': `driver=simulated-switch\nstorage=${driver}`,
  }),
  configMap('fence-method-template-pdu', { 'template.properties': 'driver=simulated' }),
];
export const configs = nodes.map((node) =>
  configMap(`fence-config-${node}`, {
    'config.properties': `node_name=${node}\nisolation=fc-off\npower_management=pdu-off pdu-on\nrecovery=fc-on`,
    'fence-method-fc-on': 'template=fence-method-template-fc-switch\nplug=2\naction=on',
    'fence-method-fc-off': 'template=fence-method-template-fc-switch\nplug=2\naction=off',
    'fence-method-pdu-on': 'template=fence-method-template-pdu\nplug=1\naction=on',
    'fence-method-pdu-off': 'template=fence-method-template-pdu\nplug=1\naction=off',
  }),
);
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline' } };

export const cutAndPowered: readonly object[] = [namespace, ...templates, ...configs];

/** The storage alone, and how it is connected again is not said. */
export const cutAlone: readonly object[] = [
  namespace,
  ...templates,
  ...nodes.map((node) =>
    configMap(`fence-config-${node}`, {
      'config.properties': `node_name=${node}\nisolation=fc-off`,
      'fence-method-fc-off': 'template=fence-method-template-fc-switch\nplug=2\naction=off',
    }),
  ),
];
