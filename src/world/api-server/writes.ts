/** How objects come to be and change: the same steps for every way of writing. */
import { apiTime } from '../objects/times.ts';
import type { Core } from './core.ts';
import type { Kind } from './kind.ts';
import { apiVersionOf } from './kind.ts';
import type { ManagedEntry } from './managed-fields.ts';
import { afterUpdate, entriesOf } from './managed-fields.ts';
import {
  generatedName,
  keepIdentity,
  newUid,
  tidyMeta,
  validateMeta,
  validateMetaUpdate,
  wantsNewGeneration,
} from './metadata.ts';
import type { ApiObject } from './object.ts';
import { sameJson } from './object.ts';
import {
  alreadyExists,
  ApiError,
  badRequest,
  conflict,
  FieldErrors,
  forbidden,
  modifiedMessage,
  notFound,
} from './status-error.ts';
import type { Version } from './store.ts';
import { keyOf, Version as StoredVersion } from './store.ts';

export interface Target {
  kind: Kind;
  namespace: string | undefined;
  name: string;
}

export interface WriteOptions {
  manager: string;
  dryRun: boolean;
  subresource?: string | undefined;
  /** A replacement stands for the whole object, so that its UID says which one is meant. */
  replaces?: boolean;
  /** The storage is written even if nothing changed, and ownership is not tracked: writes of the server itself. */
  internal?: boolean;
  /** Unknown fields are refused instead of dropped. */
  strict?: boolean;
}

export interface Written {
  version: Version;
  created: boolean;
  before?: ApiObject | undefined;
}

/** What a change produced, and, for an apply, who owns what now. */
export interface Proposal {
  object: ApiObject;
  entries?: ManagedEntry[];
}

export function current(core: Core, { kind, namespace, name }: Target): Version {
  const version = core.store.collection(kind.storage).get(keyOf(namespace, name));
  if (version === undefined) throw notFound(kind, name);
  return version;
}

export function create(
  core: Core,
  { kind, namespace }: Omit<Target, 'name'>,
  given: ApiObject,
  options: WriteOptions & { entries?: ManagedEntry[] },
): Written {
  const { metadata } = given;
  if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== '' && core.has('versionOnCreate')) {
    // Not a bad request: that is how the real server puts it.
    throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created');
  }
  nameAndPlace(core, kind, namespace, given);
  const object = kind.toStored === undefined || !core.has('eventFaces') ? given : kind.toStored(given);
  if (core.has('uids')) metadata.uid = newUid(core.random);
  if (core.has('creationTimes')) metadata.creationTimestamp = apiTime(core.clock.now());
  if (!core.has('owners')) delete metadata.ownerReferences;
  for (const key of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'generation', 'selfLink']) delete metadata[key];
  object.metadata = metadata;
  tidyMeta(metadata);
  delete metadata.managedFields;
  const context = core.context();
  const { rules } = kind;
  if (kind.custom && rules.hasStatus && core.has('statusIsolation')) delete object.status;
  const unknown = rules.prune?.(object) ?? [];
  if (core.has('crdStrict')) refuseUnknown(kind, unknown, options);
  if (core.has('defaults')) rules.defaults?.(object);
  const applied = core.keepsOwners(kind) ? options.entries : undefined;
  // A status that comes with a new object belongs to nobody.
  const counted = rules.hasStatus ? { ...object, status: undefined as never } : object;
  const entries = applied ?? ownersOf(core, { kind, options }, undefined, counted);
  if (rules.hasGeneration && core.has('generation')) metadata.generation = 1;
  rules.prepareCreate?.(object, context);
  if (!core.has('generation')) delete metadata.generation;
  const errors = new FieldErrors();
  if (core.has('nameFormat')) validateMeta(kind, object, errors);
  if (core.has('validation')) {
    rules.validate?.(object, errors, context);
    rules.validateCreate?.(object, errors);
  }
  // Events are judged as what they are stored as.
  errors.throwIfAny(kind.toStored === undefined || kind.custom ? kind : { ...kind, group: '' }, metadata.name);
  refuseTwins(core, { kind, namespace, name: metadata.name });
  if (entries.length > 0) metadata.managedFields = entries;
  const created = core.has('createdCode');
  if (options.dryRun) return { version: new StoredVersion(object, 0), created };
  return { version: core.put(kind, object), created };
}

