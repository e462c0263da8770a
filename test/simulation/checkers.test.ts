/**
 * Every checker against an operator that breaks its invariant: it reports that, and no other checker reports anything.
 * And the same deeds done by others, or done as they should be, are none of its business.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../src/kube/client.ts';
import type { Scenario } from '../../src/scenario/format.ts';
import type { Report } from '../../src/scenario/report.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';
import type { Rogue } from './rogue-operator.ts';
import { rogueOperator } from './rogue-operator.ts';
import { run, variation } from './run-file.ts';

const pod = '/api/v1/namespaces/default/pods/web-0';
const fences = '/apis/fenceline.dev/v1alpha1/nodefences';
/** The operator starts half a minute before time 0, and the node is dead or cut off from then on. */
const afterMs = 10 * 60_000;

async function runRogue(scenario: Scenario, act: (rogue: Rogue) => Promise<void>): Promise<Report> {
  let outcome: { error?: unknown } | undefined;
  const program = rogueOperator(afterMs, act, (error) => (outcome ??= { error }));
  const report = await run(scenario, { program });
  assert.ok(outcome, 'the deed was done');
  if (outcome.error !== undefined) throw outcome.error;
  return report;
}

function violatedBy(report: Report): string[] {
  return [...new Set(report.violations.map(({ invariant }) => invariant))];
}

const off = variation('stuck-pod', { events: [{ at: '0s', powerOff: { nodeOf: 'default/web-0' } }], runFor: '15m' });
const cutOff = variation('stuck-pod', {
  events: [{ at: '0s', partition: { nodeOf: 'default/web-0' } }],
  runFor: '15m',
});

async function nodeOfPod(rogue: Rogue): Promise<{ pod: Pod; node: Node }> {
  const found = await rogue.get<Pod>(pod);
  return { pod: found, node: await rogue.get<Node>(`/api/v1/nodes/${found.spec.nodeName}`) };
}

async function recordBasis(rogue: Rogue, basis: string, change: object = {}, nodeName?: string): Promise<void> {
  const found = await nodeOfPod(rogue);
  const node = nodeName === undefined ? found.node : await rogue.get<Node>(`/api/v1/nodes/${nodeName}`);
  const { pod } = found;
  const name = `node-fence-${node.metadata.name}`;
  await rogue.ask('POST', fences, {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name },
    spec: { node: node.metadata.name },
  });
  const release = {
    basis,
    nodeUid: node.metadata.uid,
    bootId: node.status?.nodeInfo?.bootID,
    epoch: 1,
    recordedAt: '2026-01-01T00:00:00Z',
    pods: [{ namespace: 'default', name: 'web-0', uid: pod.metadata.uid }],
    attachments: [],
    volumes: [],
    ...change,
  };
  const stored = await rogue.get<KubeObject>(`${fences}/${name}`);
  await rogue.ask('PUT', `${fences}/${name}/status`, { ...stored, status: { releases: [release] } });
}

