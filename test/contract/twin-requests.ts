/**
 * Requests to be played to two servers, in this order: whatever the real one answers, the embedded one has to answer,
 * word for word. `NS` stands for a name of the run's own.
 */
import { types } from './contract.ts';

export type Twin = [method: string, path: string, body?: unknown, contentType?: string];

const { merge, strategic, json, apply } = types;
const pods = '/api/v1/namespaces/NS/pods';
const apps = '/apis/apps/v1/namespaces/NS';
const attachments = '/apis/storage.k8s.io/v1/volumeattachments';
const leases = '/apis/coordination.k8s.io/v1/namespaces/NS/leases';
const configMaps = '/api/v1/namespaces/NS/configmaps';
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x:1' }] } };

export const twins: Twin[] = [
  ['POST', '/api/v1/namespaces', { metadata: { name: 'NS' } }],
  [
    'POST',
    pods,
    {
      metadata: {
        name: 'p1',
        labels: { a: 'b' },
        annotations: { x: 'y' },
        finalizers: ['a.b/c'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u' }],
      },
      spec: {
        nodeName: 'n',
        hostNetwork: true,
        volumes: [
          { name: 'v', persistentVolumeClaim: { claimName: 'c' } },
          { name: 'e' },
          { name: 's', secret: { secretName: 'x' } },
        ],
        initContainers: [{ name: 'i', image: 'i' }],
        containers: [
          {
            name: 'c',
            image: 'x',
            ports: [{ containerPort: 80 }],
            env: [{ name: 'A', value: 'b' }],
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
            readinessProbe: { httpGet: { port: 80 } },
            resources: { requests: { cpu: '100m' } },
          },
        ],
        nodeSelector: { a: 'b' },
        tolerations: [{ key: 'k', operator: 'Exists' }],
      },
    },
  ],
  [
    'PATCH',
    `${pods}/p1/status`,
    {
      status: {
        phase: 'Running',
        conditions: [
          { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' },
        ],
        containerStatuses: [
          {
            name: 'c',
            image: 'x',
            imageID: '',
            ready: true,
            restartCount: 0,
            state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
          },
        ],
        podIP: '10.0.0.1',
        podIPs: [{ ip: '10.0.0.1' }],
        startTime: '2026-01-01T00:00:00Z',
      },
    },
    strategic,
  ],
  ['PATCH', `${pods}/p1`, { metadata: { labels: { a: null, c: 'd' } } }, merge],
  ['DELETE', `${pods}/p1`],
  ['GET', `${pods}/p1`],
  ['PATCH', `${pods}/p1`, [{ op: 'remove', path: '/metadata/finalizers' }], json],
  ['DELETE', `${pods}/p1`, { gracePeriodSeconds: 0 }],
  [
    'POST',
    '/api/v1/nodes',
    {
      metadata: { name: 'n-NS', labels: { 'topology.kubernetes.io/zone': 'z1' } },
      spec: { taints: [{ key: 'a', effect: 'NoExecute', value: 'v' }] },
      status: {
        capacity: { cpu: '4', memory: '8Gi' },
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            lastHeartbeatTime: '2026-01-01T00:00:00Z',
            lastTransitionTime: '2026-01-01T00:00:00Z',
            reason: 'a',
            message: 'b',
          },
        ],
        nodeInfo: { bootID: 'b' },
      },
    },
  ],
  ['PATCH', '/api/v1/nodes/n-NS', { spec: { unschedulable: true } }, strategic],
  ['PATCH', '/api/v1/nodes/n-NS', { spec: { taints: null, unschedulable: null } }, merge],
  [
    'PATCH',
    '/api/v1/nodes/n-NS/status',
    {
      status: {
        conditions: [
          { type: 'Ready', status: 'Unknown' },
          { type: 'X', status: 'True' },
        ],
        volumesInUse: ['a'],
        volumesAttached: [{ name: 'a', devicePath: '' }],
      },
    },
    strategic,
  ],
  ['DELETE', '/api/v1/nodes/n-NS'],
  ...['deployments', 'statefulsets', 'replicasets', 'daemonsets'].flatMap((plural): Twin[] => {
    const counts = plural === 'daemonsets' ? { numberReady: 1 } : { replicas: 1, readyReplicas: 1 };
    const path = `${apps}/${plural}`;
    return [
      ['POST', path, { metadata: { name: 'w' }, spec: { selector: { matchLabels: { a: 'b' } }, template } }],
      ['PATCH', `${path}/w/status`, { status: { observedGeneration: 1, ...counts } }, merge],
      ['PATCH', `${path}/w`, { metadata: { annotations: { q: 'r' } } }, merge],
      ['GET', path],
    ];
  }),
  ['PUT', `${apps}/deployments/w/scale`, { metadata: { name: 'w', namespace: 'NS' }, spec: { replicas: 7 } }],
  [
    'POST',
    '/apis/batch/v1/namespaces/NS/jobs',
    {
      metadata: { name: 'j' },
      spec: { template: { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'c', image: 'x:1' }] } } },
    },
  ],
  [
    'POST',
    '/apis/policy/v1/namespaces/NS/poddisruptionbudgets',
    { metadata: { name: 'b' }, spec: { maxUnavailable: '25%', selector: { matchLabels: { a: 'b' } } } },
  ],
  [
    'POST',
    '/api/v1/namespaces/NS/persistentvolumeclaims',
    {
      metadata: { name: 'c' },
      spec: {
        storageClassName: '',
        volumeName: 'v',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
      },
    },
  ],
  [
    'PATCH',
    '/api/v1/namespaces/NS/persistentvolumeclaims/c/status',
    { status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] } },
    merge,
  ],
  [
    'POST',
    '/api/v1/persistentvolumes',
    {
      metadata: { name: 'vNS' },
      spec: {
        storageClassName: '',
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        csi: { driver: 'd', volumeHandle: 'h' },
        claimRef: { namespace: 'NS', name: 'c' },
      },
    },
  ],
  [
    'PATCH',
    '/api/v1/persistentvolumes/vNS',
    { spec: { claimRef: { uid: 'x', kind: 'PersistentVolumeClaim', apiVersion: 'v1' } } },
    merge,
  ],
  ['PATCH', '/api/v1/persistentvolumes/vNS/status', { status: { phase: 'Bound' } }, merge],
  ['DELETE', '/api/v1/persistentvolumes/vNS'],
  [
    'POST',
    attachments,
    { metadata: { name: 'aNS' }, spec: { attacher: 'd', nodeName: 'n', source: { persistentVolumeName: 'v' } } },
  ],
  ['PATCH', `${attachments}/aNS`, { metadata: { finalizers: ['external-attacher/d'] } }, merge],
  ['PATCH', `${attachments}/aNS/status`, { status: { attached: true, attachmentMetadata: { a: 'b' } } }, merge],
  ['DELETE', `${attachments}/aNS`],
  ['GET', `${attachments}/aNS`],
  ['PATCH', `${attachments}/aNS`, { metadata: { finalizers: [] } }, merge],
  ['GET', `${attachments}/aNS`],
  [
    'POST',
    leases,
    {
      metadata: { name: 'l' },
      spec: { holderIdentity: 'h', leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.123456Z' },
    },
  ],
  [
    'PATCH',
    `${leases}/l`,
    [
      { op: 'test', path: '/spec/holderIdentity', value: 'h' },
      { op: 'replace', path: '/spec/renewTime', value: '2026-01-01T00:00:10.123456Z' },
    ],
    json,
  ],
  [
    'POST',
    '/api/v1/namespaces/NS/services',
    { metadata: { name: 's' }, spec: { ports: [{ port: 80, name: 'http' }], selector: { a: 'b' } } },
  ],
  ['POST', '/api/v1/namespaces/NS/serviceaccounts', { metadata: { name: 's' } }],
  [
    'POST',
    '/api/v1/namespaces/NS/events',
    {
      metadata: { name: 'e' },
      involvedObject: { kind: 'Node', name: 'n' },
      reason: 'R',
      message: 'm',
      type: 'Warning',
    },
  ],
  [
    'POST',
    '/apis/events.k8s.io/v1/namespaces/NS/events',
    {
      metadata: { name: 'f' },
      regarding: { kind: 'Pod', name: 'n', namespace: 'NS' },
      reason: 'R',
      note: 'm',
      type: 'Warning',
    },
  ],
  [
    'PATCH',
    `${configMaps}/x?fieldManager=one`,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', labels: { a: 'b' }, finalizers: ['a.b/c'] },
      data: { a: '1' },
    },
    apply,
  ],
  [
    'PATCH',
    `${configMaps}/x?fieldManager=two`,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', finalizers: ['a.b/d'] }, data: { b: '1' } },
    apply,
  ],
  [
    'PATCH',
    `${configMaps}/x?fieldManager=one`,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: {} },
    apply,
  ],
  [
    'PATCH',
    `${configMaps}/x?fieldManager=up`,
    { data: { b: '2', z: '1' }, metadata: { annotations: { n: 'm' } } },
    merge,
  ],
  ['PUT', `${configMaps}/x`, { metadata: { name: 'x' }, data: { only: '1' } }],
  ['PATCH', `${configMaps}/x`, { metadata: { managedFields: [] } }, merge],
  ['POST', `${configMaps}?fieldValidation=Strict`, { metadata: { name: 'y' }, data: { a: 1 } }],
  ['POST', configMaps, { metadata: { name: 'y' }, data: { a: 1 } }],
  [
    'POST',
    pods,
    {
      metadata: { name: 'bad' },
      spec: { containers: [{ name: 'C_', image: '' }], restartPolicy: 'X', volumes: [{ name: 'v' }] },
    },
  ],
  [
    'POST',
    `${apps}/deployments`,
    { metadata: { name: 'bad' }, spec: { replicas: -1, selector: { matchLabels: { a: 'b' } }, template } },
  ],
  [
    'POST',
    `${apps}/deployments`,
    { metadata: { name: 'bad' }, spec: { replicas: 'x', selector: { matchLabels: { a: 'b' } }, template } },
  ],
  ['GET', '/api/v1/namespaces/NS/nothings'],
  ['GET', '/apis/apps/v1/namespaces/NS/deployments/none/foo'],
  ['POST', '/api/v1/namespaces/NS/pods/p1/foo', {}],
  ['DELETE', '/api/v1/namespaces/NS'],
];
