/** Objects as tables, or as nothing but their metadata, for clients that ask for it. */
import type { Core } from '../core.ts';
import type { Presentation } from '../handler.ts';
import type { Kind } from '../kind.ts';
import type { ApiObject, JsonRecord } from '../object.ts';
import type { EventType, Version } from '../store.ts';
import { encode } from '../store.ts';
import { since } from './ages.ts';
import type { Column } from './column.ts';
import { ageColumn, nameColumn } from './column.ts';
import { columns } from './columns.ts';
import { valuesAt } from './json-path.ts';

/** Undefined: as they are. The first form that we know wins, as clients name several. */
export function presentationOf(accept: string, core: Core): Presentation | undefined {
  if (!accept.includes('as=')) return undefined;
  for (const form of accept.split(',')) {
    if (!form.trim().startsWith('application/json')) continue;
    if (form.includes('as=Table')) return tables(core);
    if (form.includes('as=PartialObjectMetadata')) return metadataOnly;
    if (!form.includes('as=')) return undefined;
  }
  return undefined;
}

function partial({ metadata }: ApiObject): JsonRecord {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}

const metadataOnly: Presentation = {
  single: ({ object }) => JSON.stringify(partial(object)),
  list: (_kind, versions, metadata) =>
    JSON.stringify({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
      items: versions.map(({ object }) => partial(object)),
    }),
  event: (_kind, type, { object }) => encode(`${JSON.stringify({ type, object: partial(object) })}\n`),
};

function tables(core: Core): Presentation {
  const text = (kind: Kind, versions: Version[], metadata: JsonRecord): string =>
    JSON.stringify(table(kind, versions, metadata, core.clock.now()));
  return {
    list: text,
    event(kind: Kind, type: EventType, version: Version) {
      const metadata = { resourceVersion: String(version.revision) };
      return encode(`{"type":"${type}","object":${text(kind, [version], metadata)}}\n`);
    },
  };
}

function table(kind: Kind, versions: Version[], metadata: JsonRecord, nowMs: number): JsonRecord {
  const shown = columnsOf(kind);
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: shown.map(({ name, type = 'string', format = '', priority = 0 }) => ({
      name,
      type,
      format,
      description: '',
      priority,
    })),
    rows: versions.map(({ object }) => ({
      cells: shown.map(({ cell }) => cell(object, nowMs)),
      object: partial(object),
    })),
  };
}

function columnsOf(kind: Kind): Column[] {
  if (!kind.custom) return columns[kind.storage] ?? [nameColumn, ageColumn];
  if (kind.columns === undefined) return [nameColumn, ageColumn];
  return [nameColumn, ...kind.columns.map(customColumn)];
}

function customColumn({ name, type, jsonPath, format, priority }: NonNullable<Kind['columns']>[number]): Column {
  return {
    name,
    type: type === 'date' ? 'date' : type,
    ...(format === undefined ? {} : { format }),
    ...(priority === undefined ? {} : { priority }),
    cell(object, nowMs) {
      const values = valuesAt(object, jsonPath);
      if (values.length === 0) return null;
      if (type === 'date') return since(values[0], nowMs);
      if (type === 'string')
        return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(',');
      return values[0];
    },
  };
}
