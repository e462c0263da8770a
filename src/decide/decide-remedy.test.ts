/** Where ladders, fences and people meet: which of them goes on, and which waits. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Change, Fence } from '../../test/support/fenced-case.ts';
import { acting, aStored, config, entryOf, fenced, ipmi, minutesAgo } from '../../test/support/fenced-case.ts';
import { aCount, aPod, aRemedy, nowMs, renewedLease } from '../../test/support/release-case.ts';
import { clockTime } from '../api/facts.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { LadderThreshold, NodeCase, RemedyFacts } from '../api/release-view.ts';
import type { Grounds } from '../api/steps.ts';
import { decideNode } from './decide-node.ts';
import type { RemedyDecision } from './decide-remedy.ts';
import { decideRemedy } from './decide-remedy.ts';
import { ladderKey } from './of-case.ts';

type Ladder = NodeFenceStatus['ladders'][number];

const off = aStored('off', { switched: [entryOf('power-management', { confirmedAt: minutesAgo(7) })] });
const silent: LadderThreshold = {
  key: 'lease',
  lease: { staleForMs: 12_000 },
  remedies: [{ name: 'act', periodMs: 600_000, cleanResources: true }],
  recovery: [],
};
const running: Ladder = { threshold: 'lease', position: 0, remedy: 'act', phase: 'running', startedAt: minutesAgo(9) };
const goesOn = { conditions: [], leaseSilentMs: 600_000 };
const alone = { count: aCount(), trouble: goesOn };

const climbing = (kind: string, change: Partial<RemedyFacts> = {}): NodeCase['policy'] =>
  acting({ remedy: aRemedy({ thresholds: [silent], kinds: { act: kind }, templates: { act: 'hash' }, ...change }) });
const done = ({ fence, run }: RemedyDecision): [string | undefined, string | undefined] => [
  fence?.phase,
  run?.do === 'switch' ? `${run.what} ${run.method.action}` : run?.do,
];
const unfenced = (change: Change = {}): NodeCase => {
  const nodeCase = fenced(aStored('waiting'), { ...alone, ...change });
  const { fence: _, ...status } = nodeCase.fence?.status ?? assert.fail();
  return { ...nodeCase, fence: { ...(nodeCase.fence ?? assert.fail()), status } };
};

describe('under a policy that does not act', () => {
  const paused = (fence: Fence): RemedyDecision => decideRemedy(fenced(fence, { policy: acting({ mode: 'Paused' }) }));

  test('[SAF-12] what a fence has switched off is switched on, and the fence is not forgotten', () => {
    assert.deepEqual(done(paused(off)), ['poweringOn', 'power on']);
  });

  test('[SAF-12, SAF-7] one that has touched nothing is', () => {
    assert.deepEqual(done(paused(aStored('waiting'))), [undefined, undefined]);
  });
});

describe('a cordon of ours', () => {
  const back = { ready: 'True', isOurCordon: true } as const;
  const well = { lease: renewedLease, trouble: { conditions: [] }, node: back };

  test('[RET-2] goes when all is over', () => {
    assert.equal(decideRemedy(unfenced(well)).run?.do, 'uncordon');
  });

  test('[RET-2] stays while a ladder or a fence goes on, or the trouble does', () => {
    const troubled = unfenced({ ...well, policy: climbing('cordon'), trouble: goesOn });
    assert.notEqual(decideRemedy(troubled).run?.do, 'uncordon');
    const soon = {
      ...silent,
      lease: { staleForMs: 3_600_000 },
      condition: { type: 'Bad', status: 'True', forMs: 60_000 },
    };
    const policy = climbing('cordon', { thresholds: [soon] });
    const seen = { conditions: [{ type: 'Bad', status: 'True', forMs: 1000 } as const] };
    assert.equal(decideRemedy(unfenced({ ...well, policy, trouble: seen })).run, undefined, 'nothing is due yet');
    const booting = aStored('booting', { switched: off.switched });
    assert.notEqual(decideRemedy(fenced(booting, { ...well, ...alone, policy: acting() })).run?.do, 'uncordon');
  });
});

describe('a ladder', () => {
  test('[REM-4] that calls for a fence goes on from pass to pass', () => {
    const nodeCase = fenced(aStored('waiting'), {
      ...alone,
      policy: climbing('fence'),
      status: { ladders: [running] },
    });
    assert.deepEqual(
      decideRemedy(nodeCase).ladders.map(({ startedAt }) => startedAt),
      [running.startedAt],
    );
  });

  test('[REM-4, FEN-2] whose fence has failed for good has no other one', () => {
    const failed = aStored('failed', { status: 'error', isForGood: true });
    const nodeCase = fenced(failed, { ...alone, policy: climbing('fence'), status: { ladders: [running] } });
    assert.deepEqual(done(decideRemedy(nodeCase)), ['failed', undefined]);
  });

  test('[REM-2] whose drain is under way ends with its trouble', () => {
    const over = { trouble: { conditions: [] }, lease: renewedLease, node: { ready: 'True' } } as const;
    const task = { key: ladderKey(running), outcome: 'running' } as const;
    const nodeCase = unfenced({ ...over, task, policy: climbing('drain'), status: { ladders: [running] } });
    assert.deepEqual(decideRemedy(nodeCase).ladders, []);
  });
});

describe('whether it is off already', () => {
  const policy = climbing('fence');
  const overdue = { ...renewedLease, unchangedForMs: 13_000 };
  const short = { conditions: [], leaseSilentMs: 1000 };
  const asks = (change: Change, fence?: Fence): boolean => {
    const seen = { ...alone, policy, lease: overdue, trouble: short, node: { ready: 'True' } as const, ...change };
    const nodeCase = fence === undefined ? unfenced(seen) : fenced(fence, seen);
    return decideRemedy(nodeCase).asksWhetherOff === true;
  };

  test('[EVD-2] is asked as soon as its Lease is overdue, however lately its kubelet has reported', () => {
    assert.equal(asks({}), true);
    assert.equal(asks({ lease: { ...overdue, unchangedForMs: 11_000 } }), false, 'it is not overdue yet');
    assert.equal(asks({ policy: climbing('cordon') }), false, 'nobody would be fenced for that');
  });

  test('[EVD-2] is asked although a fence of before has finished, and not beside one that goes on', () => {
    assert.equal(asks({}, aStored('finished')), true);
    assert.equal(asks({}, aStored('booting', { switched: off.switched })), false);
  });
});

describe('what a person asks for', () => {
  const requested = { by: 'jane', at: clockTime(nowMs - 30_000) };
  const asked = (nodeCase: NodeCase): NodeCase => ({
    ...nodeCase,
    fence: { ...nodeCase.fence!, spec: { ...nodeCase.fence!.spec, requested } },
  });
  const groundsOf = (nodeCase: NodeCase): Extract<Grounds, { basis: 'Remedy' }> => {
    const [step] = decideNode(nodeCase).steps;
    const grounds = step !== undefined && 'grounds' in step ? step.grounds : undefined;
    return grounds?.basis === 'Remedy' ? grounds : assert.fail(JSON.stringify(step));
  };

  test('[SAF-11] waits for a remedy that is under way, and for no ladder that has ended', () => {
    const policy = climbing('podTemplate');
    const ladders = (phase: Ladder['phase']): Change => ({ policy, status: { ladders: [{ ...running, phase }] } });
    assert.equal(decideRemedy(asked(unfenced(ladders('running')))).fence, undefined);
    assert.notEqual(decideRemedy(asked(unfenced(ladders('exhausted')))).fence, undefined);
  });

  test('[SAF-11, SAF-8] is told to a node that is well because somebody asks: no sign of life stands in its way', () => {
    const lease = { ...renewedLease, renewTime: clockTime(nowMs - 1000) };
    const well = { lease, trouble: { conditions: [] }, node: { ready: 'True' }, policy: acting() } as const;
    const grounds = groundsOf(asked(unfenced({ ...well, pods: [aPod()], hasOpenRecord: true })));
    assert.deepEqual(
      [grounds.isAsked, grounds.leaseRenewTime, grounds.trouble, grounds.worth],
      [true, undefined, undefined, undefined],
    );
  });
});

describe('what it rests on when it begins', () => {
  const groundsOf = (nodeCase: NodeCase): Grounds | undefined => {
    const [step] = decideNode(nodeCase).steps;
    return step !== undefined && 'grounds' in step ? step.grounds : undefined;
  };
  const going = { ...alone, policy: climbing('fence'), status: { ladders: [running] } };
  const levels = { ok: true, config: { ...config, isolation: [], powerManagement: [ipmi, ipmi] } } as const;

  test('[STM-4, SAF-10] a slot that is free where a fence begins; one that goes on in its next level has its own', () => {
    const first = fenced(aStored('waiting'), { ...going, config: levels });
    assert.equal(groundsOf(first)?.slot?.kind, 'fence');
    // Told in this step, by the try before this one.
    const told = { stepStartedAt: minutesAgo(9), until: minutesAgo(1), switched: [entryOf('power-management')] };
    const second = aStored('poweringOff', { level: 1, ...told });
    const next = groundsOf(fenced(second, { ...going, config: levels }));
    assert.ok(next?.basis === 'Remedy');
    assert.equal(next.slot, undefined);
  });

  test('[SAF-12] the pause that was read, where a node is connected to its storage; its power is switched on under any', () => {
    const cut = aStored('recovering', { switched: [entryOf('isolation', { confirmedAt: minutesAgo(7) })] });
    const serving = aPod();
    delete serving.deletionAtMs;
    const back = { lease: renewedLease, pods: [serving], node: { ready: 'True' }, hasOpenRecord: true } as const;
    const connecting = groundsOf(fenced(cut, { ...alone, ...back, trouble: { conditions: [] }, policy: acting() }));
    assert.ok(connecting?.basis === 'Remedy');
    assert.notEqual(connecting.pause, 'any');
    assert.ok(connecting.policy);
    const on = groundsOf(fenced(off, { ...going, pods: [], attachments: [], node: { volumesInUse: [] } }));
    assert.equal(on?.pause, 'any');
  });
});
