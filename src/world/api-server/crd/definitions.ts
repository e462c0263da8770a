/** CustomResourceDefinitions, and the resources that they bring. */
import { apiTime } from '../../objects/times.ts';
import { allVerbs } from '../catalog.ts';
import type { Core } from '../core.ts';
import type { Kind, RuleContext, Rules } from '../kind.ts';
import { apiVersionOf } from '../kind.ts';
import { fieldAt } from '../kinds/pod.ts';
import type { ApiObject, JsonRecord } from '../object.ts';
import { at, isRecord, listOf, recordsOf, textOf } from '../object.ts';
import type { Shape } from '../shapes.ts';
import { metadataShape } from '../shapes.ts';
import type { FieldErrors } from '../status-error.ts';
import { checkExpression, validateRules } from './rules.ts';
import type { Schema } from './schema.ts';
import { applyDefaults, prune, validateValue } from './schema.ts';

const storage = 'apiextensions.k8s.io/customresourcedefinitions';

interface Names {
  kind: string;
  plural: string;
  singular: string;
  listKind: string;
  shortNames?: string[];
  categories?: string[];
}

export interface PrinterColumn {
  name: string;
  type: string;
  jsonPath: string;
  format?: string;
  description?: string;
  priority?: number;
}

interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  schema?: { openAPIV3Schema?: Schema };
  subresources?: {
    status?: object;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  };
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: { jsonPath: string }[];
}

export interface CrdSpec {
  group: string;
  scope: string;
  names: Names;
  versions: CrdVersion[];
}

const definitionRules: Rules = {
  hasStatus: true,
  hasGeneration: true,
  unconditionalUpdate: false,
  defaults(object) {
    const spec = (object.spec ??= {});
    spec['conversion'] ??= { strategy: 'None' };
    const names = (spec['names'] ??= {}) as JsonRecord;
    names['singular'] ??= textOf(names['kind']).toLowerCase();
    names['listKind'] ??= `${textOf(names['kind'])}List`;
  },
  prepareCreate(object, context) {
    object.status = establishedStatus(object, context);
  },
  prepareUpdate(next, old, context) {
    next.status = { ...establishedStatus(next, context), conditions: at(old, 'status', 'conditions') };
  },
  validate: validateDefinition,
};

/** The real server's controllers say so a moment later; here it is true from the start. */
function establishedStatus(object: ApiObject, context: RuleContext): JsonRecord {
  const lastTransitionTime = apiTime(context.nowMs());
  const stored = recordsOf(object.spec?.['versions']).filter((version) => version['storage'] === true);
  return {
    conditions: [
      {
        type: 'NamesAccepted',
        status: 'True',
        reason: 'NoConflicts',
        message: 'no conflicts found',
        lastTransitionTime,
      },
      {
        type: 'Established',
        status: 'True',
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
        lastTransitionTime,
      },
    ],
    acceptedNames: object.spec?.['names'],
    storedVersions: stored.map((version) => version['name']),
  };
}

function validateDefinition(object: ApiObject, errors: FieldErrors): void {
  const { group = '', names, versions = [], scope } = (object.spec ?? {}) as unknown as Partial<CrdSpec>;
  if (group === '') errors.required('spec.group');
  const expected = `${names?.plural}.${group}`;
  if (object.metadata.name !== expected)
    errors.invalid('metadata.name', object.metadata.name, 'must be spec.names.plural+"."+spec.group');
  if (scope !== 'Cluster' && scope !== 'Namespaced')
    errors.notSupported('spec.scope', scope ?? '', ['Cluster', 'Namespaced']);
  if (versions.filter((version) => version.storage).length !== 1) {
    errors.invalid('spec.versions', versions, 'must have exactly one version marked as storage version');
  }
  for (const [index, version] of versions.entries()) {
    const path = `spec.versions[${index}].schema.openAPIV3Schema`;
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined) errors.required(path, 'schemas are required');
    else checkSchema(schema, path, errors);
  }
}

function checkSchema(schema: Schema, path: string, errors: FieldErrors): void {
  for (const [index, { rule }] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    try {
      checkExpression(rule);
    } catch (error) {
      errors.invalid(
        `${path}.x-kubernetes-validations[${index}].rule`,
        rule,
        `compilation failed: ${(error as Error).message}`,
      );
    }
  }
  for (const [key, child] of Object.entries(schema.properties ?? {}))
    checkSchema(child, `${path}.properties[${key}]`, errors);
  if (schema.items !== undefined) checkSchema(schema.items, `${path}.items`, errors);
  if (isRecord(schema.additionalProperties))
    checkSchema(schema.additionalProperties, `${path}.additionalProperties`, errors);
}

