/** JSON Merge Patch (RFC 7386); what the patch does not name is shared with the original. */
import { isRecord } from './object.ts';
import type { JsonRecord } from './object.ts';

export function applyMergePatch(original: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: JsonRecord = isRecord(original) ? { ...original } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}
