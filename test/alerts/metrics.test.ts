/** What the operator exports, as Prometheus reads it: by its own tool. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, render } from '../../src/report/prometheus.ts';
import { METRICS, type MetricDefinition } from '../../src/report/metric-list.ts';
import { promtool } from './promtool.ts';

/** One series of each, with something in every label. */
function exported(): string {
  return render(
    Object.entries<MetricDefinition>(METRICS).map(([name, { type, help, labels = {} }]) => {
      const filled = Object.fromEntries(Object.keys(labels).map((label) => [label, 'a "b" \\c\n']));
      const [counter, histogram] = [new Counter(), new Histogram([0.1, 1])];
      counter.increase(filled);
      histogram.observe(filled, 0.5);
      return { name, type, help, read: () => (type === 'histogram' ? histogram : counter).samples };
    }),
  );
}

test('[ADM-3] promtool finds nothing to say about names, types and texts of the metrics', async () => {
  const { code, said } = await promtool(['check', 'metrics'], exported());
  assert.deepEqual([code, said], [0, '']);
  const wrong = exported().replaceAll('fenceline_holds_total', 'fenceline_holds');
  assert.match(
    (await promtool(['check', 'metrics'], wrong)).said,
    /fenceline_holds counter metrics should have "_total"/,
  );
});
