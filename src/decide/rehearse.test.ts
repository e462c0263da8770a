import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aCount,
  aFence,
  anIncident,
  aRecord,
  aRemedy,
  inForce,
  nowMs,
} from '../../test/support/release-case.ts';
import { level } from '../../test/support/fence-steps.ts';
import { timeOf } from '../api/facts.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, PolicyFacts } from '../api/release-view.ts';
import { rehearse } from './rehearse.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;
type Rehearsal = NonNullable<NodeFenceStatus['rehearsal']>;

const at = timeOf(nowMs - 60_000);
const threshold = {
  key: 'Ready=NotTrue',
  condition: { type: 'Ready', status: 'NotTrue', forMs: 5000 },
  remedies: [{ name: 'act', periodMs: 60_000, cleanResources: true }],
  recovery: [],
};

function stored(phase: Fence['phase']): Fence {
  const times = { startedAt: at, stepStartedAt: at };
  const place = { level: 0, index: 0, retries: 0, restarts: 0, bootId: 'boot-1', switched: [] };
  return { step: 'power-management', status: 'running', phase, cleanResources: true, ...times, ...place };
}

function rehearsing(status: Partial<NodeFenceStatus>, mode: PolicyFacts['mode'] = 'DryRun'): NodeCase {
  return aCase({
    policy: inForce({ mode, remedy: aRemedy({ thresholds: [threshold], kinds: { act: 'fence' } }) }),
    trouble: { conditions: [{ type: 'Ready', status: 'Unknown', forMs: 60_000 }], leaseSilentMs: 60_000 },
    count: aCount({ nodes: 5 }),
    rehearsed: { around: { unheard: 0, names: [], settledAtMs: nowMs } },
    config: { ok: true, config: { isolation: [], powerManagement: [level('a-off', 'a-on')], recovery: [] } },
    fence: aFence({ incident: anIncident(), ...status }),
  });
}

const doing = (nodeCase: NodeCase): string[] | undefined =>
  rehearse(nodeCase)?.rehearsal.steps.map(({ reason }) => reason);

describe('a rehearsal', () => {
  test('[SAF-12] is of a policy that only rehearses', () => {
    assert.ok((doing(rehearsing({})) ?? []).length > 0);
    assert.equal(rehearse(rehearsing({}, 'Enforce')), undefined);
    assert.equal(rehearse(rehearsing({}, 'Paused')), undefined);
  });

  test('[SAF-12] waits until what was begun for real has come to its end', () => {
    for (const phase of ['off', 'poweringOn', 'failed'] as const) {
      assert.equal(rehearse(rehearsing({ fence: stored(phase) })), undefined, phase);
    }
    assert.ok(rehearse(rehearsing({ fence: stored('finished') })));
  });

  test('[SAF-12] says of no pod that it would have gone which was really released, and may be gone, before', () => {
    const ended = { endedAt: at, podsGoneAt: at, pods: [{ namespace: 'default', name: 'gone-0', uid: 'gone' }] };
    const before = aRecord({ basis: 'StorageSafeDetach', ...ended });
    const { rehearsal } = rehearse(rehearsing({ releases: [before] })) ?? assert.fail();
    assert.deepEqual(
      rehearsal.steps.filter(({ message }) => message.includes('gone-0')),
      [],
    );
  });

  test('[SAF-12] goes on from where it stood in this incident, and from the beginning in another one', () => {
    const first = rehearse(rehearsing({}))?.rehearsal ?? assert.fail();
    const again = (incident: string): Rehearsal['steps'] | undefined =>
      rehearse(rehearsing({ rehearsal: { ...first, incident } }))?.rehearsal.steps;
    assert.deepEqual(again(anIncident().id), first.steps, 'nothing is said twice');
    const old = { ...first, steps: first.steps.map((step) => ({ ...step, at })), incident: 'node-1-0' };
    const { rehearsal } = rehearse(rehearsing({ rehearsal: old })) ?? assert.fail();
    assert.deepEqual(rehearsal.steps, first.steps, 'told anew, and at another time');
    assert.deepEqual(rehearsal.pods, first.pods);
  });

  test('[SAF-12] names a pod once, also one whose release was on record before under another basis', () => {
    const { rehearsal } =
      rehearse(rehearsing({ releases: [aRecord(), aRecord({ basis: 'StorageFenced' })] })) ?? assert.fail();
    const named = rehearsal.steps.filter(({ message }) => message.includes('default/web-0'));
    assert.equal(named.length, 1, JSON.stringify(named));
    assert.deepEqual(rehearsal.pods, [...new Set(rehearsal.pods)]);
  });
});
