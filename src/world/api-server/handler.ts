/** From a request to its answer. Nothing here waits: an answer is complete, or a watch that goes on by itself. */
import type { Core } from './core.ts';
import type { ParseYaml } from './decode.ts';
import { decodeObject, normalized, parseBody } from './decode.ts';
import { deleteOptions, remove } from './deletes.ts';
import type { Faults } from './faults.ts';
import type { Kind } from './kind.ts';
import type { ApiObject, JsonRecord } from './object.ts';
import { isRecord, recordOf } from './object.ts';
import { patch, patcher } from './patch-request.ts';
import { list, listText, selectionOf, versionParameter } from './reads.ts';
import type { Route } from './registry.ts';
import {
  ApiError,
  badRequest,
  methodNotAllowed,
  noSuchPath,
  unsupportedMediaType,
  versionTooLarge,
} from './status-error.ts';
import type { EventType, Version } from './store.ts';
import { bind, evict, scaleOf, setScale, success } from './subresources.ts';
import { Watch } from './watches.ts';
import type { Target, WriteOptions, Written } from './writes.ts';
import { create, current, update } from './writes.ts';

export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Record<string, string>;
  body: string;
  user: string;
  /** The caller takes stored objects as they are, and promises to leave them so. */
  shares: boolean;
}

export interface Answer {
  status: number;
  text?: string | Uint8Array;
  contentType?: string;
  watch?: Watch;
  /** For the audit record. */
  before?: ApiObject | undefined;
  after?: ApiObject | undefined;
  name?: string;
}

/** How people's tools want to see objects, where it is not as they are. */
export interface Presentation {
  /** One object, where it is not shown as a list of one. */
  single?: (version: Version) => string;
  list: (kind: Kind, versions: Version[], metadata: JsonRecord) => string;
  event: (kind: Kind, type: EventType, version: Version) => Uint8Array;
}

export interface HandlerOptions {
  core: Core;
  faults: Faults;
  yaml: ParseYaml | undefined;
  presentationOf: (accept: string) => Presentation | undefined;
  onDeleted: (target: Target, before: ApiObject) => void;
}

export function verbOf(call: Call, { name }: Route): string {
  switch (call.method) {
    case 'GET':
    case 'HEAD':
      if (name !== undefined) return 'get';
      return isTrue(call.query.get('watch')) ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete';
    default:
      throw methodNotAllowed();
  }
}

function bodyOf(version: Version, shares: boolean): Uint8Array {
  return shares ? version.document() : version.bytes;
}

function isTrue(value: string | null): boolean {
  return value === '1' || value === 'true';
}

