import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { waitFor } from '../../test/support/wait.ts';
import { whileTimePasses } from '../../test/support/while-time-passes.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { jobs } from '../kube/resources.ts';
import type { SeenJob } from './jobs.ts';
import { runJob } from './jobs.ts';
import type { TryOutcome } from './power.ts';

const ref: ObjectRef = { resource: jobs, namespace: 'default', name: 'repair-1' };
const label = { key: 'fenceline.dev/remedied-node-uid', value: 'uid-1' };
const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } };
const object = { metadata: { labels: { [label.key]: label.value } }, spec: { template, activeDeadlineSeconds: 30 } };

interface Running {
  outcome: Promise<TryOutcome>;
  seen: SeenJob[];
}

function start(cluster: ActCluster, wasMade = false): Running {
  const seen: SeenJob[] = [];
  const { client, clock } = cluster;
  const onSeen = (job: SeenJob): void => void seen.push(job);
  const calls = { client, clock, guard: () => true, timeoutMs: 1000, onSeen, mayAct: async () => undefined };
  const outcome = runJob({ namespace: 'default', name: 'repair-1', label, object, wasMade }, calls);
  return { outcome, seen };
}

const end = (cluster: ActCluster, { outcome }: Running): Promise<TryOutcome> => whileTimePasses(cluster.clock, outcome);

const created = ({ writes }: ActCluster): number =>
  writes.filter(({ verb, resource, code }) => verb === 'create' && resource === 'jobs' && code < 300).length;

const made = (cluster: ActCluster): Promise<boolean> =>
  waitFor('the Job', () => created(cluster) > 0, { timeoutMs: 5000 });

describe('the Job of a remedy', () => {
  test('[REM-2] is made, and its end is the end of the remedy', async () => {
    for (const [type, expected] of [
      ['Complete', 'succeeded'],
      ['Failed', 'failed'],
    ] as const) {
      const cluster = await ActCluster.create();
      const run = start(cluster);
      await made(cluster);
      await cluster.patchStatus(ref, { conditions: [{ type, status: 'True', message: 'so it was' }] });
      assert.equal((await end(cluster, run)).outcome, expected);
      assert.equal(typeof run.seen[0]?.uid, 'string');
    }
  });

  test('[REM-5] is found again, and not made a second time', async () => {
    const cluster = await ActCluster.create();
    const first = start(cluster);
    await made(cluster);
    const second = start(cluster, true);
    await cluster.patchStatus(ref, { conditions: [{ type: 'Complete', status: 'True' }] });
    assert.deepEqual(
      [(await end(cluster, first)).outcome, (await end(cluster, second)).outcome, created(cluster)],
      ['succeeded', 'succeeded', 1],
    );
  });

  test('S26: is neither a success nor a failure where nobody saw its end', async () => {
    const cluster = await ActCluster.create();
    const gone = await end(cluster, start(cluster, true));
    assert.deepEqual([gone.outcome, created(cluster)], ['unknown', 0]);
    const late = await end(cluster, start(cluster));
    assert.equal(late.outcome, 'unknown');
    assert.match(late.message, /has not ended in 90 s/);
  });

  test('one of somebody else that has its name is not taken for it', async () => {
    const cluster = await ActCluster.create();
    const metadata = { name: 'repair-1', namespace: 'default' };
    await cluster.client.create(jobs, { metadata, spec: { template } });
    const outcome = await end(cluster, start(cluster));
    assert.equal(outcome.outcome, 'failed');
    assert.match(outcome.message, /not ours: delete it/);
  });
});
