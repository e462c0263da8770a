/**
 * Every row of the three test plans on the real control plane, side by side on one cluster, with the operator as it is
 * deployed: a process of its own, under its own account and with its own role.
 *
 * Times are scaled: 16 s of silence until a node is Unknown, 5 s of tolerance. What must not happen is watched for three
 * minutes. Nothing is judged by how long it takes: revisions and the API server's own times tell what came first.
 * FENCELINE_KUBERNETES=1.34 runs it on another version.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { grantedBy, operatorRole, usedBy } from '../support/operator-rights.ts';
import { Row, type RowSpec } from './row.ts';
import { assertionRows } from './rows/assertion.ts';
import { gateRow } from './rows/gates.ts';
import { morePolicyRows, policyRows } from './rows/policy.ts';
import { safeDetachRows } from './rows/safe-detach.ts';
import { ReleaseWorld } from './world.ts';

const wanted = process.env['RELEASE_ROWS']?.split(',');
const everything: readonly RowSpec[] = [...policyRows, ...morePolicyRows, ...safeDetachRows, ...assertionRows, gateRow];
const specs = everything.filter(({ name }) => wanted === undefined || wanted.includes(name) || name === gateRow.name);

let world: ReleaseWorld;
let rows: ReadonlyMap<string, Row>;
let failed = false;

before(async () => {
  const startedAt = performance.now();
  const since = (): string => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  world = await ReleaseWorld.start(specs.map(({ name }) => name));
  console.log(`# the cluster is up after ${since()}`);
  rows = new Map(specs.map(({ name }) => [name, new Row(world, name)]));
  await Promise.all(
    specs.map(async ({ name, prepare }) => {
      const row = rowOf(name);
      await row.namespace();
      await prepare(row);
      await row.settle();
    }),
  );
  await world.joinSpares();
  await world.runOperator('off');
  console.log(`# ${specs.length} rows are set up after ${since()}`);
  world.beginObservation();
});

after(async () => {
  await world?.stop({ keepLogs: failed });
  if (failed) console.log(`# logs are in ${world.controlPlane.logs}`);
});

async function noting(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    failed = true;
    throw error;
  }
}

function rowOf(name: string): Row {
  const row = rows.get(name);
  if (row === undefined) throw new Error(`there is no row ${name}`);
  return row;
}

describe('releases on the real control plane', { concurrency: specs.length, timeout: 900_000 }, () => {
  for (const { name, title, run } of specs) test(title, () => noting(() => run(rowOf(name))));
});

describe('the role of the operator', { skip: wanted !== undefined && 'not all paths were taken' }, () => {
  test('has what it asked for, and nothing that it did not', () => noting(compareWithRole));
});

async function compareWithRole(): Promise<void> {
  await world.stopOperator();
  const asked = await world.askedSoFar();
  const refused = asked.filter(({ responseStatus }) => responseStatus?.code === 403 || responseStatus?.code === 401);
  assert.deepEqual(
    refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`),
    [],
  );
  const role = await operatorRole();
  assert.deepEqual(usedBy(asked, role), grantedBy(role));
}
