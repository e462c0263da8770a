/** The page that administrators decide by: it answers what it has to answer, and names nothing that does not exist. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const page = read('production-readiness.md');

function metricNames(): Set<string> {
  const source = readFileSync(new URL('../../src/report/metrics.ts', import.meta.url), 'utf8');
  return new Set([...source.matchAll(/'(fenceline_\w+)'/g)].map(([, name = '']) => name));
}

test('[NGS-10] every question is answered', () => {
  const questions: [string, RegExp][] = [
    ['how it is enabled and disabled', /feature[- ]gates?/i],
    ['what a rollback does to what runs', /rollback/i],
    ['how a rollout can fail', /rollout/i],
    ['which metrics tell of that', /fenceline_\w+/],
    ['what is promised, and how it is measured', /\bSL[IO]s?\b/],
    ['what it depends on', /## Dependencies/],
    ['how many calls to the API server it makes', /API calls|requests to the API server|calls to the API/i],
    ['how many objects it makes, and how large they are', /NodeFence/],
    ['what it costs in memory and CPU', /\d+ MB\b[\s\S]*\b(core|CPU)\b/],
    ['what happens while the API server is down', /API server( or etcd)?( is)? (down|away|unavailable)/i],
    ['how it fails', /fail/i],
    ['what to do then', /## Troubleshooting/],
  ];
  for (const [question, answer] of questions) assert.match(page, answer, question);
  assert.match(page, /\d+(\.\d+)? (ms|s|MB)\b/, 'with figures');
});

test('[NGS-10] every metric that a page names exists', () => {
  const known = metricNames();
  assert.ok(known.size > 10);
  for (const name of ['production-readiness.md', 'recovery.md', 'fencing.md']) {
    const named = [...read(name).matchAll(/\bfenceline_[a-z_]+/g)].map(([found]) => found);
    assert.deepEqual(
      named.filter((metric) => !known.has(metric)),
      [],
      name,
    );
  }
});
