/**
 * Pods, claims and volumes of the size and shape that they have in real clusters: what a client has to receive and throw
 * away counts for as much as what it keeps.
 */
import { createHash } from 'node:crypto';
import type { EtcdEntry } from '../../test/support/control-plane.ts';
import { createdAt, fields, nodeName, uid } from './node-objects.ts';

export interface PodTemplate extends Record<string, unknown> {
  metadata: Record<string, unknown>;
  spec: { containers: object[]; volumes: ({ name: string } & Record<string, unknown>)[] } & Record<string, unknown>;
}

export function* podEntries(count: number, nodes: number): Generator<EtcdEntry> {
  const template = JSON.stringify(pod());
  // Without it the server refuses changes to what is in it.
  yield { key: '/registry/namespaces/workloads', value: namespace('workloads') };
  for (let index = 0; index < count; index += 1) {
    const name = `web-${index}`;
    const value = template
      .replaceAll('@name', name)
      .replaceAll('@uid', uid(name))
      .replaceAll('@node', nodeName(index % nodes));
    yield { key: `/registry/pods/workloads/${name}`, value };
  }
}

/** The claims of those pods, each bound to a volume. */
export function* claimEntries(count: number): Generator<EtcdEntry> {
  for (let index = 0; index < count; index += 1) {
    const [claim, volume] = [`data-web-${index}`, `pv-${index}`];
    yield { key: `/registry/persistentvolumeclaims/workloads/${claim}`, value: boundClaim(claim, volume) };
    yield { key: `/registry/persistentvolumes/${volume}`, value: boundVolume(claim, volume) };
  }
}

const storage = { accessModes: ['ReadWriteOnce'], storageClassName: '', volumeMode: 'Filesystem' };

export function boundClaim(name: string, volumeName: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'workloads', uid: uid(`claim-${name}`), creationTimestamp: createdAt },
    spec: { ...storage, resources: { requests: { storage: '10Gi' } }, volumeName },
    status: { phase: 'Bound', accessModes: storage.accessModes, capacity: { storage: '10Gi' } },
  };
}

export function boundVolume(claim: string, name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, uid: uid(`volume-${name}`), creationTimestamp: createdAt },
    spec: {
      ...storage,
      capacity: { storage: '10Gi' },
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: `vol-${name}` },
      claimRef: { namespace: 'workloads', name: claim, uid: uid(`claim-${claim}`) },
      persistentVolumeReclaimPolicy: 'Delete',
    },
    status: { phase: 'Bound' },
  };
}

export function namespace(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, uid: uid(`namespace-${name}`), creationTimestamp: createdAt },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

/** Of which there are thousands: what is written @so is filled in for each. */
export function pod(): PodTemplate {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: '@name',
      namespace: 'workloads',
      uid: '@uid',
      creationTimestamp: createdAt,
      generateName: 'web-',
      labels: { app: 'web', 'app.kubernetes.io/instance': 'web', 'pod-template-hash': '6d4cf56db6' },
      annotations: { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '9090', 'checksum/config': '@uid@uid' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-6d4cf56db6', uid: uid('rs'), controller: true },
      ],
      managedFields: podManagers,
    },
    spec: {
      nodeName: '@node',
      serviceAccountName: 'web',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, fsGroup: 10_001 },
      containers: ['app', 'proxy'].map(container),
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'data-@name' } },
        { name: 'config', configMap: { name: 'web-config', defaultMode: 420 } },
        { name: 'token', projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ],
      tolerations: ['not-ready', 'unreachable'].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
    },
    status: {
      phase: 'Running',
      hostIP: '10.0.0.1',
      podIP: '10.244.0.7',
      podIPs: [{ ip: '10.244.0.7' }],
      startTime: createdAt,
      qosClass: 'Burstable',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: createdAt,
      })),
      containerStatuses: ['app', 'proxy'].map((name) => ({
        name,
        ready: true,
        started: true,
        restartCount: 0,
        image: `registry.example.com/platform/${name}:v1.42.0`,
        imageID: `registry.example.com/platform/${name}@sha256:${createHash('sha256').update(name).digest('hex')}`,
        containerID: `containerd://${createHash('sha256').update(`id-${name}`).digest('hex')}`,
        state: { running: { startedAt: createdAt } },
      })),
    },
  };
}

function container(name: string): object {
  return {
    name,
    image: `registry.example.com/platform/${name}:v1.42.0`,
    imagePullPolicy: 'IfNotPresent',
    args: ['--config=/etc/web/config.yaml', '--listen=:8080', '--log-format=json', '--shutdown-delay=15s'],
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: Array.from({ length: 18 }, (_, index) => ({
      name: `WEB_FEATURE_SETTING_${index}`,
      value: `postgres://web@database-${index}.workloads.svc.cluster.local:5432/web`,
    })),
    resources: { requests: { cpu: '250m', memory: '256Mi' }, limits: { memory: '512Mi' } },
    volumeMounts: ['data', 'config', 'token'].map((volume) => ({ name: volume, mountPath: `/var/lib/web/${volume}` })),
    readinessProbe: { httpGet: { path: '/ready', port: 'http', scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 1 },
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  };
}

const podManagers = ['kube-controller-manager', 'kubelet'].map((manager) => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: createdAt,
  fieldsType: 'FieldsV1',
  fieldsV1: {
    'f:spec': {
      'f:containers': Object.fromEntries(
        ['app', 'proxy'].map((name) => [
          `k:{"name":"${name}"}`,
          {
            ...fields('args', 'image', 'imagePullPolicy', 'name', 'readinessProbe', 'resources', 'volumeMounts'),
            'f:env': Object.fromEntries(
              Array.from({ length: 6 }, (_, index) => [
                `k:{"name":"WEB_FEATURE_SETTING_${index}"}`,
                fields('name', 'value'),
              ]),
            ),
          },
        ]),
      ),
    },
  },
}));
