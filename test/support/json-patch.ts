/** JSON Patch (RFC 6902) as the API server applies it, for what its clients here send: all or nothing. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOperation } from '../../src/kube/client.ts';

export class PatchConflict extends Error {}

type Json = Record<string, unknown> | unknown[];

export function applyJsonPatch<T extends object>(document: T, operations: readonly JsonPatchOperation[]): T {
  const copy = structuredClone(document);
  for (const operation of operations) apply(copy as Json, operation);
  return copy;
}

function apply(document: Json, operation: JsonPatchOperation): void {
  const keys = operation.path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() ?? '';
  let parent: unknown = document;
  for (const key of keys) parent = isContainer(parent) ? childOf(parent, key) : undefined;
  if (!isContainer(parent)) throw new PatchConflict(`${operation.op} ${operation.path}: missing path`);
  switch (operation.op) {
    case 'test': {
      const found = childOf(parent, last);
      if (!isDeepStrictEqual(found ?? null, structuredClone(operation.value))) {
        throw new PatchConflict(`testing value ${operation.path} failed: test failed`);
      }
      break;
    }
    case 'add':
      if (Array.isArray(parent))
        parent.splice(last === '-' ? parent.length : indexIn(parent, last), 0, operation.value);
      else setOwn(parent, last, operation.value);
      break;
    case 'replace':
      if (childOf(parent, last) === undefined) throw new PatchConflict(`replace ${operation.path}: missing value`);
      if (Array.isArray(parent)) parent[indexIn(parent, last)] = operation.value;
      else setOwn(parent, last, operation.value);
      break;
    case 'remove':
      if (childOf(parent, last) === undefined) throw new PatchConflict(`remove ${operation.path}: missing value`);
      if (Array.isArray(parent)) parent.splice(indexIn(parent, last), 1);
      else delete parent[last];
      break;
  }
}

function isContainer(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

function childOf(parent: Json, key: string): unknown {
  if (Array.isArray(parent)) return parent[indexIn(parent, key)];
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function indexIn(list: unknown[], key: string): number {
  if (!/^(0|[1-9]\d*)$/.test(key) || Number(key) > list.length) {
    throw new PatchConflict(`unable to access invalid index: ${key}`);
  }
  return Number(key);
}

/** Also for `__proto__`, which is a legal key. */
function setOwn(parent: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
}
