/** Others who undo what the operator does: a scheduler that has not seen it, and somebody who takes away every taint. */
import type { KubeObject } from '../../../src/kube/client.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { nodes } from '../../../src/kube/resources.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import { bindingsOf } from '../../../src/world/controllers/resources.ts';
import type { VirtualClock } from '../../../src/world/time/virtual-clock.ts';
import type { World } from '../../../src/world/world.ts';
import { policyOf } from '../fencing/fenced.ts';
import { parsed } from '../run-file.ts';
import { claim, driver, volume } from '../trouble.ts';

const cluster = {
  nodes: [{ name: 'node-1', labels: { disk: 'fast' } }, { name: 'node-2' }, { name: 'node-3' }],
  kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '10s' },
  operators: 1,
};

/** Can be on node-1 only, which no name says. */
function onFastDisk(spec: object = {}, name = 'web'): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace: 'default' },
    spec: {
      serviceName: name,
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { nodeSelector: { disk: 'fast' }, containers: [{ name: 'main', image: 'example/web:1' }], ...spec },
      },
    },
  };
}

const back = { by: '3m', node: { name: 'node-1', ready: true, schedulable: true, taints: [] } };
const powerOff = [{ at: '0s', powerOff: 'node-1' }];

/** For as long as the volume of the database is not detached, the machine stays off. */
export const boundLate = parsed('bound-late', {
  cluster,
  objects: [
    volume('pv-0', 'data'),
    claim('data', 'pv-0'),
    onFastDisk({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }, 'db'),
    onFastDisk({ schedulerName: 'blind' }),
    policyOf(),
  ],
  events: [
    { at: '0s', detach: { driver, fault: 'hangs' } },
    ...powerOff,
    { at: '60s', detach: { driver, fault: 'none' } },
  ],
  runFor: '3m',
  expect: [back],
});

/** Binds every pod of its own to node-1, whatever is on it. */
export function blindScheduler(): RunOptions {
  return {
    onWorld: ({ server }, clock) => {
      const client = clientOf('blind-scheduler', server, clock);
      server.onChange(({ type, version: { object } }) => {
        const { kind, metadata, spec } = object as KubeObject & { spec?: { schedulerName?: string } };
        if (kind !== 'Pod' || type !== 'ADDED' || spec?.schedulerName !== 'blind') return;
        const { name, namespace = '', uid = '' } = metadata;
        const binding = { metadata: { name, namespace, uid }, target: { kind: 'Node', name: 'node-1' } };
        clock.after(1, () => void client.create(bindingsOf(name), binding));
      });
    },
  };
}

function clientOf(user: string, server: World['server'], clock: VirtualClock): KubeClient {
  return new KubeClient({ transport: server.transport(user), clock, userAgent: user, fieldManager: user });
}

export const strippedBare = parsed('stripped-bare', {
  cluster,
  objects: [onFastDisk(), policyOf()],
  events: powerOff,
  runFor: '4m',
  expect: [{ never: { pod: { label: 'app=web', deleted: true } } }, back],
});

/** Takes away whatever taint of ours it sees. */
export function janitor(): RunOptions {
  return {
    onWorld: ({ server }, clock) => {
      const client = clientOf('janitor', server, clock);
      server.onChange(({ version: { object } }) => {
        const { kind, metadata, spec } = object as KubeObject & { spec?: { taints?: { key: string }[] } };
        const taints = spec?.taints ?? [];
        const others = taints.filter(({ key }) => !key.startsWith('fenceline.dev/'));
        if (kind !== 'Node' || others.length === taints.length) return;
        const { name, uid = '' } = metadata;
        const operations = [{ op: 'replace' as const, path: '/spec/taints', value: others }];
        clock.after(1, () => void client.patch({ resource: nodes, name }, { uid }, operations));
      });
    },
  };
}
