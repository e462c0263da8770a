/** Who wrote which field: kept with every write, and what server-side apply decides by. */
import type { FieldSet } from './field-set.ts';
import {
  contains,
  difference,
  intersect,
  isEmptySet,
  itemKey,
  leaf,
  pathsOf,
  setOf,
  subtract,
  union,
} from './field-set.ts';
import type { ApiObject, JsonRecord } from './object.ts';
import { isRecord, sameJson } from './object.ts';
import type { Shape } from './shapes.ts';
import { memberShape } from './shapes.ts';
import { ApiError } from './status-error.ts';

export interface ManagedEntry {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  time: string;
  fieldsType: 'FieldsV1';
  fieldsV1: FieldSet;
  subresource?: string;
}

export interface Writer {
  manager: string;
  apiVersion: string;
  subresource: string | undefined;
  time: string;
}

/** The server's own bookkeeping belongs to nobody. */
const untracked = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'selfLink',
  'managedFields',
]);

function tracked(object: JsonRecord): JsonRecord {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object;
  const kept: JsonRecord = {};
  for (const key in metadata as JsonRecord) {
    if (!untracked.has(key)) kept[key] = (metadata as JsonRecord)[key];
  }
  return { metadata: kept, ...rest };
}

export function entriesOf(object: ApiObject | undefined): ManagedEntry[] {
  const given = object?.metadata.managedFields;
  return Array.isArray(given) ? (given as ManagedEntry[]) : [];
}

function isBy(entry: ManagedEntry, writer: Writer, operation: ManagedEntry['operation']): boolean {
  return entry.operation === operation && entry.manager === writer.manager && entry.subresource === writer.subresource;
}

function entry(writer: Writer, operation: ManagedEntry['operation'], fieldsV1: FieldSet): ManagedEntry {
  const { manager, apiVersion, time, subresource } = writer;
  const result: ManagedEntry = { manager, operation, apiVersion, time, fieldsType: 'FieldsV1', fieldsV1 };
  if (subresource !== undefined) result.subresource = subresource;
  return result;
}

/** After a write that was no apply: what changed now belongs to the writer, and to nobody else. */
export function afterUpdate(
  before: ApiObject | undefined,
  after: ApiObject,
  writer: Writer,
  shape: Shape | undefined,
): ManagedEntry[] {
  const entries = entriesOf(before);
  const found = difference(before === undefined ? {} : tracked(before), tracked(after), shape);
  if (found === undefined) return entries;
  const { removed } = found;
  const changed = withoutEmptyStatus(found.changed);
  const own = entries.find((one) => isBy(one, writer, 'Update'));
  const rest = entries
    .filter((one) => one !== own)
    .map((one) => reduced(one, union(changed, removed)))
    .filter((one) => one !== undefined);
  const kept = own === undefined ? {} : subtract(own.fieldsV1, removed);
  if (own !== undefined && kept === own.fieldsV1 && contains(kept, changed)) {
    return rest.length === entries.length - 1 && rest.every((one) => entries.includes(one)) ? entries : [...rest, own];
  }
  const fields = union(kept, changed);
  return isEmptySet(fields) ? rest : sorted([...rest, entry(writer, 'Update', fields)]);
}

