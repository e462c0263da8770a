/**
 * What stands before every write, and one mutant for each of it: the grounds that are read again, the preconditions by which
 * a write names the very object, the tests of a patch, and the question at the wire whether this instance still leads.
 */
import { globSync } from 'node:fs';
import { listsIn, mutantsOf } from './lists.ts';
import type { Mutant, MutantKind } from './mutant.ts';
import type { Source, Span } from './source.ts';
import { edited, endOf, homeOf, matchesIn, partsOf, root, sourceOf, textOf, without } from './source.ts';

const grounds = 'src/act/grounds.ts';
const client = 'src/kube/client.ts';

/** How many of each there are at least: fewer, and the house has changed in a way that this file does not see. */
const least: Record<MutantKind, number> = { check: 0, grounds: 63, precondition: 25, test: 10, guard: 10 };

export function actMutants(): Mutant[] {
  const found = [...groundMutants(), ...preconditionMutants(), ...testMutants(), ...guardMutants()];
  for (const [kind, count] of Object.entries(least)) {
    const here = found.filter((mutant) => mutant.kind === kind).length;
    if (here < count) throw new Error(`only ${here} mutants of ${kind} are found, and there were ${count}`);
  }
  return distinct(found);
}

/** Several in one place are numbered in their order. */
function distinct(mutants: readonly Mutant[]): Mutant[] {
  const all = Map.groupBy(mutants, ({ id }) => id);
  return mutants.map((mutant) => {
    const same = all.get(mutant.id) ?? [];
    return same.length === 1 ? mutant : { ...mutant, id: `${mutant.id} (${same.indexOf(mutant) + 1})` };
  });
}

function filesOf(...patterns: string[]): Source[] {
  return globSync(patterns, { cwd: root, exclude: ['**/*.test.ts'] })
    .sort()
    .map((file) => sourceOf(file));
}

function groundMutants(): Mutant[] {
  const compared = listsIn(sourceOf(grounds)).flatMap(mutantsOf);
  const refusals = filesOf('src/act/*.ts').flatMap((source) => refusalsIn(source));
  const verified = filesOf('src/act/*.ts').flatMap((source) => verifiesIn(source));
  return [...compared, ...refusals, ...verified, ...machineMutants()].map((mutant) => ({ ...mutant, kind: 'grounds' }));
}

