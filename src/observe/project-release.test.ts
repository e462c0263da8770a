import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../kube/client.ts';
import { claimsOf, liveNode, projectAttachment, projectDriver, projectPod } from './project-release.ts';

const object = (rest: object = {}, metadata: object = {}): KubeObject => ({
  metadata: { name: 'x', ...metadata },
  ...rest,
});

describe('a driver', () => {
  const says = (value?: string): [boolean, boolean] => {
    const annotations = value === undefined ? {} : { 'fenceline.dev/safe-detach': value };
    const { safeDetach, malformed } = projectDriver(object({}, { annotations }));
    return [safeDetach, malformed !== undefined];
  };

  test('[NGS-1] detaches safely only if it says exactly "true"', () => {
    assert.deepEqual(says('true'), [true, false]);
    assert.deepEqual(says('false'), [false, false]);
    assert.deepEqual(says(), [false, false]);
    for (const wrong of ['yes', 'True', ' true', '', '1']) assert.deepEqual(says(wrong), [false, true], wrong);
  });

  test('[NGS-1] what is malformed says what to write', () => {
    const { malformed } = projectDriver(object({}, { annotations: { 'fenceline.dev/unpublish-fence': 'yes' } }));
    assert.equal(
      malformed,
      'annotation fenceline.dev/unpublish-fence of CSIDriver x is "yes": write "true" or "false"',
    );
  });
});

describe('a pod', () => {
  test('[POD-2] the owner that is the controller counts, whatever the others are called', () => {
    const owner = (kind: string, controller?: boolean): object => ({
      apiVersion: 'v1',
      kind,
      name: kind,
      uid: kind,
      ...(controller === undefined ? {} : { controller }),
    });
    const owners = [owner('StatefulSet'), owner('Database', true), owner('ReplicaSet', false)];
    assert.equal(projectPod(object({}, { ownerReferences: owners })).owner?.kind, 'Database');
    assert.equal(projectPod(object({}, { ownerReferences: [owner('StatefulSet')] })).owner, undefined);
  });

  test('[POD-2] the group of its controller is told apart from its version', () => {
    const groupOf = (apiVersion: string): string | undefined => {
      const ownerReferences = [{ apiVersion, kind: 'StatefulSet', name: 'x', uid: 'x', controller: true }];
      return projectPod(object({}, { ownerReferences })).owner?.group;
    };
    assert.deepEqual(['apps/v1', 'apps.kruise.io/v1beta1', 'v1', ''].map(groupOf), ['apps', 'apps.kruise.io', '', '']);
  });

  test('[POD-5, NGS-3] its claims, by name or by its own, and storage without a claim', () => {
    const volumes = [
      { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'b', ephemeral: {} },
      { name: 'c', emptyDir: {} },
      { name: 'd', iscsi: {} },
      { name: 'e', csi: {} },
    ];
    const pod = projectPod(object({ spec: { volumes } }));
    assert.deepEqual(pod.claims, [
      { volume: 'a', claim: 'data' },
      { volume: 'b', claim: 'x-b' },
    ]);
    assert.deepEqual(pod.directVolumes, ['d (iscsi)']);
    assert.deepEqual(claimsOf('x', []), []);
  });

  test('[NGS-8] how long a kubelet lets it take to end', () => {
    const within = (spec: object, metadata: object = {}): number =>
      projectPod(object({ spec }, metadata)).endsWithinSeconds;
    assert.equal(within({ terminationGracePeriodSeconds: 90 }), 90);
    assert.equal(within({ terminationGracePeriodSeconds: 0 }), 0);
    assert.equal(within({}), 30);
    assert.equal(within({}, { deletionGracePeriodSeconds: 600 }), 600, 'whoever has begun to end it goes on with that');
    assert.equal(
      within({}, { deletionGracePeriodSeconds: 0 }),
      30,
      'one that was deleted by force has not ended by that',
    );
  });

  test('[POD-6] where DisruptionTarget stands among its conditions', () => {
    const at = (...types: string[]): number | undefined =>
      projectPod(object({ status: { conditions: types.map((type) => ({ type })) } })).disruptionAt;
    assert.deepEqual(
      [at('Ready', 'DisruptionTarget'), at('DisruptionTarget'), at('Ready'), at()],
      [1, 0, undefined, undefined],
    );
    assert.equal(projectPod(object()).hasConditions, false);
  });

  test('[POD-6] whether somebody wants to do something before it goes', () => {
    const has = (finalizers?: string[]): boolean =>
      projectPod(object({}, finalizers === undefined ? {} : { finalizers })).hasFinalizers;
    assert.deepEqual([has(['a']), has([]), has()], [true, false, false]);
  });

  test('[SAF-9] whether a scheduler chose its node, and could have chosen another one', () => {
    const scheduled = [{ type: 'PodScheduled', status: 'True' }];
    const pinned = (spec: object, conditions: object[] = scheduled): boolean =>
      projectPod(object({ spec: { nodeName: 'node-1', ...spec }, status: { conditions } })).isPinned;
    const required = (...nodeSelectorTerms: object[]): object => ({
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    });
    const within = (key: string, ...values: string[]): object => ({
      matchExpressions: [{ key, operator: 'In', values }],
    });
    const named = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }] };
    const bound: [object, object[]?][] = [
      [{}, []],
      [{}, [{ type: 'PodScheduled', status: 'False' }]],
      [{ nodeSelector: { 'kubernetes.io/hostname': 'host-1' } }],
      [{ nodeSelector: { 'example.com/machine': 'node-1' } }],
      [required(named)],
      [required(within('kubernetes.io/hostname', 'host-1'))],
      [required(named, within('example.com/machine', 'node-1'))],
    ];
    const free: object[] = [
      {},
      { nodeSelector: { disk: 'fast' } },
      required(within('kubernetes.io/hostname', 'host-1', 'host-2')),
      required(named, within('disk', 'fast')),
      required({ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['host-9'] }] }),
      required(),
    ];
    for (const [spec, conditions] of bound) assert.ok(pinned(spec, conditions), JSON.stringify(spec));
    for (const spec of free) assert.ok(!pinned(spec), JSON.stringify(spec));
  });

  test('half-written ones stop nothing', () => {
    const pod = projectPod(object({}, { deletionTimestamp: 'soon' }));
    assert.deepEqual([pod.phase, pod.deletionAtMs, pod.mirror, pod.claims], ['', undefined, false, []]);
  });
});

