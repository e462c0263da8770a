/**
 * What is left of a patch when a test takes a feature away. Kept apart, so that the code beside it reads as if nobody
 * ever did; without sabotage everything here answers what it was given.
 */
import type { Core } from './core.ts';
import type { JsonRecord } from './object.ts';
import { dropNulls, isRecord } from './object.ts';
import type { Shape } from './shapes.ts';

export function jsonPatchLeft(core: Core, operations: unknown[]): unknown[] {
  if (!core.has('jsonPatch')) return [];
  if (!core.has('jsonPatchValues')) return [{ op: 'test', path: '/none', value: 'none' }];
  return core.has('jsonPatchTest') ? operations : operations.filter((one) => isRecord(one) && one['op'] !== 'test');
}

export function mergePatchLeft(core: Core, patch: JsonRecord): JsonRecord {
  return core.has('mergePatchNulls') ? patch : withoutNulls(patch);
}

export function strategicPatchLeft(core: Core, patch: JsonRecord): JsonRecord {
  let left: unknown = patch;
  if (!core.has('setElementOrder')) left = withoutKeys(left, (key) => key.startsWith('$setElementOrder/'));
  if (!core.has('patchDirectives')) left = withoutKeys(left, (key) => key.startsWith('$') && !key.startsWith('$set'));
  return core.has('strategicNulls') ? (left as JsonRecord) : withoutNulls(left as JsonRecord);
}

/** Lists that are to be replaced, as if they had a key. */
const keyedByMistake: Shape = {
  fields: {
    spec: {
      fields: {
        taints: { mergeKey: 'key' },
        template: { fields: { spec: { fields: { tolerations: { mergeKey: 'key' } } } } },
      },
    },
    status: { fields: { volumesAttached: { mergeKey: 'name' } } },
  },
};

export function strategicShapeLeft(core: Core, shape: Shape | undefined): Shape | undefined {
  if (!core.has('strategicAtomic')) return keyedByMistake;
  return core.has('strategicLists') ? shape : undefined;
}

export function applyShapeLeft(core: Core, shape: Shape | undefined): Shape | undefined {
  if (!core.has('applyLists')) return undefined;
  if (core.has('applyAtomic')) return shape;
  const spec = shape?.fields?.['spec'];
  const taints: Shape = { keys: ['key', 'effect'] };
  return { ...shape, fields: { ...shape?.fields, spec: { ...spec, fields: { ...spec?.fields, taints } } } };
}

function withoutNulls(value: JsonRecord): JsonRecord {
  const copy = structuredClone(value);
  dropNulls(copy);
  return copy;
}

function withoutKeys(value: unknown, drops: (key: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutKeys(one, drops));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([key]) => !drops(key));
  return Object.fromEntries(entries.map(([key, one]) => [key, withoutKeys(one, drops)]));
}
