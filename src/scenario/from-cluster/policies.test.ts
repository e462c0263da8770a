import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPolicies } from './policies.ts';

const head = 'apiVersion: fenceline.dev/v1alpha1\nkind: RemedyPolicy\nmetadata: {name: workers}\n';

function mistakes(text: string): string[] {
  const read = readPolicies(text);
  return read.ok ? [] : read.mistakes.map(({ line, text: told }) => `${line}: ${told}`);
}

describe('[EXP-2] policies that somebody has written', () => {
  test('several of them, as they are', () => {
    const read = readPolicies(
      `${head}spec: {allNodes: true}\n---\n${head.replace('workers', 'others')}spec: {allNodes: true}\n`,
    );
    assert.deepEqual(read.ok && read.policies.map(({ metadata }) => metadata.name), ['workers', 'others']);
  });

  test('what is wrong is told with its line, and what to write instead', () => {
    assert.deepEqual(mistakes(`${head}spec:\n  allNodes: true\n  treshholds: []\n`), [
      '6: spec.treshholds: there is no such field; did you mean thresholds?',
    ]);
    assert.deepEqual(
      mistakes(`# a comment\n${head}spec:\n  allNodes: true\n  storm:\n    maxConcurrent: 1\n    maxUnresponsiv: 3\n`),
      ['9: spec.storm.maxUnresponsiv: there is no such field; did you mean maxUnresponsive?'],
    );
    const [deep = ''] = mistakes(
      `${head}spec:\n  allNodes: true\n  thresholds:\n  - lease: {staleFor: 12s}\n    remedies: [{name: fence}]\n  - lease:\n      staleFor: 12\n    remedies: [{name: fence}]\n  remedies: [{name: fence, fence: {}}]\n`,
    );
    assert.match(deep, /^10: spec\.thresholds\[1\]\.lease\.staleFor: /);
    const [none = ''] = mistakes(`${head}spec:\n  mode: Enforce\n`);
    assert.match(none, /^4: spec\.selector: write selector: /);
  });

  test('what is no policy, or no YAML, or nothing at all', () => {
    assert.deepEqual(mistakes('kind: Pod\nmetadata: {name: x}\n'), [
      '1: every document has to be a RemedyPolicy with a name',
    ]);
    assert.deepEqual(mistakes('kind: RemedyPolicy\n'), ['1: every document has to be a RemedyPolicy with a name']);
    assert.deepEqual(mistakes(''), ['1: write a RemedyPolicy; there is none']);
    assert.deepEqual(mistakes('# only this\n---\n'), ['1: write a RemedyPolicy; there is none']);
    assert.deepEqual(mistakes('7'), ['1: every document has to be a RemedyPolicy with a name']);
    assert.match(mistakes(`${head}spec: {allNodes: true\n`)[0] ?? '', /^\d: /);
  });

  test('what never ends is refused', () => {
    assert.match(
      mistakes(`${head}spec: &a {allNodes: true, fence: *a}\n`)[0] ?? '',
      /^1: an alias stands for too much/,
    );
    const bomb = Array.from(
      { length: 12 },
      (_, at) =>
        `a${at}: &a${at} [${
          at === 0
            ? 'x'
            : Array(9)
                .fill(`*a${at - 1}`)
                .join(',')
        }]`,
    );
    assert.match(mistakes(bomb.join('\n'))[0] ?? '', /an alias stands for too much/);
    assert.equal(mistakes('['.repeat(30_000)).length > 0, true);
  });
});
