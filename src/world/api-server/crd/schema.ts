/** Structural schemas of custom resources: what is filled in, what is dropped, what is refused. */
import type { JsonRecord } from '../object.ts';
import { isRecord, sameJson } from '../object.ts';
import type { FieldErrors } from '../status-error.ts';

export interface Rule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

export interface Schema {
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  enum?: unknown[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  nullable?: boolean;
  default?: unknown;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-list-type'?: 'map' | 'set' | 'atomic';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: 'granular' | 'atomic';
  'x-kubernetes-validations'?: Rule[];
}

/** Of the field, or of the values of a map. What every object of JavaScript has, such as `constructor`, is in no schema. */
export function childSchema(schema: Schema, key: string): Schema | undefined {
  const { properties = {} } = schema;
  if (Object.hasOwn(properties, key)) return properties[key];
  return isRecord(schema.additionalProperties) ? schema.additionalProperties : undefined;
}

function keepsUnknown(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
}

const typeMeta = new Set(['apiVersion', 'kind', 'metadata']);

/** Drops what the schema does not know, in place; answers the paths of what was dropped. */
export function prune(value: unknown, schema: Schema, path = '', isRoot = true): string[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return [];
    return value.flatMap((item, index) => prune(item, items, `${path}[${index}]`, false));
  }
  if (!isRecord(value)) return [];
  const dropped: string[] = [];
  const embedded = isRoot || schema['x-kubernetes-embedded-resource'] === true;
  for (const key of Object.keys(value)) {
    if (embedded && typeMeta.has(key)) continue;
    const child = childSchema(schema, key);
    const childPath = path === '' ? key : `${path}.${key}`;
    if (child !== undefined) dropped.push(...prune(value[key], child, childPath, false));
    else if (!keepsUnknown(schema)) {
      delete value[key];
      dropped.push(childPath);
    }
  }
  return dropped;
}

/** Fills in defaults, and drops nulls that the schema does not allow, in place. */
export function applyDefaults(value: unknown, schema: Schema): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) applyDefaults(item, schema.items);
    return;
  }
  if (!isRecord(value)) return;
  for (const key of Object.keys(value)) {
    const child = childSchema(schema, key);
    if (value[key] === null && child !== undefined && child.nullable !== true) delete value[key];
  }
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    if (value[key] === undefined && child.default !== undefined) value[key] = structuredClone(child.default);
  }
  for (const key of Object.keys(value)) {
    const child = childSchema(schema, key);
    if (child !== undefined) applyDefaults(value[key], child);
  }
}

interface Spot {
  path: string;
  /** The same place in the object before an update: what did not change is not judged again. */
  old: unknown;
  isRoot?: boolean;
}

export function validateValue(value: unknown, schema: Schema, spot: Spot, errors: FieldErrors): void {
  const { path, old } = spot;
  if (old !== undefined && sameJson(value, old)) return;
  if (value === null) {
    if (schema.nullable !== true) wrongType(schema, value, path, errors);
    return;
  }
  if (!hasType(value, schema)) {
    wrongType(schema, value, path, errors);
    return;
  }
  if (schema.enum !== undefined && !schema.enum.some((one) => sameJson(one, value))) {
    errors.notSupported(path, value, schema.enum.map(String));
  }
  if (typeof value === 'string') validateString(value, schema, path, errors);
  else if (typeof value === 'number') validateNumber(value, schema, path, errors);
  else if (Array.isArray(value)) validateList(value, schema, spot, errors);
  else if (isRecord(value)) validateObject(value, schema, spot, errors);
  validateCombinations(value, schema, path, errors);
}

function hasType(value: unknown, schema: Schema): boolean {
  if (schema['x-kubernetes-int-or-string']) return typeof value === 'string' || Number.isInteger(value);
  switch (schema.type) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case undefined:
      return true;
    case 'string':
      // A string with a format may be a list of bytes to the real server, which looks no closer.
      return typeof value === 'string' || (schema.format !== undefined && Array.isArray(value));
    default:
      return typeof value === schema.type;
  }
}

function shownType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

function wrongType(schema: Schema, value: unknown, path: string, errors: FieldErrors): void {
  const wanted = schema['x-kubernetes-int-or-string'] ? 'integer,string' : schema.type;
  const given = shownType(value);
  errors.typeInvalid(path, given, `${path} in body must be of type ${wanted}: ${JSON.stringify(given)}`);
}

