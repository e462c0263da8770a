/** PATCH: the four ways to say what is to change. */
import { apiTime } from '../objects/times.ts';
import type { Core } from './core.ts';
import type { ParseYaml } from './decode.ts';
import { checkType, normalized, parseBody } from './decode.ts';
import { applyJsonPatch, JsonPatchError } from './json-patch.ts';
import type { Kind } from './kind.ts';
import { apiVersionOf } from './kind.ts';
import { applyConfig } from './managed-fields.ts';
import { applyMergePatch } from './merge-patch.ts';
import type { ApiObject, JsonRecord } from './object.ts';
import { isRecord, withoutNulls } from './object.ts';
import { applyShapeLeft, jsonPatchLeft, mergePatchLeft, strategicPatchLeft, strategicShapeLeft } from './sabotage.ts';
import { ApiError, badRequest, unsupportedMediaType } from './status-error.ts';
import { keyOf } from './store.ts';
import { applyStrategicMerge } from './strategic-merge.ts';
import type { Proposal, Target, WriteOptions, Written } from './writes.ts';
import { create, update } from './writes.ts';

export interface PatchBody {
  text: string;
  contentType: string;
  force: boolean;
  yaml?: ParseYaml | undefined;
}

const jsonPatch = 'application/json-patch+json';
const mergePatch = 'application/merge-patch+json';
const strategicMerge = 'application/strategic-merge-patch+json';
const applyYaml = 'application/apply-patch+yaml';

export function patch(core: Core, target: Target, body: PatchBody, options: WriteOptions): Written {
  if (body.contentType === applyYaml) return apply(core, target, body, options);
  if (
    !core.has('notFoundPatch') &&
    core.store.collection(target.kind.storage).get(keyOf(target.namespace, target.name)) === undefined
  ) {
    throw badRequest('there is nothing to patch');
  }
  const change = patcher(core, target.kind, body);
  return update(core, target, (live) => ({ object: asObject(target.kind, change(live), body.text) }), options);
}

/** Also for what is shown as something else, such as a Scale. */
export function patcher(core: Core, kind: Kind, { text, contentType }: PatchBody): (live: ApiObject) => unknown {
  switch (contentType) {
    case jsonPatch: {
      const operations = parseBody(text);
      if (!Array.isArray(operations))
        throw badRequest('error decoding patch: json: cannot unmarshal object into Go value');
      const left = jsonPatchLeft(core, operations);
      return (live) => withJsonPatch(core, live, left);
    }
    case mergePatch: {
      const given = mergePatchLeft(core, recordBody(text));
      if (!core.has('mergePatch')) return (live) => applyStrategicMerge(live, given, kind.rules.shape);
      return (live) => applyMergePatch(live, given);
    }
    case strategicMerge: {
      if (kind.custom && core.has('customStrategic')) throw unsupportedMediaType([jsonPatch, mergePatch, applyYaml]);
      const given = strategicPatchLeft(core, recordBody(text));
      const shape = strategicShapeLeft(core, kind.rules.shape);
      return (live) => applyStrategicMerge(live, given, shape);
    }
    default:
      if (!core.has('mediaTypes')) return (live) => live;
      throw unsupportedMediaType(
        kind.custom ? [jsonPatch, mergePatch, applyYaml] : [jsonPatch, mergePatch, strategicMerge, applyYaml],
      );
  }
}

function withJsonPatch(core: Core, live: ApiObject, operations: unknown[]): unknown {
  try {
    return applyJsonPatch(live, operations);
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error;
    if (!core.has(error.isTest ? 'jsonPatchTest' : 'jsonPatchPaths')) return live;
    // What exactly did not apply is not told: the real server keeps it to itself.
    throw new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
}

function recordBody(text: string): JsonRecord {
  const body = parseBody(text);
  if (!isRecord(body)) throw badRequest('error decoding patch: not an object');
  return body;
}

function asObject(kind: Kind, patched: unknown, text: string): ApiObject {
  if (!isRecord(patched)) throw badRequest('the patch does not leave an object');
  checkType(kind, patched);
  if (kind.custom || !text.includes('null')) return normalized(kind, patched);
  return normalized(kind, withoutNulls(patched) as JsonRecord);
}

function apply(core: Core, target: Target, { text, force, yaml }: PatchBody, options: WriteOptions): Written {
  const { kind, namespace, name } = target;
  const body = parseBody(text, yaml);
  if (!isRecord(body)) throw badRequest('error decoding YAML: not an object');
  if ((body['apiVersion'] === undefined || body['kind'] === undefined) && core.has('applyType')) {
    throw badRequest('invalid object type: /, Kind=');
  }
  checkType(kind, body);
  const config = normalized(kind, body);
  if (config.metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  if (options.manager === '' && core.has('applyManager')) throw needsManager();
  const writer = {
    manager: options.manager,
    apiVersion: apiVersionOf(kind),
    subresource: options.subresource,
    time: apiTime(core.clock.now()),
  };
  const request = {
    config,
    writer,
    force: force && core.has('applyForce'),
    shape: applyShapeLeft(core, kind.rules.shape),
    detectsConflicts: core.has('applyConflicts'),
    removesDropped: core.has('applyRemoves'),
    shares: core.has('applyShares'),
    holds: core.has('applyHolds'),
    merges: core.has('applyMerges'),
  };
  const exists = core.store.collection(kind.storage).get(keyOf(namespace, name)) !== undefined;
  if (!exists && options.subresource === undefined && core.has('applyCreates')) {
    config.metadata.name ??= name;
    const { entries } = applyConfig(undefined, request);
    return create(core, { kind, namespace }, config, { ...options, entries });
  }
  return update(core, target, (live): Proposal => applied(core.keepsOwners(kind), live, request), options);
}

function applied(keepsOwners: boolean, live: ApiObject, request: Parameters<typeof applyConfig>[1]): Proposal {
  const { object, entries } = applyConfig(live, request);
  const { resourceVersion } = request.config.metadata;
  const metadata = { ...object.metadata };
  if (resourceVersion === undefined) delete metadata.resourceVersion;
  else metadata.resourceVersion = resourceVersion;
  return keepsOwners ? { object: { ...object, metadata }, entries } : { object: { ...object, metadata } };
}

function needsManager(): ApiError {
  const message = 'Required value: is required for apply patch';
  return new ApiError(422, 'Invalid', `PatchOptions.meta.k8s.io "" is invalid: fieldManager: ${message}`, {
    group: 'meta.k8s.io',
    kind: 'PatchOptions',
    causes: [{ reason: 'FieldValueRequired', message, field: 'fieldManager' }],
  });
}
