/**
 * Everything that can happen, enumerated: five policies, one to three replicas, stopped, running, degraded and
 * rebuilding, with a cordon, an uncordon, a change of policy or a second cordon at any moment, and the operator stopped
 * after any of its writes.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DRAIN_POLICIES } from '../api/policy-defaults.ts';
import type { CountedCopy, DrainAction, DrainPolicyName } from '../api/drain-view.ts';
import type { Model, ModelReplica, UserAct } from '../../test/support/drain-model.ts';
import {
  explore,
  healthy,
  modelNodes,
  operatorSteps,
  perform,
  viewOf,
  worldSteps,
} from '../../test/support/drain-model.ts';
import { decideDrain } from '../decide/decide-drain.ts';

const conditions = ['running', 'stopped', 'degraded', 'rebuilding'] as const;
type Condition = (typeof conditions)[number];

const scripts: Record<string, UserAct[]> = {
  cordon: [{ cordon: 'a' }],
  'cordon and uncordon': [{ cordon: 'a' }, { uncordon: 'a' }],
  'cordon of a second node': [{ cordon: 'a' }, { cordon: 'b' }],
  'cordon of two nodes and uncordon of the first': [{ cordon: 'a' }, { cordon: 'b' }, { uncordon: 'a' }],
};

function replicasOf(count: number, condition: Condition): ModelReplica[] {
  const copies: ModelReplica[] = modelNodes
    .slice(0, count)
    .map((node) => ({ node, copy: 'healthy', requested: false }));
  const last = copies.at(-1);
  if (condition === 'degraded' && count > 1 && last !== undefined) last.copy = 'failed';
  if (condition === 'rebuilding') copies.push({ node: modelNodes[count] ?? 'd', copy: 'rebuilding', requested: false });
  return copies;
}

function modelOf(policy: DrainPolicyName, count: number, condition: Condition, script: UserAct[]): Model {
  return {
    policy,
    policies: [policy],
    attached: condition !== 'stopped',
    wanted: condition === 'rebuilding' ? count + 1 : count,
    replicas: replicasOf(count, condition),
    cordoned: [],
    pods: [...modelNodes],
    budgets: policy === 'always-allow' ? [] : modelNodes.map((node) => ({ node, version: 1, announced: false })),
    autoEvicting: [],
    script,
  };
}

/** Whether the policies that were ever in force let the last copy go. */
function mayLose({ policies, attached }: Model): boolean {
  return policies.includes('always-allow') || (policies.includes('allow-if-replica-is-stopped') && !attached);
}

function checkAll(start: Model): number {
  return explore(
    start,
    (model) => [...worldSteps(model), ...operatorSteps(model)],
    (model, way, isEnd) => {
      if (!mayLose(model)) assert.ok(healthy(model) > 0, `the last copy is lost: ${way.join(', ')}`);
      if (isEnd) checkEnd(model, way);
    },
  );
}

/** When nothing happens any more, every node is drained or free, or it is said what it waits for; and nothing is left. */
function checkEnd(model: Model, way: string[]): void {
  const { nodes } = decideDrain(viewOf(model));
  for (const { node, blocked, reason, autoEvicting } of nodes) {
    const isDrained = !model.pods.some((pod) => pod === node);
    const told = `${node} ${reason}: ${way.join(', ')}`;
    if (model.cordoned.some((one) => one === node)) assert.ok(isDrained || blocked, told);
    else
      assert.equal(
        model.budgets.some((one) => one.node === node),
        model.policy !== 'always-allow',
        told,
      );
    const marked = model.replicas.some((replica) => replica.node === node && replica.requested);
    assert.equal(autoEvicting, marked, told);
    assert.equal(
      model.autoEvicting.some((one) => one === node),
      marked,
      told,
    );
  }
}

