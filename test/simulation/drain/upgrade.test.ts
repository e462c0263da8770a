/** Objects of a version that knew no `spec.evictionRequested` become those of one that does, once and for all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeObject, ReplicaObject } from '../../../src/storage/longhorn-objects.ts';
import { upgradeOf } from '../../../src/storage/longhorn-upgrade.ts';

const meta = (name: string): ReplicaObject['metadata'] => ({
  name,
  namespace: 'longhorn-system',
  uid: `uid-${name}`,
  resourceVersion: '1',
});

test('[DRN-11] requests move from the status to the spec, autoEvicting starts false, and again changes nothing', () => {
  const replicas: ReplicaObject[] = [
    { metadata: meta('asked'), spec: { volumeName: 'v' }, status: { evictionRequested: true } },
    { metadata: meta('not'), spec: { volumeName: 'v' }, status: {} },
    { metadata: meta('done'), spec: { evictionRequested: false }, status: { evictionRequested: true } },
    { metadata: meta('half') },
  ];
  const nodes: NodeObject[] = [
    { metadata: meta('old'), status: {} },
    { metadata: meta('new'), status: { autoEvicting: true } },
    { metadata: meta('silent') },
  ];
  const patches = upgradeOf(nodes, replicas);
  assert.deepEqual(
    patches.map(({ ref, only, operations, subresource }) => [ref.name, only.uid, operations, subresource]),
    [
      [
        'asked',
        'uid-asked',
        [
          { op: 'add', path: '/spec/evictionRequested', value: true },
          { op: 'add', path: '/metadata/annotations', value: { 'fenceline.dev/evicting-for': 'upgrade' } },
        ],
        undefined,
      ],
      ['not', 'uid-not', [{ op: 'add', path: '/spec/evictionRequested', value: false }], undefined],
      ['old', 'uid-old', [{ op: 'add', path: '/status/autoEvicting', value: false }], 'status'],
    ],
  );
  for (const { ref, operations } of patches) {
    const [operation] = operations;
    assert.ok(operation !== undefined && operation.op === 'add');
    const object = [...replicas, ...nodes].find(({ metadata }) => metadata.name === ref.name);
    const part = operation.path.startsWith('/spec') ? object?.spec : object?.status;
    Object.assign(part ?? {}, { [operation.path.split('/')[2] ?? '']: operation.value });
  }
  assert.deepEqual(upgradeOf(nodes, replicas), []);
});
