/** The test plan of the first document: four policies for StatefulSets, four times three for Deployments, other kinds. */
import assert from 'node:assert/strict';
import { ATTACHMENT_RECOVERY_POLICIES, POD_DELETION_POLICIES } from '../../../src/api/policy-defaults.ts';
import { remedyPolicies } from '../../../src/kube/resources.ts';
import * as check from '../checks.ts';
import type { Row, RowSpec, WorkloadKind } from '../row.ts';
import { listed } from '../world.ts';

type Deletion = (typeof POD_DELETION_POLICIES)[number];
type Recovery = (typeof ATTACHMENT_RECOVERY_POLICIES)[number];

const coversSets: readonly Deletion[] = ['delete-statefulset-pod', 'delete-both-statefulset-and-deployment-pod'];
const coversDeployments: readonly Deletion[] = ['delete-deployment-pod', 'delete-both-statefulset-and-deployment-pod'];
const others: readonly WorkloadKind[] = ['bare', 'owned', 'Job', 'DaemonSet'];
const database = 'db';
const shell = 'shell';
/** Long enough to tell what waits for it from what does not. */
const shellGraceSeconds = 20;

const short: Record<Deletion, string> = {
  'do-nothing': 'nothing',
  'delete-statefulset-pod': 'sets',
  'delete-deployment-pod': 'deployments',
  'delete-both-statefulset-and-deployment-pod': 'both',
};

export const policyRows: readonly RowSpec[] = POD_DELETION_POLICIES.flatMap((deletion) =>
  ATTACHMENT_RECOVERY_POLICIES.map((recovery) => policyRow(deletion, recovery)),
);

function policyRow(deletion: Deletion, recovery: Recovery): RowSpec {
  const set = coversSets.includes(deletion) ? 'goes' : 'stays';
  const deployment = coversDeployments.includes(deletion)
    ? 'goes'
    : { never: 'stays', wait: 'loses its volume in time', immediate: 'loses its volume at once' }[recovery];
  return {
    name: `${short[deletion]}-${recovery}`,
    title:
      `[POD-2, POD-6, POD-7, POD-9, POD-10] ${deletion}, ${recovery}: the pod of a StatefulSet ${set}, ` +
      `that of a Deployment ${deployment}${recovery === 'never' ? ', other kinds stay' : ''}`,
    prepare: async (row) => {
      await row.policy({ podDeletion: deletion, volumeAttachmentRecovery: recovery });
      await row.workload('StatefulSet', database, { volumes: [{}] });
      await row.workload('Deployment', shell, { volumes: [{}], graceSeconds: shellGraceSeconds });
      if (recovery === 'never') for (const kind of others) await row.workload(kind, appOf(kind), { volumes: [{}] });
    },
    run: async (row) => {
      row.machine.powerOff();
      await row.terminating(database);
      await row.terminating(shell);
      if (recovery === 'never') await row.deletePod(appOf('DaemonSet'));
      const sets = coversSets.includes(deletion);
      const shells = coversDeployments.includes(deletion);
      if (sets) await goes(row, database);
      if (shells) await goes(row, shell);
      else if (recovery !== 'never') await losesItsVolume(row, recovery);
      await row.world.observed();
      const asked = await row.world.asked();
      if (sets) goneInTime(row, database, asked);
      else stays(row, database);
      if (shells) goneInTime(row, shell, asked);
      else if (recovery === 'never') stays(row, shell);
      for (const app of [database, shell]) {
        const isGone = app === database ? sets : shells || recovery !== 'never';
        if (isGone) check.neverAttachedAgain(row, app);
        else check.untouched(row, app, asked);
      }
      if (!shells && recovery !== 'never') inItsTime(row, recovery, asked);
      if (recovery === 'never') for (const kind of others) check.untouched(row, appOf(kind), asked);
    },
  };
}

function appOf(kind: WorkloadKind): string {
  return `other-${kind.toLowerCase()}`;
}

async function goes(row: Row, app: string): Promise<void> {
  await row.gone(app);
  await row.replaced(app);
  check.recordedFirst(row, app, 'AcceptedRisk');
  check.inOrder(row, app, listed);
  check.oneWriter(row, app);
}

/** Nobody will look at it any more: one write, and not before its time was up. */
function goneInTime(row: Row, app: string, asked: Parameters<typeof check.touches>[2]): void {
  check.afterItsTime(row, app, asked);
  assert.deepEqual(new Set(check.touches(row, app, asked)), new Set(['delete']), `${row.name}/${app}`);
}