function validateString(value: string, schema: Schema, path: string, errors: FieldErrors): void {
  const { minLength, maxLength, pattern, format } = schema;
  if (maxLength !== undefined && charactersOf(value) > maxLength) {
    errors.tooLong(path, maxLength);
    return;
  }
  if (minLength !== undefined && charactersOf(value) < minLength) {
    errors.invalid(path, value, `${path} in body should be at least ${minLength} chars long`);
    return;
  }
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) {
    errors.invalid(path, value, `${path} in body should match '${pattern}'`);
  }
  if (format === 'date-time' && !isDateTime(value)) {
    errors.invalid(path, value, `${path} in body must be of type date-time: ${JSON.stringify(value)}`);
  }
}

/** As the server counts them: by code point. */
function charactersOf(value: string): number {
  return Array.from(value).length;
}

/** As the server reads it: any two numbers are an offset. */
function isDateTime(value: string): boolean {
  const [, date, time] =
    /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/.exec(value) ?? [];
  if (date === undefined || time === undefined) return false;
  const at = Date.parse(`${date}T${time}Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(`${date}T${time}`);
}

function validateNumber(value: number, schema: Schema, path: string, errors: FieldErrors): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    const words = exclusiveMinimum ? 'greater than' : 'greater than or equal to';
    errors.invalid(path, value, `${path} in body should be ${words} ${minimum}`);
  }
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    const words = exclusiveMaximum ? 'less than' : 'less than or equal to';
    errors.invalid(path, value, `${path} in body should be ${words} ${maximum}`);
  }
  if (multipleOf !== undefined && value % multipleOf !== 0) {
    errors.invalid(path, value, `${path} in body should be a multiple of ${multipleOf}`);
  }
}

function validateList(list: unknown[], schema: Schema, { path, old }: Spot, errors: FieldErrors): void {
  const { minItems, maxItems, items } = schema;
  if (maxItems !== undefined && list.length > maxItems) errors.tooMany(path, list.length, maxItems);
  if (minItems !== undefined && list.length < minItems) {
    errors.invalid(path, list.length, `${path} in body should have at least ${minItems} items`);
  }
  const keyOf = itemKeys(schema);
  const before = new Map<string, unknown>();
  if (keyOf !== undefined && Array.isArray(old)) for (const item of old) before.set(JSON.stringify(keyOf(item)), item);
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const key = keyOf === undefined ? undefined : JSON.stringify(keyOf(item));
    if (items !== undefined) {
      validateValue(
        item,
        items,
        { path: `${path}[${index}]`, old: key === undefined ? undefined : before.get(key) },
        errors,
      );
    }
    if (key === undefined || keyOf === undefined) continue;
    if (seen.has(key)) errors.duplicate(`${path}[${index}]`, keyOf(item));
    seen.add(key);
  }
}

/** What tells the items of a list apart; undefined where nothing does. */
function itemKeys(schema: Schema): ((item: unknown) => unknown) | undefined {
  if (schema['x-kubernetes-list-type'] === 'set') return (item) => item;
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || keys === undefined) return undefined;
  return (item) => Object.fromEntries(keys.map((key) => [key, isRecord(item) ? item[key] : undefined]));
}

function validateObject(value: JsonRecord, schema: Schema, { path, old, isRoot }: Spot, errors: FieldErrors): void {
  const { minProperties, maxProperties, required = [] } = schema;
  const count = Object.keys(value).length;
  if (maxProperties !== undefined && count > maxProperties) errors.tooMany(path, count, maxProperties);
  if (minProperties !== undefined && count < minProperties) {
    errors.invalid(path, count, `${path} in body should have at least ${minProperties} properties`);
  }
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
  for (const key of required) if (value[key] === undefined) errors.required(below(key));
  for (const key of Object.keys(value)) {
    if (isRoot && typeMeta.has(key)) continue;
    const child = childSchema(schema, key);
    if (child === undefined || value[key] === undefined) continue;
    validateValue(value[key], child, { path: below(key), old: isRecord(old) ? old[key] : undefined }, errors);
  }
}

function validateCombinations(value: unknown, schema: Schema, path: string, errors: FieldErrors): void {
  const { allOf = [], anyOf, oneOf, not } = schema;
  const fits = (one: Schema): boolean => {
    const found = new (errors.constructor as new () => FieldErrors)();
    validateValue(value, one, { path, old: undefined }, found);
    return found.empty;
  };
  for (const one of allOf) validateValue(value, one, { path, old: undefined }, errors);
  const where = path === '' ? '<nil>' : path;
  if (anyOf !== undefined && !schema['x-kubernetes-int-or-string'] && !anyOf.some(fits)) {
    errors.invalid(where, value, `${path} in body must validate at least one schema (anyOf)`);
  }
  if (oneOf !== undefined && oneOf.filter(fits).length !== 1) {
    errors.invalid(where, value, `${path} in body must validate one and only one schema (oneOf)`);
  }
  if (not !== undefined && fits(not))
    errors.invalid(where, value, `${path} in body must not validate the schema (not)`);
}
