/**
 * As in checkers.test.ts, for the checkers that were blind once: acts on newcomers of a name, acts without a look right
 * before, and a record that excuses what is not so.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { Rogue } from './rogue-operator.ts';
import {
  pod,
  runRogue,
  violatedBy,
  recordBasis,
  readLive,
  forceDelete,
  recordIncident,
  evict,
  makeJob,
  removeMachine,
  withMachines,
} from './rogue-deeds.ts';
import { variation } from './run-file.ts';

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
      await readLive(rogue, (await rogue.get<Pod>(pod)).spec.nodeName ?? '');
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

  for (const isNewcomer of [true, false]) {
    const whom = isNewcomer ? 'another node of the same name' : 'the node in trouble';
    const expected = isNewcomer ? ['S14'] : [];

    test(`pods driven out of ${whom}`, async () => {
      const report = await runRogue(quiet, async (rogue) => {
        const { metadata, spec } = await rogue.get<Pod>(pod);
        await recordIncident(rogue, spec.nodeName ?? '', isNewcomer);
        await evict(rogue, metadata.uid);
      });
      assert.deepEqual(violatedBy(report), expected);
    });

    test(`a Job made for ${whom}`, async () => {
      const report = await runRogue(quiet, async (rogue) => {
        const { metadata } = await rogue.get<Node>('/api/v1/nodes/node-1');
        await readLive(rogue, 'node-1');
        await makeJob(rogue, 'node-1', isNewcomer ? 'an-earlier-one' : metadata.uid);
      });
      assert.deepEqual(violatedBy(report), expected);
    });

    test(`the Machine of ${whom} deleted`, async () => {
      const report = await runRogue(withMachines, async (rogue) => {
        const { metadata } = await rogue.get<Node>('/api/v1/nodes/node-1');
        await removeMachine(rogue, isNewcomer ? 'an-earlier-one' : metadata.uid);
      });
      assert.deepEqual(violatedBy(report), expected);
    });
  }
});

describe('S15', () => {
  const quiet = variation('stuck-pod', { runFor: '15m' });
  const unread = /^.* without a live read of Node, Lease right before$/;

  test('pods driven out, a Job made, a Machine deleted without a look at the node right before', async () => {
    const deeds: ((rogue: Rogue) => Promise<void>)[] = [
      async (rogue) => {
        const { uid } = (await rogue.get<Pod>(pod)).metadata;
        await evict(rogue, uid, { looks: false });
      },
      (rogue) => makeJob(rogue, 'node-1'),
      (rogue) => removeMachine(rogue, undefined, { looks: false }),
    ];
    for (const [index, deed] of deeds.entries()) {
      const report = await runRogue(index === 2 ? withMachines : quiet, deed);
      assert.deepEqual(violatedBy(report), ['S15'], `deed ${index}`);
      assert.match(report.violations[0]!.detail, unread);
    }
  });
});

describe('S23', () => {
  test('a record of power that is off excuses nothing where the machine is on', async () => {
    const quiet = variation('stuck-pod', { runFor: '15m' });
    const report = await runRogue(quiet, async (rogue) => {
      await recordBasis(rogue, 'PowerOff');
      await forceDelete(rogue);
    });
    assert.ok(violatedBy(report).includes('S23'), violatedBy(report).join());
  });
});

describe('S24', () => {
  test('a pod of a node that is down deleted with a grace, before anybody has asked it to go and without a basis', async () => {
    // Nothing of Kubernetes asks it to go before five minutes have passed.
    const down = variation('stuck-pod', {
      events: [{ at: '9m', partition: { nodeOf: 'default/web-0' } }],
      runFor: '15m',
    });
    const report = await runRogue(down, async (rogue) => {
      const { metadata, spec } = await rogue.get<Pod>(pod);
      await readLive(rogue, spec.nodeName ?? '');
      await rogue.ask('DELETE', pod, { gracePeriodSeconds: 30, preconditions: { uid: metadata.uid } });
    });
    assert.deepEqual(violatedBy(report), ['S24']);
  });
});

describe('S44', () => {
  test('the Machine of a node deleted that nobody has switched off', async () => {
    const report = await runRogue({ ...withMachines, events: [] }, async (rogue) => {
      const { metadata } = await rogue.get<Node>('/api/v1/nodes/node-1');
      await removeMachine(rogue, metadata.uid);
    });
    // Nor would anything have been freed by it.
    assert.deepEqual(violatedBy(report).toSorted(), ['S44', 'S45']);
    assert.match(
      report.violations.find(({ invariant }) => invariant === 'S44')!.detail,
      /^machines\/default\/m-1 was deleted, and is that of node-1, which was not/,
    );
  });
});
