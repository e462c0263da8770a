import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EventRecorder } from '../kube/events.ts';
import { METRICS, metricsPage } from './metric-list.ts';
import { Metrics, type MetricSources } from './metrics.ts';
import { PassReporter } from './pass-reporter.ts';
import { Counter } from './prometheus.ts';
import { VerdictBoard } from './verdict-board.ts';

const quiet = { info: () => {}, warn: () => {}, debug: () => {} };

function metricsOf(change: Partial<MetricSources> = {}): Metrics {
  return new Metrics(
    {
      board: new VerdictBoard(() => {}),
      watches: () => [],
      isLeading: () => true,
      isPaused: () => false,
      clockAstrayMs: () => 0,
      releases: new PassReporter({ log: quiet, events: { record: () => {} } as unknown as EventRecorder }),
      drains: { nodes: [], requests: new Counter(), refusals: new Counter() },
      records: () => [],
      unfenceable: () => new Map(),
      kdump: {},
      ...change,
    },
    'test',
  );
}

const linesOf = (metrics: Metrics, name: string): string[] =>
  metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name}_`) || line.startsWith(`${name} `));

describe('metrics', () => {
  test('[ADM-3] everything in the list is exported under its type, and the page has a row for it', () => {
    const text = metricsOf().text();
    const rows = metricsPage().split('\n');
    for (const [name, { type, help }] of Object.entries(METRICS)) {
      assert.ok(text.includes(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`), name);
      assert.equal(rows.filter((row) => row.startsWith(`| \`${name}\` | ${type} |`)).length, 1, name);
    }
    assert.equal(text.match(/^# TYPE /gm)?.length, Object.keys(METRICS).length);
  });

  test('[ADM-3] fences are counted by phase, with a zero where there is none; those that are finished are none', () => {
    const records = (): ReturnType<MetricSources['records']> => [
      { phase: 'failed', alarm: 'FenceInError' },
      { phase: 'failed' },
      { phase: 'poweringOff' },
      { alarm: 'RepeatedTrouble' },
      {},
    ];
    const metrics = metricsOf({ records });
    assert.deepEqual(linesOf(metrics, 'fenceline_fences'), [
      'fenceline_fences{phase="waiting"} 0',
      'fenceline_fences{phase="isolating"} 0',
      'fenceline_fences{phase="isolated"} 0',
      'fenceline_fences{phase="poweringOff"} 1',
      'fenceline_fences{phase="off"} 0',
      'fenceline_fences{phase="poweringOn"} 0',
      'fenceline_fences{phase="booting"} 0',
      'fenceline_fences{phase="recovering"} 0',
      'fenceline_fences{phase="failed"} 2',
    ]);
    assert.deepEqual(linesOf(metrics, 'fenceline_alarms'), [
      'fenceline_alarms{reason="FenceInError"} 1',
      'fenceline_alarms{reason="RepeatedTrouble"} 1',
    ]);
  });

  test('[ADM-3] answers of devices are timed by driver, action and outcome', () => {
    const metrics = metricsOf();
    const asked = { driver: 'agent:fence_ipmilan', action: 'status' } as const;
    metrics.answered({ ...asked, outcome: 'status', tookMs: 300 });
    metrics.answered({ ...asked, outcome: 'unknown', tookMs: 60_000 });
    const labels = 'driver="agent:fence_ipmilan",action="status"';
    const lines = linesOf(metrics, 'fenceline_device_seconds');
    for (const line of [
      `fenceline_device_seconds_bucket{${labels},outcome="status",le="0.25"} 0`,
      `fenceline_device_seconds_bucket{${labels},outcome="status",le="0.5"} 1`,
      `fenceline_device_seconds_sum{${labels},outcome="unknown"} 60`,
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });
});
