/** Strategic merge patch, with the directives that kubectl sends. Shares what it does not change with the original. */
import { isRecord, sameJson } from './object.ts';
import type { JsonRecord } from './object.ts';
import type { Shape } from './shapes.ts';
import { memberShape } from './shapes.ts';
import { badRequest } from './status-error.ts';

const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

export function applyStrategicMerge(original: JsonRecord, patch: JsonRecord, shape: Shape | undefined): JsonRecord {
  if (patch['$patch'] === 'replace') return withoutDirectives(patch);
  if (patch['$patch'] === 'delete') return {};
  const result = retained(original, patch['$retainKeys']);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    const merged = mergeMember(result[key], value, memberShape(shape, key));
    if (merged === undefined) delete result[key];
    else result[key] = merged;
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deletePrefix)) deleteValues(result, key.slice(deletePrefix.length), value);
    if (key.startsWith(orderPrefix)) setOrder({ result, patch, shape }, key.slice(orderPrefix.length), value);
  }
  return result;
}

function retained(original: JsonRecord, keys: unknown): JsonRecord {
  if (!Array.isArray(keys)) return { ...original };
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)));
}

function mergeMember(original: unknown, value: unknown, shape: Shape | undefined): unknown {
  if (value === null) return undefined;
  if (isRecord(value)) {
    if (shape?.replace) return withoutDirectives(value);
    return applyStrategicMerge(isRecord(original) ? original : {}, value, shape);
  }
  if (!Array.isArray(value)) return value;
  const existing = Array.isArray(original) ? original : [];
  if (shape?.mergeValues) return [...existing, ...value.filter((one) => !existing.includes(one))];
  if (shape?.mergeKey === undefined) return value;
  return mergeList(existing, value, { key: shape.mergeKey, item: shape.item });
}

function mergeList(existing: unknown[], patch: unknown[], by: { key: string; item: Shape | undefined }): unknown[] {
  const items = patch.filter(isRecord);
  if (items.some((item) => item['$patch'] === 'replace')) {
    return items.filter((item) => item['$patch'] !== 'replace').map(withoutDirectives);
  }
  const result = [...existing];
  for (const item of items) {
    const id = item[by.key];
    if (id === undefined)
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${by.key}`);
    const index = result.findIndex((one) => isRecord(one) && sameJson(one[by.key], id));
    if (item['$patch'] === 'delete') {
      if (index !== -1) result.splice(index, 1);
    } else if (index === -1) result.push(applyStrategicMerge({}, item, by.item));
    else result[index] = applyStrategicMerge(result[index] as JsonRecord, item, by.item);
  }
  return result;
}

function deleteValues(result: JsonRecord, key: string, values: unknown): void {
  const list = result[key];
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  result[key] = list.filter((one) => !values.includes(one));
}

interface Ordering {
  result: JsonRecord;
  patch: JsonRecord;
  shape: Shape | undefined;
}

/** Named items take the order given; items of others keep their place relative to what stood before them. */
function setOrder({ result, shape }: Ordering, key: string, order: unknown): void {
  const list = result[key];
  if (!Array.isArray(list) || !Array.isArray(order)) return;
  const mergeKey = memberShape(shape, key)?.mergeKey;
  const idOf = (one: unknown): unknown => (mergeKey !== undefined && isRecord(one) ? one[mergeKey] : one);
  const wanted = order.map(idOf);
  const rankOf = (one: unknown): number => wanted.findIndex((id) => sameJson(id, idOf(one)));
  const named = list.filter((one) => rankOf(one) !== -1).sort((a, b) => rankOf(a) - rankOf(b));
  let next = 0;
  result[key] = list.map((one) => (rankOf(one) === -1 ? one : named[next++]));
}

function withoutDirectives(patch: JsonRecord): JsonRecord {
  const entries = Object.entries(patch).filter(([key, value]) => !key.startsWith('$') && value !== null);
  return Object.fromEntries(entries);
}
