/** What Prometheus reads of an operator that goes through whole incidents. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EventRecorder } from '../../src/kube/events.ts';
import { Metrics } from '../../src/report/metrics.ts';
import { PassReporter } from '../../src/report/pass-reporter.ts';
import { Counter } from '../../src/report/prometheus.ts';
import { VerdictBoard } from '../../src/report/verdict-board.ts';
import type { Operator } from '../../src/operator/operator.ts';
import type { Scenario } from '../../src/scenario/format.ts';
import { productOperator } from '../../src/scenario/operators.ts';
import { fenced, place } from './fencing/fenced.ts';
import { failuresOf, run } from './run-file.ts';

/** As they stand after a scenario, by name and labels. */
async function scraped(scenario: Scenario): Promise<Map<string, number>> {
  const quiet = { info: () => {}, warn: () => {}, debug: () => {} };
  const reporter = new PassReporter({ log: quiet, events: { record: () => {} } as unknown as EventRecorder });
  const report = await run(scenario, { onPass: (pass) => reporter.report(pass) });
  assert.deepEqual(failuresOf(report), []);
  const metrics = new Metrics(
    {
      board: new VerdictBoard(() => {}),
      watches: () => [],
      isLeading: () => true,
      isPaused: () => false,
      clockAstrayMs: () => 0,
      releases: reporter,
      drains: { nodes: [], requests: new Counter(), refusals: new Counter() },
      records: () => [],
      unfenceable: () => new Map(),
      kdump: { heard: 1, stranger: 2 },
    },
    'test',
  );
  return read(metrics.text());
}

/** Every line is a comment, or a name, labels and a number; every metric is announced with its type before its first line. */
function read(text: string): Map<string, number> {
  const values = new Map<string, number>();
  const types = new Map<string, string>();
  for (const line of text.trimEnd().split('\n')) {
    const type = /^# TYPE (?<name>\w+) (?<type>counter|gauge|histogram)$/.exec(line)?.groups;
    if (type !== undefined) types.set(type['name']!, type['type']!);
    if (line.startsWith('# ')) continue;
    const sample = /^(?<name>\w+?)(?:\{(?:\w+="[^"\n]*",?)+\})? (?<value>[-+.e\d]+|\+Inf)$/.exec(line)?.groups;
    assert.ok(sample, line);
    const of = sample['name']!.replace(/_(bucket|sum|count)$/, '');
    assert.ok(types.has(sample['name']!) || types.get(of) === 'histogram', `${line} is announced`);
    values.set(line.slice(0, line.lastIndexOf(' ')), Number(sample['value']));
  }
  return values;
}

const stage = (what: string, of: string): string => `fenceline_incident_stage_seconds_${of}{stage="${what}"}`;

describe('metrics', () => {
  test('[ADM-3] of a machine that lost its power: how long each stage took, and that we repaired it', async () => {
    const values = await scraped(fenced('repaired', { events: [{ at: '0s', powerOff: place }], runFor: '5m' }));
    assert.equal(values.get('fenceline_incidents_total{outcome="repaired"}'), 1);
    assert.equal(values.get('fenceline_incidents_total{outcome="alone"}'), undefined);
    for (const one of ['fenced', 'released', 'back']) assert.equal(values.get(stage(one, 'count')), 1, one);
    const [fencedIn = 0, released = 0, back = 0] = ['fenced', 'released', 'back'].map((one) =>
      values.get(stage(one, 'sum')),
    );
    assert.ok(fencedIn <= released && released < back && back < 120, `${fencedIn} ${released} ${back}`);
    assert.equal(values.get('fenceline_incident_stage_seconds_bucket{stage="fenced",le="+Inf"}'), 1);
    assert.equal(values.get('fenceline_incident_stage_seconds_bucket{stage="back",le="1"}'), 0);
    assert.equal(values.get('fenceline_released_pods_total{basis="PowerOff"}'), 1);
    assert.equal(values.get('fenceline_release_seconds_count{basis="PowerOff"}'), 1);
    assert.equal(values.get('fenceline_release_seconds_bucket{basis="PowerOff",le="2.5"}'), 1);
    assert.equal(values.get('fenceline_remedies_total{kind="fence",outcome="succeeded"}'), 1);
  });

  test('[ADM-3] the operator tells by itself how its device answered, and where its fence stood while it lasted', async () => {
    const scrapes: Map<string, number>[] = [];
    let operator: Operator | undefined;
    const scenario = fenced('wired', { events: [{ at: '0s', powerOff: place }], runFor: '5m' });
    const report = await run(scenario, {
      program: (context) => (operator = productOperator(context)),
      onPass: () => operator && scrapes.push(read(operator.metrics.text())),
    });
    assert.deepEqual(failuresOf(report), []);
    const last = read(operator?.metrics.text() ?? '');
    const answers = (of: string): number => last.get(`fenceline_device_seconds_count{driver="simulated",${of}}`) ?? 0;
    assert.ok(answers('action="status",outcome="status"') > 3);
    assert.equal(answers('action="on",outcome="accepted"'), 1);
    const most = (of: string): number => Math.max(...scrapes.map((one) => one.get(of) ?? 0));
    assert.equal(most('fenceline_fences{phase="booting"}'), 1);
    assert.equal(most('fenceline_fences{phase="failed"}'), 0);
    assert.equal(last.get('fenceline_fences{phase="booting"}'), 0);
  });

  test('[ADM-3] of a node that comes back by itself: it came back alone, and nothing was fenced', async () => {
    const values = await scraped(
      fenced('alone', {
        policy: { fence: { isolateAfter: '5m', powerManagementAfter: '10m' } },
        events: [
          { at: '0s', partition: place },
          { at: '40s', heal: place },
        ],
        runFor: '5m',
      }),
    );
    assert.equal(values.get('fenceline_incidents_total{outcome="alone"}'), 1);
    assert.equal(values.get('fenceline_incidents_total{outcome="repaired"}'), undefined);
    assert.equal(values.get(stage('fenced', 'count')), undefined);
    assert.equal(values.get(stage('back', 'count')), 1);
    assert.equal(values.get('fenceline_remedies_total{kind="fence",outcome="dropped"}'), 1);
    assert.equal(values.get('fenceline_remedies_total{kind="fence",outcome="failed"}'), undefined);
  });

  test('[ADM-3, STM-6] holds are counted by reason, and none of the labels grows with the cluster', async () => {
    const values = await scraped(
      fenced('held', { policy: { mode: 'Paused' }, events: [{ at: '0s', powerOff: place }], runFor: '3m' }),
    );
    assert.equal(values.get('fenceline_holds_total{reason="Paused"}'), 1);
    assert.equal(values.get('fenceline_held_nodes{reason="Paused"}'), 1);
    assert.equal(values.get('fenceline_kdump_messages_total{result="stranger"}'), 2);
    const ofNodes = [...values.keys()].filter((name) => name.includes('node-'));
    assert.deepEqual(
      ofNodes.filter((name) => !name.startsWith('fenceline_node_')),
      [],
      'only what is about each node has its name',
    );
  });
});
