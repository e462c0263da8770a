/** JSON Patch (RFC 6902) on values that must not change: what lies on the way to a change is copied, the rest shared. */
import { isRecord, sameJson } from './object.ts';
import type { JsonRecord } from './object.ts';

/** The message is what the API server says, since clients tell a failed test by it. */
export class JsonPatchError extends Error {
  readonly isTest: boolean;

  constructor(message: string, isTest = false) {
    super(message);
    this.isTest = isTest;
  }
}

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

export function applyJsonPatch(document: unknown, operations: readonly unknown[]): unknown {
  let result = document;
  for (const operation of operations) {
    if (!isRecord(operation)) throw new JsonPatchError('Unexpected kind: unknown');
    result = applyOne(result, operation as unknown as Operation);
  }
  return result;
}

function applyOne(document: unknown, operation: Operation): unknown {
  const { op, path } = operation;
  switch (op) {
    case 'add':
      return change(document, keysOf(path), { op, path, value: operation.value });
    case 'replace':
    case 'remove':
      return change(document, keysOf(path), { op, path, value: operation.value });
    case 'test':
      testValue(document, operation);
      return document;
    case 'copy':
    case 'move': {
      const from = operation.from ?? '';
      const value = read(document, keysOf(from), op, from);
      const rest =
        op === 'move' ? change(document, keysOf(from), { op: 'remove', path: from, value: undefined }) : document;
      return change(rest, keysOf(path), { op: 'add', path, value });
    }
    default:
      throw new JsonPatchError(`Unexpected kind: ${op}`);
  }
}

function keysOf(path: string): string[] {
  const keys = path.split('/').slice(1);
  return path.includes('~') ? keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')) : keys;
}

interface Change {
  op: 'add' | 'replace' | 'remove';
  path: string;
  value: unknown;
}

function missing({ op, path }: { op: string; path: string }): JsonPatchError {
  return new JsonPatchError(
    `${op} operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`,
  );
}

function change(container: unknown, keys: string[], step: Change): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) {
    if (step.op === 'remove') throw missing(step);
    return step.value;
  }
  if (Array.isArray(container)) return changeItem(container, key, rest, step);
  if (!isRecord(container)) throw missing(step);
  if (rest.length > 0) {
    if (container[key] === undefined) throw missing(step);
    return { ...container, [key]: change(container[key], rest, step) };
  }
  // Replacing what is not there adds it, as the library of the real server has it.
  if (step.op === 'remove' && !(key in container)) {
    throw new JsonPatchError(`remove operation does not apply: doc is missing path: ${step.path}: missing value`);
  }
  const copy: JsonRecord = { ...container };
  if (step.op === 'remove') delete copy[key];
  else copy[key] = step.value;
  return copy;
}

function changeItem(list: unknown[], key: string, rest: string[], step: Change): unknown[] {
  const copy = [...list];
  if (rest.length > 0) {
    const index = indexOf(list, key, step);
    copy[index] = change(list[index], rest, step);
    return copy;
  }
  if (step.op === 'add') {
    const index = key === '-' ? list.length : Number(key);
    if (!Number.isInteger(index) || index < 0 || index > list.length) throw outside(step, key);
    copy.splice(index, 0, step.value);
    return copy;
  }
  const index = indexOf(list, key, step);
  if (step.op === 'remove') copy.splice(index, 1);
  else copy[index] = step.value;
  return copy;
}

function outside({ op, path }: { op: string; path: string }, key: string): JsonPatchError {
  const wording =
    op === 'add'
      ? `add operation does not apply: doc is missing path: ${JSON.stringify(path)}`
      : `error in ${op} for path: '${path}'`;
  return new JsonPatchError(`${wording}: Unable to access invalid index: ${key}: invalid index referenced`);
}

function indexOf(list: unknown[], key: string, step: { op: string; path: string }): number {
  const index = Number(key);
  if (!Number.isInteger(index) || index < 0 || index >= list.length) throw outside(step, key);
  return index;
}

function read(document: unknown, keys: string[], op: string, path: string): unknown {
  let value = document;
  for (const [depth, key] of keys.entries()) {
    if (Array.isArray(value)) {
      const index = Number(key);
      if (!Number.isInteger(index) || index < 0 || index >= value.length) throw outside({ op, path }, key);
      value = value[index];
    } else if (isRecord(value)) value = value[key];
    else value = undefined;
    if (value === undefined && depth < keys.length - 1) throw missing({ op, path });
  }
  return value;
}

function testValue(document: unknown, { path, value }: Operation): void {
  const actual = read(document, keysOf(path), 'test', path);
  if (actual === undefined && (value === null || value === undefined)) return;
  if (!sameJson(actual, value)) throw new JsonPatchError(`testing value ${path} failed: test failed`, true);
}
