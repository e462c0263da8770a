/** The page that administrators decide by: it answers what it has to answer, and names nothing that does not exist. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FEATURE_GATES } from '../../src/api/feature-gates.ts';
import { defaultLimits } from '../../src/judge/judge-node.ts';
import { unknownMetrics } from '../support/named-metrics.ts';
import { METRICS } from '../../src/report/metric-list.ts';

const read = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const page = read('production-readiness.md');

const source = (name: string): string => readFileSync(new URL(`../../src/${name}`, import.meta.url), 'utf8');

/** A figure of the page is the one in the source, or the one that was measured. */
function figure(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  assert.ok(found, `${pattern.source} is not there any more`);
  return found.replaceAll('_', '');
}

const { silentForMs, viewAgeMs } = defaultLimits;
const acts = figure(source('operator/attendant.ts'), /const maxActs = ([\d_]+);/);
const callMs = Number(figure(source('operator/attendant.ts'), /const callTimeoutMs = ([\d_]+);/));
const probeMs = Number(figure(source('kube/list-watch.ts'), /probeEveryMs: ([\d_]+),/));
const detachMs = Number(figure(source('release/plan.ts'), /detachByOurselvesAfterMs = ([\d_]+);/));
const settledMb = figure(read('benchmarks.md'), /^\| Fenceline +\| 1,000 \|(?:[^|]*\|){4} +(\d+) \|/m);

/** Each question, by section, and what its answer has to say: the figures are those of the product. */
const asked: Record<string, Record<string, (string | RegExp)[]>> = {
  'Enablement and rollback': {
    'How is it switched on and off in a live cluster?': Object.keys(FEATURE_GATES).map((gate) => `${gate}=true`),
    'Does switching it on change default behaviour?': [/^(Yes|No)\b/],
    'Can it be switched off again?': ['spec.stop', 'mode: Paused'],
    'And on again?': ['NGS-9', 'FEV-9'],
    'Are there tests for it?': ['test/simulation', 'test/control-plane'],
  },
  'Rollout, upgrade, rollback': {
    'How can a rollout fail, and does it hurt running workloads?': [/crash/],
    'Which metrics call for a rollback?': [/`fenceline_\w+`/],
    'Were upgrade and downgrade tested?': [/NodeFence/],
    'Deprecations?': [/^\w/],
  },
  Monitoring: {
    'How does one see that it is in use?': [/`fenceline_\w+/, 'kubectl get nodefences'],
    'SLIs.': [/(`fenceline_\w+.*\n.*){4}/],
    'Reasonable SLOs.': [/\d+ %/, `below ${viewAgeMs / 1000} for`, 'fenceline_release_seconds_bucket{le="1"}'],
    'Which metric is missing?': [/\w/],
  },
  Dependencies: {
    '': ['API server', `${silentForMs / 1000} s`, `${callMs / 1000} s`, `${detachMs / 1000} s`, 'CSI'],
  },
  Scalability: {
    'New API calls.': [`every ${probeMs / 1000} s`, `At most ${acts} acts`, /\d+ writes to NodeFence/],
    'New API types.': ['RemedyPolicy', 'NodeFence', 'DrainPolicy', /\d+ kB/],
    'Calls to a cloud provider.': [/once a second/],
    'Size of existing objects.': [/\d+ bytes/],
    'Does anything covered by SLOs take longer?': [/^(Yes|No)\b/],
    'Resources.': [`at 1,000 nodes: ${settledMb} MB`, /core/],
  },
  Troubleshooting: {
    'API server or etcd unavailable.': [`within ${silentForMs / 1000} s`],
    'Other failure modes.': [/(\n\|.*){8}/],
    'An SLO is missed: where to look.': [/`fenceline_\w+`/, '--trace-passes'],
  },
};

const fewestWords = 5;

/** Beside what it has to name, an answer says something; or no more than that there is nothing. */
function isTold(answer: string, says: readonly (string | RegExp)[]): boolean {
  const rest = says.reduce((text: string, one) => text.replace(one, ' '), answer);
  return /^(No|None)\.$/.test(answer) || (rest.match(/\p{L}{2,}/gu) ?? []).length >= fewestWords;
}

