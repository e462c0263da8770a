/** `fenceline simulate` as others use it: exit codes, what goes where, and the same report for the same seed. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Report } from '../../src/scenario/report.ts';
import { scenarioDirectory } from './run-file.ts';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function simulate(...args: string[]): Promise<Ended> {
  const program = join(import.meta.dirname, 'simulate-process.ts');
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const reboot = join(scenarioDirectory, 'reboot.yaml');
const head = 'apiVersion: fenceline.dev/v1alpha1\nkind: Scenario\n';

describe('fenceline simulate', () => {
  let directory: string;
  before(() => (directory = mkdtempSync(join(tmpdir(), 'fenceline-simulate-'))));
  after(() => rmSync(directory, { recursive: true }));

  function file(name: string, text: string): string {
    const path = join(directory, name);
    writeFileSync(path, `${head}${text}`);
    return path;
  }

  test('the same seed gives the same report in two processes, byte by byte; another seed does not', async () => {
    const partition = join(scenarioDirectory, 'partition-and-heal.yaml');
    const outputs = await Promise.all([
      simulate('-o', 'json', '--seed', '7', partition),
      simulate('-o', 'json', '--seed', '7', partition),
      simulate('-o', 'json', '--seed', '8', partition),
    ]);
    const [one, two, other] = outputs.map(({ stdout }) => stdout.replaceAll(/"wallMs": \d+/g, '"wallMs": 0'));
    assert.ok(one !== undefined && one.length > 1000);
    assert.equal(two, one);
    assert.notEqual(other?.replaceAll('"seed": 8', '"seed": 7'), one);
    for (const { code, stderr } of outputs) assert.deepEqual([code, stderr], [0, '']);
  });

  test('the report as JSON, and nothing else, on stdout', async () => {
    const { code, stdout, stderr } = await simulate(reboot, '-o', 'json', '--runs', '2', '--seed', '40');
    assert.deepEqual([code, stderr], [0, '']);
    const reports = JSON.parse(stdout) as Report[];
    assert.deepEqual(
      reports.map(({ scenario, seed, ok }) => [scenario, seed, ok]),
      [
        ['reboot', 40, true],
        ['reboot', 41, true],
      ],
    );
    const [report] = reports;
    assert.deepEqual(Object.keys(report ?? {}), [
      'scenario',
      'seed',
      'ok',
      'expectations',
      'violations',
      'exemptions',
      'timeline',
      'virtualMs',
      'wallMs',
    ]);
    assert.deepEqual(Object.keys(report?.expectations[0] ?? {}), ['expectation', 'ok', 'at', 'detail']);
    assert.deepEqual(Object.keys(report?.timeline[0] ?? {}), ['at', 'actor', 'what', 'object']);
    assert.deepEqual(report?.timeline[0], {
      at: 0,
      actor: 'scenario',
      what: 'reboot',
      object: report?.timeline[0]?.object,
    });
    assert.equal(report?.virtualMs, 600_000);
    assert.ok(report.timeline.every(({ at }) => Number.isInteger(at) && at >= 0 && at <= report.virtualMs));
  });

  test('an expectation that does not hold: the story says which, and the exit code is 1', async () => {
    const path = file(
      'hope.yaml',
      'spec:\n  events: [{at: 0s, powerOff: node-1}]\n  expect: [{by: 1m, node: {name: node-1, ready: true, taints: []}}, {at: 1m, node: {name: node-2, ready: true}}]\n  runFor: 2m\n',
    );
    const { code, stdout, stderr } = await simulate(path);
    assert.deepEqual([code, stderr], [1, '']);
    assert.match(stdout, /^✗ hope \(seed 1\)$/m);
    assert.match(stdout, /0:00\.0 +scenario +node\/node-1 powerOff/);
    assert.match(stdout, /✗ \{by: 1m, node: \{name: node-1, ready: true, taints: \[\]\}\}\n +node-1: Ready is Unknown/);
    assert.match(stdout, /✓ \{at: 1m, node: \{name: node-2, ready: true\}\}/);
    assert.match(stdout, /✓ no invariant was broken/);
  });

  for (const [what, text, message] of [
    ['an unknown key', 'spec:\n  evnets: []\n', /wrong\.yaml:4: unknown key "evnets" in spec; did you mean "events"\?/],
    ['a node that nobody knows', 'spec:\n  events: [{at: 0s, hang: node-7}]\n', /:4: .*there is no node "node-7"/],
    [
      'a pod that is not there at time 0',
      'spec:\n  events: [{at: 0s, hang: {nodeOf: default/web-0}}]\n',
      /:4: there was no pod default\/web-0 at time 0/,
    ],
    [
      'an object that the API server refuses',
      'spec:\n  objects:\n  - {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {}}\n',
      /:5: Pod p: .*containers/,
    ],
    [
      'a policy that its schema refuses',
      'spec:\n  objects:\n  - {apiVersion: fenceline.dev/v1alpha1, kind: RemedyPolicy, metadata: {name: p}, spec: {mode: Enforced}}\n',
      /:5: RemedyPolicy p: .*mode/,
    ],
    [
      'a replica on a node that is not there',
      'spec:\n  cluster: {longhorn: {volumes: [{name: v, replicas: [node-9]}]}}\n',
      /:4: .*there is no node node-9/,
    ],
  ] as const) {
    test(`${what}: file, line and reason on stderr, nothing on stdout, exit code 2`, async () => {
      const { code, stdout, stderr } = await simulate(file('wrong.yaml', text), '-o', 'json');
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, message);
    });
  }

  test('a file that is not there, and one wrong file among good ones, before anything runs', async () => {
    const { code, stdout, stderr } = await simulate(reboot, join(directory, 'missing.yaml'));
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /missing\.yaml: .*no such file/);
  });
});
