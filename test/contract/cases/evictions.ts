/** Evictions, budgets and bindings. */
import assert from 'node:assert/strict';
import type { Api, Json } from '../contract.ts';
import { group, has, types } from '../contract.ts';

const merge = { contentType: types.merge };

function evict(
  api: Api,
  options: Json = {},
  name = 'p',
): Promise<{ status: number; body: Json; headers: Record<string, string> }> {
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: api.namespace }, ...options };
  return api.call('POST', api.pods(name, 'eviction'), body);
}

/** A budget whose controller has said how much it allows. */
async function budget(api: Api, status: Json, spec: Json = {}, name = 'b'): Promise<void> {
  const path = api.inGroup('policy/v1', 'poddisruptionbudgets');
  const wanted = { minAvailable: 1, selector: { matchLabels: { app: 'x' } }, ...spec };
  await api.ok('POST', path, { metadata: { name }, spec: wanted });
  await api.ok('PATCH', `${path}/${name}/status`, { status: { observedGeneration: 1, ...status } }, merge);
}

async function stays(api: Api): Promise<void> {
  assert.equal((await api.ok('GET', api.pods('p'))).metadata.deletionTimestamp, undefined);
}

function bind(api: Api, node: string, metadata: Json = {}): Promise<{ status: number; body: Json }> {
  const target = { apiVersion: 'v1', kind: 'Node', name: node };
  return api.call('POST', api.pods('p', 'binding'), {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'p', ...metadata },
    target,
  });
}

