/**
 * The documents keep what they promise: links lead somewhere, and requirement numbers mean something.
 *
 * A number in a test title is a claim about the product ("POD-2 holds"). A mistyped one would claim nothing and nobody
 * would notice, so each is looked up in docs/requirements.md.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'src/world/README.md',
  ...filesUnder('docs', '.md'),
];

/** How many requirements each family has, numbered from 1 without a gap. They are relied upon from outside. */
const families = {
  POD: 12,
  NGS: 12,
  DRN: 14,
  FEV: 9,
  REM: 9,
  FEN: 16,
  STM: 8,
  ADM: 8,
  EVD: 5,
  RET: 2,
  EXP: 4,
  SAF: 20,
  SEC: 6,
  USE: 4,
};
const invariantCount = 45;

for (const document of documents) {
  test(`${document} exists and its relative links lead to files and headings`, () => {
    assert.ok(existsSync(join(root, document)), `${document} is missing`);
    assert.deepEqual(brokenLinks(document), []);
  });
}

test('docs/requirements.md lists every requirement number exactly once', () => {
  const expected = Object.entries(families).flatMap(([family, count]) =>
    Array.from({ length: count }, (_, index) => `${family}-${index + 1}`),
  );
  assert.deepEqual(listed('docs/requirements.md').sort(), expected.sort());
});

test('docs/invariants.md lists every invariant exactly once', () => {
  const expected = Array.from({ length: invariantCount }, (_, index) => `S${index + 1}`);
  assert.deepEqual(listed('docs/invariants.md').sort(), expected.sort());
});

test('test titles cite only requirement numbers that exist, and nothing else in the same brackets', () => {
  const known = new Set(listed('docs/requirements.md'));
  const files = [...filesUnder('src', '.ts'), ...filesUnder('test', '.ts')];
  assert.ok(files.includes(relative(root, import.meta.filename)), 'the search does not even find this file');
  const wrong = files.flatMap((file) => wrongCitations(read(file), known).map((what) => `${file}: ${what}`));
  assert.deepEqual(wrong, []);
});

test('the checks find what they look for', () => {
  const known = new Set(['POD-2', 'POD-3']);
  // Put together from parts: written out, they would be found as citations in this file.
  const titled = (inside: string, call = 'test'): string => `${call}(\n  '[${inside}] a title', () => {});`;
  for (const good of ['POD-2', 'POD-2, POD-3', 'no number']) assert.deepEqual(wrongCitations(titled(good), known), []);
  for (const bad of [
    'POD-4',
    'POD-2, POD-4',
    'POD-2,POD-3',
    'POD-2 POD-3',
    'POD-2, later',
    'pod-2',
    'POD-02',
    'POD2',
  ]) {
    assert.equal(wrongCitations(titled(bad), known).length, 1, bad);
  }
  for (const call of ['it', 'test.skip', 'await t.test', 'describe', 'suite']) {
    assert.equal(wrongCitations(titled('POD-4', call), known).length, 1, call);
  }
  const fromTable = (inside: string): string => `const row = { title: "[${inside}] a title" };`;
  assert.equal(wrongCitations(fromTable('POD-4'), known).length, 1);

  assert.deepEqual(linkTargets('[a](b.md) ![c](d.png "e") `[f](g)` <a href="h.md">\n```\n[i](j)\n```\n[k]: l.md'), [
    'b.md',
    'd.png',
    'h.md',
    'l.md',
  ]);
  assert.deepEqual(
    [...anchors('# A `b`, c: d!\n## Twice\n## Twice\n```\n# no heading\n```\n<a id="own"></a>')],
    ['a-b-c-d', 'twice', 'twice-1', 'own'],
  );
});

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** Paths relative to the root, sorted. */
function filesUnder(folder: string, suffix: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .map((name) => join(folder, name))
    .sort();
}

/** The numbers that a document defines: those in bold at the head of a list entry. A mention elsewhere is no definition. */
function listed(document: string): string[] {
  return [...read(document).matchAll(/^- \*\*([A-Z]+-?\d+)\*\* /gm)].map((match) => match[1]!);
}

/**
 * Looks at the literal title of each test, and at any literal that begins like a citation: titles come from tables too.
 * Answers with the brackets that hold a number but are not a list of known ones.
 */
function wrongCitations(source: string, known: ReadonlySet<string>): string[] {
  const title = /\b(?:test|it|describe|suite)(?:\.\w+)?\(\s*(['"`])(.*?)(?<!\\)\1/gs;
  const literal = /(['"`])(\[[A-Za-z]{3}-?\d[^\]\n]*\])/g;
  const texts = [...source.matchAll(title), ...source.matchAll(literal)].map((match) => match[2]!);
  const brackets = texts.flatMap((text) => text.match(/\[[A-Za-z]{3}-?\d[^\]]*\]/g) ?? []);
  return [...new Set(brackets)].filter((bracket) => {
    const numbers = bracket.slice(1, -1).split(', ');
    return !numbers.every((number) => known.has(number));
  });
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^ *(```|~~~)[^]*?^ *\1[^\n]*$/gm, '');
}

function linkTargets(markdown: string): string[] {
  const text = withoutCode(markdown).replace(/(`+)[^]*?\1/g, '');
  const patterns = [
    /\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)/g,
    /\bhref="([^"]+)"/g,
    /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm,
  ];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1]!));
}

/** Headings as GitHub turns them into anchors, and anchors set by hand. */
function anchors(markdown: string): Set<string> {
  const text = withoutCode(markdown);
  const found = new Set<string>();
  for (const match of text.matchAll(/^#{1,6} +(.+?)[ #]*$/gm)) {
    const words = match[1]!.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    let unique = slug;
    for (let repeat = 1; found.has(unique); repeat += 1) unique = `${slug}-${repeat}`;
    found.add(unique);
  }
  for (const match of text.matchAll(/<a +(?:id|name)="([^"]+)"/g)) found.add(match[1]!);
  return found;
}

/** Links of a document that lead nowhere, each with what is wrong with it. Links with a scheme are not followed. */
function brokenLinks(document: string): string[] {
  return linkTargets(read(document)).flatMap((target) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return [];
    if (target.startsWith('/')) return [`${target}: not relative`];
    const [path = '', anchor] = target.split('#', 2);
    const file = path === '' ? join(root, document) : resolve(root, dirname(document), decodeURIComponent(path));
    if (relative(root, file).startsWith('..')) return [`${target}: outside of the project`];
    if (!existsSync(file)) return [`${target}: no such file`];
    if (anchor === undefined) return [];
    if (!statSync(file).isFile() || !file.endsWith('.md'))
      return [`${target}: an anchor in something without headings`];
    return anchors(readFileSync(file, 'utf8')).has(anchor) ? [] : [`${target}: no such heading`];
  });
}