export class Handler {
  readonly #core: Core;
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#core = options.core;
    this.#options = options;
  }

  handle(call: Call, route: Route, verb: string): Answer {
    const { kind, subresource, name } = route;
    if (subresource !== undefined && !kind.subresources.includes(subresource)) throw noSuchPath();
    if (name === undefined) return this.#onCollection(call, route, verb);
    const target: Target = { kind, namespace: route.namespace, name };
    if (subresource !== undefined && subresource !== 'status' && subresource !== 'finalize') {
      return this.#throughSubresource(call, target, { subresource, verb });
    }
    switch (verb) {
      case 'get':
        return this.#get(call, target);
      case 'update':
        return this.#replace(call, target, subresource);
      case 'patch':
        return this.#answer(
          patch(this.#core, target, this.#patchBody(call), this.#write(call, subresource)),
          call,
          kind,
        );
      case 'delete':
        if (subresource !== undefined) throw methodNotAllowed();
        return this.#delete(call, target);
      default:
        throw methodNotAllowed();
    }
  }

  #onCollection(call: Call, { kind, namespace }: Route, verb: string): Answer {
    switch (verb) {
      case 'list':
        return this.#list(call, kind, namespace);
      case 'watch':
        return this.#watch(call, kind, namespace);
      case 'create': {
        if (kind.namespaced && namespace === undefined) throw methodNotAllowed();
        const object = this.#decode(kind, call);
        const written = create(this.#core, { kind, namespace }, object, this.#write(call));
        return this.#answer(written, call, kind);
      }
      case 'deletecollection':
        return this.#deleteAll(call, kind, namespace);
      default:
        throw methodNotAllowed();
    }
  }

  #decode(kind: Kind, call: Call): ApiObject {
    const type = call.headers['content-type'] ?? '';
    // Typed clients speak protobuf when nobody stops them; it is read where people's tools come in, and nowhere else.
    if (/protobuf|cbor/.test(type)) throw unsupportedMediaType(['application/json', 'application/yaml']);
    const checks = { types: this.#core.has('typeChecks'), metadata: this.#core.has('strictTypes') };
    if (!this.#core.has('decoding') && !call.body.startsWith('{'))
      return { apiVersion: '', kind: kind.kind, metadata: { name: 'a' } };
    return decodeObject(kind, call.body, { yaml: this.#options.yaml, checks });
  }

  #write(call: Call, subresource?: string): WriteOptions {
    const { query, headers } = call;
    const agent = (headers['user-agent'] ?? 'unknown').split('/', 1)[0] ?? 'unknown';
    const isApply = (headers['content-type'] ?? '').startsWith('application/apply-patch');
    const manager = query.get('fieldManager') ?? (isApply ? '' : agent);
    const dryRun = query.get('dryRun') !== null && this.#core.has('dryRun');
    return { manager, dryRun, subresource, strict: query.get('fieldValidation') === 'Strict' };
  }

  #patchBody(call: Call): Parameters<typeof patch>[2] {
    const contentType = (call.headers['content-type'] ?? '').split(';', 1)[0]?.trim() ?? '';
    return { text: call.body, contentType, force: isTrue(call.query.get('force')), yaml: this.#options.yaml };
  }

  #answer({ version, created, before }: Written, { shares }: Call, kind: Kind): Answer {
    const shown = version.as(this.#core.has('eventFaces') ? kind.fromStored : undefined);
    const status = created ? 201 : 200;
    return { status, text: bodyOf(shown, shares), before, after: shown.object, name: shown.object.metadata.name };
  }

  #get(call: Call, target: Target): Answer {
    const wanted = versionParameter(this.#core, call.query);
    const now = this.#core.store.revision;
    if (wanted !== undefined && Number(wanted) > now) throw versionTooLarge(Number(wanted), now);
    const version = current(this.#core, target).as(target.kind.fromStored);
    if (!this.#core.has('typeMeta')) return { status: 200, text: version.itemText };
    const shown = this.#options.presentationOf(call.headers['accept'] ?? '');
    if (shown === undefined) return { status: 200, text: bodyOf(version, call.shares) };
    const metadata = { resourceVersion: String(version.revision) };
    if (shown.single !== undefined) return { status: 200, text: shown.single(version) };
    return { status: 200, text: shown.list(target.kind, [version], metadata) };
  }

  #list(call: Call, kind: Kind, namespace: string | undefined): Answer {
    const { query, user } = call;
    const selection = selectionOf(this.#core, kind, namespace, query);
    const lagMs = this.#options.faults.lagMs(user);
    const page = list(this.#core, { kind, selection, query, lagMs });
    const shown = this.#options.presentationOf(call.headers['accept'] ?? '');
    if (shown === undefined) return { status: 200, text: listText(this.#core, kind, page) };
    const metadata: JsonRecord = { resourceVersion: String(page.revision) };
    if (page.continueToken !== undefined) metadata['continue'] = page.continueToken;
    return {
      status: 200,
      text: shown.list(
        kind,
        page.versions.map((one) => one.as(kind.fromStored)),
        metadata,
      ),
    };
  }

  #watch(call: Call, kind: Kind, namespace: string | undefined): Answer {
    const { query, user, shares } = call;
    const selection = selectionOf(this.#core, kind, namespace, query);
    const shown = this.#options.presentationOf(call.headers['accept'] ?? '');
    const render =
      shown === undefined ? undefined : (type: EventType, version: Version) => shown.event(kind, type, version);
    const { faults } = this.#options;
    return { status: 200, watch: new Watch(this.#core, { kind, selection, query, faults, user, shares, render }) };
  }

  #replace(call: Call, target: Target, subresource: string | undefined): Answer {
    const { kind, namespace, name } = target;
    const object = this.#decode(kind, call);
    if (!object.metadata.name) {
      const why = 'name must be provided';
      throw badRequest(
        `the name of the object (${object.metadata.name ?? ''} based on URL) was undeterminable: ${why}`,
      );
    }
    const options = { ...this.#write(call, subresource), replaces: true };
    const createsToo =
      (kind.rules.createOnUpdate === true || !this.#core.has('createOnUpdateOnlySome')) &&
      subresource === undefined &&
      this.#core.has('createOnUpdate');
    try {
      const replace = (live: ApiObject): { object: ApiObject } =>
        this.#core.has('replacement')
          ? { object }
          : {
              object: {
                ...live,
                ...object,
                metadata: { ...live.metadata, ...object.metadata },
                data: { ...recordOf(live['data']), ...recordOf(object['data']) },
              },
            };
      return this.#answer(update(this.#core, target, replace, options), call, kind);
    } catch (error) {
      const missing = error instanceof ApiError && error.code === 404;
      if (!missing || !createsToo || object.metadata.uid !== undefined) throw error;
      delete object.metadata.resourceVersion;
      if (object.metadata.name !== name) throw error;
      return this.#answer(create(this.#core, { kind, namespace }, object, options), call, kind);
    }
  }

  #delete(call: Call, target: Target): Answer {
    const body = call.body === '' ? undefined : parseBody(call.body, this.#options.yaml);
    const { kind, name } = target;
    if (!this.#core.has('deletion')) return { status: 200, text: JSON.stringify(success) };
    const { version, gone, before } = remove(this.#core, target, deleteOptions(body, call.query));
    const shown = version.as(kind.fromStored);
    if (gone) this.#options.onDeleted(target, before);
    const returns = kind.rules.returnsDeleted ? this.#core.has('deletedObject') : !this.#core.has('deletedStatus');
    if (!gone || returns)
      return { status: 200, text: bodyOf(shown, call.shares), before, after: gone ? undefined : shown.object };
    const details: JsonRecord = {
      name,
      ...(kind.group === '' ? {} : { group: kind.group }),
      kind: kind.plural,
      uid: before.metadata.uid,
    };
    return { status: 200, text: JSON.stringify({ ...success, details }), before };
  }

  #deleteAll(call: Call, kind: Kind, namespace: string | undefined): Answer {
    const body = call.body === '' ? undefined : parseBody(call.body, this.#options.yaml);
    const options = deleteOptions(body, call.query);
    const selection = selectionOf(
      this.#core,
      kind,
      namespace,
      this.#core.has('deleteCollection') ? call.query : new URLSearchParams(),
    );
    const plain = new URLSearchParams();
    const page = list(this.#core, { kind, selection, query: plain, lagMs: 0 });
    for (const { object } of page.versions) {
      const { name, namespace: home } = object.metadata;
      const target = { kind, namespace: home, name };
      const { gone, before } = remove(this.#core, target, { ...options });
      if (gone) this.#options.onDeleted(target, before);
    }
    return { status: 200, text: listText(this.#core, kind, page) };
  }

  #throughSubresource(
    call: Call,
    target: Target,
    { subresource, verb }: { subresource: string; verb: string },
  ): Answer {
    const core = this.#core;
    const write = this.#write(call, subresource);
    if (subresource === 'scale') return this.#scale(call, target, verb);
    if (verb !== 'create') throw methodNotAllowed();
    const body = recordOf(parseBody(call.body, this.#options.yaml));
    if (subresource === 'eviction') {
      const status = evict(core, target, body, { ...write, subresource: undefined });
      return { status: 201, text: JSON.stringify({ ...status, code: 201 }) };
    }
    const { before, version } = bind(core, target, body, write);
    return { status: 201, text: JSON.stringify({ ...success, code: 201 }), before, after: version.object };
  }

  #scale(call: Call, target: Target, verb: string): Answer {
    if (verb === 'get') {
      return { status: 200, text: JSON.stringify(scaleOf(target, current(this.#core, target).object)) };
    }
    const change = this.#scaleChange(call, target, verb);
    const { version, before } = setScale(this.#core, target, change, this.#write(call, 'scale'));
    return { status: 200, text: JSON.stringify(scaleOf(target, version.object)), before, after: version.object };
  }

  #scaleChange(call: Call, target: Target, verb: string): (scale: ApiObject) => ApiObject {
    if (verb === 'patch') {
      const change = patcher(this.#core, target.kind, this.#patchBody(call));
      return (scale) => {
        const { resourceVersion: _resourceVersion, ...metadata } = scale.metadata;
        return change({ ...scale, metadata }) as ApiObject;
      };
    }
    if (verb !== 'update') throw methodNotAllowed();
    const body = parseBody(call.body, this.#options.yaml);
    if (!isRecord(body)) throw badRequest('not a Scale');
    return () => normalized({ ...target.kind, kind: 'Scale', group: 'autoscaling', version: 'v1' }, body);
  }
}
