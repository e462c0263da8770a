/** Lists: what is there, page by page, now or at a version that the history still knows. */
import type { Core } from './core.ts';
import type { Kind } from './kind.ts';
import { apiVersionOf } from './kind.ts';
import type { ApiObject } from './object.ts';
import { isRecord } from './object.ts';
import { fieldSelector, labelSelector } from './selectors.ts';
import type { FieldReader } from './selectors.ts';
import { ApiError, badRequest, expired, versionTooLarge } from './status-error.ts';
import type { Pin, Version } from './store.ts';

export interface Selection {
  namespace: string | undefined;
  name: string | undefined;
  /** Undefined: everything. */
  test: ((object: ApiObject) => boolean) | undefined;
  pin: Pin | undefined;
}

export interface ListRequest {
  kind: Kind;
  selection: Selection;
  query: URLSearchParams;
  /** How far behind a cached answer is. */
  lagMs: number;
}

export interface Page {
  versions: Version[];
  revision: number;
  continueToken: string | undefined;
  remaining: number | undefined;
}

export function readerOf(kind: Kind): FieldReader {
  return (path) => {
    if (path === 'metadata.name') return (object) => object.metadata.name;
    if (path === 'metadata.namespace') return (object) => object.metadata.namespace ?? '';
    return kind.rules.fields?.[path];
  };
}

export function selectionOf(core: Core, kind: Kind, namespace: string | undefined, query: URLSearchParams): Selection {
  const labelText = core.has('labelSelectors') ? (query.get('labelSelector') ?? '') : '';
  const fieldText = core.has('fieldSelectors') ? (query.get('fieldSelector') ?? '') : '';
  const labels = labelSelector(labelText);
  const read = readerOf(kind);
  const fields = fieldSelector(fieldText, read, kind.custom || kind.rules.fields !== undefined);
  const found = fields?.pins[0];
  const reader = found === undefined ? undefined : read(found.path);
  const name = fields?.pins.find(({ path }) => path === 'metadata.name')?.value;
  const pin = found === undefined || reader === undefined ? undefined : { ...found, read: reader };
  const scope = core.has('namespaceScope') ? namespace : undefined;
  return { namespace: scope, name, pin, test: joined(labels, fields?.test) };
}

function joined(
  labels: ReturnType<typeof labelSelector>,
  fields: ((object: ApiObject) => boolean) | undefined,
): Selection['test'] {
  if (labels === undefined) return fields;
  if (fields === undefined) return (object) => labels(object.metadata.labels);
  return (object) => labels(object.metadata.labels) && fields(object);
}

export function versionParameter(core: Core, query: URLSearchParams): string | undefined {
  const given = query.get('resourceVersion') ?? '';
  if (given !== '' && !/^\d+$/.test(given)) {
    if (!core.has('versionParameter')) return undefined;
    const message = `resourceVersion: Invalid value: ${JSON.stringify(given)}: strconv.ParseUint: parsing ${JSON.stringify(given)}: invalid syntax`;
    throw query.get('watch') === null ? badRequest(message) : new ApiError(500, '', message);
  }
  return given === '' ? undefined : given;
}

interface Continuation {
  v: 'meta.k8s.io/v1';
  rv: number;
  start: string;
}

export function list(core: Core, request: ListRequest): Page {
  const { kind, query, lagMs } = request;
  const collection = core.store.collection(kind.storage);
  const version = versionParameter(core, query);
  const match = query.get('resourceVersionMatch') ?? '';
  const token = query.get('continue') ?? '';
  const limit = core.has('limit') ? Number(query.get('limit') ?? 0) : 0;
  if (core.has('versionParameter')) refuseNonsense({ version, match, token });
  if (token !== '' && core.has('continue')) {
    const { rv, start } = parseToken(token);
    if (rv < collection.since) {
      throw expired(
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
      );
    }
    return page(collection.stateAt(rv), request, { revision: rv, limit, start });
  }
  const now = core.store.revision;
  if (version !== undefined && Number(version) > now && core.has('futureVersions'))
    throw versionTooLarge(Number(version), now);
  if (
    version !== undefined &&
    core.has('exactLists') &&
    (match === 'Exact' || (limit > 0 && match === '' && version !== '0'))
  ) {
    if (Number(version) < collection.since) throw expired('The resourceVersion for the provided list is too old.');
    return page(collection.stateAt(Number(version)), request, { revision: Number(version), limit, start: '' });
  }
  if (lagMs > 0 && version !== undefined) {
    const revision = Math.max(Number(version), collection.revisionAt(core.clock.now() - lagMs, now));
    return page(collection.stateAt(revision), request, { revision, limit, start: '' });
  }
  return page(collection, request, { revision: now, limit: version === '0' ? 0 : limit, start: '' });
}