/** Applies before updates, each by time: as the server shows them. */
function sorted(entries: ManagedEntry[]): ManagedEntry[] {
  const rank = ({ operation, time, manager, subresource = '' }: ManagedEntry): string =>
    [operation, time, manager, subresource].join('\u0000');
  return [...entries].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** An object that is there but says nothing is not worth a line. */
function withoutEmptyStatus(set: FieldSet): FieldSet {
  const { 'f:metadata': metadata, ...rest } = set;
  if (metadata === undefined || !isEmptySet(metadata)) return set;
  return rest;
}

function reduced(one: ManagedEntry, taken: FieldSet): ManagedEntry | undefined {
  const fieldsV1 = subtract(one.fieldsV1, taken);
  if (fieldsV1 === one.fieldsV1) return one;
  return isEmptySet(fieldsV1) ? undefined : { ...one, fieldsV1 };
}

export interface ApplyRequest {
  config: ApiObject;
  writer: Writer;
  force: boolean;
  shape: Shape | undefined;
  /** For tests of the contract suite: leave a part out. */
  detectsConflicts: boolean;
  removesDropped: boolean;
  shares: boolean;
  holds: boolean;
  merges: boolean;
}

export interface Applied {
  object: ApiObject;
  entries: ManagedEntry[];
}

/** Server-side apply: what the manager wants, merged into what is there. */
export function applyConfig(live: ApiObject | undefined, request: ApplyRequest): Applied {
  const { writer, force, shape } = request;
  const config = tracked(request.config);
  const fields = withoutEmptyStatus(setOf(config, shape, { marks: false }));
  if (live === undefined) {
    return { object: request.config, entries: [entry(writer, 'Apply', fields)] };
  }
  const entries = entriesOf(live);
  const own = entries.find((one) => isBy(one, writer, 'Apply'));
  const others = entries.filter((one) => one !== own);
  const base = request.merges ? live : ({ ...live, data: undefined } as unknown as ApiObject);
  let merged = mergeInto(base, config, shape) as ApiObject;
  const dropped = own === undefined || !request.removesDropped ? {} : subtract(own.fieldsV1, fields);
  if (!isEmptySet(dropped)) {
    const held = request.holds ? others.reduce<FieldSet>((all, one) => union(all, one.fieldsV1), fields) : fields;
    merged = removeFields(merged, subtract(dropped, held), shape) as ApiObject;
  }
  const changed = difference(tracked(live), tracked(merged), shape)?.changed ?? {};
  const wanted = intersect(fields, changed);
  if (request.detectsConflicts && !force) refuseConflicts(others, wanted);
  const taken = request.shares ? wanted : fields;
  const rest = others.map((one) => reduced(one, taken)).filter((one) => one !== undefined);
  const unchanged = own !== undefined && sameJson(own.fieldsV1, fields) && sameJson(tracked(live), tracked(merged));
  const mine = unchanged ? own : entry(writer, 'Apply', fields);
  return { object: merged, entries: sorted([...rest, mine]) };
}

function refuseConflicts(others: ManagedEntry[], wanted: FieldSet): void {
  const found = others.flatMap((one) => {
    const paths = pathsOf(intersect(one.fieldsV1, wanted));
    return paths.length === 0 ? [] : [{ by: described(one), paths }];
  });
  if (found.length === 0) return;
  const causes = found.flatMap(({ by, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${by}`, field })),
  );
  const count = causes.length;
  const message =
    count === 1
      ? `Apply failed with 1 conflict: conflict with ${found[0]?.by}: ${causes[0]?.field}`
      : `Apply failed with ${count} conflicts: ${found
          .map(
            ({ by, paths }) =>
              `conflict${paths.length > 1 ? 's' : ''} with ${by}:\n${paths.map((path) => `- ${path}`).join('\n')}`,
          )
          .join('\n')}`;
  throw new ApiError(409, 'Conflict', message, { causes });
}

function described({ manager, apiVersion, subresource, operation }: ManagedEntry): string {
  const through = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${through}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}

function mergeInto(live: unknown, config: unknown, shape: Shape | undefined): unknown {
  if (shape?.atomic) return config;
  if (Array.isArray(config)) return mergeLists(Array.isArray(live) ? live : [], config, shape);
  if (!isRecord(config)) return config;
  const result: JsonRecord = isRecord(live) ? { ...live } : {};
  for (const [key, value] of Object.entries(config)) {
    result[key] = mergeInto(result[key], value, memberShape(shape, key));
  }
  return result;
}

function mergeLists(live: unknown[], config: unknown[], shape: Shape | undefined): unknown[] {
  if (shape?.set) return [...live, ...config.filter((item) => !live.includes(item))];
  const { keys } = shape ?? {};
  if (keys === undefined || ![...live, ...config].every(isRecord)) return config;
  const idOf = (item: unknown): string => itemKey(item as JsonRecord, keys);
  const result = [...live];
  for (const item of config) {
    const index = result.findIndex((one) => idOf(one) === idOf(item));
    if (index === -1) result.push(item);
    else result[index] = mergeInto(result[index], item, shape?.item);
  }
  return result;
}

function removeFields(value: unknown, set: FieldSet, shape: Shape | undefined): unknown {
  if (isEmptySet(set)) return value;
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const id = shape?.set ? `v:${JSON.stringify(item)}` : itemKey(item as JsonRecord, shape?.keys ?? []);
      const below = set[id];
      if (below === undefined) return [item];
      return isEmptySet(below) || below['.'] !== undefined ? [] : [removeFields(item, below, shape?.item)];
    });
  }
  if (!isRecord(value)) return value;
  const result: JsonRecord = { ...value };
  for (const key in set) {
    const name = key.slice(2);
    const below = set[key] ?? leaf;
    if (isEmptySet(below)) delete result[name];
    else if (result[name] !== undefined) {
      result[name] = removeFields(result[name], below, memberShape(shape, name));
      const left = result[name];
      const bare = Array.isArray(left) ? left.length === 0 : isRecord(left) && Object.keys(left).length === 0;
      if (bare) delete result[name];
    }
  }
  return result;
}
