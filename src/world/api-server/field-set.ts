/**
 * Sets of fields in the notation of managedFields: `f:` a member, `k:` an item of a keyed list, `v:` a value of a set.
 * An empty object is a field that is in the set; `.` says so of one that has others below it. Sets are never changed.
 */
import type { JsonRecord } from './object.ts';
import { isRecord, sameJson } from './object.ts';
import type { Shape } from './shapes.ts';
import { memberShape } from './shapes.ts';

export interface FieldSet {
  [key: string]: FieldSet;
}

export const leaf: FieldSet = Object.freeze({});

function isMember(set: FieldSet | undefined): boolean {
  if (set === undefined) return false;
  if (set['.'] !== undefined) return true;
  for (const _key in set) return false;
  return true;
}

export function isEmptySet(set: FieldSet): boolean {
  for (const _key in set) return false;
  return true;
}

/** Both given as the children of the same parent. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = { ...a };
  for (const key in b) {
    const right = b[key] as FieldSet;
    const left = result[key];
    if (left === undefined) result[key] = right;
    else if (left !== right) result[key] = joined(left, right);
  }
  return result;
}

function joined(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(left) && isEmptySet(right)) return left;
  const both = union(left, right);
  return isMember(left) || isMember(right) ? { '.': leaf, ...both } : both;
}

export function subtract(a: FieldSet, b: FieldSet): FieldSet {
  let result: FieldSet | undefined;
  for (const key in b) {
    const left = a[key];
    if (left === undefined || key === '.') continue;
    const rest = without(left, b[key] as FieldSet);
    if (rest === left) continue;
    result ??= { ...a };
    if (rest === undefined) delete result[key];
    else result[key] = rest;
  }
  return result ?? a;
}

function without(left: FieldSet, right: FieldSet): FieldSet | undefined {
  const stays = isMember(left) && !isMember(right);
  const below = subtract(left, right);
  const { '.': _self, ...children } = below;
  if (isEmptySet(children)) return stays ? leaf : undefined;
  if (stays === isMember(left) && below === left) return left;
  return stays ? { '.': leaf, ...children } : children;
}

export function intersect(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = {};
  for (const key in b) {
    const left = a[key];
    if (left === undefined || key === '.') continue;
    const right = b[key] as FieldSet;
    const below = intersect(left, right);
    const both = isMember(left) && isMember(right);
    if (isEmptySet(below)) {
      if (both) result[key] = leaf;
    } else result[key] = both ? { '.': leaf, ...below } : below;
  }
  return result;
}

export function contains(a: FieldSet, b: FieldSet): boolean {
  for (const key in b) {
    if (key === '.') continue;
    const left = a[key];
    const right = b[key] as FieldSet;
    if (left === undefined || (isMember(right) && !isMember(left)) || !contains(left, right)) return false;
  }
  return true;
}

/**
 * Objects that are part of every object of their kind, said or not: nobody adds them. Whoever adds any other map, list
 * or object owns that itself, too.
 */
const alwaysThere = new Set([
  'metadata',
  'spec',
  'status',
  'template',
  'containers',
  'updateStrategy',
  'strategy',
  'source',
]);

export function itemKey(item: JsonRecord, keys: readonly string[]): string {
  const chosen = [...keys].sort().map((key) => [key, item[key]] as const);
  return `k:${JSON.stringify(Object.fromEntries(chosen))}`;
}

export interface SetOptions {
  /** Whether a container counts itself, as it does for updates but not for applies. */
  marks: boolean;
  /** In the item of a list nothing was there before. */
  inItem?: boolean;
}

/** All fields of a value. */
export function setOf(value: unknown, shape: Shape | undefined, options: SetOptions): FieldSet {
  if (shape?.atomic) return leaf;
  if (Array.isArray(value)) return setOfList(value, shape, options);
  if (!isRecord(value)) return leaf;
  const result: FieldSet = {};
  for (const key in value) {
    if (value[key] === undefined) continue;
    const below = setOf(value[key], memberShape(shape, key), options);
    const marked = options.marks && (options.inItem || !alwaysThere.has(key));
    result[`f:${key}`] = marked ? marking(below) : below;
  }
  return result;
}

function marking(set: FieldSet): FieldSet {
  return isEmptySet(set) ? set : { '.': leaf, ...set };
}

