/** A Node object of the same name: what was begun for its predecessor is not its own, but for what was cut. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Change, Fence } from '../../test/support/fenced-case.ts';
import { acting, aStored, entryOf, fenced, minutesAgo } from '../../test/support/fenced-case.ts';
import { anIncident } from '../../test/support/release-case.ts';
import type { RemedyDecision } from './decide-remedy.ts';
import { asItStands, decideRemedy } from './decide-remedy.ts';

const isolation = entryOf('isolation', { confirmedAt: minutesAgo(8) });
const cut = aStored('isolated', { switched: [isolation] });
const nothing = { ok: true, config: { isolation: [], powerManagement: [], recovery: [] } } as const;

function made(fence: Fence, { node, ...change }: Change = {}): ReturnType<typeof fenced> {
  return fenced(fence, {
    policy: acting(),
    pods: [],
    attachments: [],
    node: { ready: 'True', createdAt: minutesAgo(2), volumesInUse: [], ...node },
    status: { incident: anIncident({ nodeUid: 'another' }) },
    ...change,
  });
}

describe('[RET-2, SAF-5] a newcomer of the same name', () => {
  test('has what was cut, whatever is configured by now: an edit makes no other machine of it', () => {
    for (const change of [{}, { config: nothing }, { config: { ok: false, problems: [] } as const }]) {
      const { fence }: RemedyDecision = decideRemedy(made(cut, change));
      assert.deepEqual(fence?.switched, [isolation]);
    }
    assert.equal(decideRemedy(made(cut, { config: nothing })).fence?.phase, 'recovering');
  });

  test('has it also where the fence of its predecessor could not undo it, and nobody has seen that there was none', () => {
    const failed = aStored('failed', { step: 'recovery', status: 'error', switched: [isolation] });
    const { fence } = decideRemedy(made(failed, { config: nothing }));
    assert.deepEqual([fence?.phase, fence?.switched], ['recovering', [isolation]], 'it is in quarantine first');
    const own = decideRemedy(made(failed, { config: nothing, status: { incident: anIncident() } }));
    assert.equal(own.fence?.phase, 'failed');
    assert.equal(asItStands(made(failed)).fence?.isForGood, true);
    assert.equal(asItStands(made(cut)).fence?.isForGood, undefined);
  });

  test('[SAF-5] what was begun in another record was restored, or copied; by times where nobody has noted in which', () => {
    const of = (fence: Partial<Fence>, creationTimestamp: string): boolean => {
      const nodeCase = made({ ...cut, ...fence }, { status: { incident: anIncident() } });
      const metadata = { ...nodeCase.fence!.metadata, uid: 'record', creationTimestamp };
      return asItStands({ ...nodeCase, fence: { ...nodeCase.fence!, metadata } }).fence !== undefined;
    };
    assert.deepEqual([of({}, minutesAgo(20)), of({}, minutesAgo(2))], [true, false]);
    assert.equal(of({ recordUid: 'record' }, minutesAgo(2)), true, 'made later, by another clock');
    assert.equal(of({ recordUid: 'another' }, minutesAgo(20)), false);
  });

  test('has nothing else', () => {
    const untouched = aStored('waiting');
    assert.equal(asItStands(made(untouched)).fence, undefined);
    const found = { ...isolation, commandSentAt: undefined };
    assert.equal(asItStands(made(aStored('isolated', { switched: [found] }))).fence, undefined, 'it was so before');
  });
});