/** So that it is only what the test is about that is missing. */
async function readLive(rogue: Rogue, node: string): Promise<void> {
  await rogue.get(`/api/v1/nodes/${node}`);
  await rogue.get(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`);
}

async function forceDelete(rogue: Rogue): Promise<void> {
  const { metadata, spec } = await rogue.get<Pod>(pod);
  const { uid } = metadata;
  await readLive(rogue, spec.nodeName ?? '');
  await rogue.ask('DELETE', pod, { gracePeriodSeconds: 0, preconditions: { uid } });
}

/** So that attach-detach lets go of the volume. */
async function clearVolumesInUse(rogue: Rogue): Promise<void> {
  const { node } = await nodeOfPod(rogue);
  await readLive(rogue, node.metadata.name);
  await rogue.ask(
    'PATCH',
    `/api/v1/nodes/${node.metadata.name}/status`,
    [
      { op: 'test', path: '/metadata/uid', value: node.metadata.uid },
      { op: 'replace', path: '/status/volumesInUse', value: [] },
    ],
    'application/json-patch+json',
  );
}

describe('S1', () => {
  test('a pod deleted by force without a recorded basis', async () => {
    const report = await runRogue(off, forceDelete);
    assert.deepEqual(violatedBy(report), ['S1']);
    assert.match(report.violations[0]!.detail, /^pod default\/web-0 on node-\d was deleted by force without a record/);
  });

  test('a VolumeAttachment deleted without a recorded basis', async () => {
    const report = await runRogue(off, async (rogue) => {
      const path = '/apis/storage.k8s.io/v1/volumeattachments';
      const { items } = await rogue.get<{ items: KubeObject[] }>(path);
      const { name, uid } = items[0]!.metadata;
      await readLive(rogue, (items[0] as VolumeAttachment).spec.nodeName);
      await rogue.ask('DELETE', `${path}/${name}`, { preconditions: { uid } });
    });
    // Its pod is still there, too.
    assert.deepEqual(violatedBy(report), ['S1', 'S11']);
  });

  for (const [what, change] of [
    ['another boot', { bootId: 'an-earlier-one' }],
    ['another machine of that name', { nodeUid: 'an-earlier-one' }],
    ['another pod', { pods: [] }],
  ] as const) {
    test(`a basis that is about ${what} does not count`, async () => {
      const report = await runRogue(off, async (rogue) => {
        await recordBasis(rogue, 'KernelCrashed', change);
        await forceDelete(rogue);
      });
      assert.deepEqual(violatedBy(report), ['S1']);
    });
  }

  test('with its basis on record nothing is broken', async () => {
    const report = await runRogue(off, async (rogue) => {
      await recordBasis(rogue, 'KernelCrashed');
      await forceDelete(rogue);
    });
    assert.deepEqual(violatedBy(report), []);
  });

  test('a pod deleted with its time of grace needs none', async () => {
    const report = await runRogue(off, async (rogue) => {
      const { uid } = (await rogue.get<Pod>(pod)).metadata;
      await rogue.ask('DELETE', pod, { preconditions: { uid } });
    });
    assert.deepEqual(violatedBy(report), []);
  });
});

describe('S2', () => {
  test('a pod released on a machine that goes on writing', async () => {
    const report = await runRogue(cutOff, async (rogue) => {
      await recordBasis(rogue, 'KernelCrashed');
      await clearVolumesInUse(rogue);
      await forceDelete(rogue);
    });
    assert.deepEqual(violatedBy(report), ['S2']);
    assert.match(report.violations[0]!.detail, /^volume pv-0 is written from node-\d and node-\d at the same time$/);
  });

  test('a StatefulSet without volumes is one of its kind too', async () => {
    const bare = variation('stuck-pod', {
      events: [{ at: '0s', partition: { nodeOf: 'default/lone-0' } }],
      objects: [
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          metadata: { name: 'lone' },
          spec: {
            serviceName: 'lone',
            selector: { matchLabels: { app: 'lone' } },
            template: { metadata: { labels: { app: 'lone' } }, spec: { containers: [{ name: 'main', image: 'x' }] } },
          },
        },
      ],
      runFor: '15m',
    });
    const lone = '/api/v1/namespaces/default/pods/lone-0';
    const report = await runRogue(bare, async (rogue) => {
      const { metadata, spec } = await rogue.get<Pod>(lone);
      const pods = [{ namespace: 'default', name: 'lone-0', uid: metadata.uid }];
      await recordBasis(rogue, 'KernelCrashed', { pods }, spec.nodeName);
      await readLive(rogue, spec.nodeName ?? '');
      await rogue.ask('DELETE', lone, { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } });
    });
    assert.deepEqual(violatedBy(report), ['S2']);
    assert.match(report.violations[0]!.detail, /^identity default\/lone-0 is written from/);
  });

  test('a risk that the policy accepts is told, not blamed', async () => {
    const report = await runRogue(cutOff, async (rogue) => {
      await recordBasis(rogue, 'AcceptedRisk');
      await clearVolumesInUse(rogue);
      await forceDelete(rogue);
    });
    assert.deepEqual(violatedBy(report), []);
    assert.ok(report.timeline.some(({ what }) => what === 'two writers, a risk that the policy accepts'));
  });

  test('the same release with a driver whose detach takes the access away breaks nothing', async () => {
    const safe = variation('stuck-pod', {
      events: [{ at: '0s', partition: { nodeOf: 'default/web-0' } }],
      objects: [
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'CSIDriver',
          metadata: { name: 'driver.longhorn.io', annotations: { 'fenceline.dev/safe-detach': 'true' } },
          spec: {},
        },
      ],
      expect: [
        { by: '12m', pod: { name: 'web-0', deleted: true, running: true, moved: true } },
        { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
      ],
      runFor: '15m',
    });
    const report = await runRogue(safe, async (rogue) => {
      await recordBasis(rogue, 'StorageSafeDetach');
      await clearVolumesInUse(rogue);
      await forceDelete(rogue);
    });
    assert.deepEqual(violatedBy(report), []);
    assert.equal(report.ok, true);
  });

  test('what an administrator does the same way is told, not blamed', async () => {
    const byHand = variation('kubernetes-alone', {
      events: [
        { at: '0s', partition: { nodeOf: 'default/web-0' } },
        {
          at: '2m',
          taint: { node: { nodeOf: 'default/web-0' }, key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' },
        },
      ],
      expect: [{ ledger: { volume: 'pv-0', writersAtMost: 1 } }],
      runFor: '15m',
    });
    const report = await run(byHand);
    assert.deepEqual(violatedBy(report), []);
    assert.equal(report.expectations[0]?.ok, false, 'there were two writers');
    assert.ok(report.timeline.some(({ what }) => what === 'two writers, not the operator’s doing'));
  });
});

describe('S8', () => {
  const tainted = variation('stuck-pod', {
    events: [{ at: '1m', taint: { node: 'node-1', key: 'example.com/theirs', effect: 'NoSchedule' } }],
    runFor: '15m',
  });

  test('a merge patch that replaces the taints as a whole', async () => {
    const report = await runRogue(tainted, async (rogue) => {
      const { metadata } = await rogue.get<Node>('/api/v1/nodes/node-1');
      const body = {
        metadata: { resourceVersion: metadata.resourceVersion },
        spec: { taints: [{ key: 'fenceline.dev/quarantine', effect: 'NoSchedule' }] },
      };
      await rogue.ask('PATCH', '/api/v1/nodes/node-1', body, 'application/merge-patch+json');
    });
    assert.deepEqual(violatedBy(report), ['S8']);
    assert.match(report.violations[0]!.detail, /lost its taint example\.com\/theirs:NoSchedule/);
  });

  test('somebody else’s cordon is not ours to take away, and our own is', async () => {
    const cordoned = variation('stuck-pod', { events: [{ at: '1m', cordon: 'node-1' }], runFor: '15m' });
    const setUnschedulable = async (rogue: Rogue, node: string, unschedulable: boolean): Promise<void> => {
      const { metadata } = await rogue.get<Node>(`/api/v1/nodes/${node}`);
      const body = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { unschedulable } };
      await rogue.ask('PATCH', `/api/v1/nodes/${node}`, body, 'application/merge-patch+json');
    };
    const theirs = await runRogue(cordoned, (rogue) => setUnschedulable(rogue, 'node-1', false));
    assert.deepEqual(violatedBy(theirs), ['S8']);
    const ours = await runRogue(cordoned, async (rogue) => {
      await setUnschedulable(rogue, 'node-2', true);
      await setUnschedulable(rogue, 'node-2', false);
    });
    assert.deepEqual(violatedBy(ours), []);
  });
});

describe('S10', () => {
  test('a mirror pod is nobody’s to touch', async () => {
    const mirror = '/api/v1/namespaces/default/pods/static';
    const scenario = variation('stuck-pod', {
      objects: [
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'static', annotations: { 'kubernetes.io/config.mirror': 'hash' } },
          spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'x' }] },
        },
      ],
      runFor: '15m',
    });
    const report = await runRogue(scenario, async (rogue) => {
      const { uid } = (await rogue.get<Pod>(mirror)).metadata;
      await rogue.ask('DELETE', mirror, { preconditions: { uid } });
    });
    assert.deepEqual(violatedBy(report), ['S10']);
    assert.match(
      report.violations[0]!.detail,
      /^pods\/default\/static, which its kubelet runs from a file, was touched$/,
    );
  });
});

describe('S14', () => {
  const quiet = variation('stuck-pod', { runFor: '15m' });

  test('a delete without a UID', async () => {
    const set = '/apis/apps/v1/namespaces/default/statefulsets/web';
    const report = await runRogue(quiet, async (rogue) => void (await rogue.ask('DELETE', set)));
    assert.deepEqual(violatedBy(report), ['S14']);
    assert.match(report.violations[0]!.detail, /^delete of statefulsets\/default\/web without a UID precondition$/);
  });

  test('an eviction without a UID', async () => {
    const report = await runRogue(quiet, async (rogue) => {
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web-0', namespace: 'default' } };
      await rogue.ask('POST', `${pod}/eviction`, body);
    });
    assert.deepEqual(violatedBy(report), ['S14']);
  });

  test('a patch that tests nothing', async () => {
    const report = await runRogue(quiet, async (rogue) => {
      const body = { metadata: { annotations: { 'fenceline.dev/note': 'x' } } };
      await rogue.ask('PATCH', '/api/v1/nodes/node-1', body, 'application/merge-patch+json');
    });
    assert.deepEqual(violatedBy(report), ['S14']);
  });

  test('a replacement without a version', async () => {
    const replace = async (rogue: Rogue, drop: boolean): Promise<void> => {
      const node = await rogue.get<Node>('/api/v1/nodes/node-1');
      const { resourceVersion, uid, ...metadata } = node.metadata;
      const own = drop ? metadata : { ...metadata, resourceVersion, uid };
      await rogue.ask('PUT', '/api/v1/nodes/node-1', { ...node, metadata: own });
    };
    const without = await runRogue(quiet, (rogue) => replace(rogue, true));
    assert.deepEqual(violatedBy(without), ['S14']);
    assert.match(without.violations[0]!.detail, /^update of nodes\/node-1 without a resourceVersion$/);
    assert.deepEqual(violatedBy(await runRogue(quiet, (rogue) => replace(rogue, false))), []);
  });

  test('a patch that tests the UID is in order', async () => {
    const report = await runRogue(quiet, async (rogue) => {
      const { metadata } = await rogue.get<Node>('/api/v1/nodes/node-1');
      const operations = [
        { op: 'test', path: '/metadata/uid', value: metadata.uid },
        { op: 'add', path: '/metadata/annotations/fenceline.dev~1note', value: 'x' },
      ];
      await rogue.ask('PATCH', '/api/v1/nodes/node-1', operations, 'application/json-patch+json');
    });
    assert.deepEqual(violatedBy(report), []);
  });
});
