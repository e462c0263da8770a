import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  aCase,
  aCount,
  aFence,
  anAttachment,
  anIncident,
  aNode,
  aPod,
  aRecord,
  aRemedy,
  inForce,
  nowMs,
  quarantine,
  renewedLease,
  withoutNode,
} from '../../test/support/release-case.ts';
import { afterwards, next } from '../../test/support/status-after.ts';
import { clockTime } from '../api/facts.ts';
import { MAX_EVIDENCE, MAX_HISTORY, MAX_RELEASES } from '../api/fence-names.ts';
import { NodeFenceSchema } from '../api/node-fence.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';

function aFenceOf(phase: 'failed' | 'booting' | 'waiting'): NonNullable<NodeFenceStatus['fence']> {
  const at = '2026-01-01T00:09:00Z';
  return {
    step: 'power-management',
    status: 'error',
    phase,
    level: 0,
    index: 0,
    switched: [],
    cleanResources: true,
    retries: 0,
    restarts: 0,
    startedAt: at,
    stepStartedAt: at,
  };
}

const reasons = ({ history }: NodeFenceStatus): string[] => history.map(({ reason }) => reason);

describe('the memory of a node', () => {
  test('[EVD-1] the first pass: incident, evidence, record and what will be put on the node, all at once', () => {
    const status = next(aCase({ fence: aFence({ epoch: 0 }, {}) }));
    assert.deepEqual(
      [status.incident?.trouble, status.incident?.nodeUid, status.incident?.bootId],
      ['Ready=Unknown', 'node-uid', 'boot-1'],
    );
    assert.deepEqual(
      status.evidence.map(({ source }) => source),
      ['Condition'],
    );
    assert.deepEqual([status.releases.length, status.releases[0]?.basis], [1, 'AcceptedRisk']);
    assert.deepEqual(
      status.applied.map(({ key, effect }) => `${key}:${effect}`),
      ['fenceline.dev/quarantine:NoSchedule'],
    );
    assert.deepEqual(reasons(status), ['Incident', 'Releasing']);
    assert.equal(status.verdict, 'down');
    assert.equal(status.conditions.find(({ type }) => type === 'Released')?.reason, 'Releasing');
  });

  test('a pass in which nothing happened changes nothing', () => {
    const nodeCase = aCase({ policy: inForce({ podDeletion: 'do-nothing' }) });
    const once = next({ ...nodeCase, fence: aFence() });
    assert.deepEqual(next({ ...nodeCase, fence: aFence(once), serverNowMs: nowMs + 60_000 }), once);
  });

  test('[ADM-8] who has approved which incident is in its history, once, and stays there', () => {
    const approval = { by: 'jane', at: '2026-01-01T00:09:30Z', incident: anIncident().id };
    const known = aFence({ incident: anIncident(), approval });
    const policy = inForce({ mode: 'Approve' });
    const first = next(aCase({ policy, fence: known }));
    const told = (status: NodeFenceStatus): (string | undefined)[] =>
      status.history.filter(({ reason }) => reason === 'Approved').map(({ message }) => message);
    assert.deepEqual(told(first), [`jane has approved ${anIncident().id} at 2026-01-01T00:09:30Z`]);
    const again = next(aCase({ policy, fence: aFence({ ...first, approval }) }));
    assert.equal(told(again).length, 1, 'once');
    const stray = { ...approval, incident: 'node-1-0' };
    assert.deepEqual(told(next(aCase({ policy, fence: aFence({ incident: anIncident(), approval: stray }) }))), []);
  });

  test('another instance takes over with a higher epoch; the same one keeps its own', () => {
    assert.deepEqual([next(aCase({ fence: aFence({ epoch: 3 }) })).epoch], [3]);
    const taken = next(aCase({ fence: aFence({ epoch: 3, holder: 'other' }) }));
    assert.deepEqual([taken.epoch, taken.holder], [4, 'me']);
  });

  test('[NGS-7] the end: incident, marks and stuck pods are gone, the record and its history stay', () => {
    const well = (nodeCase: NodeCase): NodeCase => ({
      ...nodeCase,
      node: aNode({ ready: 'True', volumesInUse: [] }),
      pods: [],
      attachments: [],
    });
    const status = afterwards(aCase({ fence: aFence() }), well);
    assert.deepEqual([status.incident, status.applied, status.stuck, status.return], [undefined, [], [], undefined]);
    assert.equal(status.releases.length, 1);
    assert.ok(status.releases[0]?.endedAt !== undefined);
    assert.equal(reasons(status).at(-1), 'BackInService');
    assert.equal(status.conditions.find(({ type }) => type === 'Released')?.status, 'True');
  });

  test('[NGS-7] the stages of the way back, each told once; the soak counts from clean', () => {
    const back =
      (change: Partial<NodeCase>) =>
      (nodeCase: NodeCase): NodeCase => ({
        ...nodeCase,
        node: aNode({ ready: 'True', taints: [quarantine], volumesInUse: [] }),
        lease: renewedLease,
        pods: [],
        attachments: [],
        ...change,
      });
    const attached = back({ attachments: [anAttachment()] });
    const seen = afterwards(aCase({ fence: aFence() }), attached, attached);
    assert.equal(seen.return?.stage, 'seen');
    assert.match(seen.return?.waitsFor ?? '', /still attached/);
    const clean = afterwards(
      aCase({ fence: aFence() }),
      attached,
      back({ serverNowMs: nowMs + 5000 }),
      back({ serverNowMs: nowMs + 15_000 }),
    );
    assert.deepEqual([clean.return?.stage, clean.return?.since], ['clean', '2026-01-01T00:10:05Z']);
    assert.equal(clean.return?.soakUntil, '2026-01-01T00:10:35Z');
    assert.deepEqual(reasons(clean).filter((reason) => reason === 'Returning').length, 2);
  });

  test('a newcomer of the same name is another incident, and nothing of the old one is open', () => {
    const nodeCase = aCase({
      node: aNode({ uid: 'newcomer' }),
      fence: aFence({ incident: anIncident(), releases: [aRecord()] }),
    });
    const status = next(nodeCase);
    assert.equal(status.incident?.nodeUid, 'newcomer');
    assert.deepEqual(
      status.releases.map(({ nodeUid, endedAt }) => [nodeUid, endedAt !== undefined]),
      [
        ['node-uid', true],
        ['newcomer', false],
      ],
    );
  });

  test('[NGS-5] a refusal of the driver is the state of the release', () => {
    const refused = aCase({
      pods: [],
      attachments: [anAttachment({ deleting: true, detachError: 'in use' })],
      fence: aFence({ releases: [aRecord()], incident: anIncident() }),
    });
    const condition = next(refused).conditions.find(({ type }) => type === 'Released');
    assert.deepEqual(
      [condition?.status, condition?.reason, condition?.message],
      ['False', 'DetachRefused', 'volume pv-0: in use'],
    );
  });

  test('a hold says since when', () => {
    const paused = aCase({ policy: inForce({ mode: 'Paused' }), fence: aFence({ incident: anIncident() }) });
    const status = afterwards(paused, (nodeCase) => ({ ...nodeCase, serverNowMs: nowMs + 60_000 }));
    assert.deepEqual([status.hold?.reason, status.hold?.since], ['Paused', '2026-01-01T00:10:00Z']);
  });

  test('without a Node object it still says what was on it', () => {
    const status = next(withoutNode(aCase({ fence: aFence({ incident: anIncident() }) })));
    assert.deepEqual([status.incident?.nodeUid, status.releases[0]?.nodeUid], ['node-uid', 'node-uid']);
  });

  describe('repeated trouble', () => {
    const alarms = [{ condition: 'Ready', count: 2, withinMs: 3_600_000 }];
    const times = ['2026-01-01T00:02:00Z'];
    const problems = [{ condition: 'Ready', count: 1, times, pods: [{ pod: 'default/web-0', count: 1 }] }];
    const alarmOf = ({ conditions }: NodeFenceStatus): string => {
      const found = conditions.find(({ type }) => type === 'Alarm');
      return found === undefined ? 'none' : `${found.status} ${found.reason}: ${found.message}`;
    };
    const raised = 'True RepeatedTrouble: 2 incidents of Ready within 1h; default/web-0 was there each time';
    const well = (nodeCase: NodeCase): NodeCase => ({
      ...nodeCase,
      node: aNode({ ready: 'True' }),
      pods: [],
      attachments: [],
    });

    test('[ADM-2] an incident is counted when it begins, with the pods, and not again', () => {
      const status = afterwards(aCase({ fence: aFence() }), (nodeCase) => ({
        ...nodeCase,
        serverNowMs: nowMs + 60_000,
      }));
      const [problem] = status.problems;
      assert.deepEqual(problem, {
        condition: 'Ready',
        count: 1,
        times: ['2026-01-01T00:10:00Z'],
        pods: [{ pod: 'default/web-0', count: 1 }],
      });
      assert.deepEqual(afterwards(aCase({ fence: aFence() }), well).problems, status.problems, 'kept when it is over');
    });

    test('[ADM-2] what was asked for, or happens while somebody works on the node, is no problem of it', () => {
      const requested = { by: 'jane', at: '2026-01-01T00:09:00Z' };
      const asked = next(aCase({ node: aNode({ ready: 'True' }), fence: aFence() }), { asked: requested });
      assert.deepEqual([asked.incident?.trouble, asked.problems], ['a fence was asked for by jane', []]);
      const worked = next(aCase({ node: aNode({ maintenanceUntil: '2026-01-01T01:00:00Z' }), fence: aFence() }));
      assert.deepEqual([worked.hold?.reason, worked.problems], ['Maintenance', []]);
    });

    test('[ADM-2, REM-6] trouble that comes back within the period is the same, and counted once', () => {
      const incident = anIncident({ clearedAt: '2026-01-01T00:09:30Z' });
      const status = next(aCase({ fence: aFence({ incident, problems }) }));
      assert.deepEqual([status.incident?.flaps, status.problems], [1, problems]);
    });

    test('[ADM-2] the alarm is raised by the incident that makes it too many, and told once', () => {
      const nodeCase = aCase({ policy: inForce({ alarms }), fence: aFence({ problems }) });
      const status = afterwards(nodeCase, (again) => ({ ...again, serverNowMs: nowMs + 1000 }), well, well);
      assert.equal(alarmOf(status), raised);
      assert.equal(reasons(status).filter((reason) => reason === 'RepeatedTrouble').length, 1);
      assert.equal(
        alarmOf(next(aCase({ fence: aFence({ problems }) }))),
        'none',
        'without such an alarm in the policy',
      );
    });

    test('[ADM-2] it ends by itself, also with the node', () => {
      const nodeCase = aCase({ policy: inForce({ alarms }), fence: aFence({ problems }) });
      const later = (ms: number): string =>
        alarmOf(afterwards(nodeCase, well, (again) => well({ ...again, serverNowMs: nowMs + ms })));
      const end = 52 * 60_000;
      assert.deepEqual([later(end - 1000), later(end)], [raised, 'False NoAlarm: nothing has passed a limit']);
      const gone = afterwards(nodeCase, well, (again) => withoutNode(well(again)));
      assert.match(alarmOf(gone), /^False/);
    });

    test('[ADM-2] a fence in error comes first; when it is settled the other is not told again', () => {
      const failed: NodeFenceStatus['fence'] = {
        ...aFenceOf('failed'),
        message: 'the device does not answer',
      };
      const nodeCase = aCase({ policy: inForce({ alarms }), fence: aFence({ problems }) });
      const once = next(nodeCase);
      const broken = next({ ...nodeCase, fence: aFence({ ...once, fence: failed }) });
      assert.match(alarmOf(broken), /^True FenceInError/);
      const { fence: _, ...rest } = broken;
      const settled = next({ ...nodeCase, fence: aFence(rest) });
      assert.equal(alarmOf(settled), raised);
      const told = reasons(settled).filter((reason) => reason === 'RepeatedTrouble' || reason === 'FenceInError');
      assert.deepEqual(told, ['RepeatedTrouble', 'FenceInError']);
    });

    test('[RET-1] the way back says how often it has failed', () => {
      const taints = [quarantine];
      const node = aNode({ ready: 'True', taints, volumesInUse: [] });
      const nodeCase = aCase({ node, lease: renewedLease, pods: [], attachments: [] });
      const incident = anIncident({ startedAt: '2026-01-01T00:05:00Z', flaps: 2 });
      assert.equal(next({ ...nodeCase, fence: aFence({ incident, problems }) }).return?.failures, 3);
    });
  });

  test('[STM-6] a storm ends once: from when it did the cooldown counts, and the next one is another', () => {
    const calm = aCount({ nodes: 10, troubled: 1 });
    const policy = inForce({ remedy: aRemedy({ storm: { maxUnresponsive: '40%', maxConcurrent: 1, cooldownMs: 0 } }) });
    const stormAfter = (storm: NonNullable<NodeFenceStatus['storm']>, change: Partial<NodeCase> = {}): unknown =>
      next(aCase({ policy, count: calm, fence: aFence({ incident: anIncident(), storm }), ...change })).storm;
    const now = clockTime(nowMs);
    const open = { since: '2026-01-01T00:05:00Z', nodes: 10 };
    const ended = { ...open, endedAt: '2026-01-01T00:08:00Z' };
    assert.deepEqual(stormAfter(open), { ...open, endedAt: now });
    assert.deepEqual(stormAfter(ended), ended);
    const many = aCount({ nodes: 10, troubled: 5 });
    assert.deepEqual(stormAfter(open, { count: many }), open);
    assert.deepEqual(stormAfter(ended, { count: many }), { since: now, nodes: 10, troubled: 5 });
    const back = { node: aNode({ ready: 'True', taints: [quarantine] }), lease: renewedLease };
    const second = aCount({ nodes: 4, troubled: 2 });
    assert.deepEqual(stormAfter(ended, { count: second }), { since: now, nodes: 4, troubled: 2 });
    assert.deepEqual(
      stormAfter(ended, { count: second, ...back }),
      ended,
      'it is back, and only soaks: one is in trouble',
    );
    assert.deepEqual(
      stormAfter(open, { count: aCount({ nodes: 10, troubled: 6 }), ...back }),
      open,
      'the others are too many without it',
    );
    const cutting = aFence({ incident: anIncident(), storm: ended, fence: aFenceOf('booting') });
    assert.equal(
      next(aCase({ policy, count: second, ...back, fence: cutting })).storm?.since,
      now,
      'it is under fence',
    );
    const asked = { by: 'jane', at: now };
    const requested = next(aCase({ policy, count: many }), { asked }).storm;
    assert.equal(requested, undefined, 'a node that somebody wants fenced is not in trouble for that');
  });

  test('[EXP-1, SAF-7] a fence that is given up before anything is cut says why, and not that a node is back which is not', () => {
    const fence = aFence({ incident: anIncident(), fence: { ...aFenceOf('waiting'), status: 'new' } });
    const given = (change: Partial<NodeCase>): string | undefined =>
      next(aCase({ fence, ...change }), { fence: undefined }).history.find(({ reason }) => reason === 'Cancelled')
        ?.message;
    const written = { by: 'jane', reason: 'new switches' };
    const pause = { namespace: 'fenceline', written };
    assert.match(given({ pause }) ?? '', /^PausedForAll: .*jane.*new switches.*nothing was cut, and .* begins anew/);
    assert.match(given({ policy: inForce({ mode: 'DryRun' }) }) ?? '', /^DryRun: .*begins anew/);
    assert.match(given({ policy: { kind: 'none' } }) ?? '', /^nothing calls for the fence any more/);
    const back = { node: aNode({ ready: 'True' }), lease: renewedLease };
    assert.equal(given(back), 'the node came back before the point of no return');
  });

  test('[NGS-7] what is on the node is on record as ours for as long as it is there', () => {
    const kept = { kind: 'Taint', key: quarantine.key, effect: 'NoSchedule', recordedAt: 'x' } as const;
    const unmarked = { policy: inForce({ podDeletion: 'do-nothing' }), fence: aFence({ applied: [kept] }) };
    assert.deepEqual(next(aCase(unmarked)).applied, []);
    assert.deepEqual(next(aCase({ ...unmarked, node: aNode({ taints: [quarantine] }) })).applied, [kept]);
  });

  test('full lists stay full, and lose their oldest', () => {
    const at = '2026-01-01T00:00:00Z';
    const history = Array.from({ length: MAX_HISTORY }, (_, count) => ({ at, reason: `${count}`, epoch: 1 }));
    const status = next(aCase({ fence: aFence({ history }) }));
    assert.equal(status.history.length, MAX_HISTORY);
    assert.deepEqual([status.history[0]?.reason, reasons(status).at(-1)], ['2', 'Releasing']);
  });

  test('whatever was stored, what is stored next fits the schema', () => {
    const many = (count: number, of: () => object): fc.Arbitrary<object[]> =>
      fc.integer({ min: 0, max: count }).map((size) => Array.from({ length: size }, of));
    const stored = fc.record({
      history: many(MAX_HISTORY, () => ({ at: '2026-01-01T00:00:00Z', reason: 'Incident', message: 'x', epoch: 1 })),
      evidence: many(MAX_EVIDENCE, () => ({
        source: 'Lease',
        says: 'Unknown',
        detail: 'x',
        observedAt: '2026-01-01T00:00:00Z',
      })),
      releases: many(MAX_RELEASES, () => aRecord({ by: 'policy earlier', endedAt: '2026-01-01T00:09:30Z' })),
    });
    const names = fc.array(fc.stringMatching(/^[a-z]{1,50}$/), { maxLength: 100 });
    fc.assert(
      fc.property(stored, names, fc.boolean(), (status, pods, covered) => {
        const nodeCase = aCase({
          policy: inForce({ podDeletion: covered ? 'delete-statefulset-pod' : 'do-nothing' }),
          pods: pods.map((name, at) => aPod({ name: `${name}-${at}`, uid: `${at}` })),
          fence: aFence({ ...(status as Partial<NodeFenceStatus>), incident: anIncident() }),
        });
        const checked = NodeFenceSchema.safeParse({ ...aFence(), status: next(nodeCase) });
        assert.ok(checked.success, JSON.stringify(checked.error?.issues.slice(0, 3)));
      }),
      { numRuns: 60 },
    );
  });
});
