/** Objects as the server stores them: plain values that nobody changes once they are stored. */
import type { OwnerReference } from '../objects/meta.ts';

export interface Meta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: unknown;
  [key: string]: unknown;
}

export type JsonRecord = Record<string, unknown>;

export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: Meta;
  spec?: JsonRecord;
  status?: JsonRecord;
  [key: string]: unknown;
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function recordsOf(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A plain value as text; nothing else has one. */
export function plainText(value: unknown, otherwise = ''): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : otherwise;
}

/** Value at a path of keys; undefined where there is none. */
export function at(value: unknown, ...path: string[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as JsonRecord)[key];
  }
  return current;
}

/** Equal as JSON: a member that is undefined is as good as absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => sameJson(item, b[index]));
  }
  if (Array.isArray(b)) return false;
  const left = a as JsonRecord;
  const right = b as JsonRecord;
  for (const key in left) {
    if (!sameJson(left[key], right[key])) return false;
  }
  for (const key in right) {
    // By its own members: `constructor` is there in every object.
    if (right[key] !== undefined && (left[key] === undefined || !Object.hasOwn(left, key))) return false;
  }
  return true;
}

/** Drops members that are null, as decoding into a typed object does; changes the value in place. */
export function dropNulls(value: unknown): void {
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item);
    return;
  }
  if (!isRecord(value)) return;
  for (const key of Object.keys(value)) {
    if (value[key] === null) delete value[key];
    else dropNulls(value[key]);
  }
}

/** The same for a value that others hold too: what has no null in it is shared. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutNulls);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isRecord(value)) return value;
  let copy: JsonRecord | undefined;
  for (const key in value) {
    const old = value[key];
    const next = withoutNulls(old);
    if (next === old && old !== null) continue;
    copy ??= { ...value };
    if (old === null) delete copy[key];
    else copy[key] = next;
  }
  return copy ?? value;
}