/** Answers by which an act is held back because something is not, or no longer, as it was decided on. */
const refusal = /(?<!function )\bchanged\(|\{ kind: '[^']*',(?= act, what| what)|\{\s*outcome: '[^']*',\s*(?=why)/g;

function refusalsIn(source: Source): Mutant[] {
  return matchesIn(source, refusal)
    .filter(({ index }) => isRefusal(textOf(source, { start: index, end: endOf(source, bracketFrom(source, index)) })))
    .map(({ index }) => {
      const end = endOf(source, bracketFrom(source, index));
      const what = wordsOf(textOf(source, { start: index, end }));
      return {
        id: `${source.file} ${homeOf(source, index)} without "${what}"`,
        kind: 'grounds',
        changes: { [source.file]: withoutRefusal(source, { start: index, end }) },
      };
    });
}

function bracketFrom({ code }: Source, at: number): number {
  return at + code.slice(at).search(/[({]/);
}

/** Not what passes an answer on, and not what the function for it returns. */
function isRefusal(text: string): boolean {
  return /^changed\(`|kind: '(?:changed|unconfirmed)'.*what: `|outcome: 'refused'.*why: `/s.test(text);
}

/** The constant words of its message. */
function wordsOf(text: string): string {
  return wordsIn(/`([^`]*)`/.exec(text)?.[1] ?? '');
}

function wordsIn(message: string): string {
  return message.replaceAll(/\$\{[^}]*\}/g, '…');
}

/** The statement that gives this answer goes, with its condition; in another place the answer becomes none. */
function withoutRefusal(source: Source, { start, end }: Span): string {
  const { code } = source;
  const head = code.slice(0, start);
  const block = /\{\s*(?:const [^;]*;\s*)*return $/.exec(head);
  const from = block === null ? start : start - block[0].length;
  const opened = block === null ? /\)\s*return $/.exec(head) : /\) $/.exec(code.slice(0, from));
  if (opened === null) return edited(source, [{ start, end, instead: otherArm(source, start) }]);
  const close = opened.index;
  const open = openingOf(source, close);
  const keyword = code.slice(0, open).lastIndexOf('if ');
  const after = block === null ? code.indexOf(';', end) + 1 : endOf(source, from);
  return edited(source, [{ start: keyword, end: after, instead: '' }]);
}

/** Where it is one of two answers, the other one is given instead. */
function otherArm(source: Source, at: number): string {
  const found = /\? ([^?]*?)\s*: $/.exec(source.code.slice(0, at));
  return found === null
    ? 'undefined'
    : textOf(source, { start: found.index + 2, end: found.index + 2 + (found[1] ?? '').length });
}

function openingOf(source: Source, close: number): number {
  for (let at = close - 1; at >= 0; at -= 1) {
    if (source.code[at] === '(' && endOf(source, at) === close + 1) return at;
  }
  throw new Error(`${source.file}: nothing opens the bracket at ${close}`);
}

/** Where grounds are read: by a step that acts at once, and by what takes its time, when it comes to the point. */
function verifiesIn(source: Source): Mutant[] {
  return matchesIn(source, /await (?:\w+\.)?(verify|mayAct)\(/g).map(({ index, 0: call, 1: name }) => {
    const end = endOf(source, index + call.length - 1);
    return {
      id: `${source.file} ${homeOf(source, index)} without ${name}`,
      kind: 'grounds',
      changes: { [source.file]: edited(source, [{ start: index, end, instead: 'undefined as any' }]) },
    };
  });
}

/** By what a Machine is known to be that of the node. */
function machineMutants(): Mutant[] {
  const source = sourceOf('src/act/delete-machine.ts');
  const [home] = matchesIn(source, /^function whyAnother\(/gm);
  if (home === undefined) throw new Error(`${source.file} does not compare Machine and Node as it did`);
  const end = source.code.indexOf('\n}\n', home.index);
  return matchesIn(source, /(?<=return |\?\s*undefined\s*: )(['`])[^'`]*\1/g)
    .filter(({ index }) => index > home.index && index < end)
    .map((found) => ({
      id: `${source.file} whyAnother without "${wordsIn(textOf(source, spanOf(found)).slice(1, -1))}"`,
      kind: 'grounds',
      changes: { [source.file]: withoutRefusal(source, spanOf(found)) },
    }));
}

function preconditionMutants(): Mutant[] {
  const sources = filesOf('src/{act,storage}/*.ts');
  return [...sources.flatMap((source) => namedIn(source)), ...sources.flatMap((source) => replacesIn(source))];
}

/** What names the object of a write: handed to the client, or prepared for it. */
function namedIn(source: Source): Mutant[] {
  const handed = matchesIn(source, /client\.(?:delete|patch|evict)\(/g).flatMap(({ index, 0: call }) => {
    const only = partsOf(source, index + call.length - 1)[1];
    if (only === undefined) throw new Error(`${source.file}: a write without a precondition at ${index}`);
    const text = textOf(source, only);
    if (text !== 'only' && !text.startsWith('{')) throw new Error(`${source.file}: what is the precondition ${text}?`);
    return text.startsWith('{') ? [only.start] : [];
  });
  const prepared = matchesIn(source, /\bonly(?:: | = )(?=\{)/g).map(({ index, 0: before }) => index + before.length);
  return [...handed, ...prepared].flatMap((open) => {
    const place = `${source.file} ${caseOf(source, open)}`;
    return partsOf(source, open).map((part) => ({
      id: `${place} without ${/^\w+/.exec(textOf(source, part))?.[0]}`,
      kind: 'precondition' as const,
      changes: { [source.file]: without(source, part), ...lenientClient() },
    }));
  });
}

/** In a long switch the case as well. */
function caseOf(source: Source, at: number): string {
  const home = homeOf(source, at);
  const from = source.text.lastIndexOf(`function ${home}`, at);
  const found = from === -1 ? undefined : [...source.text.slice(from, at).matchAll(/^ {4}case '(\w+)'/gm)].at(-1);
  return found === undefined ? home : `${home} ${found[1]}`;
}

/** A client that sends a patch without a UID, where none is given; the product's would send one that no server takes. */
function lenientClient(): Record<string, string> {
  const source = sourceOf(client);
  const [strict] = matchesIn(source, /\[\{ op: '    ', path: '[^']*', value: only\.uid \}\]/g);
  if (strict === undefined) throw new Error(`${client} does not test the UID as it did`);
  const instead = `only.uid === undefined ? [] : ${textOf(source, spanOf(strict))}`;
  return { [client]: edited(source, [{ ...spanOf(strict), instead }]) };
}

function spanOf({ index, 0: text }: RegExpExecArray): Span {
  return { start: index, end: index + text.length };
}

/** Whatever the object has become meanwhile, it is replaced: as by somebody who reads it again just for its version. */
function replacesIn(source: Source): Mutant[] {
  return matchesIn(source, /([\w.#]*client)\.replace(?:<\w+>)?\(/g).map(({ index, 0: call, 1: client = '' }) => {
    const [ref, object] = partsOf(source, index + call.length - 1);
    if (ref === undefined || object === undefined) throw new Error(`${source.file}: a replace of nothing at ${index}`);
    const [of, next] = [textOf(source, ref), textOf(source, object)];
    const instead = `{ ...${next}, metadata: ((await ${client}.get(${of})) as any).value?.metadata ?? ${next}.metadata }`;
    return {
      id: `${source.file} ${homeOf(source, index)} without resourceVersion`,
      kind: 'precondition',
      changes: { [source.file]: edited(source, [{ ...object, instead }]) },
    };
  });
}

function testMutants(): Mutant[] {
  const literals = filesOf('src/{act,storage}/*.ts', 'src/kube/patches.ts', client).flatMap((source) =>
    matchesIn(source, /(?<=[[(,]\s*)\{ op: '    ',/g)
      .filter(({ index }) => source.text.startsWith("{ op: 'test'", index))
      .map(({ index }) => ({ source, part: { start: index, end: endOf(source, index) } })),
  );
  return literals.map(({ source, part }) => {
    const path = /path(?:: ([^,]*))?,/.exec(textOf(source, part))?.[1] ?? 'path';
    return {
      id: `${source.file} ${homeOf(source, part.start)} without test of ${path.replaceAll(/['`]/g, '')}`,
      kind: 'test',
      changes: { [source.file]: without(source, part) },
    };
  });
}

/** `guard` among the options of a call, or of those who make calls; and where the client takes it to the wire. */
function guardMutants(): Mutant[] {
  const handed = filesOf('src/act/*.ts').flatMap((source) =>
    matchesIn(source, /(?<=[{,]\s*)guard\b(?!: \(\) => true)/g).flatMap(({ index }) => {
      const open = enclosing(source, index);
      const part = partsOf(source, open).find(({ start }) => start === index);
      if (part === undefined || !isLiteral(source, { start: open, end: endOf(source, open) })) return [];
      const changes = { [source.file]: edited(source, [{ ...part, instead: 'guard: () => true' }]) };
      return [{ id: `${source.file} ${caseOf(source, index)} without guard`, kind: 'guard' as const, changes }];
    }),
  );
  const source = sourceOf(client);
  const [taken] = matchesIn(source, /request\.guard = options\.guard;/g);
  if (taken === undefined) throw new Error(`${client} does not take the guard to the wire as it did`);
  const changes = { [client]: edited(source, [{ ...spanOf(taken), instead: '{}' }]) };
  return [...handed, { id: `${client} ${homeOf(source, taken.index)} without guard`, kind: 'guard', changes }];
}

function enclosing(source: Source, at: number): number {
  for (let open = at - 1; open >= 0; open -= 1) {
    if (source.code[open] === '{' && endOf(source, open) > at) return open;
  }
  throw new Error(`${source.file}: nothing encloses ${at}`);
}

/** Not a type, and not what takes a value apart. */
function isLiteral({ code }: Source, { start, end }: Span): boolean {
  const before = code.slice(0, start);
  if (/(?:const|interface \w+(?: extends \w+)?) $/.test(before)) return false;
  return !/^\s*(?:=[^>=]|:)/.test(code.slice(end)) && /(?:[(,=]|return)\s*$/.test(before);
}
