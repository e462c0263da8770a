import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anIncident,
  aNode,
  aPod,
  aRecord,
  entry,
  inForce,
  renewedLease,
  silentLease,
  withoutNode,
} from '../../test/support/release-case.ts';
import type { NodeCase } from '../api/release-view.ts';
import { byKernelCrash } from './by-kernel-crash.ts';

const kdump = { timeoutMs: 1 };
const signs = { renewTime: silentLease.renewTime, heartbeatTime: 'then' };
const node = aNode({ heartbeatTime: 'then' });
const crash = { bootId: 'boot-1', address: '10.0.0.7', signs };
const none = { renewTime: '', heartbeatTime: '' };
const by = 'kdump message from 10.0.0.7';
const told = {
  source: 'Kdump',
  says: 'Dead',
  detail: 'x',
  observedAt: '2026-01-01T00:00:00Z',
  by,
  bootId: 'boot-1',
  signs,
} as const;
const evidence = [told];
const heard = aCase({ policy: inForce({ podDeletion: 'do-nothing', kdump }), node, crash });

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
    const { bootId: _, ...ofNoBoot } = told;
    const gone = withoutNode({ ...heard, fence: aFence({ incident: anIncident(), evidence: [ofNoBoot] }) });
    assert.equal(byKernelCrash.by(gone), undefined, 'of a Node that is there');
  });

  test('[FEN-12] and by nothing else that was once said of it', () => {
    const { crash: _, ...later } = heard;
    const other = { ...told, source: 'ForceEvictionTaint', by: 'taint fenceline.dev/force-eviction' } as const;
    const fence = (...items: (typeof told | typeof other)[]): NodeCase => ({
      ...later,
      fence: aFence({ incident: anIncident(), evidence: items }),
    });
    assert.equal(byKernelCrash.by(fence(other)), undefined);
    assert.equal(byKernelCrash.by(fence(other, told)), by);
  });

  describe('[SAF-3] a sign of life voids it, whoever heard it and whenever', () => {
    const { crash: _, ...later } = { ...heard, fence: aFence({ incident: anIncident(), evidence }) };
    const lives: [string, Partial<NodeCase>][] = [
      ['the Lease was renewed', { lease: { ...silentLease, renewTime: 'another time of whatever clock' } }],
      ['the kubelet has written its status', { node: { ...node, heartbeatTime: 'later' } }],
      ['there was no status before', { node: { ...node, heartbeatTime: 'now' }, crash: { ...crash, signs: none } }],
    ];
    for (const [what, change] of lives) {
      test(what, () => {
        assert.equal(objects(change), 'NoCrash');
        assert.equal(byKernelCrash.by({ ...later, ...change }), undefined);
      });
    }

    test('a freed volume is back in volumesInUse', () => {
      const release = aRecord({ freedAt: '2026-01-01T00:00:00Z', freed: [entry] });
      const fence = aFence({ incident: anIncident(), evidence, releases: [release] });
      assert.equal(byKernelCrash.by({ ...later, fence, node: { ...node, volumesInUse: [] } }), by);
      assert.equal(byKernelCrash.by({ ...later, fence, node: { ...node, volumesInUse: [entry] } }), undefined);
    });

    test('that there is no Lease any more is no sign of life; what was kept without signs says nothing', () => {
      const { lease: _lease, ...without } = later;
      assert.equal(byKernelCrash.by(without), by);
      const { signs: _signs, ...old } = told;
      const fence = aFence({ incident: anIncident(), evidence: [old] });
      assert.equal(byKernelCrash.by({ ...later, fence }), undefined);
    });

    test('a message that comes again is heard again', () => {
      const lease = { ...silentLease, renewTime: 'later' };
      const again = { ...crash, signs: { ...signs, renewTime: 'later' } };
      assert.equal(byKernelCrash.by({ ...later, lease, crash: again }), by);
    });
  });
});