/** No second pod of the set; a second one of the Deployment, which waits for ever. */
function stays(row: Row, app: string): void {
  check.stillAttached(row, app);
  const waiting = row.pods(app).filter(({ metadata }) => metadata.uid !== row.oldUid(app));
  assert.deepEqual(
    waiting.map(({ status }) => status?.phase),
    app === database ? [] : ['Pending'],
  );
}

/** The outcome counts: the replacement runs, and the old pod's object stays. */
async function losesItsVolume(row: Row, recovery: Recovery): Promise<void> {
  await row.replaced(shell);
  check.recordedFirst(row, shell, 'AcceptedRisk');
  check.inOrder(row, shell, listed);
  check.oneWriter(row, shell);
  assert.equal(row.left(shell)?.status?.phase, 'Failed', recovery);
}

function inItsTime(row: Row, recovery: Recovery, asked: Parameters<typeof check.touchedAtMs>[2]): void {
  const left = row.left(shell);
  assert.ok(left, 'the old pod stays');
  assert.ok(row.replacement(shell), 'and the new one still runs');
  if (recovery === 'wait') check.afterItsTime(row, shell, asked);
  else {
    const untilMs = Date.parse(left.metadata.deletionTimestamp ?? '');
    assert.ok(check.touchedAtMs(row, shell, asked) < untilMs, 'it did not wait for the time to be up');
  }
}

export const morePolicyRows: readonly RowSpec[] = [
  {
    name: 'edited',
    title: '[POD-11] a policy that is edited takes effect on pods that are already stuck',
    prepare: async (row) => {
      await row.policy({ podDeletion: 'do-nothing' });
      await row.workload('StatefulSet', database, { volumes: [{}] });
    },
    run: async (row) => {
      row.machine.powerOff();
      await row.terminating(database);
      const stuck = await row.world.until('it to be told why it is stuck', () => row.stuck(database));
      // Which way is told first depends on the gates, and those are switched by other rows meanwhile.
      assert.match(stuck.message, /policy: podDeletion of policy \S+ is do-nothing/);
      assert.ok(row.left(database));
      const policy = { resource: remedyPolicies, name: row.name };
      const read = await row.world.client.get(policy);
      if (!read.ok) throw new Error(read.error.message);
      const value = 'delete-statefulset-pod';
      const operations = [{ op: 'replace' as const, path: '/spec/release/podDeletion', value }];
      await row.world.client.patch(policy, { uid: read.value.metadata.uid ?? '' }, operations);
      await goes(row, database);
    },
  },
  {
    name: 'superseded',
    title: '[POD-11] a more specific policy that comes later takes effect too, and is recorded',
    prepare: async (row) => {
      await row.policy({ podDeletion: 'do-nothing' });
      await row.workload('StatefulSet', database, { volumes: [{}] });
    },
    run: async (row) => {
      row.machine.powerOff();
      await row.terminating(database);
      await row.world.until('it to be told why it is stuck', () => row.stuck(database));
      const name = `${row.name}-later`;
      const matchExpressions = [{ key: 'row', operator: 'Exists' }];
      const selector = { matchLabels: { row: row.name }, matchExpressions };
      const release = { podDeletion: 'delete-statefulset-pod', provisioners: [listed] };
      await row.world.create(remedyPolicies, { metadata: { name }, spec: { selector, release } });
      await goes(row, database);
      assert.equal(row.fence()?.spec.policy, name);
    },
  },
  {
    name: 'deleted',
    title: '[POD-3] a Node object that is deleted: the policy recorded for it applies',
    prepare: async (row) => {
      await row.policy({ podDeletion: 'delete-statefulset-pod' });
      await row.workload('StatefulSet', database, { volumes: [{}], graceSeconds: 10 });
    },
    run: async (row) => {
      row.machine.powerOff();
      await row.terminating(database);
      await row.world.until('the policy to be recorded', () => row.fence()?.spec.policy === row.name);
      await row.deleteNode();
      await row.gone(database);
      check.recordedFirst(row, database, 'AcceptedRisk');
    },
  },
  {
    name: 'no-volume',
    title: '[POD-5] a pod without a volume of a listed provisioner is left alone',
    prepare: async (row) => {
      await row.policy({ podDeletion: 'delete-both-statefulset-and-deployment-pod' });
      await row.workload('StatefulSet', database, { volumes: [{ driver: 'plain.csi.test' }] });
      await row.workload('Deployment', shell);
    },
    run: async (row) => {
      row.machine.powerOff();
      await row.terminating(database);
      await row.terminating(shell);
      const stuck = await row.world.until('it to be told why it is stuck', () => row.stuck(database));
      assert.match(stuck.message, /policy: none of its volumes is of /);
      await row.world.observed();
      const asked = await row.world.asked();
      for (const app of [database, shell]) check.untouched(row, app, asked);
    },
  },
];