describe('a node', () => {
  test('[POD-3] what is neither True nor False is Unknown, and what is not reported is not Unknown', () => {
    const ready = (status?: string): unknown =>
      liveNode(object({ status: { conditions: status === undefined ? [] : [{ type: 'Ready', status }] } })).ready;
    assert.deepEqual([ready('True'), ready('False'), ready('Maybe'), ready()], ['True', 'False', 'Unknown', undefined]);
  });

  test('[FEV-8] who wrote the taints, where the API server keeps book', () => {
    const managedFields = [
      { manager: 'kubelet', fieldsV1: { 'f:status': {} } },
      { manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:taints': {} } } },
    ];
    assert.equal(liveNode(object({}, { managedFields })).taintedBy, 'kubectl');
    assert.equal(liveNode(object()).taintedBy, undefined);
  });
});

test('[NGS-5] an attachment says what its driver says', () => {
  const refused = projectAttachment(object({ status: { attached: true, detachError: { message: 'in use' } } }));
  assert.deepEqual([refused.attached, refused.detachError], [true, 'in use']);
  assert.equal(projectAttachment(object({ status: { detachError: {} } })).detachError, 'an error');
  const fenced = object({}, { annotations: { 'fenceline.dev/unpublish-fence': 'true' }, deletionTimestamp: 'x' });
  assert.deepEqual([projectAttachment(fenced).fenceWanted, projectAttachment(fenced).deleting], [true, true]);
});

test('[SAF-13] an attachment says which volume it is about, also where there is no PersistentVolume', () => {
  const about = (source: object): unknown => {
    const { volume, inline } = projectAttachment(object({ spec: { attacher: 'x.example.com', source } }));
    return [volume, inline];
  };
  assert.deepEqual(about({ persistentVolumeName: 'pv-0' }), ['pv-0', undefined]);
  assert.deepEqual(about({ inlineVolumeSpec: { csi: { volumeHandle: 'disk-1' } } }), ['x.example.com^disk-1', true]);
  assert.deepEqual(about({ inlineVolumeSpec: {} }), ['', undefined]);
  assert.deepEqual(about({}), ['', undefined]);
});

test('[SAF-13] a pod says whether one of its own volumes may be attached', () => {
  const attaches = (volume: object): boolean =>
    projectPod(object({ spec: { volumes: [{ name: 'a', ...volume }] } })).attachesDirectly;
  for (const source of ['gcePersistentDisk', 'awsElasticBlockStore', 'azureDisk', 'cinder', 'vsphereVolume', 'iscsi'])
    assert.ok(attaches({ [source]: {} }), source);
  for (const source of ['nfs', 'cephfs', 'hostPath', 'emptyDir', 'csi', 'persistentVolumeClaim'])
    assert.ok(!attaches({ [source]: {} }), source);
});

test('[NGS-2] a driver says whether there is anything to detach', () => {
  const attachless = (spec?: object): unknown => projectDriver(object(spec === undefined ? {} : { spec })).attachless;
  assert.deepEqual(
    [attachless({ attachRequired: false }), attachless({ attachRequired: true }), attachless()],
    [true, undefined, undefined],
  );
});
