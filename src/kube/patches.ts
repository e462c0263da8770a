/**
 * JSON patches that change one thing of an object which others write too (S8).
 *
 * Each is made from the object as it was read, and begins with a `test` of what it rests on: whatever somebody changed
 * there meanwhile makes the whole patch fail as a conflict, and is never overwritten. Everything else of the object may
 * change meanwhile. An empty answer means that there is nothing to do.
 *
 * To test that something is absent, its value is compared with null. That is how the API server reads it; RFC 6902
 * leaves it open. Patches of different fields can be joined to one; two of the same list cannot, because the second
 * was made from the list as it was before the first.
 */
import type { JsonPatchOperation, KubeObject } from './client.ts';

export interface Taint {
  key: string;
  effect: string;
  value?: string;
  timeAdded?: string;
}

export interface NodeLike extends KubeObject {
  spec?: { taints?: Taint[]; unschedulable?: boolean };
}

/** A taint is known by key and effect: one that has another value is replaced in its place. */
export function addTaint(node: NodeLike, taint: Taint): JsonPatchOperation[] {
  const taints = node.spec?.taints;
  const index = taints?.findIndex((other) => isSameTaint(other, taint)) ?? -1;
  const known = taints?.[index];
  if (known === undefined) return append('/spec/taints', taints, taint);
  if (known.value === taint.value && (taint.timeAdded === undefined || known.timeAdded === taint.timeAdded)) return [];
  const path = `/spec/taints/${index}`;
  return [
    { op: 'test', path, value: known },
    { op: 'replace', path, value: taint },
  ];
}

export function removeTaint(node: NodeLike, taint: Pick<Taint, 'key' | 'effect'>): JsonPatchOperation[] {
  return removeAt('/spec/taints', node.spec?.taints, (other) => isSameTaint(other, taint));
}

export function cordon(node: NodeLike): JsonPatchOperation[] {
  const before = node.spec?.unschedulable;
  if (before === true) return [];
  return [
    { op: 'test', path: '/spec/unschedulable', value: before ?? null },
    { op: 'add', path: '/spec/unschedulable', value: true },
  ];
}

/** Nothing but true is ever stored there, and what is not there cannot be removed: no test is needed. */
export function uncordon(node: NodeLike): JsonPatchOperation[] {
  return node.spec?.unschedulable === true ? [{ op: 'remove', path: '/spec/unschedulable' }] : [];
}

export function setAnnotation(object: KubeObject, key: string, value: string): JsonPatchOperation[] {
  return setEntry('/metadata/annotations', object.metadata.annotations, key, value);
}

export function removeAnnotation(object: KubeObject, key: string): JsonPatchOperation[] {
  return removeEntry('/metadata/annotations', object.metadata.annotations, key);
}

/** Several at once; undefined takes one away. */
export function setAnnotations(
  object: KubeObject,
  changes: Readonly<Record<string, string | undefined>>,
): JsonPatchOperation[] {
  const path = '/metadata/annotations';
  const operations: JsonPatchOperation[] = [];
  let { annotations } = object.metadata;
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) {
      operations.push(...removeEntry(path, annotations, key));
      continue;
    }
    operations.push(...setEntry(path, annotations, key, value));
    annotations = { ...annotations, [key]: value };
  }
  return operations;
}

export function setLabel(object: KubeObject, key: string, value: string): JsonPatchOperation[] {
  return setEntry('/metadata/labels', object.metadata.labels, key, value);
}

export function removeLabel(object: KubeObject, key: string): JsonPatchOperation[] {
  return removeEntry('/metadata/labels', object.metadata.labels, key);
}

export function addFinalizer(object: KubeObject, finalizer: string): JsonPatchOperation[] {
  const { finalizers } = object.metadata;
  return finalizers?.includes(finalizer) ? [] : append('/metadata/finalizers', finalizers, finalizer);
}

export function removeFinalizer(object: KubeObject, finalizer: string): JsonPatchOperation[] {
  return removeAt('/metadata/finalizers', object.metadata.finalizers, (other) => other === finalizer);
}

function isSameTaint(a: Pick<Taint, 'key' | 'effect'>, b: Pick<Taint, 'key' | 'effect'>): boolean {
  return a.key === b.key && a.effect === b.effect;
}

/** Tests the whole list: somebody may have added the same entry, and a list must not hold it twice. */
function append(path: string, list: readonly unknown[] | undefined, entry: unknown): JsonPatchOperation[] {
  if (list === undefined) {
    return [
      { op: 'test', path, value: null },
      { op: 'add', path, value: [entry] },
    ];
  }
  return [
    { op: 'test', path, value: list },
    { op: 'add', path: `${path}/-`, value: entry },
  ];
}

/** Tests the entry in its place only: others may have added theirs after it. */
function removeAt<T>(path: string, list: readonly T[] | undefined, isIt: (entry: T) => boolean): JsonPatchOperation[] {
  const index = list?.findIndex(isIt) ?? -1;
  if (index === -1) return [];
  return [
    { op: 'test', path: `${path}/${index}`, value: list?.[index] },
    { op: 'remove', path: `${path}/${index}` },
  ];
}

function setEntry(
  path: string,
  map: Readonly<Record<string, string>> | undefined,
  key: string,
  value: string,
): JsonPatchOperation[] {
  if (map === undefined) {
    return [
      { op: 'test', path, value: null },
      { op: 'add', path, value: { [key]: value } },
    ];
  }
  const before = entryOf(map, key);
  if (before === value) return [];
  const entry = `${path}/${escapePointer(key)}`;
  return [
    { op: 'test', path: entry, value: before ?? null },
    { op: 'add', path: entry, value },
  ];
}

function removeEntry(
  path: string,
  map: Readonly<Record<string, string>> | undefined,
  key: string,
): JsonPatchOperation[] {
  const before = map === undefined ? undefined : entryOf(map, key);
  if (before === undefined) return [];
  const entry = `${path}/${escapePointer(key)}`;
  return [
    { op: 'test', path: entry, value: before },
    { op: 'remove', path: entry },
  ];
}

/** Not what an object inherits: `constructor` is a legal label. */
function entryOf(map: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