function setOfList(list: unknown[], shape: Shape | undefined, { marks }: SetOptions): FieldSet {
  const result: FieldSet = {};
  if (shape?.set) {
    for (const item of list) result[`v:${JSON.stringify(item)}`] = leaf;
    return result;
  }
  if (shape?.keys === undefined) return leaf;
  for (const item of list) {
    if (!isRecord(item)) return leaf;
    result[itemKey(item, shape.keys)] = marking(setOf(item, shape.item, { marks, inItem: true }));
  }
  return result;
}

export interface Difference {
  /** Added or of another value. */
  changed: FieldSet;
  removed: FieldSet;
}

/** What lies below a member that differs; undefined: nothing does. */
export function difference(before: unknown, after: unknown, shape: Shape | undefined): Difference | undefined {
  if (before === after) return undefined;
  if (shape?.atomic || !isComparable(before, after, shape)) {
    return sameJson(before, after) ? undefined : { changed: setOf(after, shape, added), removed: leaf };
  }
  if (Array.isArray(before)) return listDifference(before, after as unknown[], shape ?? {});
  const result: Difference = { changed: {}, removed: {} };
  const left = before as JsonRecord;
  const right = after as JsonRecord;
  for (const key in right) {
    if (left[key] === right[key] || right[key] === undefined) continue;
    addMember(result, `f:${key}`, { left: left[key], right: right[key] }, memberShape(shape, key));
  }
  for (const key in left) {
    if (right[key] !== undefined || left[key] === undefined) continue;
    result.removed[`f:${key}`] = marking(setOf(left[key], memberShape(shape, key), added));
  }
  return isEmptySet(result.changed) && isEmptySet(result.removed) ? undefined : result;
}

function isComparable(before: unknown, after: unknown, shape: Shape | undefined): boolean {
  if (Array.isArray(before) && Array.isArray(after)) {
    return shape?.set === true || (shape?.keys !== undefined && [...before, ...after].every(isRecord));
  }
  return isRecord(before) && isRecord(after);
}

function addMember(
  result: Difference,
  key: string,
  { left, right }: { left: unknown; right: unknown },
  shape: Shape | undefined,
): void {
  if (left === undefined) {
    const set = setOf(right, shape, added);
    result.changed[key] = alwaysThere.has(key.slice(2)) ? set : marking(set);
    return;
  }
  const below = difference(left, right, shape);
  if (below === undefined) return;
  const { changed, removed } = below;
  if (!isRecord(right) && !Array.isArray(right)) result.changed[key] = leaf;
  else {
    if (!isEmptySet(changed) || isEmptySet(removed)) result.changed[key] = changed;
    if (!isEmptySet(removed)) result.removed[key] = removed;
  }
}

const added: SetOptions = { marks: true };

function ofItem(item: unknown, shape: Shape): FieldSet {
  return shape.set ? leaf : marking(setOf(item, shape.item, { marks: true, inItem: true }));
}

function listDifference(before: unknown[], after: unknown[], shape: Shape): Difference | undefined {
  const idOf = (item: unknown): string =>
    shape.set ? `v:${JSON.stringify(item)}` : itemKey(item as JsonRecord, shape.keys ?? []);
  const left = new Map(before.map((item) => [idOf(item), item]));
  const right = new Map(after.map((item) => [idOf(item), item]));
  const result: Difference = { changed: {}, removed: {} };
  for (const [id, item] of right) {
    if (!left.has(id)) result.changed[id] = ofItem(item, shape);
    else if (!shape.set) addMember(result, id, { left: left.get(id), right: item }, shape.item);
  }
  for (const [id, item] of left) {
    if (!right.has(id)) result.removed[id] = ofItem(item, shape);
  }
  return isEmptySet(result.changed) && isEmptySet(result.removed) ? undefined : result;
}

/** The paths of a set as people read them: `.spec.replicas`, `.spec.containers[name="a"].image`. */
export function pathsOf(set: FieldSet, prefix = ''): string[] {
  return Object.keys(set).flatMap((key) => {
    if (key === '.') return [];
    const below = set[key] as FieldSet;
    const path = prefix + pathPart(key);
    return [...(isMember(below) ? [path] : []), ...pathsOf(below, path)];
  });
}

function pathPart(key: string): string {
  const body = key.slice(2);
  if (key.startsWith('f:')) return `.${body}`;
  if (key.startsWith('v:')) return `[=${body}]`;
  const entries = Object.entries(JSON.parse(body) as JsonRecord).map(
    ([name, value]) => `${name}=${JSON.stringify(value)}`,
  );
  return `[${entries.join(',')}]`;
}
