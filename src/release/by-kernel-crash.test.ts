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
  nowMs,
  renewedLease,
  silentLease,
  withoutNode,
} from '../../test/support/release-case.ts';
import { timeOf } from '../api/facts.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import { byKernelCrash, crashHeard } from './by-kernel-crash.ts';

const kdump = { timeoutMs: 1 };
const signs = { renewTime: silentLease.renewTime, heartbeatTime: 'then' };
const node = aNode({ heartbeatTime: 'then' });
const crash = { bootId: 'boot-1', address: '10.0.0.7', signs, heardForMs: 0 };
const none = { renewTime: '', heartbeatTime: '' };
const by = 'kdump message from 10.0.0.7';
const told = {
  source: 'Kdump',
  says: 'Dead',
  detail: 'x',
  observedAt: timeOf(nowMs - 10_000),
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

  test('[FEN-12, SAF-3] half a minute after its last message it says nothing any more, unless something went on its word', () => {
    const { crash: _, ...later } = heard;
    const said = (
      forMs: { heard?: number; recorded?: number },
      change: { signs?: typeof signs; releases?: ReleaseRecord[] } = {},
    ): string | undefined => {
      const { heard: heardForMs, recorded } = forMs;
      const items = recorded === undefined ? [] : [{ ...told, observedAt: timeOf(nowMs - recorded) }];
      const fence = aFence({ incident: anIncident(), evidence: items, releases: change.releases ?? [] });
      const again = { ...crash, signs: change.signs ?? signs };
      return byKernelCrash.by({
        ...later,
        fence,
        ...(heardForMs === undefined ? {} : { crash: { ...again, heardForMs } }),
      });
    };
    assert.equal(crashHeard({ ...later, crash: { ...crash, bootId: 'boot-0' } }), undefined);
    assert.equal(said({ heard: 29_999 }), by);
    assert.equal(said({ heard: 30_000 }), undefined);
    assert.equal(said({ recorded: 29_999 }), by, 'another instance has heard it');
    assert.equal(said({ recorded: 30_000 }), undefined);
    assert.equal(said({ recorded: 300_000, heard: 10_000 }), by, 'it repeats itself');
    assert.equal(said({ recorded: 300_000, heard: 30_000 }), undefined);
    const old = { renewTime: 'another', heartbeatTime: 'then' };
    assert.equal(said({ recorded: 300_000, heard: 0 }, { signs: old }), undefined, 'that was before it lived');
    const gone = { basis: 'KernelCrashed', bootId: 'boot-1' } as const;
    assert.equal(said({ recorded: 300_000 }, { releases: [aRecord(), aRecord(gone)] }), by);
    assert.equal(said({ recorded: 300_000 }, { releases: [aRecord({ ...gone, bootId: 'boot-0' })] }), undefined);
    assert.equal(said({ recorded: 300_000 }, { releases: [aRecord({ bootId: 'boot-1' })] }), undefined);
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