export const evictions = group([
  [
    'an eviction without a budget deletes gracefully',
    'eviction',
    async (api) => {
      await api.runningPod('p');
      const { status, body } = await evict(api);
      assert.equal(status, 201);
      has(body, { kind: 'Status', status: 'Success' });
      const pod = await api.ok('GET', api.pods('p'));
      assert.equal(pod.metadata.deletionGracePeriodSeconds, 30);
    },
  ],
  [
    'an evicted pod says so in its conditions',
    'disruptionTarget',
    async (api) => {
      await api.runningPod('p');
      await evict(api);
      const pod = await api.ok('GET', api.pods('p'));
      const condition = pod.status.conditions.find((one: Json) => one.type === 'DisruptionTarget');
      has(condition, { status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' });
    },
  ],
  [
    'whoever evicts a pod that is on its way out is named last',
    'disruptionTarget',
    async (api) => {
      await api.runningPod('p');
      const before = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'Other',
        lastTransitionTime: '2026-01-02T03:04:05Z',
      };
      await api.ok('PATCH', api.pods('p', 'status'), { status: { conditions: [before] } }, merge);
      await api.ok('DELETE', api.pods('p'));
      await evict(api);
      const pod = await api.ok('GET', api.pods('p'));
      const condition = pod.status.conditions.find((one: Json) => one.type === 'DisruptionTarget');
      has(condition, { reason: 'EvictionByEvictionAPI', lastTransitionTime: before.lastTransitionTime });
    },
  ],
  [
    'an eviction may say its time of grace',
    'eviction',
    async (api) => {
      await api.runningPod('p');
      await evict(api, { deleteOptions: { gracePeriodSeconds: 3 } });
      assert.equal((await api.ok('GET', api.pods('p'))).metadata.deletionGracePeriodSeconds, 3);
    },
  ],
  [
    'a budget that allows none is 429 with its cause',
    'budgets',
    async (api) => {
      await api.runningPod('p');
      await budget(api, { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 });
      const { status, body } = await evict(api);
      assert.equal(status, 429);
      has(body, {
        reason: 'TooManyRequests',
        message: "Cannot evict pod as it would violate the pod's disruption budget.",
        details: {
          causes: [
            { reason: 'DisruptionBudget', message: 'The disruption budget b needs 1 healthy pods and has 1 currently' },
          ],
        },
      });
      await stays(api);
    },
  ],
  [
    'a budget that allows one lets one go, and counts it',
    'budgets',
    async (api) => {
      await api.runningPod('p');
      await budget(api, { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 });
      assert.equal((await evict(api)).status, 201);
      const { status } = await api.ok('GET', api.inGroup('policy/v1', 'poddisruptionbudgets', 'b'));
      assert.equal(status.disruptionsAllowed, 0);
      assert.deepEqual(Object.keys(status.disruptedPods), ['p']);
    },
  ],
  [
    'a budget whose controller has not seen it yet allows none, and says when to ask again',
    'budgetGeneration',
    async (api) => {
      await api.runningPod('p');
      await budget(api, { observedGeneration: 0, disruptionsAllowed: 5 });
      const { status, body, headers } = await evict(api);
      assert.equal(status, 429);
      has(body, { details: { causes: [{ reason: 'DisruptionBudget' }], retryAfterSeconds: 10 } });
      assert.equal(headers['retry-after'], '10');
    },
  ],
  [
    'two budgets on one pod are 500',
    'twoBudgets',
    async (api) => {
      await api.runningPod('p');
      for (const name of ['b1', 'b2']) await budget(api, { disruptionsAllowed: 1 }, {}, name);
      const { status, body } = await evict(api);
      assert.equal(status, 500);
      assert.match(body.message, /This pod has more than one PodDisruptionBudget/);
      await stays(api);
    },
  ],
  [
    'a budget for other pods does not matter',
    'budgetSelector',
    async (api) => {
      await api.runningPod('p');
      await budget(api, { disruptionsAllowed: 0 }, { selector: { matchLabels: { app: 'other' } } });
      assert.equal((await evict(api)).status, 201);
    },
  ],
  [
    'a pod that waits to run is not guarded',
    'budgetPhases',
    async (api) => {
      await api.scheduledPod('p');
      await budget(api, { disruptionsAllowed: 0 });
      assert.equal((await evict(api)).status, 201);
    },
  ],
  [
    'a pod that is not ready is guarded as long as the others are too few',
    'budgets',
    async (api) => {
      await api.scheduledPod('p');
      await api.ok('PATCH', api.pods('p', 'status'), { status: { phase: 'Running' } }, merge);
      await budget(api, { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1, expectedPods: 1 });
      assert.equal((await evict(api)).status, 429);
    },
  ],
  [
    'a pod that is not ready may go while the others are enough',
    'unreadyPods',
    async (api) => {
      await api.scheduledPod('p');
      await api.ok('PATCH', api.pods('p', 'status'), { status: { phase: 'Running' } }, merge);
      await budget(api, { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 });
      assert.equal((await evict(api)).status, 201);
    },
  ],
  [
    'a pod that is not ready may go where the budget says so',
    'unreadyPods',
    async (api) => {
      await api.scheduledPod('p');
      await api.ok('PATCH', api.pods('p', 'status'), { status: { phase: 'Running' } }, merge);
      const status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1, expectedPods: 1 };
      await budget(api, status, { unhealthyPodEvictionPolicy: 'AlwaysAllow' });
      assert.equal((await evict(api)).status, 201);
    },
  ],
  [
    'an eviction of another UID is 409',
    'preconditions',
    async (api) => {
      await api.runningPod('p');
      assert.equal((await evict(api, { deleteOptions: { preconditions: { uid: 'other' } } })).status, 409);
      await stays(api);
    },
  ],
  [
    'an eviction of a pod that is not there is 404',
    'evictionTarget',
    async (api) => assert.equal((await evict(api, {}, 'none')).status, 404),
  ],
  [
    'a dry run of an eviction tells, and does nothing',
    'dryRun',
    async (api) => {
      await api.runningPod('p');
      assert.equal((await evict(api, { deleteOptions: { dryRun: ['All'] } })).status, 201);
      await stays(api);
    },
  ],
  [
    'a binding puts a pod on a node',
    'binding',
    async (api) => {
      await api.newPod('p');
      assert.equal((await bind(api, 'somewhere')).status, 201);
      const pod = await api.ok('GET', api.pods('p'));
      assert.equal(pod.spec.nodeName, 'somewhere');
      const scheduled = pod.status.conditions.find((one: Json) => one.type === 'PodScheduled');
      assert.equal(scheduled.status, 'True');
    },
  ],
  [
    'a pod is bound only once',
    'binding',
    async (api) => {
      await api.newPod('p');
      await bind(api, 'somewhere');
      const { status, body } = await bind(api, 'elsewhere');
      assert.equal(status, 409);
      assert.match(body.message, /pod p is already assigned to node "somewhere"/);
    },
  ],
  [
    'a binding of another UID is 409',
    'binding',
    async (api) => {
      await api.newPod('p');
      assert.equal((await bind(api, 'somewhere', { uid: '00000000-0000-4000-8000-000000000000' })).status, 409);
    },
  ],
]);
