/** What clients ask to find their way: groups, resources, versions, health, and as much OpenAPI as kubectl needs. */
import type { Core } from './core.ts';
import type { Answer, Call } from './handler.ts';
import type { Kind } from './kind.ts';
import { apiVersionOf } from './kind.ts';
import type { JsonRecord } from './object.ts';
import { isRecord } from './object.ts';

/** The version whose behaviour is the model. */
const version = { major: '1', minor: '36', gitVersion: 'v1.36.3', gitCommit: '', gitTreeState: 'clean' };

/** Undefined: there is no such path. */
export function discover({ path, headers }: Call, core: Core): Answer | undefined {
  const kinds = core.registry.all();
  const aggregated = (headers['accept'] ?? '').includes('as=APIGroupDiscoveryList');
  switch (path) {
    case '/api':
      return aggregated ? aggregate(kinds.filter(({ group }) => group === '')) : json(coreVersions);
    case '/apis':
      return aggregated ? aggregate(kinds.filter(({ group }) => group !== '')) : json(groupList(kinds));
    case '/version':
      return json({
        ...version,
        buildDate: '1970-01-01T00:00:00Z',
        goVersion: 'none',
        compiler: 'none',
        platform: 'embedded',
      });
    case '/healthz':
    case '/livez':
    case '/readyz':
      return { status: 200, text: 'ok', contentType: 'text/plain; charset=utf-8' };
    case '/openapi/v2':
      return json({
        swagger: '2.0',
        info: { title: 'Kubernetes', version: version.gitVersion },
        paths: {},
        definitions: {},
      });
    case '/openapi/v3':
      return json({
        paths: Object.fromEntries(rootsOf(kinds).map((root) => [root, { serverRelativeURL: `/openapi/v3/${root}` }])),
      });
    default:
      return path.startsWith('/openapi/v3/') ? openApi(kinds, path.slice('/openapi/v3/'.length)) : below(kinds, path);
  }
}

function json(value: unknown, contentType?: string): Answer {
  const text = JSON.stringify(value);
  return contentType === undefined ? { status: 200, text } : { status: 200, text, contentType };
}

const coreVersions = {
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1' }],
};

function groupsOf(kinds: Kind[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const kind of kinds) {
    const versions = groups.get(kind.group) ?? [];
    if (!versions.includes(kind.version)) versions.push(kind.version);
    groups.set(kind.group, versions);
  }
  return groups;
}

function groupOf(group: string, versions: string[]): JsonRecord {
  const all = versions.map((one) => ({ groupVersion: apiVersionOf({ group, version: one }), version: one }));
  return { name: group, versions: all, preferredVersion: all[0] };
}

