/** What might be written at a place, told from its schema: what is right there, what is just beyond, and what belongs nowhere. */
import type { StructuralSchema } from '../../../src/api/crds.ts';
import type { Chance } from '../../twins/chance.ts';

/** Of an edit that takes the field away. */
export const GONE = Symbol('gone');

export interface Place {
  path: readonly (string | number)[];
  schema: StructuralSchema;
  /** Undefined: nothing is written there. */
  value: unknown;
}

const durations = ['0s', '1s', '12s', '90s', '5m', '1h30m', '1.5h', '24h', '-1s', '1d', '5 m', '5', '9999999h', '1e3s'];
const texts = [
  '',
  ' ',
  '0',
  '-1',
  '-x',
  'a',
  'Ready',
  'node-1',
  'node-9',
  'workers',
  'fence',
  'repair',
  'True',
  'null',
  '{{node}}',
  '{{bmc}}',
  '{{__proto__}}',
  '{{',
  '40%',
  '101%',
  '2020-01-01T00:00:00Z',
  '2099-12-31T23:59:59+14:00',
  '2020-13-01T00:00:00Z',
  'fence_ipmilan',
  'fence_redfish',
  'fence_nobody',
  '/bin/sh',
  '../../etc/passwd',
  '$(reboot)',
  'a b',
  'a=b',
  'a\nb=c',
  'é',
  '\u{1F525}',
  '__proto__',
  'constructor',
  'toString',
];
const numbers = [-1, 0, 1, 2, 8, 100, 1000, 1_000_001, 2 ** 31, 0.5, 1e21];

/** Every place of an object that its schema knows, whether something is written there or not. */
export function placesIn(value: unknown, schema: StructuralSchema, path: Place['path'] = []): Place[] {
  const here = { path, schema, value };
  if (Array.isArray(value) && schema.items !== undefined) {
    const { items } = schema;
    return [here, ...value.flatMap((item, index) => placesIn(item, items, [...path, index]))];
  }
  if (!isRecord(value)) return [here];
  const known = Object.entries(schema.properties ?? {}).flatMap(([key, child]) =>
    placesIn(value[key], child, [...path, key]),
  );
  const { additionalProperties } = schema;
  const others = Object.keys(value).filter((key) => !Object.hasOwn(schema.properties ?? {}, key));
  const more =
    additionalProperties === undefined
      ? []
      : others.flatMap((key) => placesIn(value[key], additionalProperties, [...path, key]));
  return [here, ...known, ...more];
}

/** Something else for this place. */
export function valueFor({ schema, value }: Place, chance: Chance): unknown {
  const kinds: (() => unknown)[] = [
    () => fitting(schema, value, chance),
    () => fitting(schema, value, chance),
    () => beyond(schema, value, chance),
    () => chance.one([null, true, 'x', 3, 1.5, [], {}, [[]], { a: { b: 1 } }]),
    () => GONE,
  ];
  return chance.one(kinds)();
}

/** Of the right type, and perhaps right. */
function fitting(schema: StructuralSchema, value: unknown, chance: Chance): unknown {
  if (schema['x-kubernetes-int-or-string'] === true) return chance.one<unknown>([...texts, ...numbers]);
  if (schema.enum !== undefined) return chance.one(schema.enum);
  switch (schema.type) {
    case 'boolean':
      return value !== true;
    case 'integer':
    case 'number':
      return chance.one([schema.minimum ?? 0, schema.maximum ?? 10, ...numbers]);
    case 'string':
      return chance.one(chance.maybe(0.5) ? durations : texts);
    case 'array':
      return listOf(schema, value, chance);
    default:
      return recordOf(schema, value, chance);
  }
}

function listOf({ items = {} }: StructuralSchema, value: unknown, chance: Chance): unknown[] {
  const list = Array.isArray(value) ? value : [];
  const added = (): unknown => fitting(items, undefined, chance);
  return chance.one([
    () => [],
    () => [...list, ...list],
    () => [...list, added()],
    () => [added()],
    () => list.slice(1),
  ])();
}

function recordOf(schema: StructuralSchema, value: unknown, chance: Chance): unknown {
  const record = isRecord(value) ? value : {};
  const known = Object.entries(schema.properties ?? {});
  const { additionalProperties } = schema;
  if (known.length > 0 && chance.maybe(0.7)) {
    const [key, child] = chance.one(known);
    return { ...record, [key]: fitting(child, record[key], chance) };
  }
  const filled = additionalProperties === undefined ? 'x' : fitting(additionalProperties, undefined, chance);
  const key = chance.one(texts);
  // Not as a literal, where __proto__ would mean something else.
  return chance.maybe(0.3) ? {} : Object.fromEntries([...Object.entries(record), [key, filled]]);
}

/** Beyond a limit of the schema, by one where that can be. */
function beyond(schema: StructuralSchema, value: unknown, chance: Chance): unknown {
  const { minimum, maximum, minLength, maxLength, maxItems, maxProperties, items = {} } = schema;
  const ways: (() => unknown)[] = [
    ...(minimum === undefined ? [] : [() => minimum - 1]),
    ...(maximum === undefined ? [] : [() => maximum + 1]),
    ...(minLength === undefined ? [] : [() => 'a'.repeat(minLength - 1)]),
    ...(maxLength === undefined ? [] : [() => 'a'.repeat(maxLength + 1), () => 'a'.repeat(maxLength)]),
    ...(maxItems === undefined ? [] : [() => Array.from({ length: maxItems + 1 }, () => anyOf(items, value))]),
    ...(maxProperties === undefined
      ? []
      : [() => Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, index) => [`k${index}`, 'v']))]),
    ...(schema.enum === undefined ? [] : [() => 'other', () => '']),
  ];
  return ways.length === 0 ? chance.one(texts) : chance.one(ways)();
}

function anyOf(items: StructuralSchema, value: unknown): unknown {
  const [first] = Array.isArray(value) ? (value as unknown[]) : [];
  return first ?? (items.type === 'object' ? {} : 'a');
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** With another value there; nothing that was given is changed. */
export function changed(whole: unknown, path: Place['path'], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(whole)) {
    const list: unknown[] = [...whole];
    const next = changed(list[Number(key)], rest, value);
    list.splice(Number(key), 1, ...(next === GONE ? [] : [next]));
    return list;
  }
  const entries = isRecord(whole) ? Object.entries(whole) : [];
  const next = changed(entries.find(([name]) => name === key)?.[1], rest, value);
  const others = entries.filter(([name]) => name !== key);
  return Object.fromEntries(next === GONE ? others : [...others, [key, next]]);
}
