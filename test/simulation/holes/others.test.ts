/** Others act on nodes too: who removes or remedies one is not raced. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askedOf, commands, fenced, partition, place, victimOf } from '../fencing/fenced.ts';
import { observe, statusAt } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { runHoles } from './files.ts';

runHoles('a node that somebody else removes', {
  'left-to-the-autoscaler': '[ADM-6] is not cut before that one has given it up',
  'left-to-karpenter-found-off': '[ADM-6, SAF-19] is let go as soon as it is found off, and not switched on again',
});

const marked = (key: string): object => ({ at: '0s', taint: { node: place, key, effect: 'NoSchedule' } });

const rebootedByKured = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node-3', annotations: { 'weave.works/kured-reboot-in-progress': '2026-01-01T00:00:00Z' } },
};

describe('a node that somebody else is at', () => {
  for (const [key, said] of [
    ['karpenter.sh/disruption', 'Karpenter removes it'],
    ['aws-node-termination-handler/spot-itn', 'AWS, which interrupts a spot instance, removes it'],
    ['cloud.google.com/impending-node-termination', 'Google, which ends the instance, removes it'],
    ['medik8s.io/remediation', 'Self Node Remediation remedies it'],
    ['remediation.medik8s.io/fence-agents-remediation', 'Fence Agents Remediation remedies it'],
  ] as const) {
    test(`[ADM-6] is left to that one, and says so: ${key}`, async () => {
      const seen = await observe(fenced('left', { events: [marked(key), partition[0]!], runFor: '2m' }));
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual(commands(seen), []);
      const { hold } = statusAt(seen);
      assert.deepEqual([hold?.reason, hold?.message], ['LeftToOthers', `${said}, and it is left to that one`]);
      assert.ok(seen.events.some(({ reason, note }) => reason === 'Held' && note.startsWith('LeftToOthers: ')));
    });
  }

  for (const [who, mark] of [
    ['kured, by its annotation', { at: '0s', apply: rebootedByKured }],
    ['maintenance of AWS', marked('aws-node-termination-handler/scheduled-maintenance')],
    ['system-upgrade-controller and a drain of Cluster API, by their cordon', { at: '0s', cordon: place }],
  ] as const) {
    test(`[ADM-6, SAF-18] has the time of a boot to be back: ${who}`, async () => {
      const seen = await observe(fenced('rebooted', { events: [mark, partition[0]!], runFor: '50s' }));
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual([victimOf(seen), commands(seen)], ['node-3', []]);
      assert.equal(statusAt(seen).hold?.reason, 'PlannedWork');
    });
  }

  test('[ADM-6] is fenced where it may only be removed some day', async () => {
    const candidate = marked('DeletionCandidateOfClusterAutoscaler');
    const seen = await observe(fenced('candidate', { events: [candidate, partition[0]!], runFor: '2m' }));
    assert.deepEqual(commands(seen), ['off', 'on']);
  });

  test('[ADM-6] is fenced where a person asks for it all the same', async () => {
    const requested = {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'NodeFence',
      metadata: { name: 'node-fence-node-3' },
      spec: { node: 'node-3', requested: { by: 'bob', at: '2026-01-01T00:01:00Z' } },
    };
    const events = [marked('karpenter.sh/disrupted'), partition[0]!, { at: '30s', apply: requested }];
    const seen = await observe(fenced('asked', { events, runFor: '3m' }));
    assert.equal(victimOf(seen), 'node-3');
    assert.deepEqual(
      askedOf(seen, 'node-3').map(({ what }) => what),
      ['off', 'on'],
    );
  });
});
