/** The node that the operator runs on is the last to be cut, and somebody else does it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { cutsOf, fenceOf } from './fenced.ts';
import { onOwnNode } from './own-node.ts';

const itself = 'the operator itself runs on it';
const handedOver = `${itself}: the lead is handed over first`;

function saidOf({ statuses }: Observed): string[] {
  return statuses.flatMap(({ status }) => (status.hold?.reason === 'OwnNode' ? [status.hold.message] : []));
}

describe('the node that the operator runs on', () => {
  test('[STM-8] S22: it hands over the lead, and another instance fences the node', async () => {
    const seen = await observe(onOwnNode('own-node', 2));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(cutsOf(seen, 'node-1'), 1);
    assert.deepEqual([...new Set(saidOf(seen))], [handedOver]);
    const { holder = '', fence } = fenceOf(seen.world, 'node-1')?.status ?? {};
    assert.match(holder, /^operator-2_/);
    assert.equal(fence?.phase, 'finished');
  });

  test('[STM-8] S22: another one that is in trouble comes first', async () => {
    const seen = await observe(onOwnNode('own-node-last', 2, { stuck: { 'node-1': '5s', 'node-2': '5s' } }));
    assert.deepEqual(failuresOf(seen.report), []);
    const offs = seen.report.timeline.filter(({ what }) => what === 'asked for off').map(({ object }) => object);
    assert.deepEqual(offs, ['node/node-2', 'node/node-1']);
    assert.equal(saidOf(seen)[0], `${itself}, and another node that is in trouble comes first`);
  });

  test('[STM-8] S22: the next one does not hand it back at once when its own node is in trouble too', async () => {
    const stuck = { 'node-1': '5s', 'node-2': '3m' };
    const seen = await observe(onOwnNode('own-node-soon-again', 2, { stuck, runFor: '14m' }));
    assert.deepEqual(failuresOf(seen.report), []);
    const offs = seen.report.timeline.filter(({ what }) => what === 'asked for off');
    assert.deepEqual(
      offs.map(({ object }) => object),
      ['node/node-1', 'node/node-2'],
    );
    const [first, second] = offs.map(({ at }) => at);
    assert.ok(second! - first! > 9 * 60_000, `at ${first} and ${second}`);
    const tooSoon = `${itself}, and the lead has been handed over within the last ten minutes: it is again after that`;
    assert.ok(saidOf(seen).includes(tooSoon));
  });

  test('[STM-8] S22: where nobody else takes the lead, it is held, and says so', async () => {
    const seen = await observe(onOwnNode('own-node-alone', 1));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(cutsOf(seen, 'node-1'), 0);
    const { hold } = fenceOf(seen.world, 'node-1')?.status ?? {};
    assert.equal(hold?.message, `${itself}, and no other instance has taken the lead`);
  });
});