function refuseUnknown({ kind, version }: Kind, paths: string[], { strict }: WriteOptions): void {
  if (!strict || paths.length === 0) return;
  const list = paths.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ');
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${list}`);
}

function refuseTwins(core: Core, { kind, namespace, name }: Target): void {
  if (core.has('alreadyExists') && core.store.collection(kind.storage).get(keyOf(namespace, name)) !== undefined) {
    throw alreadyExists(kind, name);
  }
}

function nameAndPlace(core: Core, kind: Kind, namespace: string | undefined, { metadata }: ApiObject): void {
  if (kind.namespaced) {
    if ((metadata.namespace ?? namespace) !== namespace && metadata.namespace !== '' && core.has('typeChecks')) {
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    }
    metadata.namespace = namespace as string;
  } else delete metadata.namespace;
  if (!metadata.name && metadata.generateName && core.has('generateName')) {
    metadata.name = generatedName(metadata.generateName, core.random);
  }
  if (!metadata.name && !core.has('requiredName')) metadata.name = 'nameless';
  if (!metadata.name) {
    metadata.name = '';
    const errors = new FieldErrors();
    errors.required('metadata.name', 'name or generateName is required');
    errors.throwIfAny(kind, '');
  }
  if (kind.namespaced && core.has('namespaceLifecycle'))
    refuseLostNamespace(core, kind, namespace ?? '', metadata.name);
}

function refuseLostNamespace(core: Core, kind: Kind, namespace: string, name: string): void {
  const home = core.store.collection('/namespaces').get(namespace)?.object;
  const namespaces = { group: '', plural: 'namespaces', kind: 'Namespace' };
  if (home === undefined) throw notFound(namespaces, namespace);
  if (home.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const message = `namespace ${namespace} is being terminated`;
  throw forbidden(kind, name, why, [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }]);
}

function ownersOf(
  core: Core,
  { kind, options }: { kind: Kind; options: WriteOptions },
  before: ApiObject | undefined,
  after: ApiObject,
): ManagedEntry[] {
  if (!core.keepsOwners(kind)) return [];
  if (options.internal) return entriesOf(before);
  const writer = {
    manager: options.manager,
    apiVersion: apiVersionOf(kind),
    subresource: options.subresource,
    time: apiTime(core.clock.now()),
  };
  return afterUpdate(before, after, writer, kind.rules.shape);
}

/** `change` is given the object as its version of the API shows it, and must not change it. */
export function update(
  core: Core,
  target: Target,
  change: (live: ApiObject) => Proposal,
  options: WriteOptions,
): Written {
  const { kind, name } = target;
  const live = current(core, target);
  const proposal = change(core.has('replacement') || !options.replaces ? live.as(kind.fromStored).object : live.object);
  checkPreconditions(core, target, live, { proposed: proposal.object, options });
  const given = kind.toStored === undefined ? proposal.object : kind.toStored(proposal.object);
  // Defaults and pruning change what they are given, and a patched object shares most of it with the stored one.
  const owned = kind.custom && !options.replaces ? structuredClone(given) : given;
  const next: ApiObject = { ...owned, metadata: { ...owned.metadata } };
  refuseUnknown(kind, kind.rules.prune?.(next) ?? [], options);
  const old = live.object;
  const resets = Array.isArray(next.metadata.managedFields) && isReset(next.metadata.managedFields);
  prepare(core, kind, { next, old }, options.subresource);
  validate(core, target, { next, old }, options.subresource);
  const before = resets ? { ...old, metadata: { ...old.metadata, managedFields: [] } } : old;
  const entries = proposal.entries ?? ownersOf(core, { kind, options }, before, next);
  if (entries.length > 0) next.metadata.managedFields = entries;
  else delete next.metadata.managedFields;
  next.metadata.resourceVersion = old.metadata.resourceVersion as string;
  if (sameJson(next, old) && core.has('noopWrites')) return { version: live, created: false, before: old };
  if (options.dryRun) return { version: new StoredVersion(next, live.revision), created: false, before: old };
  if (isDone(core, next)) {
    core.remove(kind, target.namespace, name);
    return { version: new StoredVersion(next, live.revision), created: false, before: old };
  }
  return { version: core.put(kind, next), created: false, before: old };
}

function isReset(entries: unknown[]): boolean {
  return entries.length === 0 || (entries.length === 1 && sameJson(entries[0], {}));
}

/** Nothing holds an object back any more that was deleted before. */
export function isDone(core: Core, { metadata, kind, spec }: ApiObject): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  if ((metadata.deletionGracePeriodSeconds ?? 0) > 0 && core.has('graceHolds')) return false;
  if (kind === 'Namespace' && ((spec?.['finalizers'] as unknown[] | undefined)?.length ?? 0) > 0) return false;
  return (metadata.finalizers ?? []).length === 0 && core.has('finalizers');
}

interface Pair {
  next: ApiObject;
  old: ApiObject;
}

function prepare(core: Core, kind: Kind, { next, old }: Pair, subresource: string | undefined): void {
  const { rules } = kind;
  const context = core.context();
  if (core.has('metadataGuards')) keepIdentity(next, old);
  tidyMeta(next.metadata);
  if (subresource === 'status') {
    // Custom resources are filled in when they are read from the wire, through whichever door they come.
    if (kind.custom && core.has('defaults')) rules.defaults?.(next);
    if (core.has('statusIsolation')) keepAllButStatus(core, kind, { next, old });
    rules.prepareStatus?.(next, old, context);
  } else {
    if (rules.hasStatus && subresource === undefined && core.has('statusIsolation')) {
      if (old.status === undefined) delete next.status;
      else next.status = old.status;
    }
    if (core.has('defaults')) rules.defaults?.(next);
    if (subresource !== 'finalize') rules.prepareUpdate?.(next, old, context);
  }
  const counted = subresource !== 'status' ? wantsNewGeneration(kind, next, old) : !core.has('statusGeneration');
  if (core.has('generation') && counted) {
    next.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
}

function keepAllButStatus(core: Core, kind: Kind, { next, old }: Pair): void {
  for (const key of new Set([...Object.keys(next), ...Object.keys(old)])) {
    if (key === 'status' || key === 'metadata') continue;
    if (old[key] === undefined) delete next[key];
    else next[key] = old[key];
  }
  const { metadata } = next;
  const keeps =
    kind.custom || kind.rules.statusMetadata === 'kept' ? core.has('statusMetadataKept') : !core.has('statusMetadata');
  const kept = keeps
    ? (['labels', 'annotations', 'finalizers', 'ownerReferences'] as const)
    : (['ownerReferences'] as const);
  if (kept.length === 1 && kind.plural !== 'pods') return;
  for (const key of kept) {
    if (old.metadata[key] === undefined) delete metadata[key];
    else Object.assign(metadata, { [key]: old.metadata[key] });
  }
}

function validate(core: Core, { kind, name }: Target, { next, old }: Pair, subresource: string | undefined): void {
  const errors = new FieldErrors();
  const { rules } = kind;
  if (core.has('metadataGuards')) validateMetaUpdate(next, old, errors);
  if (core.has('nameFormat') && next.metadata.labels !== old.metadata.labels) validateMeta(kind, next, errors);
  if (subresource === 'status') {
    if (core.has('validation')) rules.validateStatus?.(next, old, errors);
    if (kind.custom && core.has('validation')) rules.validateUpdate?.(next, old, errors, core.context());
  } else {
    if (core.has('validation')) rules.validate?.(next, errors, core.context());
    if (core.has(kind.custom ? 'validation' : 'immutability') && subresource === undefined) {
      rules.validateUpdate?.(next, old, errors, core.context());
    }
  }
  errors.throwIfAny(kind, name);
}

function checkPreconditions(
  core: Core,
  { kind, namespace, name }: Target,
  live: Version,
  { proposed, options }: { proposed: ApiObject; options: WriteOptions },
): void {
  const { metadata } = proposed;
  if (metadata.name !== undefined && metadata.name !== name && core.has('typeChecks')) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
  if (kind.namespaced && metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest(
      `the namespace of the object (${metadata.namespace}) does not match the namespace on the URL (${namespace})`,
    );
  }
  const { uid, resourceVersion = '' } = metadata;
  if (
    options.replaces &&
    uid !== undefined &&
    uid !== '' &&
    uid !== live.object.metadata.uid &&
    core.has('uidConflicts')
  ) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.object.metadata.uid}`;
    throw conflict(kind, name, why);
  }
  if (resourceVersion === '' || resourceVersion === '0') {
    if (options.replaces && kind.rules.unconditionalUpdate === false && core.has('unconditionalUpdates')) {
      throw mustSayVersion(kind, name);
    }
    return;
  }
  if (resourceVersion !== live.object.metadata.resourceVersion && core.has('conflicts')) {
    throw conflict(kind, name, modifiedMessage);
  }
}

function mustSayVersion({ group, plural }: Kind, name: string): ApiError {
  const message = 'Invalid value: 0: must be specified for an update';
  const field = 'metadata.resourceVersion';
  const subject = group === '' ? plural : `${plural}.${group}`;
  return new ApiError(422, 'Invalid', `${subject} "${name}" is invalid: ${field}: ${message}`, {
    name,
    ...(group === '' ? {} : { group }),
    kind: plural,
    causes: [{ reason: 'FieldValueInvalid', message, field }],
  });
}
