/** Somebody pauses everything: one ConfigMap in the namespace of the operator, whatever policies there are. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askedOf, commands, fenceOf, fenced, partition, place } from '../fencing/fenced.ts';
import { observe, statusAt } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { runHoles } from './files.ts';

runHoles('a pause for all', {
  'paused-for-all': '[ADM-5] holds every fence and release until its time has passed',
  'paused-for-all-without-end': '[ADM-5] holds also where its end is written wrong, until somebody ends it',
  'paused-for-all-in-mid-fence': '[ADM-5, SAF-12] switches on what a fence has switched off',
});

function paused(data: object): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'fenceline-pause', namespace: 'fenceline' },
    data,
  };
}

describe('a node in trouble while everything is paused', () => {
  test('[ADM-5, STM-6] says by whom, why, since when and until when, in status and event', async () => {
    const data = { by: 'alice', reason: 'new switches', until: '2026-01-01T00:10:00Z' };
    const seen = await observe(
      fenced('said', { events: [{ at: '0s', apply: paused(data) }, partition[0]!], runFor: '2m' }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(commands(seen), []);
    const { hold } = statusAt(seen);
    const message = 'everything is paused by alice until 2026-01-01T00:10:00Z: new switches';
    assert.deepEqual([hold?.reason, hold?.message, hold?.until], ['PausedForAll', message, data.until]);
    assert.equal(hold?.command, 'fenceline pause --show -n fenceline');
    assert.match(hold?.to ?? '', /^see who has paused everything/);
    const told = seen.events.filter(({ reason, note }) => reason === 'Held' && note.startsWith('PausedForAll: '));
    assert.equal(told.length, 1);
    assert.ok(told[0]!.note.includes(message), told[0]!.note);
  });

  test('[ADM-5] says what to write where the pause is written wrong', async () => {
    const rows: [object, RegExp][] = [
      [
        { until: 'tomorrow' },
        /until in ConfigMap fenceline-pause is "tomorrow", which is no time: write one such as 2/,
      ],
      [{ until: '' }, /is "", which is no time/],
      [
        { untill: '2026-01-01T00:00:01Z' },
        /the key "untill" of ConfigMap fenceline-pause means nothing: did you mean until\?/,
      ],
      [{}, /^everything is paused$/],
    ];
    for (const [data, said] of rows) {
      const seen = await observe(
        fenced('wrong', { events: [{ at: '0s', apply: paused(data) }, partition[0]!], runFor: '1m' }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual(commands(seen), []);
      assert.match(statusAt(seen).hold?.message ?? '', said);
    }
  });

  test('[ADM-5, SAF-6] is not fenced because a person asks for it, now or when the pause is over', async () => {
    const requested = {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'NodeFence',
      metadata: { name: 'node-fence-node-1' },
      spec: { node: 'node-1', requested: { by: 'bob', at: '2026-01-01T00:00:10Z' } },
    };
    const seen = await observe(
      fenced('asked', {
        events: [
          { at: '0s', apply: paused({ by: 'alice' }) },
          { at: '10s', apply: requested },
          { at: '1m', delete: { kind: 'ConfigMap', namespace: 'fenceline', name: 'fenceline-pause' } },
        ],
        runFor: '3m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(askedOf(seen, 'node-1'), []);
    const { request } = fenceOf(seen.world, 'node-1')?.status ?? {};
    assert.deepEqual([request?.reason, request?.message], ['PausedForAll', 'everything is paused by alice']);
  });

  test('[ADM-5, SAF-7] a fence that has cut nothing is given up by it, and nobody is told that its node came back', async () => {
    const seen = await observe(
      fenced('given-up', {
        policy: { fence: { isolateAfter: '5m', powerManagementAfter: '5m' } },
        events: [partition[0]!, { at: '1m', apply: paused({ by: 'alice', reason: 'new switches' }) }],
        runFor: '2m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const told = seen.events.filter(({ reason }) => reason === 'Cancelled').map(({ note }) => note);
    assert.equal(new Set(told).size, 1);
    assert.match(
      told[0] ?? '',
      /PausedForAll: everything is paused by alice: new switches; nothing was cut, and .* anew/,
    );
  });

  test('[ADM-5] goes on where somebody ends the pause, from where it stood', async () => {
    const seen = await observe(
      fenced('ended', {
        events: [
          { at: '0s', apply: paused({ by: 'alice' }) },
          { at: '1s', powerOff: place },
          { at: '1m', delete: { kind: 'ConfigMap', namespace: 'fenceline', name: 'fenceline-pause' } },
        ],
        expect: [{ by: '65s', pod: { label: 'app=web', running: true, moved: true } }],
        runFor: '3m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
  });
});
