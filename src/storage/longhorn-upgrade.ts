/**
 * What has to be written once before replicas are asked to leave by `spec.evictionRequested` (DRN-11): requests that
 * stand in the status move to the spec, and nobody is auto-evicting yet. An object that has the field is left as it is,
 * so that it can be repeated at any time.
 */
import { EVICTING_FOR } from '../api/drain-names.ts';
import type { JsonPatchOperation, KubeObject } from '../kube/client.ts';
import type { NodeObject, ReplicaObject } from './longhorn-objects.ts';
import { replicas, storageNodes } from './longhorn-objects.ts';
import type { StoragePatch } from './storage.ts';

/** In place of the name of a DrainPolicy. */
const markValue = 'upgrade';

export function upgradeOf(nodes: Iterable<NodeObject>, copies: Iterable<ReplicaObject>): StoragePatch[] {
  const patches: StoragePatch[] = [];
  for (const object of copies) {
    const { spec, status } = object;
    if (spec === undefined || spec.evictionRequested !== undefined) continue;
    const value = status?.evictionRequested === true;
    patches.push({
      ...target(object),
      ref: { resource: replicas, ...placeOf(object) },
      operations: [{ op: 'add', path: '/spec/evictionRequested', value }, ...(value ? ours(object) : [])],
    });
  }
  for (const object of nodes) {
    if (object.status === undefined || object.status.autoEvicting !== undefined) continue;
    patches.push({
      ...target(object),
      ref: { resource: storageNodes, ...placeOf(object) },
      operations: [{ op: 'add', path: '/status/autoEvicting', value: false }],
      subresource: 'status',
    });
  }
  return patches;
}

/** Whoever had asked wrote no mark: with ours it ends like any other request when nobody wants it any more (DRN-8). */
function ours({ metadata }: KubeObject): JsonPatchOperation[] {
  const path = '/metadata/annotations';
  return metadata.annotations === undefined
    ? [{ op: 'add', path, value: { [EVICTING_FOR]: markValue } }]
    : [{ op: 'add', path: `${path}/${EVICTING_FOR.replace('/', '~1')}`, value: markValue }];
}

function target({ metadata }: KubeObject): Pick<StoragePatch, 'only'> {
  const { uid = '', resourceVersion = '' } = metadata;
  return { only: { uid, resourceVersion } };
}

function placeOf({ metadata: { name, namespace = '' } }: KubeObject): { name: string; namespace: string } {
  return { name, namespace };
}
