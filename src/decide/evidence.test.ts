import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anIncident,
  aNode,
  eviction,
  forceEviction,
  quarantine,
} from '../../test/support/release-case.ts';
import { afterwards, next } from '../../test/support/status-after.ts';
import { signsOf } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';

describe('what others have said of a node', () => {
  test('[FEV-8] an assertion is evidence, with its author, once', () => {
    const nodeCase = aCase({
      gates: eviction,
      node: aNode({ taints: [forceEviction], taintedBy: 'kubectl' }),
      fence: aFence({ incident: anIncident() }),
    });
    const status = afterwards(nodeCase, (before) => ({
      ...before,
      node: aNode({ taints: [forceEviction, quarantine], taintedBy: 'fenceline' }),
    }));
    const said = status.evidence.filter(({ source }) => source === 'ForceEvictionTaint');
    assert.deepEqual(
      said.map(({ by }) => by),
      ['taint fenceline.dev/force-eviction, set by kubectl'],
    );
    assert.deepEqual(
      status.releases.map(({ by }) => by),
      said.map(({ by }) => by),
      'and one record',
    );
  });

  test('[FEV-2] an assertion that was withdrawn, or was about a predecessor, counts anew', () => {
    const observedAt = '2026-01-01T00:00:00Z';
    const signs = signsOf(aCase());
    const old = {
      source: 'ForceEvictionTaint',
      says: 'Dead',
      detail: 'x',
      observedAt,
      bootId: 'boot-1',
      signs,
    } as const;
    const fence = aFence({ incident: anIncident(), evidence: [old] });
    const since = ({ evidence }: NodeFenceStatus): (string | undefined)[] =>
      evidence.filter(({ source }) => source === 'ForceEvictionTaint').map((item) => item.observedAt);
    const tainted = aCase({ gates: eviction, node: aNode({ taints: [forceEviction] }), fence });
    assert.deepEqual(since(next(tainted)), [observedAt], 'it stands');
    const withdrawn = next({ ...tainted, node: aNode() });
    assert.deepEqual(since(withdrawn), []);
    assert.notDeepEqual(since(next({ ...tainted, fence: aFence(withdrawn) })), [observedAt]);
    const newcomer = next({ ...tainted, node: aNode({ taints: [forceEviction], uid: 'newcomer' }) });
    assert.notDeepEqual(since(newcomer), [observedAt]);
  });
});
