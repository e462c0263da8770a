/**
 * CEL rules of custom resources. Values are handed over with the types of their schema: an `integer` is an int, whatever
 * JavaScript thinks of it. Not covered: the Kubernetes libraries for quantities, URLs, addresses, versions and lists.
 */
import { Environment } from '@marcbachmann/cel-js';
import type { JsonRecord } from '../object.ts';
import { isRecord, sameJson } from '../object.ts';
import type { FieldErrors } from '../status-error.ts';
import type { Rule, Schema } from './schema.ts';
import { childSchema } from './schema.ts';

type Program = (context: Record<string, unknown>) => unknown;

const environment = new Environment({
  unlistedVariablesAreDyn: true,
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
})
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn')
  .registerFunction('string.format(list): string', (text: string, values: unknown[]) => formatted(text, values));

const programs = new Map<string, Program>();

function program(expression: string): Program {
  let found = programs.get(expression);
  if (found === undefined) {
    found = environment.parse(expression) as Program;
    programs.set(expression, found);
  }
  return found;
}

/** Throws what is wrong with the expression. */
export function checkExpression(expression: string): void {
  program(expression);
}

function formatted(text: string, values: unknown[]): string {
  let next = 0;
  return text.replaceAll(/%(?:\.(\d+))?([sdfeboxX%])/g, (_all, _digits, verb: string) => {
    if (verb === '%') return '%';
    const value = values[next];
    next += 1;
    return shown(value);
  });
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`;
  if (isRecord(value))
    return `{${Object.entries(value)
      .map(([key, one]) => `${quoted(key)}: ${quoted(one)}`)
      .join(', ')}}`;
  return String(value);
}

/** Inside a list or a map, texts have quotes. */
function quoted(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : shown(value);
}

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function escapedName(name: string): string {
  if (reserved.has(name)) return `__${name}__`;
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.includes('__')) return name;
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}

/** A value as CEL sees it. */
function typed(value: unknown, schema: Schema | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => typed(item, schema?.items));
  if (typeof value === 'number') return schema?.type === 'number' || !Number.isInteger(value) ? value : BigInt(value);
  // To CEL a time is none in small letters, which the schema allows.
  if (typeof value === 'string') return schema?.format === 'date-time' && !/[tz]/.test(value) ? new Date(value) : value;
  if (!isRecord(value)) return value;
  const isMap = isRecord(schema?.additionalProperties);
  const entries = Object.entries(value).map(([key, one]): [string, unknown] => [
    isMap ? key : escapedName(key),
    typed(one, schema === undefined ? undefined : childSchema(schema, key)),
  ]);
  // A map may have any keys, those among them that mean something to JavaScript.
  return isMap ? new Map(entries) : Object.fromEntries(entries);
}

export interface RuleSpot {
  path: string;
  old: unknown;
  /** At the root, rules see of the metadata only what cannot change. */
  isRoot?: boolean;
}

export function validateRules(value: unknown, schema: Schema, spot: RuleSpot, errors: FieldErrors): void {
  if (value === null || value === undefined) return;
  const { path, old, isRoot } = spot;
  if (old !== undefined && sameJson(value, old)) return;
  const rules = schema['x-kubernetes-validations'] ?? [];
  if (rules.length > 0) {
    const seen = isRoot ? rootValue(value as JsonRecord) : value;
    const context: Record<string, unknown> = { self: typed(seen, schema) };
    if (old !== undefined) context['oldSelf'] = typed(isRoot ? rootValue(old as JsonRecord) : old, schema);
    for (const rule of rules) checkRule(rule, { context, value, path }, errors);
  }
  if (Array.isArray(value)) validateItems(value, schema, spot, errors);
  else if (isRecord(value)) {
    for (const key of Object.keys(value)) {
      const child = childSchema(schema, key);
      if (child === undefined) continue;
      const below = { path: path === '' ? key : `${path}.${key}`, old: isRecord(old) ? old[key] : undefined };
      validateRules(value[key], child, below, errors);
    }
  }
}

function validateItems(list: unknown[], schema: Schema, { path, old }: RuleSpot, errors: FieldErrors): void {
  const { items } = schema;
  if (items === undefined) return;
  const keys = schema['x-kubernetes-list-type'] === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : undefined;
  for (const [index, item] of list.entries()) {
    const before =
      keys === undefined || !Array.isArray(old)
        ? undefined
        : old.find((one) => isRecord(one) && isRecord(item) && keys.every((key) => sameJson(one[key], item[key])));
    validateRules(item, items, { path: `${path}[${index}]`, old: before }, errors);
  }
}

function rootValue({ apiVersion, kind, metadata, ...rest }: JsonRecord): JsonRecord {
  const { name, generateName } = metadata as JsonRecord;
  const seen: JsonRecord = {};
  if (name !== undefined) seen['name'] = name;
  if (generateName !== undefined) seen['generateName'] = generateName;
  return { apiVersion, kind, metadata: seen, ...rest };
}

interface Judged {
  context: Record<string, unknown>;
  value: unknown;
  path: string;
}

function checkRule(rule: Rule, { context, value, path }: Judged, errors: FieldErrors): void {
  // A rule about a change has nothing to say when there was nothing before.
  if (/\boldSelf\b/.test(rule.rule) && context['oldSelf'] === undefined) return;
  const field = `${path}${rule.fieldPath ?? ''}`.replace(/^\./, '') || '<nil>';
  const message = rule.message ?? `failed rule: ${rule.rule}`;
  try {
    if (program(rule.rule)(context) === true) return;
  } catch (error) {
    const why = (error as Error).message.split('\n', 1)[0] ?? '';
    errors.invalid(
      field,
      Array.isArray(value) ? 'array' : typeof value,
      `${why.replace(/^No such key/, 'no such key')} evaluating rule: ${message}`,
    );
    return;
  }
  errors.byRule(rule.reason ?? 'FieldValueInvalid', field, {
    value: rule.fieldPath === undefined ? value : undefined,
    message: messageOf(rule, context, message),
  });
}

function messageOf({ messageExpression }: Rule, context: Record<string, unknown>, otherwise: string): string {
  if (messageExpression === undefined) return otherwise;
  try {
    const text = program(messageExpression)(context);
    return typeof text === 'string' && text.trim() !== '' && !text.includes('\n') ? text : otherwise;
  } catch {
    return otherwise;
  }
}
