import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, aPod, aRecord, inForce, nowMs } from '../../test/support/release-case.ts';
import type { ActOutcome } from '../act/act-outcome.ts';
import type { NodeCase } from '../api/release-view.ts';
import { decideNode } from '../decide/decide-node.ts';
import { ReleaseTimes } from './release-times.ts';

const pod = aPod();
const gone: ActOutcome = { kind: 'done', act: { do: 'forceDelete', pod, basis: 'AcceptedRisk' } };

/** How long each took, by what is summed. */
function took(...passes: [nodeCase: NodeCase, ...acts: ActOutcome[]][]): string[] {
  const times = new ReleaseTimes();
  for (const [nodeCase, ...acts] of passes) {
    times.note({ nodeCase, decision: decideNode(nodeCase), acts, fence: undefined, tookMs: 40 });
  }
  return times.took.samples
    .filter(({ suffix }) => suffix !== '_bucket')
    .map(({ suffix, labels, value }) => `${suffix} ${labels.basis} ${value}`);
}

const at = (ms: number, change: Partial<NodeCase> = {}): NodeCase => aCase({ serverNowMs: nowMs + ms, ...change });

describe('how long pods that may go wait for us', () => {
  test('[ADM-3] of a rule that was found to hold: as long as the pass took', () => {
    assert.deepEqual(took([at(0), gone]), ['_sum AcceptedRisk 0.04', '_count AcceptedRisk 1']);
  });

  test('[ADM-3] of a time that was known beforehand: from then on, however late the pass was', () => {
    const later = { pods: [aPod({ deletionAtMs: nowMs + 9000 })] };
    const [sum] = took([at(0, later)], [at(13_000, later), gone]);
    assert.equal(sum, '_sum AcceptedRisk 3.04', 'the time of the pod was up at 10 s');
  });

  test('[ADM-3] what had to be tried again counts from the first try', () => {
    const again = aFence({ releases: [aRecord({ basis: 'AcceptedRisk', recordedAt: new Date(nowMs).toISOString() })] });
    const refused: ActOutcome = { kind: 'changed', what: 'a new Lease' };
    const [sum, count] = took([at(0), refused], [at(2000, { fence: again }), gone]);
    assert.deepEqual([sum, count], ['_sum AcceptedRisk 2.04', '_count AcceptedRisk 1']);
  });

  test('[ADM-3] what another instance has begun counts from when it was put on record', () => {
    const theirs = aFence({
      releases: [aRecord({ basis: 'AcceptedRisk', recordedAt: new Date(nowMs).toISOString() })],
    });
    assert.equal(took([at(5000, { fence: theirs }), gone])[0], '_sum AcceptedRisk 5.04');
  });

  test('[ADM-3] while somebody holds it back, nothing counts', () => {
    const [sum] = took([at(0, { policy: inForce({ mode: 'Paused' }) })], [at(60_000), gone]);
    assert.equal(sum, '_sum AcceptedRisk 0.04');
  });

  test('what is not let go, or known no more, counts for nothing', () => {
    assert.deepEqual(took([at(0), { kind: 'needless', act: { do: 'forceDelete', pod, basis: 'AcceptedRisk' } }]), []);
    const times = new ReleaseTimes();
    const later = at(0, { pods: [aPod({ deletionAtMs: nowMs + 9000 })] });
    const pass = { acts: [], fence: undefined, tookMs: 40 };
    for (const forget of [() => times.forget('node-1'), () => times.clear()]) {
      times.note({ nodeCase: later, decision: decideNode(later), ...pass });
      forget();
    }
    const now = at(13_000, { pods: [aPod({ deletionAtMs: nowMs + 9000 })] });
    times.note({ nodeCase: now, decision: decideNode(now), ...pass, acts: [gone] });
    assert.equal(times.took.samples.find(({ suffix }) => suffix === '_sum')?.value, 0.04);
  });
});
