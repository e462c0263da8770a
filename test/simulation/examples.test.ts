/** The policies that the reference begins with, word for word, in a cluster in which a node fails: what their comments say. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { EXAMPLES } from '../../src/api/examples.ts';
import { parseScenarios } from '../../src/scenario/parse.ts';
import { askedOf, place } from './fencing/fenced.ts';
import type { Observed } from './release/observed.ts';
import { observe } from './release/observed.ts';
import { failuresOf, scenarioOf } from './run-file.ts';

interface Failure {
  events: object[];
  expect: object[];
  objects?: object[];
  cluster?: object;
  runFor?: string;
}

function exampleOf(name: string): object {
  const found = EXAMPLES.map(({ yaml }) => parse(yaml) as { metadata: { name: string } });
  const example = found.find(({ metadata }) => metadata.name === name);
  assert.ok(example);
  return example;
}

/** A StatefulSet with a Longhorn volume, the example as it is printed, and Kubernetes with its usual times. */
async function happens(example: string, what: Failure): Promise<Observed> {
  const { events, expect, objects = [], cluster = {}, runFor = '10m' } = what;
  const spec = {
    cluster: { nodes: 3, operators: 1, ...cluster },
    objects: [...objects, exampleOf(example)],
    events,
    expect: [...expect, { ledger: { volume: 'pv-0', dataIntact: true } }],
    runFor,
  };
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec });
  const [scenario] = parseScenarios(`example ${example}`, text);
  assert.ok(scenario);
  const workload = scenarioOf('fence/power-loss').objects.filter(({ object }) => object.kind !== 'RemedyPolicy');
  const seen = await observe({ ...scenario, objects: [...workload, ...scenario.objects] });
  assert.deepEqual(failuresOf(seen.report), []);
  return seen;
}

const lost = { at: '0s', powerOff: place };
const cut = { at: '0s', partition: place };
const web = { name: 'web-0', namespace: 'default' };
const runsElsewhere = (by: string): object => ({ by, pod: { ...web, running: true, moved: true } });
const still = (at: string): object => ({ at, pod: { ...web, deleted: false } });
const oneWriter = { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } };
const commands = (seen: Observed): string[] => askedOf(seen).map(({ what }) => what);
const bases = ({ statuses }: Observed): string[] => [
  ...new Set(statuses.flatMap(({ status }) => status.releases.map(({ basis }) => basis))),
];
const secondsUntil = (seen: Observed, what: string): number =>
  (askedOf(seen).find((one) => one.what === what)?.at ?? NaN) / 1000;

/** As docs/fencing.md has it, but for the driver, which is the one that reaches simulated BMCs. */
const bmcs = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline' } },
  configMap('fence-method-template-ipmi', { 'template.properties': 'driver=simulated' }),
  ...['node-1', 'node-2', 'node-3'].map((node) =>
    configMap(`fence-config-${node}`, {
      'config.properties': `node_name=${node}\npower_management=ipmi-off ipmi-on`,
      'fence-method-ipmi-off': 'template=fence-method-template-ipmi\naction=off',
      'fence-method-ipmi-on': 'template=fence-method-template-ipmi\naction=on',
    }),
  ),
];

function configMap(name: string, data: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'fenceline' }, data };
}

describe('machines with a BMC', () => {
  test('power lost: found off, released before Kubernetes notices, switched on, back 30 s after it is Ready', async () => {
    const seen = await happens('bmc', {
      objects: bmcs,
      events: [lost],
      expect: [
        still('11s'),
        runsElsewhere('16s'),
        // Kubernetes would say so after its grace period; by then it is long known.
        { by: '16s', node: { name: place, ready: false } },
        { by: '5m', node: { name: place, ready: true, schedulable: true, taints: [] } },
        oneWriter,
      ],
    });
    assert.deepEqual(commands(seen), ['on'], 'a machine that is off is not switched off');
    assert.deepEqual(bases(seen), ['PowerOff']);
    const returns = seen.statuses.map(({ status }) => status.return).filter((one) => one !== undefined);
    assert.ok(returns.some(({ waitsFor = '' }) => /stay Ready and clean for 30s/.test(waitsFor)));
  });

  test('cut off: it writes on, so that its power is cut before anything goes', async () => {
    const seen = await happens('bmc', {
      objects: bmcs,
      events: [cut, { at: '3m', heal: place }],
      expect: [still('19s'), runsElsewhere('45s'), oneWriter],
    });
    assert.deepEqual(commands(seen), ['off', 'on']);
    assert.ok(
      secondsUntil(seen, 'off') >= 30 && secondsUntil(seen, 'off') <= 33,
      `20 s, 10 s more, and a look around that takes until 32 s`,
    );
    assert.deepEqual(bases(seen), ['PowerOff']);
  });

  test('back within its 10 s: nothing happens to it', async () => {
    const events = [cut, { at: '18s', heal: place }];
    const seen = await happens('bmc', { objects: bmcs, events, expect: [still('5m'), oneWriter], runFor: '5m' });
    assert.deepEqual(commands(seen), []);
  });

  test('a BMC that does not answer: nothing goes', async () => {
    const events = [lost, { at: '0s', device: { node: place, fault: 'hangs' } }];
    const seen = await happens('bmc', { objects: bmcs, events, expect: [still('10m'), oneWriter] });
    assert.deepEqual(bases(seen), []);
  });
});

