/** Machines that their provider removes when they are off. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { askedOf, atOnce, elsewhere, fenced, fenceOf, place, victimOf } from './fenced.ts';

describe('a machine that its provider removes', () => {
  test('[FEN-11] S13: its Node object goes where the policy says that the provider removes the machine, and not before', async () => {
    const seen = await observe(
      fenced('removed', {
        policy: { fence: { ...atOnce, machineRemoved: true } },
        events: [{ at: '0s', powerOff: place }],
        expect: [elsewhere('30s'), { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } }],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const deleted = (object: RegExp): number =>
      seen.report.timeline.findIndex(({ what, object: of }) => what === 'deleted' && object.test(of));
    assert.ok(deleted(/^node\//) > deleted(/^pod\/default\/web-0$/) && deleted(/^pod\//) !== -1);
    assert.deepEqual(
      askedOf(seen).map(({ what }) => what),
      [],
      'it was off already, and is not switched on',
    );
    const status = fenceOf(seen.world, victimOf(seen))?.status;
    assert.deepEqual([status?.fence?.phase, status?.incident], ['finished', undefined]);
    assert.equal(status?.conditions.find(({ type }) => type === 'Fenced')?.reason, 'NodeDeleted');
  });
});
