/**
 * JSON patches of a status that several parties write. The stock kubelet sends strategic merge patches, which merge
 * lists by key at the server; here the same is said by index, with a test that the entry is still the one meant.
 */
import type { JsonPatchOperation, KubeObject, Precondition } from '../../kube/client.ts';
import type { Condition } from './meta.ts';

interface WithStatus extends KubeObject {
  status?: { conditions?: Condition[] } & Record<string, unknown>;
}

/** What is to be written, and about which version: a patch that creates a list must not meet one that came since. */
export interface StatusPatch {
  only: Precondition;
  operations: JsonPatchOperation[];
}

export interface WantedStatus {
  /** Only these are touched; conditions of others stay. */
  conditions: Condition[];
  /** Types of conditions that are to go. */
  without?: readonly string[];
  /** Fields that have one writer; undefined removes. */
  fields: Record<string, unknown>;
}

/** Undefined when the object says all of it already. Times of conditions count only through `refresh`. */
export function statusPatch(object: WithStatus, wanted: WantedStatus, refresh = false): StatusPatch | undefined {
  const { uid, resourceVersion } = object.metadata;
  if (uid === undefined) throw new Error(`status of ${object.metadata.name}: the object was never read`);
  const operations = [
    ...fieldOperations(object.status ?? {}, wanted.fields),
    ...conditionOperations(object.status?.conditions ?? [], wanted.conditions, refresh),
    ...removals(object.status?.conditions ?? [], wanted.without ?? []),
  ];
  if (operations.length === 0) return undefined;
  if (object.status?.conditions !== undefined) return { only: { uid }, operations };
  const missing: JsonPatchOperation[] =
    object.status === undefined
      ? [{ op: 'add', path: '/status', value: { conditions: [] } }]
      : [{ op: 'add', path: '/status/conditions', value: [] }];
  const only = resourceVersion === undefined ? { uid } : { uid, resourceVersion };
  return { only, operations: [...missing, ...operations] };
}

function fieldOperations(status: Record<string, unknown>, fields: Record<string, unknown>): JsonPatchOperation[] {
  return Object.entries(fields).flatMap(([name, value]): JsonPatchOperation[] => {
    if (same(status[name], value)) return [];
    const path = `/status/${name}`;
    return value === undefined ? [{ op: 'remove', path }] : [{ op: 'add', path, value }];
  });
}

function conditionOperations(current: Condition[], wanted: Condition[], refresh: boolean): JsonPatchOperation[] {
  return wanted.flatMap((condition): JsonPatchOperation[] => {
    const index = current.findIndex(({ type }) => type === condition.type);
    const known = current[index];
    if (known === undefined) return [{ op: 'add', path: '/status/conditions/-', value: condition }];
    const changed = known.status !== condition.status;
    if (!changed && !refresh && known.reason === condition.reason && known.message === condition.message) return [];
    const { lastTransitionTime, ...rest } = condition;
    const since = changed ? lastTransitionTime : known.lastTransitionTime;
    const path = `/status/conditions/${index}`;
    return [
      { op: 'test', path: `${path}/type`, value: condition.type },
      { op: 'replace', path, value: since === undefined ? rest : { ...rest, lastTransitionTime: since } },
    ];
  });
}

/** The last first: what goes changes the place of all that follow. */
function removals(current: Condition[], without: readonly string[]): JsonPatchOperation[] {
  const places = current.map(({ type }, index) => ({ type, path: `/status/conditions/${index}` }));
  return places
    .filter(({ type }) => without.includes(type))
    .toReversed()
    .flatMap(({ type, path }): JsonPatchOperation[] => [
      { op: 'test', path: `${path}/type`, value: type },
      { op: 'remove', path },
    ]);
}

/** As JSON sees it: what is empty is as good as absent, because the API leaves it out. */
function same(a: unknown, b: unknown): boolean {
  return isEmpty(a) || isEmpty(b) ? isEmpty(a) && isEmpty(b) : equal(a, b);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** Whatever the order of the keys. Asked all the time by every node and pod, so that it must cost next to nothing. */
function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equal(item, b[index]));
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  let present = 0;
  for (const key in left) {
    if (left[key] === undefined) continue;
    present += 1;
    if (!equal(left[key], right[key])) return false;
  }
  for (const key in right) if (right[key] !== undefined) present -= 1;
  return present === 0;
}
