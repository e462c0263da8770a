/** What documents count is counted: a number in prose goes stale in silence. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { FEATURE_GATES } from '../../src/api/feature-gates.ts';
import { FENCE_PHASES } from '../../src/api/fence-names.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { RETURN_STAGES } from '../../src/api/node-fence.ts';
import { DRAIN_POLICIES, POD_DELETION_POLICIES } from '../../src/api/policy-defaults.ts';
import { cloudDrivers } from '../../src/devices/clouds/index.ts';
import { ways } from '../../src/release/release-node.ts';
import { behaviours } from '../contract/kubelet/behaviours/index.ts';
import { combinations } from '../simulation/drain/combinations.ts';
import { paths } from '../simulation/paths.ts';
import { theTwenty } from '../twins/seeds.ts';

const read = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];
const word = (count: number): string => (count === 20 ? 'twenty' : (words[count] ?? String(count)));
const names = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name = '']) => name);

const bases = new Set(ways.map(({ basis }) => basis));

/** Every place at which a page says a number: the sentence, with what belongs into the gap. */
const said: readonly { page: string; sentence: string; counts: (number | string)[] }[] = [
  { page: 'recovery.md', sentence: '## _ ways, _ promises', counts: [ways.length, bases.size] },
  { page: 'recovery.md', sentence: 'depends on the basis, of which there are _', counts: [bases.size] },
  { page: 'decisions.md', sentence: '**_ ways, tried from the strongest', counts: [ways.length] },
  { page: 'production-readiness.md', sentence: 'answered for the _ ways', counts: [ways.length] },
  {
    page: 'production-readiness.md',
    sentence: 'By _ feature gates and by policies',
    counts: [Object.keys(FEATURE_GATES).length],
  },
  { page: 'production-readiness.md', sentence: 'All _ but the last are cluster-scoped', counts: [KINDS.length] },
  { page: 'devices.md', sentence: 'The _ clouds answer yes', counts: [cloudDrivers.size] },
  { page: 'simulator.md', sentence: 'one list of _ behaviours', counts: [String(behaviours.length)] },
  { page: 'simulator.md', sentence: 'crash-points.test.ts` runs _ paths', counts: [paths.length] },
  { page: 'simulator.md', sentence: '_ of them run on both clusters', counts: [theTwenty.length] },
  {
    page: 'simulator.md',
    sentence: '_ combinations; _ more cannot exist',
    counts: [String(combinations().all.length), String(combinations().impossible)],
  },
  { page: 'requirements.md', sentence: 'There are _ drain policies', counts: [DRAIN_POLICIES.length] },
  {
    page: 'requirements.md',
    sentence: 'chooses one of _ pod deletion policies',
    counts: [POD_DELETION_POLICIES.length],
  },
];

describe('numbers in documents', () => {
  for (const { page, sentence, counts } of said) {
    test(`${page}: ${sentence}`, () => {
      const parts = sentence.split('_').map((part) => part.replaceAll(/[*#.`]/g, '\\$&').replaceAll(' ', '\\s+'));
      const [, ...found] = new RegExp(parts.join('([\\w,]+)')).exec(read(page)) ?? [];
      const expected = counts.map((count) => (typeof count === 'number' ? word(count) : count));
      assert.deepEqual(
        found.map((one) => one.toLowerCase()),
        expected,
      );
    });
  }
});

describe('lists in documents', () => {
  test('recovery.md has every way with its basis, in the order in which they are tried', () => {
    const rows = [...read('recovery.md').matchAll(/^\| ([a-z ]+) \| `([A-Z]\w+)` \|/gm)];
    assert.deepEqual(
      rows.map(([, name, basis]) => ({ name, basis })),
      ways.map(({ name, basis }) => ({ name, basis })),
    );
  });

  test('decisions.md names the ways in their order', () => {
    const [, list = ''] = /to the weakest\.\*\* ([^:]*):/.exec(read('decisions.md')) ?? [];
    assert.deepEqual(
      list.toLowerCase().split(/,\s+/),
      ways.map(({ name }) => name),
    );
  });

  test('production-readiness.md says how each way is switched on', () => {
    const [, table = ''] =
      /^\| what \| switch \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/m.exec(read('production-readiness.md')) ?? [];
    const first = table
      .split('\n')
      .map((row) => row.split('|')[1] ?? '')
      .join(' ');
    for (const { name } of ways) assert.match(first, new RegExp(`\\b${name}\\b`));
    for (const gate of Object.keys(FEATURE_GATES)) assert.match(table, new RegExp(`\\b${gate}=true`));
  });

  test('production-readiness.md names every kind of the API', () => {
    const [, types = ''] = /\*\*New API types\.\*\*([^]*?)\n\n/.exec(read('production-readiness.md')) ?? [];
    assert.deepEqual(
      names(types, /\b([A-Z]\w+(?:Policy|Fence|Device))\b/g).toSorted(),
      KINDS.map(({ kind }) => kind).toSorted(),
    );
  });

  test('drain.md has every drain policy, fencing.md every phase, recovery.md every stage of the return', () => {
    const drains = new Set(names(read('drain.md'), /^\| `([a-z-]+)`[^|]*\|/gm));
    assert.deepEqual(
      [...DRAIN_POLICIES].filter((policy) => !drains.has(policy)),
      [],
    );
    assert.deepEqual(names(read('fencing.md'), /^\| `(\w+)`(?: ●)? \| (?:new|running|done|final|error) \|/gm), [
      ...FENCE_PHASES,
    ]);
    const stages = names(read('recovery.md'), /^\d\. `(\w+)`:/gm);
    assert.deepEqual(stages, [...RETURN_STAGES]);
  });
});
