import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { waitFor } from '../../test/support/wait.ts';
import { KubeClient } from '../kube/client.ts';
import type { HttpRequest, HttpResponse } from '../kube/transport.ts';
import { ClusterView } from './cluster-view.ts';

/** Lists are answered at once, but for those that `items` has nothing to say of; watches stay open. */
function viewOf(items: (path: string) => object[] | undefined): { view: ClusterView; told: string[] } {
  const clock = manualClock();
  const send = async ({ path, purpose }: HttpRequest): Promise<HttpResponse> => {
    const found = items(path);
    if (purpose === 'watch' || found === undefined) return new Promise(() => {});
    const text = JSON.stringify({ metadata: { resourceVersion: '1' }, items: found });
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text);
      })(),
    };
  };
  const client = new KubeClient({
    transport: { send, close: () => {} },
    clock,
    userAgent: 'test',
    fieldManager: 'test',
  });
  const told: string[] = [];
  const view = new ClusterView({
    client,
    clock,
    random: () => 0,
    namespace: 'fenceline',
    onNode: () => {},
    onAll: () => {},
    onProblem: (watch, { message }) => told.push(`${watch}: ${message}`),
  });
  return { view, told };
}

test('a policy that lacks what its CRD fills in is not in force, and somebody is told', async () => {
  const bare = { metadata: { name: 'bare', uid: 'u', resourceVersion: '1' }, spec: { allNodes: true } };
  const { view, told } = viewOf((path) => (path.includes('remedypolicies') ? [bare] : []));
  const stop = new AbortController();
  void view.run(stop.signal);
  await waitFor('the lists', () => view.synced);
  assert.deepEqual(view.policies, []);
  assert.match(told.join(), /^remedypolicies: RemedyPolicy bare lacks fields that its CRD fills in.*install the CRDs/);
  stop.abort();
});

test('[STM-1] something was begun with a node by each of what is on record alone, and pods that went count until that is over', async () => {
  const incident = { id: 'i', startedAt: '2026-01-01T00:00:00Z' };
  const releases = [{ recordedAt: '2026-01-01T00:00:00Z', pods: [{}] }];
  const statuses: Record<string, object> = {
    open: { incident },
    released: { incident, releases },
    over: { releases },
    remedying: { ladders: [{ phase: 'running', begunAt: '2026-01-01T00:00:00Z' }] },
    waiting: { fence: { phase: 'waiting', stepStartedAt: '2026-01-01T00:00:00Z', switched: [] } },
    fenced: { fence: { phase: 'waiting', stepStartedAt: '2026-01-01T00:00:00Z', switched: [{}] } },
  };
  const fences = Object.entries(statuses).map(([node, status]) => ({
    metadata: { name: `node-fence-${node}`, uid: node, resourceVersion: '1' },
    spec: { node, stop: false },
    status,
  }));
  const { view } = viewOf((path) => (path.includes('nodefences') ? fences : []));
  const stop = new AbortController();
  void view.run(stop.signal);
  await waitFor('the lists', () => view.synced);
  const begun = ['nobody', ...Object.keys(statuses)].filter((node) => view.isBegunWith(node));
  assert.deepEqual(begun, ['released', 'remedying', 'fenced']);
  stop.abort();
});

test('[STM-2, SAF-14] a view is as old as the oldest of what it watches', async () => {
  for (const missing of ['remedypolicies', 'nodefences', 'volumeattachments']) {
    const { view } = viewOf((path) => (path.includes(missing) ? undefined : []));
    const stop = new AbortController();
    void view.run(stop.signal);
    const isOther = (): boolean => view.watches.every(({ name, synced }) => synced === (name !== missing));
    await waitFor(`all but ${missing}`, isOther);
    assert.equal(view.ageMs, Infinity, missing);
    stop.abort();
  }
});
