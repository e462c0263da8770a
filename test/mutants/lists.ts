/** Every list of questions in the rooms of rules, and one mutant for each entry of it: the same list without that one. */
import { globSync } from 'node:fs';
import type { Mutant } from './mutant.ts';
import type { Source, Span } from './source.ts';
import { endOf, homeOf, matchesIn, partsOf, root, sourceOf, textOf, without } from './source.ts';

const rooms = ['judge', 'remedy', 'fence', 'release', 'return', 'drain', 'decide'];

/** Who renames or moves one of these says so here; it must not drop out because nobody finds it any more. */
const known = [
  'src/decide/concern.ts concerns',
  'src/drain/checks.ts rules.allow-if-replica-is-stopped.checks',
  'src/drain/checks.ts rules.block-for-eviction-if-contains-last-replica.checks',
  'src/drain/checks.ts rules.block-for-eviction.checks',
  'src/drain/checks.ts rules.block-if-contains-last-replica.checks',
  'src/judge/judge-node.ts checks',
  'src/release/by-assertion.ts checks',
  'src/release/by-assertion.ts kinds',
  'src/release/by-kernel-crash.ts checks',
  'src/release/by-policy.ts deletionChecks',
  'src/release/by-policy.ts recoveryChecks',
  'src/release/by-power.ts checks',
  'src/release/by-remedy.ts checks',
  'src/release/by-safe-detach.ts checks',
  'src/release/by-storage-fence.ts checks',
  'src/release/latecomers.ts reasonsToStay',
  'src/release/release-node.ts ways',
];

export interface List {
  source: Source;
  /** Such as `rules.block-for-eviction.checks`. */
  name: string;
  parts: Span[];
}

export function ruleFiles(): string[] {
  return globSync(`src/{${rooms.join(',')}}/*.ts`, { cwd: root, exclude: ['**/*.test.ts'] }).sort();
}

export function listMutants(): Mutant[] {
  const lists = ruleFiles().flatMap((file) => listsIn(sourceOf(file)));
  const names = lists.map(({ source, name }) => `${source.file} ${name}`);
  const lost = known.filter((name) => !names.includes(name));
  if (lost.length > 0) throw new Error(`these lists are not found any more: ${lost.join(', ')}`);
  return lists.flatMap(mutantsOf);
}

export function mutantsOf({ source, name, parts }: List): Mutant[] {
  return parts.map((part) => ({
    id: `${source.file} ${name} without ${labelOf(source, part)}`,
    kind: 'check',
    changes: { [source.file]: without(source, part) },
    ...(isName(textOf(source, part)) ? { probe: part } : {}),
  }));
}

/** Lists whose entries are functions or values of this house, and typed lists of objects at the top level of a file. */
export function listsIn(source: Source): List[] {
  const names = namesIn(source);
  return matchesIn(source, /(?<=[=:(,[]\s*)\[/g).flatMap(({ index }) => {
    const parts = partsOf(source, index);
    const isOfNames = parts.length > 0 && parts.every((part) => names.has(textOf(source, part)));
    const isOfObjects = /^(?:export )?const \w+: (?:readonly )?\w+\[\] = $/m.test(lineBefore(source, index));
    return isOfNames || (isOfObjects && parts.length > 0) ? [{ source, name: pathOf(source, index), parts }] : [];
  });
}

function lineBefore({ text }: Source, at: number): string {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
}

/** Functions of the file, and what it imports other than types. */
function namesIn(source: Source): Set<string> {
  const own = matchesIn(source, /^(?:export )?(?:async )?function (\w+)/gm).map(([, name = '']) => name);
  const imported = matchesIn(source, /^import \{([^}]*)\}/gm).flatMap(([, inside = '']) =>
    inside.split(',').map((name) => name.trim()),
  );
  return new Set([...own, ...imported].filter((name) => name !== '' && !name.startsWith('type ')));
}

/** The names of the properties in which it stands, from the constant down. */
function pathOf(source: Source, at: number): string {
  const home = homeOf(source, at);
  const from = source.code.lastIndexOf(`const ${home}`, at);
  const path = [home];
  for (let open = from; open !== -1 && open < at;) {
    const next = source.code.slice(open + 1, at).search(/[([{]/);
    if (next === -1) break;
    open += next + 1;
    const end = endOf(source, open);
    if (end <= at) {
      open = end - 1;
      continue;
    }
    path.push(...propertyBefore(source, open));
  }
  path.push(...propertyBefore(source, at));
  return path.join('.');
}

function propertyBefore({ text }: Source, at: number): string[] {
  const found = /(?:(\w+)|'([^']+)'): $/.exec(text.slice(0, at));
  return found === null ? [] : [found[1] ?? found[2] ?? ''];
}

/** A name stands for itself, an object for its first property. */
function labelOf(source: Source, part: Span): string {
  const text = textOf(source, part);
  if (isName(text)) return text;
  const [first] = partsOf(source, part.start);
  if (first === undefined) throw new Error(`${source.file}: an entry without a name: ${text}`);
  return textOf(source, first).replace(/^\w+: /, '');
}

function isName(text: string): boolean {
  return /^\w+$/.test(text);
}
