/** Bodies of requests. Objects that come out belong to the request and may be changed. */
import type { Kind } from './kind.ts';
import { apiVersionOf } from './kind.ts';
import type { ApiObject, JsonRecord } from './object.ts';
import { dropNulls, isRecord, recordOf, textOf } from './object.ts';
import { badRequest, FieldErrors } from './status-error.ts';

/** Cheap to read, and no more than what the protocol knows; YAML is read by whoever serves people. */
export type ParseYaml = (text: string) => unknown;

export function parseBody(text: string, yaml?: ParseYaml): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (yaml !== undefined) return yaml(text);
    throw badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`);
  }
}

/** A whole object, as POST and PUT send it. */
export interface DecodeOptions {
  yaml: ParseYaml | undefined;
  checks: { types: boolean; metadata: boolean };
}

export function decodeObject(kind: Kind, text: string, { yaml, checks }: DecodeOptions): ApiObject {
  const body = parseBody(text, yaml);
  if (!isRecord(body)) throw badRequest('the object provided is not an object');
  if (checks.types) checkType(kind, body);
  if (!kind.custom && text.includes('null')) dropNulls(body);
  return normalized(kind, body, checks.metadata);
}

export function checkType(kind: Kind, body: JsonRecord): void {
  const expected = apiVersionOf(kind);
  if (kind.custom && (body['kind'] === undefined || body['apiVersion'] === undefined)) {
    const text = JSON.stringify(body);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind.kind}): Object 'Kind' is missing in '${text}' (${text.slice(0, 30)} ...)`,
    );
  }
  const { apiVersion = expected, kind: name = kind.kind } = body;
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  if (name !== kind.kind && kind.custom) {
    const errors = new FieldErrors();
    errors.invalid('kind', name, `must be ${kind.kind}`);
    errors.throwIfAny({ ...kind, kind: String(name) }, textOf(recordOf(body['metadata'])['name']));
  }
  if (name !== kind.kind) {
    throw badRequest(
      `${String(name)} in version "${kind.version}" cannot be handled as a ${kind.kind}: no kind "${String(name)}" is registered for version "${expected}" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    );
  }
}

export function normalized(kind: Kind, body: JsonRecord, checksMeta = true): ApiObject {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = body;
  if (metadata !== undefined && !isRecord(metadata)) throw badRequest('metadata is not an object');
  const meta = { ...metadata } as unknown as ApiObject['metadata'];
  for (const key of Object.keys(meta)) if (meta[key] === null) delete meta[key];
  if (checksMeta) checkMeta(meta);
  kind.rules.decode?.(body);
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: meta, ...rest };
}

/** What every decoder refuses: a map of strings with something else in it. */
function checkMeta(meta: ApiObject['metadata']): void {
  for (const key of ['labels', 'annotations'] as const) {
    const map: unknown = meta[key];
    if (map === undefined) continue;
    if (!isRecord(map))
      throw badRequest(
        `cannot unmarshal ${typeOf(map)} into Go struct field ObjectMeta.metadata.${key} of type map[string]string`,
      );
    for (const name of Object.keys(map)) {
      const value = map[name];
      if (value === null) map[name] = '';
      else if (typeof value !== 'string') {
        throw badRequest(
          `cannot unmarshal ${typeOf(value)} into Go struct field ObjectMeta.metadata.${key} of type string`,
        );
      }
    }
  }
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
