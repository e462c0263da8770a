/** Pods: what they are filled in with, what may not change, and who writes their status. */
import assert from 'node:assert/strict';
import { group, has, types } from '../contract.ts';

const merge = { contentType: types.merge };

export const pods = group([
  [
    'a pod is filled in',
    'defaults',
    async (api) => {
      has(await api.newPod(), {
        spec: {
          restartPolicy: 'Always',
          terminationGracePeriodSeconds: 30,
          dnsPolicy: 'ClusterFirst',
          schedulerName: 'default-scheduler',
          enableServiceLinks: true,
          containers: [
            { imagePullPolicy: 'IfNotPresent', terminationMessagePath: '/dev/termination-log', resources: {} },
          ],
        },
      });
    },
  ],
  [
    'a new pod is Pending, with its class of service',
    'podStatus',
    async (api) => has(await api.newPod(), { status: { phase: 'Pending', qosClass: 'BestEffort' } }),
  ],
  [
    'the class of service follows from the resources',
    'podStatus',
    async (api) => {
      const resources = { limits: { cpu: '1', memory: '1Gi' } };
      const guaranteed = await api.newPod('a', {
        spec: { containers: [{ name: 'c', image: 'example/c:1', resources }] },
      });
      has(guaranteed, {
        status: { qosClass: 'Guaranteed' },
        spec: { containers: [{ resources: { requests: { cpu: '1' } } }] },
      });
      const some = { requests: { cpu: '1' } };
      const burstable = await api.newPod('b', {
        spec: { containers: [{ name: 'c', image: 'example/c:1', resources: some }] },
      });
      assert.equal(burstable.status.qosClass, 'Burstable');
    },
  ],
  [
    'a pod tolerates for a while that its node is not ready or unreachable',
    'admission',
    async (api) => {
      const { spec } = await api.newPod();
      assert.deepEqual(
        spec.tolerations,
        ['not-ready', 'unreachable'].map((what) => ({
          key: `node.kubernetes.io/${what}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 5,
        })),
      );
    },
  ],
  [
    'a pod that says how long itself keeps to it',
    'admissionKeeps',
    async (api) => {
      const own = {
        key: 'node.kubernetes.io/unreachable',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 60,
      };
      const { spec } = await api.newPod('p', { spec: { tolerations: [own] } });
      has(spec.tolerations, [own, { key: 'node.kubernetes.io/not-ready' }]);
    },
  ],
  [
    'a pod that tolerates everything gets nothing added',
    'admissionKeeps',
    async (api) => {
      const { spec } = await api.newPod('p', { spec: { tolerations: [{ operator: 'Exists' }] } });
      assert.equal(spec.tolerations.length, 1);
    },
  ],
  [
    'a pod has a priority',
    'admission',
    async (api) => has(await api.newPod(), { spec: { priority: 0, preemptionPolicy: 'PreemptLowerPriority' } }),
  ],
  [
    'a pod without containers is 422',
    'validation',
    async (api) => {
      const status = await api.refused(422, 'POST', api.pods(), { metadata: { name: 'p' }, spec: { containers: [] } });
      assert.equal(status.message, 'Pod "p" is invalid: spec.containers: Required value');
    },
  ],
  [
    'two containers of one name are 422',
    'validation',
    async (api) => {
      const containers = [1, 2].map((tag) => ({ name: 'c', image: `example/c:${tag}` }));
      const status = await api.refused(422, 'POST', api.pods(), api.podBody('p', { spec: { containers } }));
      has(status.details.causes, [{ reason: 'FieldValueDuplicate', field: 'spec.containers[1].name' }]);
    },
  ],
  [
    'the node of a pod cannot be changed',
    'immutability',
    async (api) => {
      await api.newPod();
      const status = await api.refused(422, 'PATCH', api.pods('p'), { spec: { nodeName: 'n' } }, merge);
      assert.match(status.message, /pod updates may not change fields other than/);
    },
  ],
  [
    'the image of a container can be changed',
    'immutabilityOnlySome',
    async (api) => {
      await api.newPod();
      const operations = [{ op: 'replace', path: '/spec/containers/0/image', value: 'example/c:2' }];
      const pod = await api.ok('PATCH', api.pods('p'), operations, { contentType: types.json });
      assert.equal(pod.spec.containers[0].image, 'example/c:2');
      assert.equal(pod.metadata.generation, 2);
    },
  ],
  [
    'a toleration can be added to a pod, and none taken away',
    'immutability',
    async (api) => {
      const { spec } = await api.newPod();
      const more = [...spec.tolerations, { key: 'k', operator: 'Exists' }];
      await api.ok('PATCH', api.pods('p'), { spec: { tolerations: more } }, merge);
      await api.refused(422, 'PATCH', api.pods('p'), { spec: { tolerations: [] } }, merge);
    },
  ],
  [
    'the status of a pod is written through its subresource only',
    'statusIsolation',
    async (api) => {
      await api.newPod();
      const pod = await api.ok(
        'PATCH',
        api.pods('p'),
        { metadata: { labels: { n: 'm' } }, status: { phase: 'Running' } },
        merge,
      );
      assert.equal(pod.status.phase, 'Pending');
      assert.equal(pod.metadata.labels.n, 'm');
    },
  ],
  [
    'the subresource of a status writes nothing of the spec',
    'statusIsolation',
    async (api) => {
      await api.newPod();
      const body = { spec: { activeDeadlineSeconds: 5 }, status: { phase: 'Running' } };
      const pod = await api.ok('PATCH', api.pods('p', 'status'), body, merge);
      assert.equal(pod.spec.activeDeadlineSeconds, undefined);
      assert.equal(pod.status.phase, 'Running');
    },
  ],
  [
    'a status is no new generation',
    'statusGeneration',
    async (api) => {
      await api.newPod();
      const pod = await api.ok('PATCH', api.pods('p', 'status'), { status: { phase: 'Running' } }, merge);
      assert.equal(pod.metadata.generation, 1);
    },
  ],
]);
