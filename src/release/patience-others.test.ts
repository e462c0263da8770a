/** [ADM-6] What others have in mind, by what objects beside the Node say. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aNode, nowMs } from '../../test/support/release-case.ts';
import type { Elsewhere, OtherActor } from '../api/others.ts';
import type { NodeCase } from '../api/release-view.ts';
import { leftToOthers, othersUnknown, patienceWith, worthOf } from './patience.ts';

const plans = { isCordoned: false, isShuttingDown: false, pauses: {} };
const marked = { by: 'Karpenter', does: 'removes' } as const;
const far: OtherActor = {
  by: 'Fence Agents Remediation',
  does: 'remedies',
  object: 'FenceAgentsRemediation ns/node-1',
  since: '2026-01-01T00:09:00Z',
};
const spell = { sinceMs: nowMs - 60_000, heardMs: nowMs - 600_000, bootTimeoutMs: 600_000 };

function withOthers(elsewhere: Elsewhere | undefined, others?: OtherActor[]): NodeCase & { node: object } {
  const node = aNode({ plans: { ...plans, ...(others && { others }) }, machine: 'capi/m-1', providerId: 'x://1' });
  return { ...aCase(elsewhere === undefined ? {} : { elsewhere }), node };
}

describe('[ADM-6] a node that somebody else is at by an object of its own', () => {
  test('is left to that one, and looked at again, because nobody tells when that is over', () => {
    assert.deepEqual(leftToOthers(withOthers({ found: [far] })), {
      reason: 'LeftToOthers',
      message:
        'Fence Agents Remediation remedies it (FenceAgentsRemediation ns/node-1 since 2026-01-01T00:09:00Z), and it is left to that one',
      recheckAtMs: nowMs + 5000,
    });
    assert.equal(leftToOthers(withOthers({ found: [] })), undefined);
    assert.equal(leftToOthers(withOthers(undefined)), undefined);
  });

  test('is told by that, which says more than a mark; a mark by itself is news when it goes', () => {
    assert.match(leftToOthers(withOthers({ found: [far] }, [marked]))?.message ?? '', /^Fence Agents/);
    const found = leftToOthers(withOthers({ found: [] }, [marked]));
    assert.deepEqual(
      [found?.message, found?.recheckAtMs],
      ['Karpenter removes it, and it is left to that one', undefined],
    );
  });

  test('is not left to whoever only reboots it, and has the time of a boot then', () => {
    const nodeCase = withOthers({ found: [{ by: 'Metal3', does: 'reboots', object: 'BareMetalHost ns/h' }] });
    assert.equal(leftToOthers(nodeCase), undefined);
    assert.match(patienceWith(nodeCase, spell)?.message ?? '', /^Metal3 reboots it \(BareMetalHost ns\/h\), which/);
  });
});

describe('[ADM-6] what objects of others say and nobody has read yet', () => {
  test('is found out first, and not waited for without an end', () => {
    assert.deepEqual(othersUnknown(withOthers({ found: [], openForMs: 14_999 })), {
      reason: 'LookingAround',
      message: 'whether somebody else is at work on it is found out first',
      recheckAtMs: nowMs + 1000,
    });
    assert.equal(othersUnknown(withOthers({ found: [], openForMs: 15_000 })), undefined);
    assert.equal(othersUnknown(withOthers({ found: [] })), undefined);
    assert.equal(othersUnknown(withOthers(undefined)), undefined);
  });

  test('is compared right before a cut where it was known', () => {
    const about = { name: 'node-1', machine: 'capi/m-1', providerId: 'x://1' };
    assert.deepEqual(worthOf(withOthers({ found: [] }) as never, spell).elsewhere, { ...about, found: [] });
    assert.equal(worthOf(withOthers({ found: [], openForMs: 20_000 }) as never, spell).elsewhere, undefined);
    assert.equal(worthOf(withOthers(undefined) as never, spell).elsewhere, undefined);
  });
});
