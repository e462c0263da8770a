/** Objects of a scenario, brought to the API server as a person would: by what it says about its resources. */
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import { failure } from '../kube/errors.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';
import { apiVersionOf, customResourceDefinitions, namespaces } from '../kube/resources.ts';
import * as worldResources from '../world/controllers/resources.ts';

interface ResourceList {
  groupVersion: string;
  resources: { name: string; kind: string; namespaced: boolean }[];
}

interface GroupList {
  groups: { name: string; preferredVersion: { groupVersion: string } }[];
}

type FullObject = KubeObject & { apiVersion: string; kind: string; status?: unknown };

/** Those that every cluster has need not be asked for. */
const wellKnown: readonly Resource[] = [
  ...Object.values(worldResources).filter((one) => typeof one !== 'function'),
  customResourceDefinitions,
];

export class Manifests {
  readonly #client: KubeClient;
  /** Kinds that came with the scenario, and what they are called. */
  readonly #defined: Resource[] = [];

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Creates it, or changes what is there. Answers what went wrong, if anything. */
  async apply(object: FullObject): Promise<string | undefined> {
    const found = (await this.#find(object.apiVersion, object.kind)) ?? (await this.#define(object));
    if (typeof found === 'string') return found;
    if (found === customResourceDefinitions) this.#defined.push(...definedBy(object));
    const placed = this.#placed(found, object);
    const ref = refOf(found, placed);
    if (ref.namespace !== undefined) await this.#ensureNamespace(ref.namespace);
    const created = await this.#client.create(found, placed);
    if (!created.ok && created.error.kind !== 'alreadyExists') return created.error.message;
    if (!created.ok) {
      const applied = await this.#client.apply(ref, placed);
      if (!applied.ok) return applied.error.message;
    }
    return this.#writeStatus(ref, placed);
  }

  async delete(what: { kind: string; name: string; namespace?: string }): Promise<string | undefined> {
    const resource = await this.#find(undefined, what.kind);
    if (resource === undefined) return `the API server knows no ${what.kind}`;
    const namespace = resource.namespaced ? (what.namespace ?? 'default') : undefined;
    const ref: ObjectRef = { resource, name: what.name, ...(namespace === undefined ? {} : { namespace }) };
    const read = await this.#client.get(ref);
    if (!read.ok) return read.error.message;
    const deleted = await this.#client.delete(ref, { uid: read.value.metadata.uid ?? '' });
    return deleted.ok ? undefined : deleted.error.message;
  }

  /** Custom resources come with what their controllers had written; those of Kubernetes are written by its own. */
  async #writeStatus(ref: ObjectRef, object: FullObject): Promise<string | undefined> {
    if (object.status === undefined || !ref.resource.group.includes('.') || ref.resource.group.endsWith('.k8s.io')) {
      return undefined;
    }
    const read = await this.#client.get<FullObject>(ref);
    if (!read.ok) return read.error.message;
    const written = await this.#client.replace(ref, { ...read.value, status: object.status }, 'status');
    // Without the subresource the status was written with the rest.
    return written.ok || written.error.kind === 'notFound' ? undefined : written.error.message;
  }

  async #find(apiVersion: string | undefined, kind: string): Promise<Resource | undefined> {
    const known = [...wellKnown, ...this.#defined].find(
      (one) => one.kind === kind && (apiVersion === undefined || apiVersionOf(one) === apiVersion),
    );
    if (known !== undefined) return known;
    const paths = apiVersion === undefined ? await this.#allVersions() : [pathOf(apiVersion)];
    for (const path of paths) {
      const listed = await this.#read<ResourceList>(path);
      const found = listed.ok
        ? listed.value.resources.find((one) => one.kind === kind && !one.name.includes('/'))
        : undefined;
      if (!listed.ok || found === undefined) continue;
      const [group, version] = split(listed.value.groupVersion);
      return { group, version, plural: found.name, kind, namespaced: found.namespaced };
    }
    return undefined;
  }

  async #allVersions(): Promise<string[]> {
    const groups = await this.#read<GroupList>('/apis');
    const others = groups.ok ? groups.value.groups.map(({ preferredVersion }) => preferredVersion.groupVersion) : [];
    return ['/api/v1', ...others.map(pathOf)];
  }

  async #read<T>(path: string): Promise<Result<T>> {
    const opened = await this.#client.stream(path, 'call', { signal: new AbortController().signal });
    if (!opened.ok) return opened;
    const chunks: Uint8Array[] = [];
    for await (const chunk of opened.value.body) chunks.push(chunk);
    try {
      return { ok: true, value: JSON.parse(Buffer.concat(chunks).toString('utf8')) as T };
    } catch {
      return failure({ kind: 'malformed', message: `${path} is not JSON`, mayHaveHappened: false });
    }
  }

  /** A kind that nobody defined is taken as it is, so that a file need not carry the definitions of others. */
  async #define({ apiVersion, kind, metadata }: FullObject): Promise<Resource | string> {
    const [group, version] = split(apiVersion);
    if (group === '' || /(^|\.)k8s\.io$|^(apps|batch|policy|autoscaling)$/.test(group)) {
      return `the API server knows no ${kind} in ${apiVersion}`;
    }
    const plural = `${kind.toLowerCase()}s`;
    const namespaced = metadata.namespace !== undefined;
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const definition = {
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: namespaced ? 'Namespaced' : 'Cluster',
        names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
        versions: [
          {
            name: version,
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: { openAPIV3Schema: schema },
          },
        ],
      },
    };
    const created = await this.#client.create(customResourceDefinitions, definition);
    if (!created.ok && created.error.kind !== 'alreadyExists') return created.error.message;
    const resource = { group, version, plural, kind, namespaced };
    this.#defined.push(resource);
    return resource;
  }

  #placed(resource: Resource, object: FullObject): FullObject {
    if (!resource.namespaced || object.metadata.namespace !== undefined) return object;
    return { ...object, metadata: { ...object.metadata, namespace: 'default' } };
  }

  async #ensureNamespace(name: string): Promise<void> {
    const read = await this.#client.get({ resource: namespaces, name });
    if (!read.ok && read.error.kind === 'notFound') await this.#client.create(namespaces, { metadata: { name } });
  }
}

function definedBy(definition: KubeObject): Resource[] {
  const { spec } = definition as KubeObject & {
    spec?: { group: string; scope: string; names: { plural: string; kind: string }; versions: { name: string }[] };
  };
  return (spec?.versions ?? []).map(({ name }) => ({
    group: spec?.group ?? '',
    version: name,
    plural: spec?.names.plural ?? '',
    kind: spec?.names.kind ?? '',
    namespaced: spec?.scope === 'Namespaced',
  }));
}

function refOf(resource: Resource, { metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { resource, name, ...(resource.namespaced && namespace !== undefined ? { namespace } : {}) };
}

function pathOf(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

function split(apiVersion: string): [string, string] {
  const at = apiVersion.indexOf('/');
  return at === -1 ? ['', apiVersion] : [apiVersion.slice(0, at), apiVersion.slice(at + 1)];
}
