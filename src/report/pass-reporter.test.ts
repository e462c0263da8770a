import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anAttachment,
  aNode,
  aPod,
  aRecord,
  forceEviction,
  inForce,
  quarantine,
} from '../../test/support/release-case.ts';
import type { ActOutcome } from '../act/act-outcome.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import { decideNode } from '../decide/decide-node.ts';
import type { EventInput, EventRecorder } from '../kube/events.ts';
import { PassReporter } from './pass-reporter.ts';
import type { Sample } from './prometheus.ts';

function setUp(): {
  reporter: PassReporter;
  said: string[];
  pass: (nodeCase: NodeCase, ...acts: ActOutcome[]) => void;
} {
  const said: string[] = [];
  const record = ({ regarding, reason, note }: EventInput): void =>
    void said.push(`${regarding.kind} ${regarding.name}: ${reason}: ${note}`);
  const quiet = { info: () => {}, warn: () => {}, debug: () => {} };
  const reporter = new PassReporter({ log: quiet, events: { record } as unknown as EventRecorder });
  const pass = (nodeCase: NodeCase, ...acts: ActOutcome[]): void =>
    reporter.report({ nodeCase, decision: decideNode(nodeCase), acts, fence: undefined, tookMs: 1 });
  return { reporter, said, pass };
}

const stuck = aCase({ policy: inForce({ podDeletion: 'do-nothing' }) });
const begun: NonNullable<NodeFenceStatus['fence']> = {
  step: 'power-management',
  status: 'running',
  phase: 'poweringOff',
  startedAt: 'x',
  stepStartedAt: 'x',
  retries: 0,
  restarts: 0,
  switched: [],
  level: 0,
  index: 0,
  cleanResources: true,
};
const counts = (counter: { samples: Iterable<Sample> }): string[] =>
  [...counter.samples].map(({ labels, value }) => `${JSON.stringify(labels)} ${value}`);

