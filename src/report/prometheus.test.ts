import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, render } from './prometheus.ts';

test('metrics are written as Prometheus reads them', () => {
  const counter = new Counter();
  counter.increase({ source: 'a\\b"c\nd', kind: 'x' });
  counter.increase({ source: 'a\\b"c\nd', kind: 'x' });
  counter.increase({ source: 'e', kind: 'x' });
  const text = render([
    { name: 'things_total', help: 'Two\nlines, one \\.', type: 'counter', read: () => counter.samples },
    { name: 'age', help: 'Age.', type: 'gauge', read: () => [{ labels: {}, value: Infinity }] },
    { name: 'nothing', help: 'None.', type: 'gauge', read: () => [] },
  ]);
  assert.equal(
    text,
    String.raw`# HELP things_total Two\nlines, one \\.
# TYPE things_total counter
things_total{source="a\\b\"c\nd",kind="x"} 2
things_total{source="e",kind="x"} 1
# HELP age Age.
# TYPE age gauge
age +Inf
# HELP nothing None.
# TYPE nothing gauge
`,
  );
});

test('[ADM-3] a histogram counts how many took no longer than each bound', () => {
  const histogram = new Histogram([1, 5]);
  for (const seconds of [0.5, 1, 3, 9]) histogram.observe({ stage: 'back' }, seconds);
  const text = render([{ name: 'took', help: 'Took.', type: 'histogram', read: () => histogram.samples }]);
  assert.equal(
    text,
    `# HELP took Took.
# TYPE took histogram
took_bucket{stage="back",le="1"} 2
took_bucket{stage="back",le="5"} 3
took_bucket{stage="back",le="+Inf"} 4
took_sum{stage="back"} 13.5
took_count{stage="back"} 4
`,
  );
});