describe('instances of a cloud', () => {
  test('power lost: found stopped as soon as it is asked, released, started again', async () => {
    const seen = await happens('cloud', { events: [lost], expect: [still('11s'), runsElsewhere('16s'), oneWriter] });
    assert.deepEqual([commands(seen), bases(seen)], [['on'], ['PowerOff']]);
  });

  test('cut off: stopped by its cloud before anything goes', async () => {
    const events = [cut, { at: '4m', heal: place }];
    const seen = await happens('cloud', { events, expect: [still('49s'), runsElsewhere('75s'), oneWriter] });
    assert.deepEqual([commands(seen), bases(seen)], [['off', 'on'], ['PowerOff']]);
  });

  test('shut down, and only the controller of the cloud says so: its pods go at its word', async () => {
    const key = 'node.cloudprovider.kubernetes.io/shutdown';
    const seen = await happens('cloud', {
      cluster: { kubernetes: { nodeMonitorGracePeriod: '20s' } },
      events: [
        lost,
        { at: '0s', device: { node: place, fault: 'refuses' } },
        { at: '30s', taint: { node: place, key, effect: 'NoSchedule' } },
      ],
      expect: [still('29s'), runsElsewhere('35s'), oneWriter],
    });
    assert.equal(bases(seen)[0], 'Asserted');
  });
});

describe('no device', () => {
  test('power lost: six and a half minutes later, without proof, and only what the policy names', async () => {
    const seen = await happens('no-device', {
      events: [lost],
      expect: [still('6m'), runsElsewhere('6m40s'), oneWriter],
    });
    assert.deepEqual([commands(seen), bases(seen)], [[], ['AcceptedRisk']]);
    const by = seen.statuses.at(-1)?.status.releases[0]?.by;
    assert.equal(by, 'policy no-device');
  });

  test('somebody has looked and says so: at once', async () => {
    const key = 'node.kubernetes.io/out-of-service';
    const taint = { node: place, key, value: 'nodeshutdown', effect: 'NoExecute' };
    const seen = await happens('no-device', {
      events: [lost, { at: '2m', taint }],
      expect: [still('1m59s'), runsElsewhere('2m5s'), oneWriter],
      runFor: '5m',
    });
    assert.deepEqual(bases(seen), ['Asserted']);
  });
});

const compute = { nodes: [1, 2, 3].map((at) => ({ name: `node-${at}`, labels: { type: 'compute' } })) };

test('try a repair, then fence: a machine that is off is past repair', async () => {
  const seen = await happens('workers', {
    cluster: compute,
    events: [lost],
    expect: [still('11s'), runsElsewhere('16s'), oneWriter],
  });
  assert.ok(!seen.writes.some(({ what }) => what.startsWith('create jobs/')));
});

test('try a repair, then fence: the repair runs first, and the fence only when it has not helped', async () => {
  const seen = await happens('workers', {
    cluster: compute,
    events: [cut, { at: '6m', heal: place }],
    expect: [still('4m'), runsElsewhere('5m30s'), oneWriter],
    runFor: '15m',
  });
  const made = seen.writes.find(({ what }) => what.startsWith('create jobs/'))?.atMs ?? NaN;
  const fencedAt = seen.statuses.find(({ status }) => status.fence !== undefined)?.atMs ?? NaN;
  assert.ok(made < 90_000, `the repair began after ${made} ms`);
  assert.ok(fencedAt - made >= 180_000, `and the fence ${fencedAt - made} ms later`);
});
