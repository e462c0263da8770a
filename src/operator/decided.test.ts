import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeDecision } from '../decide/decide-node.ts';
import type { Step } from '../api/steps.ts';
import { comesToAnything } from './decided.ts';

const claims: NodeDecision['claims'] = { fence: false, remedy: false, pods: 0 };
const nothing = {
  judgement: { verdict: 'down', reason: 'LeaseStale', evidence: [], recheckInMs: 1000 },
  attention: 'needed',
  wants: ['pods', 'device', 'deviceLater', 'storage', 'kubelet', 'liveLease'],
  steps: [],
  claims,
} as unknown as NodeDecision;

describe('[STM-1] what comes of a decision', () => {
  test('is nothing where it only says why nothing is done, whatever it asks for', () => {
    assert.equal(comesToAnything(nothing), false);
  });

  const each: Readonly<Record<string, Partial<NodeDecision>>> = {
    'what is written down': { record: { policy: 'release' } },
    'a step': { steps: [{ begins: { do: 'cordon' } } as unknown as Step] },
    'a slot for a fence': { claims: { ...claims, fence: true } },
    'a slot for another remedy': { claims: { ...claims, remedy: true } },
    'a pod that goes': { claims: { ...claims, pods: 1 } },
    'another instance that leads': { wants: ['successor'] },
  };
  for (const [what, change] of Object.entries(each)) {
    test(`is something by ${what} alone`, () => {
      assert.equal(comesToAnything({ ...nothing, ...change }), true);
    });
  }
});
