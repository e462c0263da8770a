/** Whoever is woken finds a section for the alert, and what it tells them to type exists. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { dashboard } from '../../build/dashboard.ts';
import { commandsOf as advised, FENCED_ADVICE } from '../../src/api/advice.ts';
import { FENCE_PHASES } from '../../src/api/fence-names.ts';
import { REASON_GROUPS } from '../../src/api/reasons.ts';
import { commands } from '../../src/cli/commands.ts';
import type { KubeError } from '../../src/kube/errors.ts';
import { METRICS } from '../../src/report/metric-list.ts';
import { alerts } from '../support/alerts.ts';
import { commandsOf } from '../support/documents.ts';
import { labelsOf, metricsNamed, unknownMetrics } from '../support/named-metrics.ts';

const page = readFileSync('docs/runbooks.md', 'utf8');
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
);
const parts = ['**Means.**', '**Safe already.**', '**Look at.**', '```sh', '**Worry when**'];
const queries = (JSON.parse(dashboard()) as { panels: { targets?: { expr: string }[] }[] }).panels.flatMap(
  ({ targets = [] }) => targets.map(({ expr }) => expr),
);
/** Those that look, and the three that say something of a node or a policy. */
const verbs = ['get', 'describe', 'logs', 'top', 'auth', 'taint', 'annotate', 'edit'];

async function isKnown(line: string): Promise<boolean> {
  const [program, name = '', ...args] = line.split(' ');
  if (program === 'kubectl') return verbs.includes(name);
  const command = program === 'bin/fenceline' ? await commands[name]?.() : undefined;
  if (command === undefined) return false;
  const { operands, unknown } = command.parseOptions(args);
  const { registeredArguments: wanted } = command;
  const most = wanted.some(({ variadic }) => variadic) ? Infinity : wanted.length;
  const least = wanted.filter(({ required }) => required).length;
  return unknown.length === 0 && operands.length >= least && operands.length <= most;
}

const expressions = alerts.map(({ expr }) => expr);

describe('runbooks', () => {
  test('[ADM-3] every alert has a section, no section is without its alert, and links lead there', () => {
    assert.deepEqual(
      [...sections.keys()],
      alerts.map(({ alert }) => alert),
    );
    for (const { alert, annotations } of alerts) {
      assert.equal(annotations.runbook_url, `docs/runbooks.md#${alert.toLowerCase()}`);
    }
  });

  test('[ADM-3] every section says what it means, what is safe, what to look at, what to type and when to worry', () => {
    for (const [alert, section] of sections) {
      const places = parts.map((part) => section.indexOf(part));
      assert.ok(!places.includes(-1), `${alert} lacks ${parts[places.indexOf(-1)]}`);
      assert.deepEqual(
        places,
        places.toSorted((a, b) => a - b),
        alert,
      );
    }
  });

  test('[ADM-3, USE-2] every command is one of ours, with options and arguments that it takes, or of kubectl', async () => {
    const typed = commandsOf('docs/runbooks.md');
    assert.ok(typed.length > 30);
    for (const line of typed) assert.ok(await isKnown(line), line);
    const wrong = ['cheque worker-1', 'check --cleared worker-1', 'explain', 'explain worker-1 worker-2'];
    for (const line of [...wrong.map((one) => `bin/fenceline ${one}`), 'kubectl delete everything', 'helm status']) {
      assert.ok(!(await isKnown(line)), line);
    }
  });
});

describe('a fence that failed', () => {
  test('[EXP-1, ADM-3] the last resort of the runbook is what explain prints: it needs no feature gate', () => {
    const names = { node: 'worker-1', policy: 'workers', namespace: 'fenceline' };
    const plain = (line: string): string => line.replace(/^bin\//, '').replace(/ -n fenceline$/, '');
    const typed = commandsOf('docs/runbooks.md', 'FencelineFencingFailed').map(plain);
    for (const { command } of advised(FENCED_ADVICE.FenceFailed, names)) {
      assert.ok(typed.includes(plain(command)), command);
    }
    assert.doesNotMatch(typed.join('\n'), /force-eviction/);
  });
});

describe('alerts and dashboard', () => {
  test('[ADM-3] ask for nothing that the operator does not export, by no label that it does not have', () => {
    for (const query of [...expressions, ...queries])
      assert.deepEqual(unknownMetrics(query, { isQuery: true }), [], query);
    assert.deepEqual(unknownMetrics('fenceline_device_seconds > 1', { isQuery: true }), ['fenceline_device_seconds']);
    assert.deepEqual(unknownMetrics('fenceline_fences{fase="failed"}'), ['fenceline_fences{fase}']);
    assert.deepEqual(unknownMetrics('rate(fenceline_fence_total[5m])'), ['fenceline_fence_total']);
  });

  test('[ADM-3] name only reasons, phases and actions that there are, and group by labels that are there', () => {
    const words = new Set<string>([
      ...REASON_GROUPS.flatMap(({ reason }) => Object.keys(reason)),
      ...FENCE_PHASES,
      ...(['forbidden'] satisfies KubeError['kind'][]),
    ]);
    for (const query of [...expressions, ...queries]) {
      const matched = [...query.matchAll(/(?<!le)[=!]~?"([^"]+)"/g)].flatMap(([, text = '']) => text.split('|'));
      assert.deepEqual(
        matched.filter((word) => !words.has(word)),
        [],
        query,
      );
      const labels = [...metricsNamed(query)].flatMap((name) => labelsOf(name));
      const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, text = '']) => text.split(', '));
      assert.deepEqual(
        grouped.filter((label) => !labels.includes(label) && label !== 'le'),
        [],
        query,
      );
    }
  });

  test('[ADM-3] every state and every duration is shown or has an alert', () => {
    const shown = metricsNamed([...expressions, ...queries].join('\n'));
    const left = Object.keys(METRICS).filter((name) => name.startsWith('fenceline_') && !shown.has(name));
    // Of single nodes, of views as they are counted, and what others are derived from.
    assert.deepEqual(left, [
      'fenceline_build_info',
      'fenceline_node_verdict',
      'fenceline_verdict_changes_total',
      'fenceline_view_objects',
      'fenceline_view_lists',
      'fenceline_view_watches',
      'fenceline_view_dropped_events',
      'fenceline_node_unfenceable',
      'fenceline_kdump_messages_total',
      'fenceline_drain_blocked_nodes',
      'fenceline_replica_evictions_total',
      'fenceline_drain_refusals_total',
    ]);
  });
});
