/**
 * Every checker against an operator that breaks its invariant: it reports that, and no other checker reports anything.
 * And the same deeds done by others, or done as they should be, are none of its business.
 */
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../src/kube/client.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';
import type { Rogue } from './rogue-operator.ts';
import {
  pod,
  runRogue,
  violatedBy,
  exemptedBy,
  off,
  cutOff,
  nodeOfPod,
  recordBasis,
  readLive,
  forceDelete,
  clearVolumesInUse,
} from './rogue-deeds.ts';
import type { Report } from '../../src/scenario/report.ts';
import { failuresOf, listedExemptions, run, scenarioFiles, scenariosOf, variation } from './run-file.ts';

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
        await recordBasis(rogue, 'AcceptedRisk', change);
        await forceDelete(rogue);
      });
      assert.deepEqual(violatedBy(report), ['S1']);
    });
  }

  test('with its basis on record nothing is broken', async () => {
    const report = await runRogue(off, async (rogue) => {
      await recordBasis(rogue, 'AcceptedRisk');
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

/** Nobody has said what the rogue records, which is S35. */
describe('S2', () => {
  test('a pod released on a machine that goes on writing', async () => {
    const report = await runRogue(cutOff, async (rogue) => {
      await recordBasis(rogue, 'KernelCrashed');
      await clearVolumesInUse(rogue);
      await forceDelete(rogue);
    });
    assert.deepEqual(violatedBy(report), ['S35', 'S2']);
    assert.match(report.violations[1]!.detail, /^volume pv-0 is written from node-\d and node-\d at the same time$/);
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
    assert.deepEqual(violatedBy(report), ['S35', 'S2']);
    assert.match(report.violations[1]!.detail, /^identity default\/lone-0 is written from/);
  });

  test('a pod released on a machine that stands still, and goes on writing later', async () => {
    const frozen = variation('stuck-pod', {
      events: [
        { at: '0s', hang: { nodeOf: 'default/web-0' } },
        { at: '14m', resume: { nodeOf: 'default/web-0' } },
      ],
      runFor: '15m',
    });
    const report = await runRogue(frozen, async (rogue) => {
      await recordBasis(rogue, 'KernelCrashed');
      await clearVolumesInUse(rogue);
      await forceDelete(rogue);
    });
    assert.deepEqual(violatedBy(report), ['S35', 'S2'], 'the one that was let go is the later of the two');
    assert.equal(report.violations[1]?.at, 14 * 60_000);
  });

  test('a Node marked as out of service by the operator while its machine goes on writing', async () => {
    const report = await runRogue(cutOff, async (rogue) => {
      const { node } = await nodeOfPod(rogue);
      const value = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' };
      await rogue.ask(
        'PATCH',
        `/api/v1/nodes/${node.metadata.name}`,
        [
          { op: 'test', path: '/metadata/uid', value: node.metadata.uid },
          { op: 'add', path: '/spec/taints/-', value },
        ],
        'application/json-patch+json',
      );
    });
    assert.deepEqual(violatedBy(report), ['S6', 'S2'], 'what Kubernetes does about the taint is our doing');
  });

  for (const isSaid of [true, false]) {
    test(`a person’s word that nothing runs there excuses only where it ${isSaid ? 'stands' : 'does not stand'}`, async () => {
      const taint = { node: { nodeOf: 'default/web-0' }, key: 'fenceline.dev/force-eviction', effect: 'NoExecute' };
      const said = variation('stuck-pod', {
        events: [{ at: '0s', partition: { nodeOf: 'default/web-0' } }, ...(isSaid ? [{ at: '7m', taint }] : [])],
        runFor: '15m',
      });
      const report = await runRogue(said, async (rogue) => {
        await recordBasis(rogue, 'Asserted');
        await clearVolumesInUse(rogue);
        await forceDelete(rogue);
      });
      assert.deepEqual(violatedBy(report), isSaid ? [] : ['S35', 'S2']);
      assert.deepEqual(exemptedBy(report), isSaid ? ['S2 PersonsAct'] : []);
    });
  }

  test('a risk that the policy accepts is told, not blamed', async () => {
    for (const podDeletion of ['delete-statefulset-pod', 'do-nothing']) {
      const policy = {
        apiVersion: 'fenceline.dev/v1alpha1',
        kind: 'RemedyPolicy',
        metadata: { name: 'release' },
        spec: { allNodes: true, release: { podDeletion } },
      };
      const { events } = cutOff;
      const report = await runRogue(
        { ...variation('stuck-pod', { objects: [policy], runFor: '15m' }), events },
        async (rogue) => {
          await recordBasis(rogue, 'AcceptedRisk', { by: 'policy release' });
          await rogue.get('/apis/fenceline.dev/v1alpha1/remedypolicies/release');
          await clearVolumesInUse(rogue);
          await forceDelete(rogue);
        },
      );
      const isAccepted = podDeletion !== 'do-nothing';
      assert.deepEqual(violatedBy(report), isAccepted ? [] : ['S2'], 'a record that says so is not enough');
      assert.deepEqual(exemptedBy(report), isAccepted ? ['S2 AcceptedRisk'] : []);
    }
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
    assert.deepEqual(exemptedBy(report), ['S2 KubernetesAct']);
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
    // The quarantine that it puts there stays, and nothing says why.
    assert.deepEqual(violatedBy(report), ['S8', 'S25']);
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

describe('exemptions', () => {
  test('each that is listed is there, and none of a scenario is missing in the list', async () => {
    const files = new Map(scenarioFiles().map((file) => [basename(file), file]));
    for (const [name, expected] of listedExemptions()) {
      const reports: Report[] = [];
      for (const scenario of scenariosOf(files.get(name) ?? name)) reports.push(await run(scenario));
      assert.deepEqual([...new Set(reports.flatMap(exemptedBy))].toSorted(), expected.toSorted(), name);
      assert.deepEqual(reports.flatMap(failuresOf), []);
      const renamed = reports.map((report) => ({ ...report, scenario: 'stuck-pod' }));
      assert.match(
        renamed.flatMap(failuresOf).join(),
        /^stuck-pod holds only by /,
        'one that is not listed is a failure',
      );
    }
  });
});
