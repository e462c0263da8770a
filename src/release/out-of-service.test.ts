import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  aNode,
  aPod,
  aRecord,
  aRemedy,
  inForce,
  nowMs,
  quarantine,
  renewedLease,
} from '../../test/support/release-case.ts';
import type { NodeFenceStatus, ReleaseRecord, WayName } from '../api/node-fence.ts';
import { OUR_OUT_OF_SERVICE } from '../api/out-of-service.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import type { StuckReason } from './checks.ts';
import { objection } from './checks.ts';
import { endOfOutOfService, tellingOff } from './out-of-service.ts';
import { planRelease } from './plan.ts';
import type { Fate } from './way.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;

const off: Fence = {
  step: 'power-management',
  status: 'running',
  phase: 'off',
  level: 0,
  index: 1,
  bootId: 'boot-1',
  cleanResources: true,
  retries: 0,
  restarts: 0,
  startedAt: '2026-01-01T00:00:00Z',
  stepStartedAt: '2026-01-01T00:00:00Z',
  switched: [
    { step: 'power-management', method: 'a-off', device: 'a', storage: [], confirmedAt: '2026-01-01T00:00:00Z' },
  ],
};

const record = aRecord({ basis: 'PowerOff' });
const daemon = aPod({ uid: 'd', owner: { group: 'apps', kind: 'DaemonSet', name: 'agent', uid: 'o' }, readyAt: 2 });
const stays = (pod: PodFacts): Fate => ({ pod, goes: false, objections: [] });
const goes: Fate = { pod: aPod({ readyAt: 0 }), goes: true, way: 'power', frees: [] };

function isOff(change: Partial<NodeCase> = {}, fence: Partial<Fence> = {}): NodeCase {
  return aCase({
    node: aNode({ ready: 'True', taints: [quarantine] }),
    policy: inForce({ remedy: aRemedy() }),
    fence: aFence({ fence: { ...off, ...fence } }),
    ...change,
  });
}

function says(nodeCase: NodeCase, fates: readonly Fate[] = [goes, stays(daemon)], going?: ReleaseRecord): string[] {
  return tellingOff(nodeCase, fates, going).map((act) =>
    act.do === 'takeOutOfService' ? `${act.do} ${act.isTainted}` : act.do,
  );
}

