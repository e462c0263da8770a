/** What is done about a machine whose Node object is gone, by what was cut of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { level } from '../../test/support/fence-steps.ts';
import type { Change, Fence } from '../../test/support/fenced-case.ts';
import { acting, aStored, entryOf, fenced, ipmi, minutesAgo } from '../../test/support/fenced-case.ts';
import { aRemedy, withoutNode } from '../../test/support/release-case.ts';
import { decideNode } from './decide-node.ts';
import type { RemedyDecision } from './decide-remedy.ts';
import { asItStands, decideRemedy } from './decide-remedy.ts';

const off = aStored('off', { switched: [entryOf('power-management', { confirmedAt: minutesAgo(7) })] });

function gone(fence: Fence, change: Change = {}): RemedyDecision {
  return decideRemedy(withoutNode(fenced(fence, { policy: acting(), ...change })));
}

function done({ fence, run }: RemedyDecision): [string | undefined, string | undefined] {
  return [fence?.phase, run?.do === 'switch' ? `${run.what} ${run.method.action}` : run?.do];
}

describe('[RET-2, SAF-19] a machine that we have cut, and whose Node object is gone', () => {
  test('is switched on by devices that are found by its name, and then nothing is left', () => {
    assert.deepEqual(done(gone(off)), ['poweringOn', 'power on']);
    const sent = aStored('poweringOff', { switched: [entryOf('power-management', { commandSentAt: minutesAgo(1) })] });
    assert.deepEqual(done(gone(sent)), ['poweringOn', undefined], 'what was told may still come');
    const begun = gone(off).run;
    assert.ok(begun !== undefined && 'key' in begun);
    const told = gone(off).fence ?? assert.fail();
    const task = { key: begun.key, outcome: 'succeeded', told: true } as const;
    const on = (bootTimeoutMs: number): RemedyDecision =>
      gone(told, { task, policy: acting({ remedy: { ...aRemedy(), fence: { ...aRemedy().fence, bootTimeoutMs } } }) });
    assert.deepEqual(done(on(60_000)), ['finished', undefined]);
    assert.deepEqual(done(on(0)), [undefined, undefined], 'nobody waits for it to boot');
  });

  test('[SEC-2] is said to be off where nobody can be told, or nothing switches it on', () => {
    const unwritten = { ...ipmi, on: ipmi.on.map((method) => ({ ...method, driver: 'built-in' })) };
    for (const powerManagement of [[], [{ ...ipmi, on: [] }], [unwritten]]) {
      const config = { ok: true, config: { isolation: [], powerManagement, recovery: [] } } as const;
      assert.deepEqual(done(gone(off, { config })), ['failed', undefined]);
      assert.equal(gone(off, { config }).fence?.isForGood, true);
    }
    assert.deepEqual(done(gone(off, { config: { ok: false, problems: [] } })), ['failed', undefined]);
    const powerManagement = [level('other-off', 'other-on')];
    const other = { ok: true, config: { isolation: [], powerManagement, recovery: [] } } as const;
    assert.deepEqual(done(gone(off, { config: other })), ['failed', undefined], 'by none that has cut it');
  });

  test('stays off where somebody has it so', () => {
    const removed = acting({ remedy: { ...aRemedy(), fence: { ...aRemedy().fence, machineRemoved: true } } });
    assert.deepEqual(done(gone(off, { policy: removed })), ['finished', undefined]);
    const kinds = { replace: 'deleteMachine' } as const;
    const ladder = {
      threshold: 't',
      position: 1,
      remedy: 'replace',
      phase: 'running',
      startedAt: minutesAgo(1),
    } as const;
    const deleting = { policy: acting({ remedy: { ...aRemedy(), kinds } }), status: { ladders: [ladder] } };
    assert.deepEqual(done(gone(off, deleting)), ['failed', undefined]);
    const stopped = withoutNode(fenced(off, { policy: acting() }));
    const record = stopped.fence ?? assert.fail();
    const stop = { ...stopped, fence: { ...record, spec: { ...record.spec, stop: true } } };
    assert.deepEqual(done(decideRemedy(stop)), ['off', undefined]);
  });

  test('[SAF-4] is not connected: nobody knows what runs there', () => {
    const cut = aStored('isolated', { switched: [entryOf('isolation', { confirmedAt: minutesAgo(7) })] });
    assert.deepEqual(done(gone(cut)), ['failed', undefined]);
  });

  test('and is told only while there is still no Node object', () => {
    const nodeCase = withoutNode(fenced(off, { policy: acting() }));
    const step = decideNode(nodeCase).steps.find((one) => 'begins' in one);
    assert.ok(step !== undefined && 'grounds' in step);
    assert.deepEqual(
      [step.grounds.basis, 'nodeUid' in step.grounds, 'bootId' in step.grounds],
      ['Remedy', false, false],
    );
  });

  test('nothing was cut where there is no fence', () => {
    const { fence: _, ...rest } = asItStands(withoutNode(fenced(off)));
    const none = withoutNode(fenced(off));
    const record = none.fence ?? assert.fail();
    const { fence: __, ...status } = record.status;
    assert.equal(decideRemedy({ ...none, fence: { ...record, status } }).fence, undefined);
    assert.ok(rest.ladders.length === 0);
  });
});