export function customResourceKinds(core: Core): void {
  const definitions: Kind = {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    plural: 'customresourcedefinitions',
    singular: 'customresourcedefinition',
    kind: 'CustomResourceDefinition',
    listKind: 'CustomResourceDefinitionList',
    namespaced: false,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    verbs: allVerbs,
    subresources: ['status'],
    storage,
    custom: false,
    rules: { ...definitionRules, shape: { fields: { metadata: metadataShape } } },
  };
  core.registry.add(definitions);
  const served = new Map<string, Kind[]>();
  core.onChange(storage, (object, deleted) => {
    const { name } = object.metadata;
    for (const kind of served.get(name) ?? []) core.registry.remove(kind);
    served.delete(name);
    if (deleted) {
      core.store.drop(storageOf(object));
      return;
    }
    const kinds = core.has('crdServing') ? kindsOf(core, object) : [];
    for (const kind of kinds) core.registry.add(kind);
    served.set(name, kinds);
  });
}

function storageOf(definition: ApiObject): string {
  const { group, names } = definition.spec as unknown as CrdSpec;
  return `${group}/${names.plural}`;
}

function kindsOf(core: Core, definition: ApiObject): Kind[] {
  const spec = definition.spec as unknown as CrdSpec;
  const { group, names, scope, versions } = spec;
  const stored = versions.find((version) => version.storage)?.name ?? '';
  return versions
    .filter((version) => version.served)
    .map((version) => {
      const { status, scale } = version.subresources ?? {};
      const kind: Kind = {
        group,
        version: version.name,
        plural: names.plural,
        singular: names.singular,
        kind: names.kind,
        listKind: names.listKind,
        namespaced: scope === 'Namespaced',
        shortNames: names.shortNames ?? [],
        categories: names.categories ?? [],
        verbs: allVerbs,
        subresources: [...(status === undefined ? [] : ['status']), ...(scale === undefined ? [] : ['scale'])],
        storage: storageOf(definition),
        custom: true,
        columns: version.additionalPrinterColumns,
        rules: rulesOf(core, version),
        schema: { ...version.schema?.openAPIV3Schema },
      };
      if (scale !== undefined) {
        const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
        kind.scale = {
          replicas: specReplicasPath,
          statusReplicas: statusReplicasPath,
          ...(labelSelectorPath === undefined ? {} : { selector: labelSelectorPath }),
        };
      }
      // Without a webhook, versions differ in nothing but their name.
      if (version.name !== stored) {
        kind.toStored = (object) => ({ ...object, apiVersion: apiVersionOf({ group, version: stored }) });
        kind.fromStored = (object) => ({ ...object, apiVersion: apiVersionOf(kind) });
      }
      return kind;
    });
}

function rulesOf(core: Core, version: CrdVersion): Rules {
  const schema = version.schema?.openAPIV3Schema ?? {};
  const check = (object: ApiObject, old: ApiObject | undefined, errors: FieldErrors): void => {
    if (core.has('crdSchema')) validateValue(object, schema, { path: '', old, isRoot: true }, errors);
    if (!core.has('celRules') || !hasRules(schema)) return;
    if (errors.blocking && core.has('celBlocked')) errors.skippedRules();
    else validateRules(object, schema, { path: '', old, isRoot: true }, errors);
  };
  return {
    hasStatus: version.subresources?.status !== undefined,
    hasGeneration: true,
    statusMetadata: 'kept',
    unconditionalUpdate: false,
    shape: { ...shapeFrom(schema), fields: { ...shapeFrom(schema).fields, metadata: metadataShape } },
    defaults(object) {
      if (core.has('crdDefaults')) applyDefaults(object, schema);
    },
    prune: (object) => (core.has('crdPruning') ? prune(object, schema) : []),
    validateCreate: (object, errors) => check(object, undefined, errors),
    validateUpdate: (next, old, errors) => check(next, old, errors),
    fields: Object.fromEntries(
      (version.selectableFields ?? []).map(({ jsonPath }) => {
        const path = jsonPath.replace(/^\./, '');
        return [path, fieldAt(...path.split('.'))] as const;
      }),
    ),
  };
}

function hasRules(schema: Schema): boolean {
  if ((schema['x-kubernetes-validations'] ?? []).length > 0) return true;
  const children = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties];
  return children.some((child) => isRecord(child) && hasRules(child));
}

/** What apply needs to know of the schema. */
function shapeFrom(schema: Schema): Shape {
  const shape: Shape = {};
  if (schema['x-kubernetes-map-type'] === 'atomic') shape.atomic = true;
  if (schema.properties !== undefined) {
    shape.fields = Object.fromEntries(Object.entries(schema.properties).map(([key, child]) => [key, shapeFrom(child)]));
  } else if (isRecord(schema.additionalProperties)) shape.item = shapeFrom(schema.additionalProperties);
  const { items } = schema;
  if (items === undefined) return shape;
  shape.item = shapeFrom(items);
  if (schema['x-kubernetes-list-type'] === 'map') shape.keys = listOf(schema['x-kubernetes-list-map-keys']) as string[];
  else if (schema['x-kubernetes-list-type'] === 'set') shape.set = true;
  else shape.atomic = true;
  return shape;
}
