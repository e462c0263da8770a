/** Pods that stand beside the one with the volume: those that belong to the node, and those that come later. */
import { claim, driver, volume } from '../../simulation/trouble.ts';
import { victim } from './kit.ts';

const containers = [{ name: 'main', image: 'example/beside:1' }];
const unreachable = ['unreachable', 'not-ready'].map((key) => ({
  key: `node.kubernetes.io/${key}`,
  operator: 'Exists',
}));

export interface Beside {
  name: string;
  annotations?: object;
  labels?: object;
  ownerReferences?: object[];
  /** A volume of its own, with the claim of the pod's name; or one that is there already. */
  claimName?: string;
  node?: string;
  tolerations?: object[];
  terminationGracePeriodSeconds?: number;
}

/** On the node from the start, and without anybody who would make it again. */
export function pod({ name, claimName, node = victim, tolerations = unreachable, ...more }: Beside): object {
  const { terminationGracePeriodSeconds = 5, ...metadata } = more;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...metadata },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds,
      containers,
      tolerations,
      ...(claimName === undefined ? {} : { volumes: volumesOf(claimName) }),
    },
  };
}

function volumesOf(claimName: string): object[] {
  return [{ name: 'own', persistentVolumeClaim: { claimName } }];
}

/** A volume of the pod of this name, and its claim. */
export function disk(name: string, source?: object): object[] {
  return [volume(`pv-${name}`, name, source), claim(name, `pv-${name}`)];
}

export const mirror = { 'kubernetes.io/config.mirror': 'c0ffee', 'kubernetes.io/config.source': 'file' };

/** The scheduler spreads: what stands on the others leaves the node in trouble to the pod with the volume. */
export const ballast = ['node-1', 'node-2'].flatMap((node) =>
  [1, 2, 3, 4].map((number) => pod({ name: `ballast-${number}-${node}`, node })),
);

/** One pod of a DaemonSet, on the node in trouble. */
export function daemonSet(claimName?: string): object {
  const labels = { app: 'agent' };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'agent', namespace: 'default' },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { 'kubernetes.io/hostname': victim },
          terminationGracePeriodSeconds: 5,
          containers,
          ...(claimName === undefined ? {} : { volumes: volumesOf(claimName) }),
        },
      },
    },
  };
}

/** Another StatefulSet, on the same node, whose pod is asked to go so many seconds after the node was found away. */
export function later(seconds: number, more: object = {}, metadata: object = {}): object[] {
  const labels = { app: 'later' };
  const tolerations = ['unreachable', 'not-ready'].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: seconds,
  }));
  const spec = {
    nodeSelector: { 'kubernetes.io/hostname': victim },
    terminationGracePeriodSeconds: 5,
    containers,
    tolerations,
    volumes: volumesOf('later'),
    ...more,
  };
  return [
    ...disk('later'),
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'later', namespace: 'default' },
      spec: {
        serviceName: 'later',
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels, ...metadata }, spec },
      },
    },
  ];
}

export const entryOf = (name: string): string => `kubernetes.io/csi/${driver}^${name}`;
export const stays = (name: string): object => ({ never: { pod: { name, namespace: 'default', deleted: true } } });
export const agentStays = { never: { pod: { label: 'app=agent', deleted: true } } };