describe('events and metrics', () => {
  test('[POD-2] a stuck pod is told once, again when the reason is another, and counted by reason', () => {
    const { reporter, said, pass } = setUp();
    for (let round = 0; round < 3; round += 1) pass(stuck);
    assert.deepEqual(said, ['Pod web-0: NotReleased: policy: podDeletion of policy release is do-nothing']);
    assert.deepEqual([...reporter.stuck], [['DoNothing', 1]]);
    pass(aCase({ policy: { kind: 'none' } }));
    assert.equal(said.length, 2);
    assert.deepEqual([...reporter.stuck], [['NoPolicy', 1]]);
  });

  test('[POD-11] what goes, or belongs to a node that is well, is no longer stuck', () => {
    const { reporter, pass } = setUp();
    pass(stuck);
    pass(aCase());
    assert.deepEqual([...reporter.stuck], []);
    pass(stuck);
    pass({ ...stuck, node: aNode({ ready: 'True' }) });
    assert.deepEqual([...reporter.stuck], [], 'or its kubelet will never be counted out');
  });

  test('[ADM-1] what cannot be decided about a node is told of the node, if there is one', () => {
    const { reporter, said } = setUp();
    reporter.undecided('node-1', { name: 'node-1', uid: 'u1' }, new Error('round in circles'));
    reporter.undecided('node-2', undefined, new Error('round in circles'));
    const note = 'nothing is done about it, and it is tried again: round in circles';
    assert.deepEqual(said, [`Node node-1: Undecided: ${note}`]);
  });

  test('[ADM-1] a try that failed is a warning', () => {
    const of = (status: Parameters<typeof aFence>[0]): string[] => {
      const heard: string[] = [];
      const record = ({ type, note }: EventInput): void => void heard.push(`${type}: ${note}`);
      const quiet = { info: () => {}, warn: () => {}, debug: () => {} };
      const reporter = new PassReporter({ log: quiet, events: { record } as unknown as EventRecorder });
      const known = aCase();
      const news = ['PoweringOff', 'PoweredOff'].map((reason) => ({ at: 'x', reason, message: 'ipmi-off', epoch: 1 }));
      const fence = aFence({ fence: begun, ...status, history: news });
      reporter.report({ nodeCase: known, decision: decideNode(known), acts: [], fence, tookMs: 1 });
      return heard.filter((_, index) => index % 2 === 0);
    };
    assert.deepEqual(of({ fence: { ...begun, retries: 1 } }), ['Warning: ipmi-off', 'Normal: ipmi-off']);
    assert.deepEqual(of({}), ['Normal: ipmi-off', 'Normal: ipmi-off']);
  });

  test('[ADM-1] every step of a fence is told of the node and of its record, and counted', () => {
    const { reporter, said } = setUp();
    const known = aCase();
    const news = [
      { at: 'x', reason: 'PoweringOff', message: 'its power is being cut (ipmi-off)', epoch: 1 },
      { at: 'x', reason: 'Approved', message: 'jane has approved it', epoch: 1 },
      { at: 'x', reason: 'Releasing', message: 'of pods is told elsewhere', epoch: 1 },
    ];
    const fence = aFence({ history: news });
    reporter.report({ nodeCase: known, decision: decideNode(known), acts: [], fence, tookMs: 1 });
    assert.deepEqual(said, [
      'Node node-1: PoweringOff: its power is being cut (ipmi-off)',
      'NodeFence node-fence-node-1: PoweringOff: its power is being cut (ipmi-off)',
      'Node node-1: Approved: jane has approved it',
      'NodeFence node-fence-node-1: Approved: jane has approved it',
    ]);
    assert.deepEqual(counts(reporter.fenceSteps), ['{"step":"PoweringOff"} 1', '{"step":"Approved"} 1']);
  });

  test('[STM-6] what holds a node is told once, and counted until it is gone', () => {
    const { reporter, said, pass } = setUp();
    const held = aCase({ policy: inForce({ mode: 'Paused' }) });
    pass(held);
    pass(held);
    assert.deepEqual(
      said.filter((one) => one.includes(': Held: ')).map((one) => one.slice(0, 26)),
      ['Node node-1: Held: Paused:'],
    );
    assert.deepEqual([...reporter.held], [['Paused', 1]]);
    pass(aCase());
    assert.deepEqual([...reporter.held], []);
  });

  test('[STM-6] a hold that enough others have on record is counted, and not told once more', () => {
    const { reporter, said } = setUp();
    const nodeCase = aCase({ policy: inForce({ mode: 'Paused' }) });
    const decision = { ...decideNode(nodeCase), storm: { since: '2026-01-01T00:00:00Z' } };
    reporter.report({ nodeCase, decision, acts: [], fence: undefined, tookMs: 1 });
    assert.deepEqual(
      said.filter((one) => one.includes(': Held: ')),
      [],
    );
    assert.deepEqual([...reporter.held], [['Paused', 1]]);
    assert.deepEqual(counts(reporter.holds), ['{"reason":"Paused"} 1']);
  });

  test('an instance that no longer leads has nothing stuck', () => {
    const { reporter, pass } = setUp();
    pass(stuck);
    reporter.clear();
    assert.deepEqual([...reporter.stuck], []);
  });

  test('[ADM-3] of a node that nobody attends to any more nothing is stuck or held, whatever was said last', () => {
    const { reporter, pass } = setUp();
    const policy = inForce({ mode: 'Paused', podDeletion: 'do-nothing' });
    pass(aCase({ policy }));
    assert.deepEqual([[...reporter.stuck].length, [...reporter.held]], [1, [['Paused', 1]]]);
    reporter.forget('node-1');
    assert.deepEqual([[...reporter.stuck], [...reporter.held]], [[], []]);
  });

  test('[EVD-1] a release is told on the pod with its basis, and counted by it', () => {
    const { reporter, said, pass } = setUp();
    const pod = aPod();
    pass(
      aCase(),
      { kind: 'done', act: { do: 'quarantine' } },
      { kind: 'done', act: { do: 'forceDelete', pod, basis: 'AcceptedRisk' } },
    );
    pass(
      aCase(),
      { kind: 'done', act: { do: 'failPod', pod, basis: 'AcceptedRisk' } },
      { kind: 'needless', act: { do: 'forceDelete', pod, basis: 'PowerOff' } },
    );
    assert.deepEqual(said, [
      'Node node-1: Quarantined: takes no pods until it is back and clean',
      'Pod web-0: Released: released from node node-1 on the basis AcceptedRisk',
      'Pod web-0: VolumesFreed: released from node node-1 on the basis AcceptedRisk',
    ]);
    assert.deepEqual(counts(reporter.released), ['{"basis":"AcceptedRisk"} 2']);
  });

  test('the way back is told when the quarantine goes, not when another taint does', () => {
    const { said, pass } = setUp();
    const well = aCase({ node: aNode({ ready: 'True' }), pods: [] });
    pass(well, { kind: 'done', act: { do: 'untaint', ...forceEviction } });
    assert.deepEqual(said, []);
    pass(well, { kind: 'done', act: { do: 'untaint', ...quarantine } });
    assert.deepEqual(said, ['Node node-1: BackInService: is clean and takes pods again']);
  });

  test('[NGS-5] a refusal of the driver is told once, and again after it had agreed', () => {
    const { said, pass } = setUp();
    const fence = aFence({ releases: [aRecord()] });
    const refused = aCase({ pods: [], fence, attachments: [anAttachment({ deleting: true, detachError: 'in use' })] });
    pass(refused);
    pass(refused);
    assert.deepEqual(said, ['Node node-1: DetachRefused: volume pv-0: in use']);
    pass({ ...refused, attachments: [anAttachment({ deleting: true })] });
    pass(refused);
    assert.equal(said.length, 2);
  });

  test('[NGS-4] an act that was stopped says what had changed, and is counted', () => {
    const { reporter, said, pass } = setUp();
    const error = { kind: 'timeout', message: 'no answer', mayHaveHappened: true } as const;
    pass(aCase(), { kind: 'changed', what: 'Ready of node-1 is True' }, { kind: 'failed', error });
    assert.deepEqual(said, ['Node node-1: ReleaseStopped: Ready of node-1 is True']);
    assert.deepEqual(counts(reporter.refused), ['{"why":"changed"} 1', '{"why":"timeout"} 1']);
  });
});