describe('[DRN-3, DRN-4, DRN-5, DRN-8] no volume loses its last healthy replica', () => {
  for (const policy of DRAIN_POLICIES) {
    test(`${policy}, whatever happens to one to three replicas`, () => {
      let states = 0;
      for (const count of [1, 2, 3]) {
        for (const condition of conditions) {
          for (const script of Object.values(scripts)) states += checkAll(modelOf(policy, count, condition, script));
        }
      }
      assert.ok(states > 1000, `${states} states were looked at`);
    });

    test(`${policy}, changed to any other in the middle`, () => {
      for (const other of DRAIN_POLICIES.filter((one) => one !== policy)) {
        for (const count of [1, 2, 3]) {
          for (const condition of conditions) {
            checkAll(modelOf(policy, count, condition, [{ cordon: 'a' }, { policy: other }, { uncordon: 'a' }]));
          }
        }
      }
    });
  }

  test('what the exceptions allow does happen: the model can lose a copy', () => {
    const loses = (policy: DrainPolicyName, condition: Condition): boolean => {
      let lost = false;
      explore(
        modelOf(policy, 1, condition, [{ cordon: 'a' }]),
        (model) => [...worldSteps(model), ...operatorSteps(model)],
        (model) => (lost ||= healthy(model) === 0),
      );
      return lost;
    };
    assert.equal(loses('always-allow', 'running'), true);
    assert.equal(loses('allow-if-replica-is-stopped', 'stopped'), true);
    assert.equal(loses('allow-if-replica-is-stopped', 'running'), false);
  });

  test('block-for-eviction ends with the node empty and the volume whole', () => {
    let ends = 0;
    explore(
      modelOf('block-for-eviction', 2, 'running', [{ cordon: 'a' }]),
      (model) => [...worldSteps(model), ...operatorSteps(model)],
      (model, way, isEnd) => {
        assert.ok(healthy(model) >= 2, way.join(', '));
        if (!isEnd) return;
        ends += 1;
        assert.ok(!model.pods.includes('a'), way.join(', '));
      },
    );
    assert.ok(ends > 0);
  });
});

/** An operator with something in its hands: decided on what it had seen, then looked again, then sent. */
type Hand = { action: DrainAction; looked: boolean } | null;
interface Duel {
  model: Model;
  hands: [Hand, Hand];
}

describe('[DRN-3] two operators at once', () => {
  test('never let both nodes go that hold the only two replicas, however their writes interleave', () => {
    const start: Duel = {
      model: { ...modelOf('block-if-contains-last-replica', 2, 'running', []), cordoned: ['a', 'b'] },
      hands: [null, null],
    };
    // Rebuilding would save the day: it is left out.
    const states = explore(start, duelSteps, ({ model }, way) => {
      assert.ok(healthy(model) > 0, way.join(', '));
    });
    assert.ok(states > 20, `${states} states were looked at`);
  });
});

function duelSteps({ model, hands }: Duel): { what: string; next: Duel }[] {
  const drains = worldSteps(model).filter(({ what }) => what.startsWith('drained'));
  const steps = drains.map(({ what, next }) => ({ what, next: { model: next, hands } }));
  for (const who of [0, 1] as const) {
    const withHand = (hand: Hand, changed = model): Duel => {
      const next: [Hand, Hand] = [...hands];
      next[who] = hand;
      return { model: changed, hands: next };
    };
    const hand = hands[who];
    if (hand === null) {
      for (const action of decideDrain(viewOf(model)).actions) {
        steps.push({ what: `${who} decides ${action.do} ${action.node}`, next: withHand({ action, looked: false }) });
      }
    } else if (!hand.looked) {
      const sound = hand.action.do !== 'deleteBudget' || hand.action.counts.every((copy) => stillStands(model, copy));
      steps.push({ what: `${who} looks`, next: withHand(sound ? { ...hand, looked: true } : null) });
    } else {
      steps.push({
        what: `${who} ${hand.action.do} ${hand.action.node}`,
        next: withHand(null, carriedOut(model, hand.action)),
      });
    }
  }
  return steps;
}

function stillStands({ replicas, budgets }: Model, { node }: CountedCopy): boolean {
  return (
    replicas.some((replica) => replica.node === node && replica.copy === 'healthy') &&
    budgets.some((budget) => budget.node === node && !budget.announced)
  );
}

/** The server refuses what was decided about another version. */
function carriedOut(model: Model, action: DrainAction): Model {
  if (action.do === 'createBudget') {
    return model.budgets.some(({ node }) => node === action.node) ? model : perform(model, action);
  }
  if (!('budget' in action)) return perform(model, action);
  const meant = model.budgets.find(({ node }) => node === action.node);
  return String(meant?.version) === action.budget.resourceVersion ? perform(model, action) : model;
}
