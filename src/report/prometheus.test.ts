import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, render } from './prometheus.ts';

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
