import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeDecision } from '../decide/decide-node.ts';
import { anIncident } from '../../test/support/release-case.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { Step } from '../api/steps.ts';
import { comesToAnything, isOnlyHeld } from './decided.ts';

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

describe('[STM-1] that a storm holds it back still', () => {
  const held = (message: string, change: Partial<NodeFenceStatus> = {}): NodeFenceStatus => ({
    ...EMPTY_STATUS,
    incident: anIncident(),
    hold: { reason: 'StormLimit', message, since: '2026-01-01T00:00:00Z' },
    storm: { since: '2026-01-01T00:00:00Z', nodes: 10, troubled: message.length },
    ...change,
  });
  const comes = (after: NodeFenceStatus, before: NodeFenceStatus | undefined = held('five')): boolean =>
    comesToAnything({ ...nothing, record: { status: after } }, before);

  test('is only told anew, however bad it is by now', () => {
    assert.equal(comes(held('eleven')), false);
    assert.equal(comes(held('five', { hold: { ...held('five').hold!, reason: 'ZoneStormLimit' } })), true);
  });

  test('is more where it has begun or is over, and where anything else is written down', () => {
    assert.equal(comesToAnything({ ...nothing, record: { status: held('five') } }), true, 'nothing was on record');
    assert.equal(comes(held('five'), held('five', { storm: undefined })), true);
    const ended = { storm: { since: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:01:00Z' } };
    assert.equal(comes(held('five', ended)), true);
    assert.equal(comes(held('five', { hold: undefined }), held('five', { hold: undefined })), true);
    const ladder = {
      threshold: 'lease',
      remedy: 'fence',
      phase: 'running',
      position: 0,
      startedAt: '2026-01-01T00:00:00Z',
    };
    assert.equal(comes(held('five', { ladders: [ladder as NodeFenceStatus['ladders'][number]] })), true);
    assert.equal(comes(held('five', { incident: { ...anIncident(), flaps: 7 } })), true);
  });
});

describe('[STM-1] a storm holds it back before anybody else is looked at', () => {
  const held = { hold: { reason: 'StormLimit', message: 'x' }, storm: { since: '2026-01-01T00:00:00Z' } };
  const status = (change: object): NodeFenceStatus => ({ ...EMPTY_STATUS, ...held, ...change }) as NodeFenceStatus;
  const isHeld = (change: object, decision: Partial<NodeDecision> = {}): boolean =>
    isOnlyHeld({ ...nothing, wants: [], record: { status: status(change) }, ...decision });

  test('by what is about to be written, or by what is on record where nothing is', () => {
    assert.equal(isHeld({}), true);
    assert.equal(isHeld({ storm: undefined }), true, 'who is not judged yet begins none');
    assert.equal(isHeld({ fence: { phase: 'waiting' }, ladders: [{ phase: 'running' }] }), true);
    assert.equal(isOnlyHeld({ ...nothing, wants: [] }, status({})), true);
    assert.equal(isOnlyHeld({ ...nothing, wants: [] }), false);
    const { storm } = status({});
    assert.equal(isOnlyHeld({ ...nothing, wants: [], storm }), true, 'as others have it on record');
  });

  test('not where anything else holds it, or anything is begun, taken or wanted', () => {
    assert.equal(isHeld({ hold: { reason: 'LookingAround', message: 'x' } }), false);
    assert.equal(isHeld({ fence: { phase: 'poweringOff' } }), false);
    assert.equal(isHeld({ ladders: [{ phase: 'recovering' }] }), false);
    assert.equal(isHeld({}, { claims: { ...claims, fence: true } }), false);
    assert.equal(isHeld({}, { steps: [{ begins: { do: 'cordon' } } as unknown as Step] }), false);
    assert.equal(isHeld({}, { wants: ['pods'] }), false);
  });
});