/** What a page leaves unanswered. */
function unanswered(text: string): string[] {
  return Object.entries(asked).flatMap(([section, questions]) => {
    const whole = sectionOf(text, section);
    return Object.entries(questions).flatMap(([question, says]) => {
      const answer = question === '' ? whole : answerTo(question, whole);
      const missing = says.filter((one) => (typeof one === 'string' ? !answer.includes(one) : !one.test(answer)));
      const left = [...missing, ...(isTold(answer, says) ? [] : ['in words'])];
      return left.map((one) => `${section}: ${question} ${String(one)}`);
    });
  });
}

function sectionOf(text: string, section: string): string {
  return new RegExp(`^## ${section}\n([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, 'm').exec(text)?.[1] ?? '';
}

/** Up to the next question. */
function answerTo(question: string, section: string): string {
  const start = section.indexOf(`**${question}**`);
  if (start === -1) return '';
  const rest = section.slice(start + question.length + 4);
  const next = rest.search(/^\*\*/m);
  return rest.slice(0, next === -1 ? undefined : next).trim();
}

test('[NGS-10] every question is answered, with the figures of the product', () => {
  assert.deepEqual(unanswered(page), []);
});

test('[NGS-10] a page of words that answers nothing would be noticed', () => {
  const words = page.replaceAll('**', '').replaceAll(/^## /gm, '');
  assert.equal(new Set(unanswered(words).map((one) => one.split(':', 1)[0])).size, Object.keys(asked).length);
  // There is nothing to say of two of them, and of the third a whole table is looked for.
  const short = ['Deprecations?', 'Does anything covered by SLOs take longer?', 'Other failure modes.'];
  const named = Object.entries(asked).map(([section, each]) => {
    const whole = sectionOf(page, section);
    const answers = Object.entries(each).map(([question, says]) => {
      const answer = question === '' ? whole : answerTo(question, whole);
      const key = says.map((one) => (typeof one === 'string' ? one : one.exec(answer)?.[0]));
      return `${question === '' ? '' : `**${question}** `}${key.join(' ')}\n`;
    });
    return `## ${section}\n\n${answers.join('\n')}`;
  });
  const left = unanswered(named.join('\n'));
  for (const [section, each] of Object.entries(asked)) {
    for (const question of Object.keys(each)) {
      const isLeft = left.includes(`${section}: ${question} in words`);
      assert.ok(isLeft || short.includes(question), `${question} is answered by what it names alone`);
    }
  }
  const questions = page.split(/(?=^\*\*)/m);
  for (const [index, question] of questions.entries()) {
    if (index === 0) continue;
    const heading = /^\*\*.*?\*\*/.exec(question)?.[0] ?? '';
    const empty = questions.with(
      index,
      `${heading}\n\n${question.slice(question.indexOf('\n## ') + 1 || question.length)}`,
    );
    assert.notDeepEqual(unanswered(empty.join('')), [], heading);
  }
});

test('[NGS-10, ADM-3] every metric and label that a page names exists', () => {
  assert.ok(Object.keys(METRICS).length > 30);
  const pages = globSync('docs/*.md');
  assert.ok(pages.length > 15);
  const unknown = pages.flatMap((name) => unknownMetrics(readFileSync(name, 'utf8')).map((what) => `${name}: ${what}`));
  assert.deepEqual(unknown, []);
});

test('[NGS-10, ADM-3] every state that is counted is an indicator', () => {
  const shown = answerTo('SLIs.', sectionOf(page, 'Monitoring'));
  const states = ['fences', 'held_nodes', 'stuck_pods', 'alarms', 'unfenceable_nodes', 'leading', 'view_age_seconds'];
  const durations = Object.entries(METRICS).flatMap(([name, { type }]) => (type === 'histogram' ? [name] : []));
  const wanted = [...states.map((name) => `fenceline_${name}`), ...durations];
  assert.deepEqual(
    wanted.filter((name) => !shown.includes(`\`${name}`) && !shown.includes(`(${name}`)),
    [],
  );
});