describe('a machine that is confirmed off is out of service', () => {
  test('[EVD-5] the Node says so, what stays there is not ready, and the taint stands while something goes', () => {
    assert.deepEqual(says(isOff(), undefined, record), ['takeOutOfService true', 'markUnready']);
    assert.deepEqual(says(isOff()), ['takeOutOfService false', 'markUnready'], 'nothing is to go');
    const { readyAt: _, ...unready } = daemon;
    assert.deepEqual(says(isOff(), [stays(unready), stays({ ...daemon, phase: 'Failed' })]), [
      'takeOutOfService false',
    ]);
  });

  test('[EVD-5] only on proof: of this boot, of its power, with pods that are to go, and where the policy wants it', () => {
    const unproven: Partial<Fence>[] = [
      { phase: 'poweringOff' },
      { phase: 'isolated' },
      { bootId: 'boot-0' },
      { switched: [] },
      { cleanResources: false },
    ];
    for (const fence of unproven) assert.deepEqual(says(isOff({}, fence), undefined, record), []);
    assert.deepEqual(says(aCase({ node: aNode({ ready: 'True' }) }), undefined, record), []);
    const remedy = aRemedy();
    const policy = inForce({ remedy: { ...remedy, fence: { ...remedy.fence, markOutOfService: false } } });
    assert.deepEqual(says(isOff({ policy }), undefined, record), []);
    assert.deepEqual(
      says(isOff({ policy: { kind: 'none' } }), [goes], record),
      ['takeOutOfService true'],
      'the default',
    );
  });

  test('[EVD-5, STM-5] no taint where Kubernetes would take a pod by it that stays, or past a budget', () => {
    const [tainted, untainted] = [['takeOutOfService true'], ['takeOutOfService false']];
    const { deletionAtMs: _, ...running } = aPod({ uid: 'other' });
    assert.deepEqual(says(isOff(), [goes, stays(aPod({ uid: 'other' }))], record), untainted, 'it terminates');
    assert.deepEqual(says(isOff(), [goes, stays(running)], record), tainted);
    assert.deepEqual(says(isOff(), [goes, stays(aPod({ uid: 'mirror', mirror: true }))], record), tainted);
    assert.deepEqual(says(isOff(), [goes, stays(aPod({ phase: 'Succeeded' }))], record), tainted);
    const policy = inForce({ budgets: 'Respect', remedy: aRemedy() });
    assert.deepEqual(says(isOff({ policy }), [goes], record), untainted);
    const node = aNode({ ready: 'Unknown', taints: [quarantine, OUR_OUT_OF_SERVICE] });
    assert.equal(endOfOutOfService(isOff({ node }), [record], [goes]), undefined);
    assert.equal(endOfOutOfService(isOff({ node }), [record], [goes, stays(aPod({ uid: 'late' }))])?.do, 'untaint');
  });

  test('[EVD-5] what is said already, by Kubernetes or an administrator, is not said again', () => {
    const taints = [
      quarantine,
      { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute', value: 'nodeshutdown' },
    ];
    const node = aNode({ ready: 'Unknown', taints });
    assert.deepEqual(says(isOff({ node }), [goes], record), []);
    assert.equal(endOfOutOfService(isOff({ node }), [], []), undefined, 'and theirs stays');
    assert.deepEqual(says(isOff({ node: aNode({ ready: 'False', taints }) }), [goes], record), [
      'takeOutOfService false',
    ]);
  });

  test('[EVD-5] before the first pod goes, in the step that frees its volumes', () => {
    const { steps } = planRelease(isOff({ pods: [aPod()] }), [goes], 1);
    assert.deepEqual(
      steps.map((step) => ('acts' in step ? step.acts.map((act) => act.do) : [])),
      [['takeOutOfService', 'freeVolumes'], ['forceDelete']],
    );
    assert.ok(steps.every((step) => 'grounds' in step && step.grounds.basis === 'PowerOff'));
  });

  test('[EVD-5] also where nothing is to go', () => {
    const nodeCase = isOff({ pods: [daemon], attachments: [] });
    const { steps, records } = planRelease(nodeCase, [stays(daemon)], 1);
    assert.deepEqual(
      steps.map((step) => ('acts' in step ? step.acts.map((act) => act.do) : [])),
      [['takeOutOfService', 'markUnready']],
    );
    assert.deepEqual(records, []);
  });
});

describe('the taint of ours', () => {
  const node = aNode({ ready: 'Unknown', taints: [quarantine, OUR_OUT_OF_SERVICE] });
  const untaint = { do: 'untaint', ...OUR_OUT_OF_SERVICE };

  test('[EVD-5, STM-4] stands while others wait for the next minute, and not while they wait for anything else', () => {
    const { deletionAtMs: _, ...running } = aPod({ uid: 'next' });
    const waits = (way: WayName, reason: StuckReason): Fate => ({
      pod: running,
      goes: false,
      objections: [{ way, objection: objection(reason, 'not yet') }],
    });
    const next = waits('power', 'ReleaseRate');
    assert.deepEqual(says(isOff(), [goes, next], record), ['takeOutOfService false'], 'put there with the last ones');
    assert.deepEqual(says(isOff(), [goes, waits('policy', 'ReleaseRate')], record), ['takeOutOfService true']);
    const gone = { ...record, endedAt: '2026-01-01T00:00:30Z' };
    const end = (fate: Fate): unknown => endOfOutOfService(isOff({ node }), [gone], [fate]);
    assert.equal(end(next), undefined);
    assert.deepEqual(end(waits('policy', 'ReleaseRate')), untaint);
    assert.deepEqual(end(waits('power', 'BudgetExhausted')), untaint);
    assert.deepEqual(end(goes), untaint, 'a pod that goes is on record');
  });

  const ends = (
    records: readonly ReleaseRecord[],
    fates: readonly Fate[] | undefined = [goes],
    nodeCase = isOff({ node, pods: [aPod()] }),
  ): unknown => endOfOutOfService(nodeCase, records, fates);
  const gone = (agoMs: number): ReleaseRecord => ({
    ...record,
    podsGoneAt: new Date(nowMs - agoMs).toISOString(),
  });

  test('[EVD-5] stands until all has gone, and no longer than a detach may take', () => {
    assert.equal(ends([record]), undefined);
    assert.equal(ends([gone(59_000)]), undefined);
    assert.deepEqual(ends([gone(60_000)]), untaint);
    assert.deepEqual(ends([{ ...gone(0), endedAt: '2026-01-01T00:00:00Z' }]), untaint);
    assert.deepEqual(ends([]), untaint);
    assert.deepEqual(ends([aRecord({ basis: 'AcceptedRisk' }), { ...record, bootId: 'boot-0' }]), untaint);
  });

  test('[EVD-5] goes at once when it is not proven any more, or nothing may go', () => {
    assert.deepEqual(endOfOutOfService(isOff({ node, pods: [aPod()] }), [record], undefined), untaint);
    const on = isOff({ node, pods: [aPod()] }, { phase: 'poweringOn' });
    assert.deepEqual(ends([record], [goes], on), untaint);
    assert.deepEqual(ends([record], [goes], aCase({ node, pods: [aPod()], policy: { kind: 'none' } })), untaint);
    assert.equal(ends([], [goes], isOff()), undefined, 'there is none');
  });

  test('[EVD-5] goes at once when somebody lives there again: it is Ready, or renews, or its device says on', () => {
    const back = (change: Partial<NodeCase>): unknown =>
      ends([record], [goes], isOff({ node, pods: [aPod()], ...change }));
    assert.equal(back({}), undefined);
    assert.deepEqual(back({ node: { ...node, ready: 'True' } }), untaint);
    assert.deepEqual(back({ lease: renewedLease }), untaint);
    assert.deepEqual(back({ onAgain: { since: off.stepStartedAt, message: 'it says on' } }), untaint);
    assert.equal(back({ onAgain: { since: '2025-12-31T00:00:00Z', message: 'it said on' } }), undefined, 'before that');
  });
});
