import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, anIncident, aNode, aPod, inForce, renewedLease } from '../../test/support/release-case.ts';
import type { NodeCase } from '../api/release-view.ts';
import { byKernelCrash } from './by-kernel-crash.ts';

const kdump = { timeoutMs: 1 };
const crash = { bootId: 'boot-1', address: '10.0.0.7' };
const by = 'kdump message from 10.0.0.7';
const evidence = [
  { source: 'Kdump', says: 'Dead', detail: 'x', observedAt: '2026-01-01T00:00:00Z', by, bootId: 'boot-1' } as const,
];
const heard = aCase({ policy: inForce({ podDeletion: 'do-nothing', kdump }), crash });

function objects(change: Partial<NodeCase>): string {
  const nodeCase = { ...heard, ...change };
  return (
    byKernelCrash.checks.map((check) => check(nodeCase, aPod())).find((one) => one !== undefined)?.reason ?? 'goes'
  );
}

describe('released by the word of the crashed kernel', () => {
  test('[FEN-12] heard by this instance, or by one before it', () => {
    assert.equal(objects({}), 'goes');
    const { crash: _, ...later } = { ...heard, fence: aFence({ incident: anIncident(), evidence }) };
    assert.equal(byKernelCrash.by(later), by);
    assert.equal(byKernelCrash.by({ ...later, fence: aFence({ evidence }) }), undefined, 'of an incident that is over');
  });

  test('[FEN-12] only where the policy listens, only of this boot, only of a node that is not Ready and silent', () => {
    assert.equal(objects({ policy: inForce({ podDeletion: 'do-nothing' }) }), 'NoCrash');
    assert.equal(objects({ policy: { kind: 'none' } }), 'NoCrash');
    assert.equal(objects({ node: aNode({ bootId: 'boot-2' }) }), 'NoCrash');
    assert.equal(objects({ node: aNode({ ready: 'True' }) }), 'NodeReady');
    assert.equal(objects({ lease: renewedLease }), 'KubeletAlive');
  });
});
