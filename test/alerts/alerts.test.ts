/** The alerts as Prometheus evaluates them, by its own tool: each fires when it should, and is quiet when it should be. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { alerts, alertsFile } from '../support/alerts.ts';
import { cases, type Case } from './cases.ts';
import { promtool } from './promtool.ts';

const dir = mkdtempSync(join(tmpdir(), 'fenceline-alerts-'));
after(() => rmSync(dir, { recursive: true, force: true }));

type Series = Case['fires'];

function unit(alertname: string, values: Series, atMinute: number, expected: readonly object[]): object {
  return {
    interval: '1m',
    input_series: Object.entries(values).map(([series, samples]) => ({ series, values: samples })),
    alert_rule_test: [{ eval_time: `${atMinute}m`, alertname, exp_alerts: expected }],
  };
}

/** Values are JSON, which is YAML. */
async function run(tests: readonly object[]): Promise<{ code: number; said: string }> {
  const file = join(dir, 'tests.json');
  writeFileSync(file, JSON.stringify({ rule_files: [resolve(alertsFile)], evaluation_interval: '1m', tests }));
  return promtool(['test', 'rules', file]);
}

describe('alerts', () => {
  test('[ADM-3] promtool finds nothing wrong with the rules', async () => {
    const { code, said } = await promtool(['check', 'rules', alertsFile]);
    assert.equal(code, 0, said);
    assert.match(said, new RegExp(`${alerts.length} rules found`));
  });

  test('[ADM-3] there is a case for each alert', () => {
    assert.deepEqual(
      Object.keys(cases),
      alerts.map(({ alert }) => alert),
    );
  });

  for (const { alert, labels: severity, annotations } of alerts) {
    const known = cases[alert];
    if (known === undefined) continue;
    test(`[ADM-3] ${alert} fires when it should, and not otherwise`, async () => {
      const { fires, atMinute, summary, labels = {}, also = [], quiet } = known;
      const expected = (read: string): object => ({
        exp_labels: { alertname: alert, ...severity, ...labels },
        exp_annotations: { ...annotations, summary: read },
      });
      assert.ok(quiet.length > 0);
      const { code, said } = await run([
        unit(alert, fires, atMinute, [expected(summary)]),
        ...also.map((one) => unit(alert, one.series, one.atMinute, [expected(one.summary)])),
        ...quiet.map((one) => unit(alert, one.series, one.atMinute, [])),
      ]);
      assert.equal(code, 0, said);
    });
  }

  test('[ADM-3] nobody who exports anything at all is noticed as well', async () => {
    const noLeader = alerts.find(({ alert }) => alert === 'FencelineNoLeader');
    assert.ok(noLeader);
    const { labels, annotations } = noLeader;
    const expected = { exp_labels: labels, exp_annotations: annotations };
    const { code, said } = await run([unit('FencelineNoLeader', { up: '0x10' }, 4, [expected])]);
    assert.equal(code, 0, said);
  });
});
