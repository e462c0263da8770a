/** Writes of a controller. Each answer goes into the shared copy at once; what fails ends the step (see WorkQueue). */
import type { JsonPatchOperation, KubeClient, KubeObject } from '../../kube/client.ts';
import type { KubeError, Result } from '../../kube/errors.ts';
import type { Resource } from '../../kube/resources.ts';
import type { Pod } from '../objects/pods.ts';
import type { WantedStatus } from '../objects/status-patch.ts';
import { statusPatch } from '../objects/status-patch.ts';
import type { Informers } from './informer.ts';
import { bindingsOf } from './resources.ts';
import { StepFailed } from './work-queue.ts';

export interface DeleteOptions {
  gracePeriodSeconds?: number;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
}

export interface PatchOptions {
  subresource?: string;
  /** Only to the object exactly as it was seen. */
  exact?: boolean;
}

export class Api {
  readonly #client: KubeClient;
  readonly #informers: Informers;
  readonly #signal: AbortSignal;

  constructor(client: KubeClient, informers: Informers, signal: AbortSignal) {
    this.#client = client;
    this.#informers = informers;
    this.#signal = signal;
  }

  /** Undefined when an object of that name exists. */
  async create<T extends KubeObject>(resource: Resource, object: T): Promise<T | undefined> {
    const created = await this.#client.create<T>(resource, object, { signal: this.#signal });
    if (!created.ok && created.error.kind === 'alreadyExists') return undefined;
    return this.#observed(resource, valueOf(created));
  }

  /** Undefined when it is not there. */
  async get<T extends KubeObject>(resource: Resource, key: string): Promise<T | undefined> {
    const read = await this.#client.get<T>(refOf(resource, key), { signal: this.#signal });
    if (!read.ok && read.error.kind === 'notFound') return undefined;
    return this.#observed(resource, valueOf(read));
  }

  /** Without touching the shared copy: for what no informer watches. */
  async list<T extends KubeObject>(resource: Resource, namespace: string): Promise<T[]> {
    const listed = await this.#client.list<T>(resource, { namespace }, { signal: this.#signal });
    if (!listed.ok && listed.error.kind === 'notFound') return [];
    return valueOf(listed).items;
  }

  /** Undefined when it is gone, or another one has its name. */
  async patch<T extends KubeObject>(
    resource: Resource,
    object: T,
    operations: JsonPatchOperation[],
    { subresource, exact = false }: PatchOptions = {},
  ): Promise<T | undefined> {
    const { uid = '', resourceVersion = '' } = object.metadata;
    const patched = await this.#client.patch<T>(
      refOf(resource, keyFrom(object)),
      exact ? { uid, resourceVersion } : { uid },
      operations,
      { signal: this.#signal, ...(subresource === undefined ? {} : { subresource }) },
    );
    if (!patched.ok && patched.error.kind === 'notFound') return undefined;
    if (!patched.ok && patched.error.kind === 'conflict') await this.#refresh(resource, object, patched.error);
    return this.#observed(resource, valueOf(patched));
  }

  /** Writes what the status does not say yet. */
  async status<T extends KubeObject>(resource: Resource, object: T, wanted: WantedStatus): Promise<T | undefined> {
    const patch = statusPatch(object, wanted);
    if (patch === undefined) return object;
    const exact = patch.only.resourceVersion !== undefined;
    return this.patch(resource, object, patch.operations, { subresource: 'status', exact });
  }

  /** Counters and the like, of which the API leaves out what is zero. */
  async counters<T extends KubeObject & { status?: Record<string, unknown> }>(
    resource: Resource,
    object: T,
    fields: Record<string, unknown>,
    conditions: WantedStatus['conditions'] = [],
  ): Promise<T | undefined> {
    const status = object.status ?? {};
    const isNews = ([name, value]: [string, unknown]): boolean => (status[name] ?? 0) !== (value ?? 0);
    const changed = Object.fromEntries(Object.entries(fields).filter(isNews));
    return this.status<T>(resource, object, { fields: changed, conditions });
  }

  async replace<T extends KubeObject>(resource: Resource, object: T, subresource?: string): Promise<T | undefined> {
    const options = { signal: this.#signal };
    const replaced = await this.#client.replace<T>(refOf(resource, keyFrom(object)), object, subresource, options);
    if (!replaced.ok && replaced.error.kind === 'notFound') return undefined;
    if (!replaced.ok && replaced.error.kind === 'conflict') await this.#refresh(resource, object, replaced.error);
    return this.#observed(resource, valueOf(replaced));
  }

  /** What is gone already, or has given its name to another one, counts as deleted. */
  async delete(resource: Resource, object: KubeObject, options: DeleteOptions = {}): Promise<void> {
    const { uid = '' } = object.metadata;
    const ref = refOf(resource, keyFrom(object));
    const deleted = await this.#client.delete(ref, { uid }, { ...options, signal: this.#signal });
    const informer = this.#informers.known(resource);
    if (deleted.ok) {
      const answer = deleted.value;
      // Some resources answer with the object, others with a Status; only the former may live on for a while.
      if (answer.kind === resource.kind && livesOn(answer)) informer?.observe(answer);
      else informer?.forget(object);
    } else if (deleted.error.kind === 'notFound' || deleted.error.kind === 'conflict') {
      informer?.forget(object);
    } else {
      throw new StepFailed(deleted.error);
    }
  }

  async bind(pod: Pod, nodeName: string): Promise<boolean> {
    const { name, namespace = '', uid = '' } = pod.metadata;
    const target = { apiVersion: 'v1', kind: 'Node', name: nodeName };
    const binding = { metadata: { name, namespace, uid }, target };
    const bound = await this.#client.create(bindingsOf(name), binding, { signal: this.#signal });
    if (bound.ok) return true;
    if (bound.error.kind === 'notFound' || bound.error.kind === 'conflict') return false;
    throw new StepFailed(bound.error);
  }

  #observed<T extends KubeObject>(resource: Resource, object: T): T {
    this.#informers.known(resource)?.observe(object);
    return object;
  }

  /** The next attempt is to see what the server holds now, not what the watch may still be about to say. */
  async #refresh(resource: Resource, object: KubeObject, error: KubeError): Promise<never> {
    await this.get(resource, keyFrom(object));
    throw new StepFailed(error);
  }
}

function keyFrom({ metadata: { namespace, name } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function refOf(resource: Resource, key: string): { resource: Resource; namespace?: string; name: string } {
  const at = key.indexOf('/');
  if (at === -1) return { resource, name: key };
  return { resource, namespace: key.slice(0, at), name: key.slice(at + 1) };
}

function livesOn({ metadata }: KubeObject): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  return (metadata.finalizers?.length ?? 0) > 0 || (metadata.deletionGracePeriodSeconds ?? 0) > 0;
}

function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new StepFailed(result.error);
  return result.value;
}
