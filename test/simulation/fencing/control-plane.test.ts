/** Nodes of the control plane: what keeps the API alive is cut one at a time, and never beyond its quorum. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askedOf } from './fenced.ts';
import { observe, statusAt } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { beyondQuorum, controlled } from './control-plane.ts';

const offs = (seen: Awaited<ReturnType<typeof observe>>): string[] =>
  ['cp-1', 'cp-2', 'cp-3'].filter((name) => askedOf(seen, name).some(({ what }) => what === 'off'));

describe('nodes of the control plane', () => {
  test('[STM-8] S22: two of three that are cut off at once are not fenced, and say why', async () => {
    const seen = await observe(beyondQuorum);
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(offs(seen), []);
    const { hold } = statusAt(seen);
    assert.equal(hold?.reason, 'ControlPlaneQuorum');
    assert.match(hold.message, /of which 1 of 3 nodes would be left, and 2 are needed$/);
  });

  test('[STM-8] S22: nor are two of three that run etcd alone', async () => {
    const events = ['cp-1', 'cp-2'].map((partition) => ({ at: '0s', partition }));
    const seen = await observe(controlled('etcd-alone', events, 3, 'etcd'));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(offs(seen), []);
    assert.match(statusAt(seen).hold?.message ?? '', /^it is of etcd, of which 1 of 3 nodes would be left/);
  });

  test('[STM-8] one of three is fenced, and another one not before that one is back', async () => {
    const events = [
      { at: '0s', partition: 'cp-1' },
      { at: '50s', partition: 'cp-2' },
    ];
    const seen = await observe(controlled('one-by-one', events));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(offs(seen), ['cp-1']);
  });

  test('[STM-8] a single node of a control plane is never cut', async () => {
    const seen = await observe(controlled('single', [{ at: '0s', partition: 'cp-1' }], 1));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(offs(seen), []);
  });

  test('[STM-8, STM-1] those that are found off are let go', async () => {
    const events = [
      { at: '0s', powerOff: 'cp-1' },
      { at: '0s', powerOff: 'cp-2' },
    ];
    const seen = await observe(controlled('found-off', events));
    assert.deepEqual(failuresOf(seen.report), []);
    const released = seen.statuses.filter(({ status }) => status.releases.length > 0);
    assert.ok(released.length > 0);
  });
});
