/**
 * Every row of the three test plans on the real control plane, side by side on one cluster, with the operator as it is
 * deployed: a process of its own, under its own account and with its own role.
 *
 * Times are scaled: 16 s of silence until a node is Unknown, 5 s of tolerance. What must not happen is watched for three
 * minutes. Nothing is judged by how long it takes: revisions and the API server's own times tell what came first.
 * FENCELINE_KUBERNETES=1.34 runs it on another version. Rows that need fence agents are skipped where there are none,
 * except in CI.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DEFAULT_VERSION } from '../../control-plane/build.ts';
import type { Exposure } from '../devices/canary.ts';
import { ipmi } from '../devices/endpoints/ipmi.ts';
import { grantedBy, operatorRole, usedBy } from '../support/operator-rights.ts';
import type { Row, RowSpec } from './row.ts';
import { assertionRows } from './rows/assertion.ts';
import { fencingRows } from './rows/fencing.ts';
import { gateRow } from './rows/gates.ts';
import { remedyRow } from './rows/remedies.ts';
import { morePolicyRows, policyRows } from './rows/policy.ts';
import { safeDetachRows } from './rows/safe-detach.ts';
import { setUp, whyNoAgents } from './set-up.ts';
import { ReleaseWorld } from './world.ts';

const wanted = process.env['RELEASE_ROWS']?.split(',');
const isWanted = ({ name }: RowSpec): boolean => wanted === undefined || wanted.includes(name) || name === gateRow.name;
const everything: readonly RowSpec[] = [
  ...policyRows,
  ...morePolicyRows,
  ...safeDetachRows,
  ...assertionRows,
  remedyRow,
  gateRow,
];
const fences = fencingRows.filter(isWanted);
const unknown = (wanted ?? []).filter((name) => [...everything, ...fencingRows].every((row) => row.name !== name));
if (unknown.length > 0) throw new Error(`RELEASE_ROWS: there is no row ${unknown.join(', ')}`);
const noAgents = fences.length === 0 ? undefined : await whyNoAgents();
const specs = [...everything.filter(isWanted), ...(noAgents === undefined ? fences : [])];

let world: ReleaseWorld;
let rows: ReadonlyMap<string, Row>;
let failed = false;

before(async () => {
  const startedAt = performance.now();
  const since = (): string => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  world = await ReleaseWorld.start(specs.map(({ name }) => name));
  console.log(`# the cluster is up after ${since()}`);
  rows = await setUp(world, specs);
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

for (const { title } of noAgents === undefined ? [] : fences) test(title, { skip: noAgents ?? false });

/** On the version that everything else runs on this says nothing about another one. */
const asked = process.env['FENCELINE_KUBERNETES'] ?? DEFAULT_VERSION;
const skew = asked === DEFAULT_VERSION ? '' : '[NGS-12] ';
test(`${skew}it is the version of Kubernetes that was asked for`, () => noting(compareVersion));

// What is said of the whole is asked where all paths were taken.
if (wanted === undefined) {
  const skip = noAgents ?? false;
  test('[FEN-8] S28: the password of a BMC is nowhere but in the input of its agent', { skip }, () =>
    noting(lookForCanary),
  );
  test('the role of the operator has what it asked for, and nothing that it did not', { skip }, () =>
    noting(compareWithRole),
  );
}

async function rawGet(path: string): Promise<string> {
  const { code, stdout, stderr } = await world.controlPlane.kubectl(['get', '--raw', path]);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function compareVersion(): Promise<void> {
  const { major, minor } = JSON.parse(await rawGet('/version')) as { major: string; minor: string };
  assert.equal(`${major}.${minor}`, asked);
}

/** fence_ipmilan itself hands it on to ipmitool, against which we can do nothing; it also shows that the watch sees. */
async function lookForCanary(): Promise<void> {
  await world.stopOperator();
  const stored = await Promise.all(
    ['/apis/events.k8s.io/v1/events', '/api/v1/events', '/apis/fenceline.dev/v1alpha1/nodefences', '/api/v1/nodes'].map(
      rawGet,
    ),
  );
  const told = [...world.said, ...stored];
  assert.ok(told.every((text) => text.length > 100) && told.some((text) => text.includes('ipmi-off')));
  assert.deepEqual(
    told.filter((text) => text.includes(ipmi.canary)).map((text) => text.slice(0, 200)),
    [],
  );
  const isKnown = ({ program }: Exposure): boolean => (ipmi.handedOnTo ?? []).includes(program);
  assert.ok(world.exposures.some(isKnown), 'the watch has seen nothing');
  assert.deepEqual(
    world.exposures.filter((exposure) => !isKnown(exposure)),
    [],
  );
}

/** After a week (upkeep.test.ts), and when somebody else wrote to it at the same moment: neither happens here. */
const seldom = [
  'delete fencedevices.fenceline.dev in fenceline',
  'delete nodefences.fenceline.dev',
  'get fencedevices.fenceline.dev in fenceline',
];

async function compareWithRole(): Promise<void> {
  await world.stopOperator();
  const asked = await world.askedSoFar();
  const refused = asked.filter(({ responseStatus }) => responseStatus?.code === 403 || responseStatus?.code === 401);
  assert.deepEqual(
    refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`),
    [],
  );
  const role = await operatorRole();
  const used = new Set([...usedBy(asked, role), ...seldom]);
  assert.deepEqual([...used].toSorted(), grantedBy(role).toSorted());
}
