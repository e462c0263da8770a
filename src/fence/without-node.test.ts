import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fence } from '../../test/support/fenced-case.ts';
import { aStored, entryOf, minutesAgo } from '../../test/support/fenced-case.ts';
import { withoutNode } from './without-node.ts';

const now = minutesAgo(0);
const isolation = entryOf('isolation', { confirmedAt: minutesAgo(7) });
const power = entryOf('power-management', { confirmedAt: minutesAgo(7) });
const cut = aStored('isolated', { switched: [isolation], waitsFor: 'the node' });
const off = aStored('off', { switched: [power] });

describe('[RET-2] a fence whose Node object is gone', () => {
  const gone = (fence: Fence, isRemoved = false): Fence => withoutNode(fence, { now, isRemoved });

  test('says what is still cut, and is not begun anew', () => {
    const ended = gone(cut);
    assert.match(ended.message ?? '', /; fc-off still cuts its machine off from its storage: look what runs there/);
    assert.deepEqual([ended.phase, ended.isForGood, ended.waitsFor], ['failed', true, undefined]);
    assert.match(gone(off).message ?? '', /; its machine was switched off, and may be off still: /);
    assert.deepEqual(gone(gone(off)), gone(off), 'and says so once');
    const failed = aStored('failed', { switched: [isolation], message: 'it failed' });
    assert.match(gone(failed).message ?? '', /still cuts/);
    assert.equal(gone(failed).stepStartedAt, failed.stepStartedAt);
  });

  test('that has cut nothing says that it was begun', () => {
    assert.equal(gone(aStored('waiting')).message, 'the Node object was deleted before the fence had ended');
    const failed = aStored('failed', { message: 'it failed' });
    assert.deepEqual([gone(failed), gone(aStored('finished'))], [failed, aStored('finished')]);
    const found = aStored('off', { switched: [{ ...isolation, commandSentAt: undefined }] });
    assert.doesNotMatch(gone(found).message ?? '', /still cuts/, 'it was so before');
  });

  test('[FEN-11] has ended where the policy says that a machine which is off is removed', () => {
    assert.deepEqual([gone(off, true).phase, gone(off, true).status], ['finished', 'final']);
    assert.equal(gone(cut, true).phase, 'failed', 'it is not off');
  });
});
