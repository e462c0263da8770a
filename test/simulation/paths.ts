/** Every path of a release and of the way back, each as short as it can be. */
import type { Trouble } from './trouble.ts';
import * as t from './trouble.ts';

export interface Path {
  name: string;
  trouble: Trouble;
}

const { safely } = t;
const fencing = { ...t.safeDetach, 'fenceline.dev/unpublish-fence': 'true' };
const recovers = (when: string): object => ({ volumeAttachmentRecovery: when, provisioners: [t.driver] });
const evicting = { gates: { ForceEviction: true } };
const elsewhere = { by: '58s', pod: { label: 'app=web', running: true, moved: true } };
const end = [elsewhere, ...t.allIsWell, t.oneWriter];

function path(name: string, trouble: Trouble): Path {
  return { name, trouble: { expect: end, ...trouble } };
}

export const paths: readonly Path[] = [
  path('policy, StatefulSet, reboot', { release: t.acceptsRisk, events: t.powerLoss }),
  path('policy, Deployment, reboot', { workload: 'Deployment', release: t.acceptsRisk, events: t.powerLoss }),
  path('attachment recovery, wait', { workload: 'Deployment', release: recovers('wait'), events: t.powerLoss }),
  path('attachment recovery, immediate', {
    workload: 'Deployment',
    release: recovers('immediate'),
    events: t.powerLoss,
  }),
  path('safe detach, reboot', { ...safely, events: t.powerLoss }),
  path('safe detach with a fence by the driver, partition and heal', {
    ...safely,
    driverSays: fencing,
    events: t.partition,
  }),
  path('safe detach of a pod with a finalizer', {
    ...safely,
    pod: { metadata: { finalizers: ['example.com/wait'] } },
    events: t.powerLoss,
    // Its object stays until whoever put the finalizer there removes it, and with it the identity.
    expect: [...t.allIsWell.slice(1), t.oneWriter],
  }),
  path('force eviction, reboot', { ...evicting, events: [...t.powerLoss, t.taint('22s', t.forceEvictionKey)] }),
  path('out of service, reboot', {
    release: { assertions: ['OutOfService'] },
    events: [
      ...t.powerLoss,
      t.taint('22s', t.outOfServiceKey),
      { at: '59s', untaint: { node: t.place, key: t.outOfServiceKey } },
    ],
  }),
  path('force eviction of an attachment without a pod', {
    ...evicting,
    objects: [t.volume('pv-1', 'none'), attachment('pv-1')],
    events: [...t.powerLoss, t.taint('22s', t.forceEvictionKey)],
  }),
];

/** Of which Kubernetes knows nothing, so that only we ask for the detach. */
function attachment(persistentVolumeName: string): object {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'by-hand' },
    spec: { attacher: t.driver, nodeName: 'node-3', source: { persistentVolumeName } },
  };
}
