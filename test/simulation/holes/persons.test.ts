/** What persons do to a fence in mid-flight, and what others claim to be. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { marked, removed } from '../../mutants/stories/machines.ts';
import { commands, fenced, partition } from '../fencing/fenced.ts';
import { observe, statusAt } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';

describe('a fence that a person stops', () => {
  test('[SAF-12] does nothing at all any more, and its status says that the machine is off', async () => {
    const stop = {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'NodeFence',
      metadata: { name: 'node-fence-node-3' },
      spec: { node: 'node-3', stop: true },
    };
    // Its machine is off: before that is confirmed, and after.
    const told: string[] = [];
    for (const at of ['22100ms', '22600ms']) {
      const seen = await observe(
        fenced('stopped-while-off', { events: [partition[0]!, { at, apply: stop }], runFor: '5m' }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual(commands(seen), ['off']);
      assert.deepEqual(
        seen.writes.filter(({ what, atMs }) => !what.includes('nodefences') && atMs > 23_000),
        [],
      );
      const { hold } = statusAt(seen);
      assert.equal(hold?.reason, 'Stopped');
      told.push(hold.message);
    }
    const said = /its machine (is off, and stays so|was told to go off, may be off, and is not switched on)$/;
    for (const message of told) assert.match(message, said);
  });
});

describe('a machine that two nodes claim to be', () => {
  test('[SEC-2] S44: is not deleted for either of them', async () => {
    const seen = await observe(removed('claimed-by-two', {}), marked({ rival: 'node-2' }));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(
      seen.writes.filter(({ what }) => what.startsWith('delete machines')),
      [],
    );
    const alone = await observe(removed('claimed-by-one', {}), marked());
    assert.equal(alone.writes.filter(({ what }) => what.startsWith('delete machines')).length, 1);
  });
});
