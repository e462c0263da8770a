import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KINDS } from './kinds.ts';
import { REASON_GROUPS } from './reasons.ts';
import { renderReference } from './reference.ts';

const page = renderReference();

test('the reference has every kind, every reason, and no row that breaks its table', () => {
  for (const kind of KINDS) assert.ok(page.includes(`\n## ${kind.kind}\n`));
  for (const group of REASON_GROUPS)
    for (const name of Object.keys(group.reason)) assert.ok(page.includes(`| \`${name}\` |`));
  for (const line of page.split('\n')) {
    if (!line.startsWith('|')) continue;
    const columns = line.replaceAll(String.raw`\|`, '').split('|').length - 2;
    assert.ok(columns === 2 || columns === 4, line);
  }
});

test('the reference shows types, defaults and what has to be written', () => {
  for (const row of [
    '| `spec.node` | string | *required* |',
    '| `spec.fence.isolateAfter` | duration | `30s` |',
    '| `spec.storm.maxUnresponsive` | share | `40%` |',
    '| `spec.storm.maxConcurrent` | integer from 1 to 1000 | `1` |',
    '| `spec.thresholds[].remedies[].name` | string | *required* |',
    '| `spec.release.volumeAttachmentRecovery` | `never`, `wait`, `immediate` | `never` |',
    '| `status.epoch` | integer from 0 | `0` |',
    '| `spec.thresholds[]` | write exactly one of condition and lease',
  ]) {
    assert.ok(page.includes(`\n${row}`), row);
  }
});