function groupList(kinds: Kind[]): JsonRecord {
  const groups = [...groupsOf(kinds)]
    .filter(([group]) => group !== '')
    .map(([group, versions]) => groupOf(group, versions));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

function below(kinds: Kind[], path: string): Answer | undefined {
  const parts = path.split('/').filter((part) => part !== '');
  const [root, first = '', second] = parts;
  if (root === 'api' && parts.length === 2) return resourceList(kinds, '', first);
  if (root !== 'apis') return undefined;
  if (parts.length === 3) return resourceList(kinds, first, second ?? '');
  const versions = groupsOf(kinds).get(first);
  if (parts.length !== 2 || versions === undefined) return undefined;
  return json({ kind: 'APIGroup', apiVersion: 'v1', ...groupOf(first, versions) });
}

/** Which verbs a subresource knows, and what it is made of. */
function subresource(kind: Kind, name: string): { verbs: string[]; group: string; version: string; kind: string } {
  const { group, version: ownVersion, kind: ownKind } = kind;
  switch (name) {
    case 'scale':
      return { verbs: ['get', 'patch', 'update'], group: 'autoscaling', version: 'v1', kind: 'Scale' };
    case 'eviction':
      return { verbs: ['create'], group: 'policy', version: 'v1', kind: 'Eviction' };
    case 'binding':
      return { verbs: ['create'], group, version: ownVersion, kind: 'Binding' };
    case 'finalize':
      return { verbs: ['update'], group, version: ownVersion, kind: ownKind };
    default:
      return { verbs: ['get', 'patch', 'update'], group, version: ownVersion, kind: ownKind };
  }
}

function resourceList(kinds: Kind[], group: string, ofVersion: string): Answer | undefined {
  const own = kinds.filter((kind) => kind.group === group && kind.version === ofVersion);
  if (own.length === 0) return undefined;
  const resources = own.flatMap((kind) => {
    const { plural, singular, namespaced, verbs, shortNames, categories } = kind;
    const whole: JsonRecord = { name: plural, singularName: singular, namespaced, kind: kind.kind, verbs };
    if (shortNames.length > 0) whole['shortNames'] = shortNames;
    if (categories.length > 0) whole['categories'] = categories;
    const parts = kind.subresources.map((name) => {
      const { verbs: partVerbs, group: partGroup, version: partVersion, kind: partKind } = subresource(kind, name);
      const elsewhere = partGroup === group ? {} : { group: partGroup, version: partVersion };
      return {
        name: `${plural}/${name}`,
        singularName: '',
        namespaced,
        ...elsewhere,
        kind: partKind,
        verbs: partVerbs,
      };
    });
    return [whole, ...parts];
  });
  const groupVersion = apiVersionOf({ group, version: ofVersion });
  return json({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources });
}

function aggregate(kinds: Kind[]): Answer {
  const items = [...groupsOf(kinds)].map(([group, versions]) => ({
    metadata: { name: group },
    versions: versions.map((one) => ({
      version: one,
      freshness: 'Current',
      resources: kinds.filter((kind) => kind.group === group && kind.version === one).map(aggregatedResource),
    })),
  }));
  const list = { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
  return json(list, 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
}

function aggregatedResource(kind: Kind): JsonRecord {
  const { group, version: ofVersion, plural, singular, namespaced, verbs, shortNames, categories } = kind;
  const subresources = kind.subresources.map((name) => {
    const { verbs: partVerbs, ...responseKind } = subresource(kind, name);
    return { subresource: name, responseKind, verbs: partVerbs };
  });
  return {
    resource: plural,
    responseKind: { group, version: ofVersion, kind: kind.kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0 ? { subresources } : {}),
  };
}

function rootOf({ group, version: ofVersion }: Kind): string {
  return group === '' ? `api/${ofVersion}` : `apis/${group}/${ofVersion}`;
}

function rootsOf(kinds: Kind[]): string[] {
  return [...new Set(kinds.map(rootOf))];
}

const elsewhere = 'its fields are those of any cluster: https://kubernetes.io/docs/reference/kubernetes-api/';

/** For `kubectl explain`: of what is defined here everything, of what is part of Kubernetes where it is explained. */
function fieldsOf({ kind, schema }: Kind): JsonRecord {
  const string = { type: 'string' };
  const metadata = {
    type: 'object',
    description: 'Standard metadata of objects: name, labels, annotations and so on.',
  };
  const common = { apiVersion: string, kind: string, metadata };
  if (schema === undefined) {
    const part = { type: 'object', description: elsewhere };
    return { description: `A ${kind}; ${elsewhere}`, properties: { ...common, spec: part, status: part } };
  }
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  return { ...schema, properties: { ...common, ...properties, metadata } };
}

/** kubectl looks here whether the server checks fields itself; it does, and so kubectl need not know the schemas. */
function openApi(kinds: Kind[], root: string): Answer | undefined {
  const own = kinds.filter((kind) => rootOf(kind) === root);
  if (own.length === 0) return undefined;
  const parameter = (name: string): JsonRecord => ({ name, in: 'query', schema: { type: 'string' } });
  const paths: JsonRecord = {};
  const schemas: JsonRecord = {};
  for (const kind of own) {
    const { group, version: ofVersion, plural, namespaced } = kind;
    const gvk = { group, version: ofVersion, kind: kind.kind };
    const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map(parameter);
    const name = `/${root}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}/{name}`;
    const operation = (action: string): JsonRecord => ({
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': gvk,
      parameters,
      responses: {},
    });
    paths[name] = { patch: operation('patch'), put: operation('put') };
    const id = `${group === '' ? 'core' : group}.${ofVersion}.${kind.kind}`;
    schemas[id] = { ...fieldsOf(kind), type: 'object', 'x-kubernetes-group-version-kind': [gvk] };
  }
  return json({
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: version.gitVersion },
    paths,
    components: { schemas },
  });
}
