/** Workloads, storage, budgets, Events and the rest: defaults, and what may not change. */
import assert from 'node:assert/strict';
import type { Api, Json } from '../contract.ts';
import { group, has, types } from '../contract.ts';

const merge = { contentType: types.merge };

function template(labels: Json = { app: 'x' }): Json {
  return { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'example/c:1' }] } };
}

function workload(api: Api, plural: string, spec: Json = {}): Promise<Json> {
  const body = {
    metadata: { name: 'w' },
    spec: { selector: { matchLabels: { app: 'x' } }, template: template(), ...spec },
  };
  return api.ok('POST', api.inGroup('apps/v1', plural), body);
}

export const kinds = group([
  [
    'a StatefulSet is filled in',
    'defaults',
    async (api) => {
      const claim = {
        metadata: { name: 'd' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      };
      has(await workload(api, 'statefulsets', { volumeClaimTemplates: [claim] }), {
        metadata: { generation: 1 },
        spec: {
          replicas: 1,
          podManagementPolicy: 'OrderedReady',
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
          revisionHistoryLimit: 10,
          persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
          volumeClaimTemplates: [
            { kind: 'PersistentVolumeClaim', spec: { volumeMode: 'Filesystem' }, status: { phase: 'Pending' } },
          ],
        },
        status: { replicas: 0 },
      });
    },
  ],
  [
    'a StatefulSet keeps its selector and its claims',
    'immutability',
    async (api) => {
      await workload(api, 'statefulsets');
      const change = { spec: { podManagementPolicy: 'Parallel' } };
      const status = await api.refused(422, 'PATCH', api.inGroup('apps/v1', 'statefulsets', 'w'), change, merge);
      assert.match(status.message, /updates to statefulset spec for fields other than/);
    },
  ],
  [
    'a Deployment is filled in',
    'defaults',
    async (api) =>
      has(await workload(api, 'deployments'), {
        spec: {
          replicas: 1,
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
          revisionHistoryLimit: 10,
          progressDeadlineSeconds: 600,
          template: { spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30 } },
        },
      }),
  ],
  [
    'a change of the spec is a new generation, one of the labels is none, one of a Deployment’s annotations is',
    'generation',
    async (api) => {
      await workload(api, 'deployments');
      const path = api.inGroup('apps/v1', 'deployments', 'w');
      assert.equal((await api.ok('PATCH', path, { spec: { replicas: 3 } }, merge)).metadata.generation, 2);
      assert.equal((await api.ok('PATCH', path, { metadata: { labels: { l: 'm' } } }, merge)).metadata.generation, 2);
      const annotated = await api.ok('PATCH', path, { metadata: { annotations: { a: 'b' } } }, merge);
      assert.equal(annotated.metadata.generation, 3);
    },
  ],
  [
    'a selector has to match the template',
    'validation',
    async (api) => {
      const body = { metadata: { name: 'w' }, spec: { selector: { matchLabels: { app: 'y' } }, template: template() } };
      const status = await api.refused(422, 'POST', api.inGroup('apps/v1', 'deployments'), body);
      assert.match(
        status.message,
        /spec.template.metadata.labels: Invalid value: .*`selector` does not match template `labels`/,
      );
    },
  ],
  [
    'a workload is scaled by its subresource',
    'scale',
    async (api) => {
      await workload(api, 'statefulsets');
      const path = `${api.inGroup('apps/v1', 'statefulsets', 'w')}/scale`;
      has(await api.ok('GET', path), {
        kind: 'Scale',
        apiVersion: 'autoscaling/v1',
        spec: { replicas: 1 },
        status: { replicas: 0, selector: 'app=x' },
      });
      has(await api.ok('PATCH', path, { spec: { replicas: 4 } }, merge), { spec: { replicas: 4 } });
      has(await api.ok('GET', api.inGroup('apps/v1', 'statefulsets', 'w')), {
        spec: { replicas: 4 },
        metadata: { generation: 2 },
      });
    },
  ],
  [
    'a DaemonSet and a ReplicaSet are filled in',
    'defaults',
    async (api) => {
      has(await workload(api, 'daemonsets'), {
        spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 1 } } },
        status: { numberReady: 0 },
      });
      has(await workload(api, 'replicasets'), { spec: { replicas: 1 }, status: { replicas: 0 } });
    },
  ],
  [
    'a Job gets a selector of its own',
    'jobSelector',
    async (api) => {
      const spec = {
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'example/c:1' }] } },
      };
      const job = await api.ok('POST', api.inGroup('batch/v1', 'jobs'), { metadata: { name: 'j' }, spec });
      const labels = { 'batch.kubernetes.io/controller-uid': job.metadata.uid };
      has(job.spec, { completions: 1, parallelism: 1, backoffLimit: 6, selector: { matchLabels: labels } });
      has(job.spec.template.metadata.labels, { ...labels, 'batch.kubernetes.io/job-name': 'j' });
    },
  ],
  [
    'claims and volumes are filled in and protected',
    'storageProtection',
    async (api) => {
      const accessModes = ['ReadWriteOnce'];
      const claims = `/api/v1/namespaces/${api.namespace}/persistentvolumeclaims`;
      const spec = { accessModes, storageClassName: '', resources: { requests: { storage: '1Gi' } } };
      const claim = await api.ok('POST', claims, { metadata: { name: 'c' }, spec });
      has(claim, {
        metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
        spec: { volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      });
      const volume = { capacity: { storage: '1Gi' }, accessModes, csi: { driver: 'd', volumeHandle: 'h' } };
      const made = await api.ok('POST', '/api/v1/persistentvolumes', {
        metadata: { name: `pv-${api.id}`, labels: { case: api.id } },
        spec: volume,
      });
      has(made, {
        metadata: { finalizers: ['kubernetes.io/pv-protection'] },
        spec: { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      });
    },
  ],
  [
    'a claim keeps what it asked for',
    'immutability',
    async (api) => {
      const path = `/api/v1/namespaces/${api.namespace}/persistentvolumeclaims`;
      const spec = {
        accessModes: ['ReadWriteOnce'],
        storageClassName: '',
        resources: { requests: { storage: '1Gi' } },
      };
      await api.ok('POST', path, { metadata: { name: 'c' }, spec });
      const status = await api.refused(422, 'PATCH', `${path}/c`, { spec: { storageClassName: 'other' } }, merge);
      assert.match(status.message, /spec: Forbidden: spec is immutable after creation/);
    },
  ],
  [
    'a budget cannot be both a minimum and a maximum',
    'validation',
    async (api) => {
      const spec = { minAvailable: 1, maxUnavailable: 1, selector: {} };
      const status = await api.refused(422, 'POST', api.inGroup('policy/v1', 'poddisruptionbudgets'), {
        metadata: { name: 'b' },
        spec,
      });
      assert.match(status.message, /minAvailable and maxUnavailable cannot be both set/);
    },
  ],
  [
    'one Event has two faces',
    'eventFaces',
    async (api) => {
      const regarding = { kind: 'Pod', name: 'p', namespace: api.namespace };
      const body = {
        metadata: { name: 'e' },
        regarding,
        reason: 'Test',
        note: 'text',
        type: 'Normal',
        action: 'Act',
        eventTime: '2026-01-02T03:04:05.000000Z',
        reportingController: 'test.dev/c',
        reportingInstance: 'i',
      };
      await api.ok('POST', api.inGroup('events.k8s.io/v1', 'events'), body);
      const core = await api.ok('GET', `/api/v1/namespaces/${api.namespace}/events/e`);
      has(core, { apiVersion: 'v1', involvedObject: regarding, message: 'text', reportingComponent: 'test.dev/c' });
      assert.equal(core.note, undefined);
    },
  ],
  [
    'a namespace is labelled with its name',
    'namespaceLabel',
    async (api) => {
      const namespace = await api.ok('GET', `/api/v1/namespaces/${api.namespace}`);
      has(namespace, {
        metadata: { labels: { 'kubernetes.io/metadata.name': api.namespace } },
        status: { phase: 'Active' },
      });
    },
  ],
  [
    'a Secret hides what it was told in clear',
    'defaults',
    async (api) => {
      const secret = await api.ok('POST', `/api/v1/namespaces/${api.namespace}/secrets`, {
        metadata: { name: 's' },
        stringData: { a: 'b' },
      });
      has(secret, { type: 'Opaque', data: { a: 'Yg==' } });
      assert.equal(secret.stringData, undefined);
    },
  ],
  [
    'a CSIDriver and a StorageClass are filled in',
    'defaults',
    async (api) => {
      const path = '/apis/storage.k8s.io/v1/csidrivers';
      const driver = await api.ok('POST', path, { metadata: { name: `d-${api.id}` }, spec: {} });
      has(driver.spec, { attachRequired: true, podInfoOnMount: false, fsGroupPolicy: 'ReadWriteOnceWithFSType' });
      await api.ok('DELETE', `${path}/d-${api.id}`);
      const classes = '/apis/storage.k8s.io/v1/storageclasses';
      const made = await api.ok('POST', classes, { metadata: { name: `s-${api.id}` }, provisioner: 'p' });
      has(made, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
      await api.ok('DELETE', `${classes}/s-${api.id}`);
    },
  ],
  [
    'the namespaces of the system are there',
    'systemNamespaces',
    async (api) => {
      for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
        await api.ok('GET', `/api/v1/namespaces/${name}`);
      }
    },
  ],
]);
