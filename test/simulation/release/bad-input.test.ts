/** What people and programs get wrong: a clear reason, and nothing released wrongly. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KubeClient } from '../../../src/kube/client.ts';
import { persistentVolumes } from '../../../src/kube/resources.ts';
import type { KubeObject } from '../../../src/kube/client.ts';
import { failuresOf, scenarioOf, variation } from '../run-file.ts';
import { first, observe, runFolder, statusAt, stuckAt } from './observed.ts';

runFolder('bad-input', {
  'claim-without-volume': '[POD-5] a claim without a volume: what is not known is not listed',
  'claim-without-volume-safe-detach': '[NGS-2] a claim without a volume: what is not known is not protected',
  'volume-being-deleted': '[POD-5] a volume that is being deleted is still a volume',
  'pod-without-node': '[POD-2] a pod without a node is nobody’s of ours',
  'attached-twice': '[POD-2] a volume for one node that is attached to two',
  'clock-ahead': '[POD-4] a clock that is ten minutes fast does not delete early',
  'clock-behind': '[POD-4] a clock that is ten minutes slow does not delete late',
  'clock-jumps': '[POD-4] a clock that jumps changes nothing',
});

describe('the reason', () => {
  test('[POD-5, NGS-2] names the claim that has no volume', async () => {
    for (const name of ['claim-without-volume', 'claim-without-volume-safe-detach']) {
      const seen = await observe(first(10, `release/bad-input/${name}`));
      const { reason, message } = stuckAt(seen, 'web-0');
      assert.equal(reason, 'VolumeUnknown', name);
      assert.match(message, /claim default\/(data|logs)-web-0 has no volume/);
      assert.deepEqual(statusAt(seen).releases, []);
    }
  });

  test('[POD-5] names the volume that somebody has torn away', async () => {
    const scenario = variation('release/pod/statefulset-delete-statefulset-pod', {
      events: [{ at: '0s', powerOff: { nodeOf: 'default/web-0' } }],
      expect: [
        { at: '10m', pod: { name: 'web-0', terminating: true, deleted: false } },
        { event: { reason: 'Released', count: 0 } },
      ],
      runFor: '10m',
    });
    const seen = await observe(scenario, {
      onWorld: (world, clock) => {
        const transport = world.server.transport('kubernetes-admin');
        const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
        const tear = async (): Promise<void> => {
          const ref = { resource: persistentVolumes, name: 'pv-0' };
          const read = await client.get<KubeObject>(ref);
          assert.ok(read.ok);
          const { uid = '' } = read.value.metadata;
          await client.patch(ref, { uid }, [{ op: 'add', path: '/metadata/finalizers', value: [] }]);
          await client.delete(ref, { uid });
        };
        // After all has settled, and long before the pod is asked to go.
        clock.after(180_000, () => void tear());
      },
    });
    assert.deepEqual(failuresOf(seen.report), []);
    const { reason, message } = stuckAt(seen, 'web-0');
    assert.deepEqual(
      [reason, message],
      ['VolumeUnknown', 'policy: volume pv-0 of claim default/data-web-0 does not exist'],
    );
  });

  test('[POD-2] names the other node of a volume that is attached twice', async () => {
    const seen = await observe(first(10, 'release/bad-input/attached-twice'));
    const { reason, message } = stuckAt(seen, 'web-0');
    assert.equal(reason, 'AttachedElsewhere');
    assert.match(message, /volume pv-0 is attached to node-2 as well/);
    assert.deepEqual(statusAt(seen).releases, []);
  });

  test('[POD-4] is no question of the clock: what is written is the time of the API server', async () => {
    const right = await observe(scenarioOf('release/pod/timeline-30s'));
    const [record] = statusAt(right).releases;
    for (const name of ['clock-ahead', 'clock-behind']) {
      const wrong = await observe(scenarioOf(`release/bad-input/${name}`));
      const [other] = statusAt(wrong).releases;
      const seconds = (Date.parse(other?.recordedAt ?? '') - Date.parse(record?.recordedAt ?? '')) / 1000;
      assert.ok(Math.abs(seconds) <= 15, `${name}: ${seconds} s apart`);
    }
  });
});
