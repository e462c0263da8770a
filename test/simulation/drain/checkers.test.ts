/** The checkers of drains against operators that break their invariants, and against the guard with one line sabotaged. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../../src/kube/client.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { parseScenarios } from '../../../src/scenario/parse.ts';
import type { Report } from '../../../src/scenario/report.ts';
import type * as runner from '../../../src/scenario/runner.ts';
import type { Pod } from '../../../src/world/objects/pods.ts';
import { fenced, place } from '../fencing/fenced.ts';
import type { Sabotage } from '../mutant.ts';
import { mutant } from '../mutant.ts';
import type { Rogue } from '../rogue-operator.ts';
import { rogueOperator } from '../rogue-operator.ts';
import { run, scenarioOf } from '../run-file.ts';

const budgets = '/apis/policy/v1/namespaces/longhorn-system/poddisruptionbudgets';
const replicas = '/apis/longhorn.io/v1beta2/namespaces/longhorn-system/replicas';
const afterMs = 60_000;

function scenario(spec: object): Scenario {
  const [parsed] = parseScenarios(
    'drain',
    JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec }),
  );
  assert.ok(parsed);
  return parsed;
}

function drainPolicy(policy: string): object {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'DrainPolicy',
    metadata: { name: 'default' },
    spec: { allNodes: true, policy },
  };
}

function budgetOf(node: string): object {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: `guard-${node}`, namespace: 'longhorn-system' },
    spec: { minAvailable: 1, selector: { matchLabels: { 'longhorn.io/node': node } } },
  };
}

function guarded(policy: string, nodes: string[], attachedTo: string | undefined = 'node-1'): Scenario {
  return scenario({
    cluster: { longhorn: { volumes: [{ name: 'v', replicas: nodes, ...(attachedTo === '' ? {} : { attachedTo }) }] } },
    objects: [drainPolicy(policy), ...['node-1', 'node-2', 'node-3'].map(budgetOf)],
    runFor: '5m',
  });
}

async function runRogue(wanted: Scenario, act: (rogue: Rogue) => Promise<void>): Promise<Report> {
  let outcome: { error?: unknown } | undefined;
  const report = await run(wanted, { program: rogueOperator(afterMs, act, (error) => (outcome ??= { error })) });
  assert.ok(outcome, 'the deed was done');
  if (outcome.error !== undefined) throw outcome.error;
  return report;
}

function violatedBy({ violations }: Report): string[] {
  return [...new Set(violations.map(({ invariant }) => invariant))];
}

async function remove(rogue: Rogue, path: string): Promise<void> {
  const { metadata } = await rogue.get<KubeObject>(path);
  await rogue.ask('DELETE', path, { kind: 'DeleteOptions', preconditions: { uid: metadata.uid } });
}

describe('S24', () => {
  const live = '/api/v1/namespaces/longhorn-system/pods/instance-manager-node-1';
  const quiet = guarded('block-if-contains-last-replica', ['node-1']);

  test('a live pod that is deleted, past its budget', async () => {
    const report = await runRogue(quiet, (rogue) => remove(rogue, live));
    assert.deepEqual(violatedBy(report), ['S24']);
    assert.match(
      report.violations[0]!.detail,
      /^live pod longhorn-system\/instance-manager-node-1 on node-1 was deleted/,
    );
  });

  test('one that is evicted, which its budget forbids, is in order', async () => {
    const report = await runRogue(quiet, async (rogue) => {
      const { metadata } = await rogue.get<Pod>(live);
      const deleteOptions = { preconditions: { uid: metadata.uid } };
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: metadata.name }, deleteOptions };
      await assert.rejects(rogue.ask('POST', `${live}/eviction`, body), /429/);
    });
    assert.deepEqual(violatedBy(report), []);
  });
});

describe('S31', () => {
  const last = 'block-if-contains-last-replica';

  test('the only budget over a volume is taken away', async () => {
    const report = await runRogue(guarded(last, ['node-1']), (rogue) => remove(rogue, `${budgets}/guard-node-1`));
    assert.deepEqual(violatedBy(report), ['S31']);
    assert.match(report.violations[0]!.detail, /volume v since that of node-1 was taken away$/);
  });

  test('both budgets over the only two replicas are taken away', async () => {
    const report = await runRogue(guarded(last, ['node-1', 'node-2']), async (rogue) => {
      await remove(rogue, `${budgets}/guard-node-1`);
      await remove(rogue, `${budgets}/guard-node-2`);
    });
    assert.deepEqual(violatedBy(report), ['S31']);
    assert.match(report.violations[0]!.detail, /that of node-2 was taken away$/);
  });

  test('one of two is in order, and so is what the policy gives up', async () => {
    const first = (rogue: Rogue): Promise<void> => remove(rogue, `${budgets}/guard-node-1`);
    assert.deepEqual(violatedBy(await runRogue(guarded(last, ['node-1', 'node-2']), first)), []);
    assert.deepEqual(violatedBy(await runRogue(guarded('always-allow', ['node-1']), first)), []);
    const stopped = guarded('allow-if-replica-is-stopped', ['node-1'], '');
    assert.deepEqual(violatedBy(await runRogue(stopped, first)), []);
    assert.deepEqual(violatedBy(await runRogue(guarded('allow-if-replica-is-stopped', ['node-1']), first)), ['S31']);
  });

  test('a budget that is made to let go is one that is taken away', async () => {
    const report = await runRogue(guarded(last, ['node-1']), async (rogue) => {
      const path = `${budgets}/guard-node-1`;
      const budget = await rogue.get<KubeObject & { spec: object }>(path);
      await rogue.ask('PUT', path, { ...budget, spec: { ...budget.spec, minAvailable: 0 } });
    });
    assert.deepEqual(violatedBy(report), ['S31']);
  });

  test('the last replica is deleted', async () => {
    const report = await runRogue(guarded(last, ['node-1']), async (rogue) => {
      const { items } = await rogue.get<{ items: KubeObject[] }>(replicas);
      await remove(rogue, `${replicas}/${items[0]!.metadata.name}`);
    });
    assert.deepEqual(violatedBy(report), ['S31']);
    assert.match(report.violations[0]!.detail, /^the last healthy replica of volume v was deleted$/);
  });

  test('the one that a budget keeps is asked to leave for one that none keeps', async () => {
    const unkept = scenario({
      cluster: {
        nodes: 2,
        longhorn: { rebuildMiBps: 1000, volumes: [{ name: 'v', replicas: ['node-1'], attachedTo: 'node-1' }] },
      },
      objects: [drainPolicy(last), budgetOf('node-1')],
      runFor: '5m',
    });
    const report = await runRogue(unkept, async (rogue) => {
      const { items } = await rogue.get<{ items: (KubeObject & { spec: object })[] }>(replicas);
      const path = `${replicas}/${items[0]!.metadata.name}`;
      const known = await rogue.get<KubeObject & { spec: object }>(path);
      await rogue.ask('PUT', path, { ...known, spec: { ...known.spec, evictionRequested: true } });
    });
    assert.deepEqual(violatedBy(report), ['S31']);
    assert.match(report.violations[0]!.detail, /since that on node-1 left, as it was asked to$/);
  });
});

describe('the product with one line sabotaged', () => {
  test('S24: a remedy that drains deletes pods instead of evicting them', async () => {
    const type = 'Sick';
    const emptied = fenced('emptied', {
      policy: {
        thresholds: [{ condition: { type, status: 'True', for: '10s' }, remedies: [{ name: 'empty', period: '2m' }] }],
        remedies: [{ name: 'empty', drain: {} }],
      },
      events: [{ at: '0s', condition: { node: place, type, status: 'True' } }],
      runFor: '2m',
    });
    assert.deepEqual(violatedBy(await run(emptied)), [], 'the product breaks nothing');
    const sabotaged = mutant({ file: 'src/act/drain-node.ts', line: 'client.evict(', instead: 'client.delete(' });
    const { runScenario } = await sabotaged.load<typeof runner>('src/scenario/runner.ts');
    const report = await runScenario(emptied, () => performance.now());
    assert.deepEqual(violatedBy(report), ['S24']);
    assert.match(report.violations[0]!.detail, /^live pod default\/web-0 on .* was deleted instead of evicted$/);
  });

  const base = scenarioOf('drain/two-nodes-at-once');
  const mutants: Record<string, Sabotage> = {
    'counts on a copy whose budget is gone': {
      file: 'src/drain/checks.ts',
      line: 'if (!isGuarded(facts, replica) || protectedElsewhere(facts, replica) !== undefined) return undefined;',
      instead: 'if (!isGuarded(facts, replica) || healthyOf(facts, replica).length > 1) return undefined;',
    },
    'counts on a copy that is still being rebuilt': {
      file: 'src/storage/longhorn.ts',
      line: "case 'WO':\n          return 'rebuilding';",
      instead: "case 'WO':\n          return 'healthy';",
    },
  };
  for (const [mistake, sabotage] of Object.entries(mutants)) {
    test(`S31: ${mistake}`, async () => {
      assert.deepEqual(violatedBy(await run(base)), [], 'the guard itself breaks nothing');
      const sabotaged = mutant(sabotage);
      const { runScenario } = await sabotaged.load<typeof runner>('src/scenario/runner.ts');
      const report = await runScenario(base, () => performance.now());
      assert.deepEqual(violatedBy(report), ['S31']);
    });
  }
});
