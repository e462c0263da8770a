/**
 * CustomResourceDefinitions made from the schemas. The API server accepts only structural schemas: one type per node,
 * no references, no `additionalProperties: false` (unknown fields are pruned, or refused under strict validation).
 */
import { z } from 'zod';
import { GROUP, VERSION } from './common.ts';
import { KINDS, type Kind, type PrinterColumn } from './kinds.ts';
import { CEL_RULES, type CelRule } from './rules.ts';

/** The part of OpenAPI v3 that structural schemas use. */
export interface StructuralSchema {
  description?: string;
  type?: string;
  format?: string;
  default?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  required?: string[];
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema;
  items?: StructuralSchema;
  'x-kubernetes-int-or-string'?: true;
  'x-kubernetes-preserve-unknown-fields'?: true;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: CelRule[];
}

export interface CustomResourceDefinition {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  metadata: { name: string };
  spec: {
    group: string;
    scope: 'Cluster' | 'Namespaced';
    names: {
      kind: string;
      listKind: string;
      plural: string;
      singular: string;
      shortNames: string[];
      categories: string[];
    };
    versions: {
      name: string;
      served: true;
      storage: true;
      subresources: { status: Record<string, never> };
      additionalPrinterColumns: PrinterColumn[];
      schema: { openAPIV3Schema: StructuralSchema };
    }[];
  };
}

/** Taken over as they are, in the order in which they are printed. */
const PLAIN = [
  'description',
  'type',
  'format',
  'default',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'required',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  CEL_RULES,
] as const;
const NESTED = new Set(['properties', 'additionalProperties', 'items']);
/** Left out on purpose. Whatever is on neither list would be lost in silence, so it is an error instead. */
const DROPPED = new Set(['$schema', 'pattern', 'propertyNames', 'anyOf']);

type JsonSchema = Record<string, unknown>;

export function customResourceDefinitions(): CustomResourceDefinition[] {
  return KINDS.map(definitionOf);
}

export function structuralSchemaOf(kind: Kind): StructuralSchema {
  const whole = structural(z.toJSONSchema(kind.schema, { io: 'input', target: 'openapi-3.0' }), kind.kind);
  return {
    description: kind.about,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      // Rules may read the name; everything else in metadata is the API server's own.
      metadata: { type: 'object', properties: { name: { type: 'string' } } },
      ...pick(whole.properties ?? {}, ['spec', 'status']),
    },
    ...(whole[CEL_RULES] === undefined ? {} : { [CEL_RULES]: whole[CEL_RULES] }),
  };
}

function definitionOf(kind: Kind): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: kind.namespaced === true ? 'Namespaced' : 'Cluster',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: [...kind.shortNames],
        categories: ['fenceline'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [...kind.columns],
          schema: { openAPIV3Schema: structuralSchemaOf(kind) },
        },
      ],
    },
  };
}

function structural(node: JsonSchema, path: string): StructuralSchema {
  const result: StructuralSchema & JsonSchema = {};
  for (const key of PLAIN) if (key in node) result[key] = node[key] as never;
  for (const key of Object.keys(node)) {
    if (!(PLAIN as readonly string[]).includes(key) && !NESTED.has(key) && !DROPPED.has(key)) {
      throw new Error(`${path}: ${key} has no place in a structural schema`);
    }
  }
  // zod bounds every integer by what a double can hold; as a limit in an API that would only puzzle.
  if (result.minimum === Number.MIN_SAFE_INTEGER) delete result.minimum;
  if (result.maximum === Number.MAX_SAFE_INTEGER) delete result.maximum;
  if (result.type === 'integer') result.format = 'int64';
  if (result['x-kubernetes-int-or-string'] === undefined) refuseLoss(node, path);
  nest(node, result, path);
  return result;
}

/** A union or a bare pattern would vanish from the CRD, and with it what it was meant to refuse. */
function refuseLoss(node: JsonSchema, path: string): void {
  if ('anyOf' in node) throw new Error(`${path}: a union is not structural; write optional members and a rule`);
  if ('pattern' in node && node['format'] !== 'date-time') {
    throw new Error(`${path}: a pattern answers with the expression alone; write a rule that says what to write`);
  }
}

function nest(node: JsonSchema, result: StructuralSchema, path: string): void {
  const properties = Object.entries((node['properties'] ?? {}) as Record<string, JsonSchema>);
  if (properties.length > 0) {
    result.properties = Object.fromEntries(
      properties.map(([name, value]) => [name, structural(value, `${path}.${name}`)]),
    );
  }
  if (node['items'] !== undefined) result.items = structural(node['items'] as JsonSchema, `${path}[]`);
  const additional = node['additionalProperties'];
  if (typeof additional !== 'object' || additional === null) return;
  if (Object.keys(additional).length === 0) result['x-kubernetes-preserve-unknown-fields'] = true;
  else result.additionalProperties = structural(additional as JsonSchema, `${path}{}`);
}

function pick<T>(from: Record<string, T>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
