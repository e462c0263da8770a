/**
 * Reads a YAML document into typed values and remembers where everything stands. Whatever is wrong is collected, so
 * that one look at the message mends the whole file: each problem names the file, the line and what to write instead.
 */
import { nearest } from '../api/nearest.ts';
import type { Document, Node as YamlNode } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import { parseDuration } from '../api/duration.ts';

/** Everything that is wrong with a file, one line each. */
export class ScenarioError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** A value in the file. */
export interface Place {
  readonly file: File;
  readonly document: Document;
  readonly node: YamlNode | null | undefined;
  /** `spec.events[2].powerOff` */
  readonly path: string;
}

export type Read<T> = (place: Place) => T;

export class File {
  readonly name: string;
  readonly #lines = new LineCounter();
  readonly documents: Document.Parsed[];

  constructor(name: string, text: string) {
    this.name = name;
    this.documents = [...parseAllDocuments(text, { lineCounter: this.#lines })];
    const problems = this.documents.flatMap(({ errors }) =>
      errors.map(({ pos, message }) => `${this.where(pos[0])}: ${message.split('\n', 1)[0]}`),
    );
    if (problems.length > 0) throw new ScenarioError(problems);
  }

  where(offset: number): string {
    return `${this.name}:${this.#lines.linePos(offset).line}`;
  }
}

export function whereOf({ file, node }: Place): string {
  return file.where(node?.range?.[0] ?? 0);
}

export function problem(place: Place, message: string): never {
  throw new ScenarioError([`${whereOf(place)}: ${place.path === '' ? '' : `${place.path}: `}${message}`]);
}

type Shape<T> = { [K in keyof T]-?: Read<Exclude<T[K], undefined>> };

/** The fields of a map; none is required. Unknown keys are refused with the nearest one that exists. */
export function fields<T extends object>(shape: Shape<T>): Read<Partial<T>> {
  return (place) => {
    const entries = entriesOf(place);
    const problems: string[] = [];
    const result: Partial<T> = {};
    for (const { key, keyPlace } of entries) {
      if (!Object.hasOwn(shape, key)) problems.push(unknownKey(keyPlace, key, place.path, Object.keys(shape)));
    }
    // In the order of the shape, so that what comes later may rely on what was read before.
    for (const name of Object.keys(shape) as (keyof T & string)[]) {
      const entry = entries.find(({ key }) => key === name);
      if (entry === undefined || isNothing(entry.value)) continue;
      collect(problems, () => {
        result[name] = shape[name](entry.value);
      });
    }
    if (problems.length > 0) throw new ScenarioError(problems);
    return result;
  };
}

/** Fields of which some must be there. */
export function record<T extends object>(shape: Shape<T>, required: (keyof T & string)[]): Read<T> {
  const read = fields(shape);
  return (place) => {
    const value = read(place);
    const missing = required.filter((key) => value[key] === undefined);
    if (missing.length > 0) problem(place, `${missing.join(' and ')} must be given`);
    return value as T;
  };
}

export interface Entry {
  key: string;
  keyPlace: Place;
  value: Place;
}

export function entriesOf(written: Place): Entry[] {
  const place = resolved(written);
  const { node, path } = place;
  if (!isMap(node)) return problem(place, `expected a map, found ${kindOf(place)}`);
  return node.items.map(({ key, value }) => {
    const name = isScalar(key) ? String(key.value) : String(key);
    const at = (inner: unknown): Place => ({
      ...place,
      node: inner as YamlNode,
      path: path === '' ? name : `${path}.${name}`,
    });
    return { key: name, keyPlace: at(key), value: at(value) };
  });
}

export function unknownKey(keyPlace: Place, key: string, parent: string, valid: readonly string[]): string {
  const inside = parent === '' ? '' : ` in ${parent}`;
  return `${whereOf(keyPlace)}: unknown key "${key}"${inside}; did you mean "${nearest(key, valid)}"?`;
}

export function list<T>(item: Read<T>): Read<T[]> {
  return (written) => {
    const place = resolved(written);
    if (!isSeq(place.node)) problem(place, `expected a list, found ${kindOf(place)}`);
    const problems: string[] = [];
    const result: T[] = [];
    for (const [index, node] of place.node.items.entries()) {
      collect(problems, () => result.push(item({ ...place, node: node as YamlNode, path: `${place.path}[${index}]` })));
    }
    if (problems.length > 0) throw new ScenarioError(problems);
    return result;
  };
}

export const text: Read<string> = (place) => {
  const value = scalar(place);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : problem(place, `expected a text, found ${kindOf(place)}`);
};

export const flag: Read<boolean> = (place) => {
  const value = scalar(place);
  return typeof value === 'boolean' ? value : problem(place, `expected true or false, found ${kindOf(place)}`);
};

export function whole(least: number, most = Infinity): Read<number> {
  return (place) => {
    const value = scalar(place);
    const isWhole = typeof value === 'number' && Number.isSafeInteger(value);
    if (isWhole && value >= least && value <= most) return value;
    const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
    return problem(place, `expected a whole number ${range}, found ${kindOf(place)}`);
  };
}

export const duration: Read<number> = (place) => {
  const value = scalar(place);
  const ms = typeof value === 'string' ? parseDuration(value) : value === 0 ? 0 : undefined;
  return ms ?? problem(place, `expected a duration such as 90s or 5m30s, found ${kindOf(place)}`);
};

/** `-10m` too. */
export const signedDuration: Read<number> = (place) => {
  const value = scalar(place);
  const negative = typeof value === 'string' && value.startsWith('-');
  const ms = typeof value === 'string' ? parseDuration(negative ? value.slice(1) : value) : undefined;
  if (ms === undefined) problem(place, `expected a duration such as 10m or -10m, found ${kindOf(place)}`);
  return negative ? -ms : ms;
};

export function oneOf<const T extends string>(values: readonly T[]): Read<T> {
  return (place) => {
    // YAML reads an unquoted True or False as a boolean.
    const value = scalar(place);
    const written = typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
    const found = values.find((one) => one === written);
    if (found !== undefined) return found;
    return problem(place, `"${written}" is not known here; did you mean "${nearest(written, values)}"?`);
  };
}

export function textMap<T>(item: Read<T>): Read<Record<string, T>> {
  return (place) => Object.fromEntries(entriesOf(place).map(({ key, value }) => [key, item(value)]));
}

export function scalar(place: Place): unknown {
  const { node } = resolved(place);
  return isScalar(node) ? node.value : undefined;
}

/** Not what an alias makes endless: nobody could write it down, and an API server would not take it. */
export function plain(place: Place): unknown {
  let value: unknown;
  try {
    value = place.node?.toJS(place.document) ?? null;
  } catch (error) {
    // What the parser does not resolve: an alias of nothing, or more of them than anybody writes.
    if (!(error instanceof ReferenceError)) throw error;
    return problem(place, `${error.message}: write it out`);
  }
  if (isInItself(value)) problem(place, 'an alias stands for what it is part of, which never ends: write it out');
  return value;
}

function isInItself(value: unknown, around: readonly unknown[] = []): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (around.includes(value)) return true;
  return Object.values(value).some((inner) => isInItself(inner, [...around, value]));
}

export function isNothing({ node }: Place): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null);
}

/** The thing itself where an alias stands for it. */
export function resolved(place: Place): Place {
  return isAlias(place.node) ? { ...place, node: place.node.resolve(place.document) } : place;
}

export function kindOf(place: Place): string {
  if (isNothing(place)) return 'nothing';
  if (isMap(place.node)) return 'a map';
  return isSeq(place.node) ? 'a list' : JSON.stringify(scalar(place));
}

function collect(problems: string[], work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    problems.push(...error.problems);
  }
}
