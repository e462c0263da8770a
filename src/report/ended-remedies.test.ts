import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, aRemedy, inForce } from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { decideNode } from '../decide/decide-node.ts';
import { ladderKey } from '../decide/of-case.ts';
import { endedRemedies } from './ended-remedies.ts';

type Ladder = NodeFenceStatus['ladders'][number];

const ladder: Ladder = {
  threshold: 'Ready=NotTrue',
  position: 0,
  remedy: 'repair',
  phase: 'running',
  startedAt: '2026-01-01T00:09:00Z',
};
const waiting: Ladder = { ...ladder, phase: 'waiting', until: '2026-01-01T00:12:00Z' };
const remedy = aRemedy({ kinds: { repair: 'podTemplate', empty: 'drain', fence: 'fence' } });
const fenceIn = (phase: 'finished' | 'failed' | 'waiting'): Pick<NodeFenceStatus, 'fence'> => ({
  fence: { phase } as NonNullable<NodeFenceStatus['fence']>,
});

/** What ends when the record says `after` instead of `before`. */
function ended(
  before: Ladder[],
  after: Partial<NodeFenceStatus>,
  outcome?: 'succeeded' | 'failed' | 'unknown',
): string {
  const [first = ladder] = before;
  const nodeCase = aCase({
    policy: inForce({ remedy }),
    fence: aFence({ ladders: before }),
    ...(outcome === undefined ? {} : { task: { key: ladderKey(first), outcome } }),
  });
  const all = endedRemedies({ nodeCase, decision: decideNode(nodeCase), acts: [], fence: aFence(after), tookMs: 1 });
  return all.map(({ kind, outcome: how }) => `${kind} ${how}`).join();
}

describe('remedies by outcome', () => {
  test('[ADM-3, REM-4] a remedy that has ended is told by its kind and by how, once', () => {
    assert.equal(ended([ladder], { ladders: [waiting] }, 'succeeded'), 'podTemplate succeeded');
    assert.equal(ended([ladder], { ladders: [waiting] }, 'failed'), 'podTemplate failed');
    assert.equal(ended([ladder], { ladders: [waiting] }, 'unknown'), 'podTemplate unknown');
    assert.equal(ended([ladder], { ladders: [] }, 'succeeded'), 'podTemplate succeeded');
    assert.equal(ended([waiting], { ladders: [] }), '', 'its period passed, and nothing more');
    assert.equal(ended([ladder], { ladders: [ladder] }), '', 'it runs on');
  });

  test('[ADM-3] a fence by where it stands; one that nobody needs any more is dropped, and no failure', () => {
    const calling = { ...ladder, remedy: 'fence' };
    assert.equal(ended([calling], { ladders: [waiting], ...fenceIn('finished') }), 'fence succeeded');
    assert.equal(ended([calling], { ladders: [], ...fenceIn('failed') }), 'fence failed');
    assert.equal(ended([calling], { ladders: [] }), 'fence dropped');
    assert.equal(ended([{ ...ladder, remedy: 'empty' }], { ladders: [] }), 'drain dropped');
  });

  test('[ADM-3] what undoes a remedy counts as well, and one of a policy that was edited is unknown', () => {
    const recovering = { ...ladder, phase: 'recovering' } as const;
    assert.equal(ended([recovering], { ladders: [] }, 'succeeded'), 'podTemplate succeeded');
    const next = { ...recovering, position: 1, remedy: 'empty', startedAt: '2026-01-01T00:10:00Z' };
    assert.equal(ended([recovering], { ladders: [next] }, 'succeeded'), 'podTemplate succeeded');
    assert.equal(ended([{ ...ladder, remedy: 'forgotten' }], { ladders: [] }, 'failed'), 'unknown failed');
  });
});
