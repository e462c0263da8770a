import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { waitFor } from '../../test/support/wait.ts';
import { KubeClient } from '../kube/client.ts';
import type { HttpRequest, HttpResponse } from '../kube/transport.ts';
import { ClusterView } from './cluster-view.ts';

test('a policy that lacks what its CRD fills in is not in force, and somebody is told', async () => {
  const clock = manualClock();
  const bare = { metadata: { name: 'bare', uid: 'u', resourceVersion: '1' }, spec: { allNodes: true } };
  const send = async ({ path, purpose }: HttpRequest): Promise<HttpResponse> => {
    if (purpose === 'watch') return new Promise(() => {});
    const items = path.includes('remedypolicies') ? [bare] : [];
    const text = JSON.stringify({ metadata: { resourceVersion: '1' }, items });
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
  const stop = new AbortController();
  void view.run(stop.signal);
  await waitFor('the lists', () => view.synced);
  assert.deepEqual(view.policies, []);
  assert.match(told.join(), /^remedypolicies: RemedyPolicy bare lacks fields that its CRD fills in.*install the CRDs/);
  stop.abort();
});