function refuseNonsense({
  version,
  match,
  token,
}: {
  version: string | undefined;
  match: string;
  token: string;
}): void {
  const invalid = (message: string): ApiError => {
    const cause = { reason: 'FieldValueForbidden', message: `Forbidden: ${message}`, field: 'resourceVersionMatch' };
    return new ApiError(
      422,
      'Invalid',
      `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: ${message}`,
      {
        group: 'meta.k8s.io',
        kind: 'ListOptions',
        causes: [cause],
      },
    );
  };
  if (match !== '') {
    if (match !== 'Exact' && match !== 'NotOlderThan') throw invalid(`supported values: "Exact", "NotOlderThan"`);
    if (version === undefined) throw invalid('resourceVersionMatch is forbidden unless resourceVersion is provided');
    if (token !== '') throw invalid('resourceVersionMatch is forbidden when continue is provided');
    if (match === 'Exact' && version === '0')
      throw invalid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  if (token !== '' && version !== undefined && version !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
}

function parseToken(token: string): Continuation {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
    if (isRecord(parsed) && typeof parsed['rv'] === 'number' && typeof parsed['start'] === 'string') {
      return parsed as unknown as Continuation;
    }
  } catch {
    // Falls through to the refusal.
  }
  throw badRequest('continue key is not valid: illegal base64 data at input byte 0');
}

interface Source {
  keys(): Iterable<string>;
  get(key: string): Version | undefined;
}

function page(
  source: Source,
  { selection }: ListRequest,
  { revision, limit, start }: { revision: number; limit: number; start: string },
): Page {
  const keys =
    source instanceof Map ? [...(source as Map<string, Version>).keys()].sort() : (source.keys() as readonly string[]);
  const { namespace, name, test } = selection;
  const versions: Version[] = [];
  const prefix = namespace === undefined ? '' : `${namespace}/`;
  if (name !== undefined && limit === 0) {
    const single = source.get(prefix + name);
    if (single !== undefined && (test === undefined || test(single.object))) versions.push(single);
    if (single !== undefined || prefix !== '')
      return { versions, revision, continueToken: undefined, remaining: undefined };
  }
  for (let index = firstFrom(keys, start > prefix ? start : prefix); index < keys.length; index += 1) {
    const key = keys[index] as string;
    if (!key.startsWith(prefix)) break;
    const version = source.get(key) as Version;
    if (test !== undefined && !test(version.object)) continue;
    if (limit > 0 && versions.length === limit) return cut(versions, { revision, keys, index, prefix, test });
    versions.push(version);
  }
  return { versions, revision, continueToken: undefined, remaining: undefined };
}

function cut(
  versions: Version[],
  {
    revision,
    keys,
    index,
    prefix,
    test,
  }: { revision: number; keys: readonly string[]; index: number; prefix: string; test: unknown },
): Page {
  const token: Continuation = { v: 'meta.k8s.io/v1', rv: revision, start: keys[index] as string };
  const continueToken = Buffer.from(JSON.stringify(token)).toString('base64url');
  // With a selector nobody knows how many of the rest would match.
  const rest = test === undefined ? keys.slice(index).filter((key) => key.startsWith(prefix)).length : undefined;
  return { versions, revision, continueToken, remaining: rest };
}

function firstFrom(keys: readonly string[], start: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) < start) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function listText(core: Core, kind: Kind, { versions, revision, continueToken, remaining }: Page): string {
  const metadata: Record<string, unknown> = { resourceVersion: String(revision) };
  if (continueToken !== undefined) metadata['continue'] = continueToken;
  if (remaining !== undefined) metadata['remainingItemCount'] = remaining;
  const items = versions.map((version) => {
    const shown = version.as(kind.fromStored);
    return (kind.custom && core.has('customItems')) || !core.has('bareItems') ? shown.text : shown.itemText;
  });
  if (!core.has('listMeta')) return `{"items":[${items.join(',')}]}`;
  return `{"kind":"${kind.listKind}","apiVersion":"${apiVersionOf(kind)}","metadata":${JSON.stringify(metadata)},"items":[${items.join(',')}]}`;
}
