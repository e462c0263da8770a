import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anIncident,
  aNode,
  aPod,
  aRemedy,
  inForce,
  renewedLease,
  silentLease,
} from '../../test/support/release-case.ts';
import { signsOf } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { byRemedy } from './by-remedy.ts';

const startedAt = '2026-01-01T00:00:00Z';
const ladder = { threshold: 'Ready=NotTrue', position: 0, remedy: 'terminate', phase: 'waiting', startedAt } as const;
const template = 'hash-1';
const job = {
  namespace: 'fenceline',
  name: 'j',
  purpose: 'terminate',
  template,
  startedAt,
  outcome: 'Succeeded',
  signs: signsOf(aCase()),
} as const;

function remedied(status: Partial<NodeFenceStatus> = {}, cleanResources = true, kind = 'podTemplate'): NodeCase {
  const remedy = aRemedy({
    thresholds: [
      { key: 'Ready=NotTrue', remedies: [{ name: 'terminate', periodMs: 0, cleanResources }], recovery: [] },
    ],
    kinds: { terminate: kind },
    templates: { terminate: template },
  });
  const fence = aFence({ incident: anIncident(), ladders: [ladder], jobs: [job], ...status });
  return aCase({ policy: inForce({ podDeletion: 'do-nothing', remedy }), fence });
}

function objects(nodeCase: NodeCase, pod: Partial<PodFacts> = {}): string {
  const found = byRemedy.checks.map((check) => check(nodeCase, aPod(pod))).find((one) => one !== undefined);
  return found?.reason ?? 'goes';
}

describe('released by the word of a remedy', () => {
  test('[REM-2, EVD-1] a Job that cleans resources has succeeded, and says so', () => {
    assert.equal(objects(remedied()), 'goes');
    assert.equal(byRemedy.by(remedied()), 'remedy terminate, Job fenceline/j');
    assert.equal(objects(remedied({ ladders: [{ ...ladder, phase: 'exhausted' }] })), 'goes');
  });

  test('not before it has ended, nor when it failed, nor where nobody asked for it', () => {
    const { outcome: _, ...running } = job;
    const none: NodeCase[] = [
      remedied({ jobs: [running] }),
      remedied({ jobs: [{ ...job, outcome: 'Failed' }] }),
      remedied({ jobs: [{ ...job, outcome: 'Unknown' }] }),
      remedied({ jobs: [job, { ...job, name: 'k', outcome: 'Failed' }] }),
      remedied({ jobs: [{ ...job, purpose: 'repair' }] }),
      remedied({ ladders: [{ ...ladder, phase: 'running' }] }),
      remedied({ ladders: [{ ...ladder, phase: 'recovering' }] }),
      remedied({}, false),
      remedied({}, true, 'cordon'),
      { ...remedied(), policy: { kind: 'none' } },
    ];
    for (const nodeCase of none) assert.equal(objects(nodeCase), 'NotRemedied');
  });

  test('[SAF-3] nor once the kubelet has shown that it lives, whenever that was', () => {
    const done = remedied();
    const renewed = { ...silentLease, renewTime: 'later' };
    assert.equal(objects({ ...done, lease: renewed }), 'NotRemedied', 'it is silent again, and was not');
    assert.equal(objects({ ...done, node: aNode({ heartbeatTime: 'later' }) }), 'NotRemedied');
    const { signs: _, ...old } = job;
    assert.equal(objects(remedied({ jobs: [old] })), 'NotRemedied', 'nobody knows what it had written then');
  });

  test('S2: nor by a Job of that name that was made from another template, or from nobody knows which', () => {
    const { template: _, ...older } = job;
    assert.equal(objects(remedied({ jobs: [{ ...job, template: 'hash-2' }] })), 'NotRemedied');
    assert.equal(objects(remedied({ jobs: [older] })), 'NotRemedied');
  });

  test('S4: neither from a machine that was booted again, nor from one whose kubelet lives', () => {
    assert.equal(objects({ ...remedied(), node: aNode({ bootId: 'boot-2' }) }), 'NotRemedied');
    assert.equal(objects({ ...remedied(), node: aNode({ ready: 'True' }) }), 'NodeReady');
    assert.equal(objects({ ...remedied(), lease: renewedLease }), 'KubeletAlive');
  });

  test('[FEN-11] mirror and DaemonSet pods stay', () => {
    assert.equal(objects(remedied(), { mirror: true }), 'MirrorPod');
    assert.equal(
      objects(remedied(), { owner: { group: 'apps', kind: 'DaemonSet', name: 'd' } as never }),
      'DaemonSetPod',
    );
  });
});
