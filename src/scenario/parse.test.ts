import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseScenarios } from './parse.ts';
import { ScenarioError } from './reader.ts';

const head = 'apiVersion: fenceline.dev/v1alpha1\nkind: Scenario\n';

function problemsOf(text: string): string {
  try {
    parseScenarios('my.yaml', text);
  } catch (error) {
    assert.ok(error instanceof ScenarioError, String(error));
    return error.message;
  }
  throw new Error('the file was accepted');
}

function only<T>(values: T[]): T {
  assert.equal(values.length, 1);
  return values[0]!;
}

describe('scenario files', () => {
  test('what is left out has a default', () => {
    const scenario = only(parseScenarios('some/dir/quiet.yaml', `${head}spec: {}\n`));
    assert.equal(scenario.name, 'quiet');
    assert.equal(scenario.seed, 1);
    assert.deepEqual(
      scenario.cluster.nodes.map(({ name, zone, bmc }) => [name, zone, bmc]),
      [
        ['node-1', 'z1', true],
        ['node-2', 'z2', true],
        ['node-3', 'z3', true],
      ],
    );
    assert.deepEqual(scenario.cluster.operators, { count: 1, onNodes: false });
    assert.deepEqual(scenario.cluster.kubernetes, {
      nodeMonitorGracePeriodMs: 50_000,
      forceDetachAfterMs: 360_000,
      bootTimeMs: 90_000,
      leaseDurationMs: 40_000,
    });
    assert.equal(scenario.runForMs, 600_000);
  });

  test('a node may be in no zone', () => {
    const cluster = "{nodes: [{name: a, zone: ''}, b], others: [{zone: '', count: 2}]}";
    const scenario = only(parseScenarios('none.yaml', `${head}spec: {cluster: ${cluster}}\n`));
    assert.deepEqual(
      scenario.cluster.nodes.map(({ zone }) => zone),
      ['', 'z2'],
    );
    assert.deepEqual(scenario.cluster.others, [{ zone: '', count: 2 }]);
  });

  test('what no process could play is refused with what it may be', () => {
    const cluster = (text: string): string => problemsOf(`${head}spec: {cluster: ${text}}\n`);
    assert.match(
      cluster('{nodes: 1000000000}'),
      /^my\.yaml:3: .*nodes: expected a whole number from 0 to 5000, found 1000000000$/,
    );
    assert.match(cluster('{others: [{count: 1000000000}]}'), /from 0 to 20000, found 1000000000$/);
    assert.match(
      cluster('{others: [{count: 15000}, {count: 15000}]}'),
      /these are 30000 nodes: write 20000 at the most$/,
    );
    assert.match(cluster('{operators: 100000}'), /from 0 to 20, found 100000$/);
    assert.match(cluster('{operators: {count: 100000}}'), /from 0 to 20, found 100000$/);
  });

  test('a node has a name that a Node can have', () => {
    for (const name of ['__proto__', 'nöde', 'Node-1', 'a..b', '-a', 'a'.repeat(254)]) {
      for (const node of [name, `{name: ${name}}`]) {
        const said = problemsOf(`${head}spec: {cluster: {nodes: [${node}]}}\n`);
        assert.match(
          said,
          /^my\.yaml:3: .* is no name of a node: write small letters, digits, - and \., such as node-1$/,
        );
      }
    }
    const names = only(parseScenarios('a.yaml', `${head}spec: {cluster: {nodes: [a.example.com, 7, b-1]}}\n`)).cluster
      .nodes;
    assert.deepEqual(
      names.map(({ name }) => name),
      ['a.example.com', '7', 'b-1'],
    );
  });

  test('an alias that never ends is refused where it stands', () => {
    const object = (data: string): string =>
      problemsOf(
        `${head}spec:\n  objects:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: ${data}}\n`,
      );
    assert.match(
      object('&d {a: b, self: *d}'),
      /^my\.yaml:5: spec\.objects\[0\]: an alias stands for what it is part of/,
    );
    assert.match(object('&d [[*d]]'), /^my\.yaml:5: .*never ends/);
    const many = Array.from(
      { length: 9 },
      (_, at) =>
        `x${at}: &x${at} [${Array(9)
          .fill(at === 0 ? 'a' : `*x${at - 1}`)
          .join(', ')}]`,
    );
    assert.match(object(`{${many.join(', ')}}`), /^my\.yaml:5: .*: write it out$/);
    const twice = '{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: &l {a: b}, annotations: *l}}';
    only(parseScenarios('a.yaml', `${head}spec: {objects: [${twice}]}\n`));
  });

  test('every event is understood', () => {
    const onNodes =
      'powerOff powerOn reboot hang resume partition heal storagePartition storageHeal kubeletStop kubeletStart cordon uncordon drain deleteNode kdump kdumpSent';
    const events = onNodes.split(' ').map((name) => `{at: 1s, ${name}: node-1}`);
    events.push(
      '{at: 0s, powerOff: {nodeOf: default/web-0}}',
      '{at: 0s, powerOff: {nodeOf: {label: app=x}}}',
      '{at: 2s, crashOperator: 1}',
      '{at: 2s, isolateOperator: 1}',
      '{at: 2s, restoreOperator: 1}',
      '{at: 3s, zonePartition: z1}',
      '{at: 3s, zoneHeal: z1}',
      '{at: 3s, apiDown: true}',
      '{at: 3s, apiUp: true}',
      '{at: 4s, apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}',
      '{at: 4s, delete: {kind: Pod, name: p, namespace: default}}',
      '{at: 5s, taint: {node: node-1, key: a/b, value: c, effect: NoExecute}}',
      '{at: 5s, untaint: {node: node-1, key: a/b}}',
      '{at: 5s, condition: {node: node-1, type: DiskBroken, status: True}}',
      ...['refuses', 'hangs', 'ignores', 'late', 'reportsFailure', 'wrongMachine', 'none'].map(
        (fault) => `{at: 6s, device: {node: node-1, fault: ${fault}}}`,
      ),
      ...['errors', 'hangs', 'none'].map((fault) => `{at: 6s, detach: {driver: d, fault: ${fault}}}`),
      '{at: 7s, clockSkew: {operator: 1, by: 10m}}',
      '{at: 7s, clockSkew: {operator: 1, by: -10m}}',
      '{at: 8s, apiDate: {by: -10m, servers: 3}}',
      '{at: 8s, apiDate: {by: 0s}}',
    );
    const scenario = only(
      parseScenarios('a.yaml', `${head}spec:\n  events:\n${events.map((e) => `  - ${e}\n`).join('')}`),
    );
    assert.equal(scenario.events.length, events.length);
    assert.deepEqual(scenario.events[0]?.act, {
      do: 'powerOff',
      node: { podOf: { namespace: 'default', name: 'web-0' }, where: 'a.yaml:22' },
    });
    const skews = scenario.events.flatMap(({ act }) => (act.do === 'clockSkew' ? [act.byMs] : []));
    assert.deepEqual(skews, [600_000, -600_000]);
    const dates = scenario.events.flatMap(({ act }) => (act.do === 'apiDate' ? [[act.byMs, act.servers]] : []));
    assert.deepEqual(dates, [
      [-600_000, 3],
      [0, 1],
    ]);
    const condition = scenario.events.find(({ act }) => act.do === 'condition');
    assert.equal(condition?.act.do === 'condition' && condition.act.status, 'True');
  });

  test('every expectation is understood', () => {
    const expectations = [
      '{at: 5m45s, pod: {name: web-0, namespace: default, terminating: true}}',
      '{by: 6m30s, pod: {label: app=x, running: true, moved: true, ready: false, node: node-2}}',
      '{never: {pod: {name: web-1, namespace: default, deleted: true}}}',
      '{by: 15m, node: {name: node-1, ready: true, schedulable: true, taints: []}}',
      '{by: 15m, node: {name: {nodeOf: default/web-0}, taints: [a, b]}}',
      '{always: {fencesAtMost: 1}}',
      '{fences: 0}',
      '{by: 2m, fence: {node: node-1, status: error}}',
      '{at: 1m, drain: {node: node-1, done: false}}',
      '{event: {reason: EvictionAutomatic, count: 1}}',
      '{ledger: {volume: pv-0, writersAtMost: 1, dataIntact: true}}',
      '{by: 5m, volume: {name: v1, robustness: healthy, replicasOn: [node-1, node-2], dataIntact: true}}',
      '{by: 5m, replica: {volume: v1, node: node-1, evictionRequested: true}}',
      '{at: 5m, storageNode: {name: node-1, autoEvicting: true}}',
      '{at: 5m, budget: {node: node-1, blocks: true}}',
    ];
    const text = `${head}spec:\n  runFor: 20m\n  expect:\n${expectations.map((e) => `  - ${e}\n`).join('')}`;
    const scenario = only(parseScenarios('a.yaml', text));
    assert.equal(scenario.expectations.length, expectations.length);
    assert.deepEqual(scenario.expectations[0], {
      when: { type: 'at', atMs: 345_000 },
      state: { of: 'pod', pod: { ref: { namespace: 'default', name: 'web-0' }, terminating: true } },
      text: { at: '5m45s', pod: { name: 'web-0', namespace: 'default', terminating: true } },
      where: 'a.yaml:6',
    });
    assert.deepEqual(
      scenario.expectations.map(({ when }) => when.type),
      ['at', 'by', 'never', 'by', 'by', 'always', 'end', 'by', 'at', 'end', 'end', 'by', 'by', 'at', 'at'],
    );
  });

  test('nodes are a number or a list', () => {
    assert.equal(
      problemsOf(`${head}spec:\n  cluster:\n    nodes: many\n`),
      'my.yaml:5: spec.cluster.nodes: expected a number of nodes, or a list of them, found "many"',
    );
  });

  test('an unknown key is named with its file, its line and the nearest key that exists', () => {
    const at = (text: string): string => problemsOf(`${head}${text}`);
    assert.equal(at('spek: {}\n').split('\n')[0], 'my.yaml:3: unknown key "spek"; did you mean "spec"?');
    assert.equal(at('spec:\n  clutser: {}\n'), 'my.yaml:4: unknown key "clutser" in spec; did you mean "cluster"?');
    assert.equal(
      at('spec:\n  cluster:\n    kubernetes: {nodeMonitorGraceperiods: 4s}\n'),
      'my.yaml:5: unknown key "nodeMonitorGraceperiods" in spec.cluster.kubernetes; did you mean "nodeMonitorGracePeriod"?',
    );
    assert.equal(
      at('spec:\n  events:\n  - at: 1s\n    poweroff: node-1\n'),
      'my.yaml:6: unknown key "poweroff" in spec.events[0]; did you mean "powerOff"?',
    );
    assert.equal(
      at('spec:\n  expect:\n  - {by: 1s, pod: {name: a, teminating: true}}\n'),
      'my.yaml:5: unknown key "teminating" in spec.expect[0].pod; did you mean "terminating"?',
    );
    assert.equal(
      at('spec:\n  expect:\n  - {never: {pods: {name: a}}}\n'),
      'my.yaml:5: unknown key "pods" in spec.expect[0].never; did you mean "pod"?',
    );
    assert.equal(
      at('spec:\n  expect:\n  - {allways: {fences: 0}}\n'),
      'my.yaml:5: unknown key "allways" in spec.expect[0]; did you mean "always"?',
    );
    assert.equal(
      at('spec:\n  cluster: {longhorn: {volumes: [{name: v1, size: 3}]}}\n'),
      'my.yaml:4: unknown key "size" in spec.cluster.longhorn.volumes[0]; did you mean "sizeGiB"?',
    );
  });

  test('all that is wrong is said at once', () => {
    const problems = problemsOf(
      `${head}spec:\n  seeds: 1\n  cluster: {nodes: 2}\n  events:\n  - {at: soon, powerOff: node-1}\n  - {at: 1s, powerOff: node-3}\n`,
    ).split('\n');
    assert.deepEqual(problems, [
      'my.yaml:4: unknown key "seeds" in spec; did you mean "seed"?',
      'my.yaml:7: spec.events[0].at: expected a duration such as 90s or 5m30s, found "soon"',
      'my.yaml:8: spec.events[1].powerOff: there is no node "node-3"; did you mean "node-1"?',
    ]);
  });

  test('what makes no sense is refused with what to write', () => {
    const event = (text: string): string => problemsOf(`${head}spec:\n  events:\n  - ${text}\n`);
    assert.match(event('{powerOff: node-1}'), /:5: spec\.events\[0\]: when\? Write at: 0s/);
    assert.match(event('{at: 1s}'), /what\? Write one of powerOff/);
    assert.match(event('{at: 1s, powerOff: node-1, reboot: node-2}'), /two events: write two entries/);
    assert.match(event('{at: 1s, crashOperator: 2}'), /there is 1 operator/);
    assert.match(event('{at: 1s, zonePartition: z9}'), /there is no zone "z9"; there are z1, z2, z3/);
    assert.match(event('{at: 1s, device: {node: node-1, fault: refuse}}'), /did you mean "refuses"/);
    assert.match(event('{at: 1s, apiDown: false}'), /write true, or leave the event out/);
    assert.match(event('{at: 1s, powerOff: {nodeOf: web-0}}'), /write namespace\/pod, or \{label: app=x\}/);
    assert.match(event('{at: 1s, apply: {kind: Pod}}'), /needs apiVersion and kind/);
    assert.match(problemsOf('kind: Scenario\nspec: {}\n'), /apiVersion must be given/);
    assert.match(problemsOf('apiVersion: v1\nkind: Scenario\nspec: {}\n'), /:1: apiVersion: write fenceline\.dev/);
    assert.match(problemsOf('a: [\n'), /^my\.yaml:\d: /);
    assert.match(problemsOf(''), /the file is empty/);
  });

  test('aliases stand for what they name, and a file may hold several scenarios', () => {
    const text = `${head}spec:\n  events:\n  - &off {at: 1s, powerOff: node-1}\n  - *off\n---\n${head}metadata: {name: second}\nspec: {}\n`;
    const scenarios = parseScenarios('two.yaml', text);
    assert.deepEqual(
      scenarios.map(({ name }) => name),
      ['two-1', 'second'],
    );
    assert.equal(scenarios[0]?.events.length, 2);
  });

  test('events are in the order of their times, those of one time in the order of the file', () => {
    const text = `${head}spec:\n  events:\n  - {at: 2s, hang: node-1}\n  - {at: 1s, cordon: node-1}\n  - {at: 1s, uncordon: node-1}\n`;
    const scenario = only(parseScenarios('a.yaml', text));
    assert.deepEqual(
      scenario.events.map(({ act }) => act.do),
      ['cordon', 'uncordon', 'hang'],
    );
  });
});
