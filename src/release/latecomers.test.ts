import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, aNode, anIncident, aPod, aRecord, quarantine } from '../../test/support/release-case.ts';
import { MAX_QUARANTINED_PODS } from '../api/fence-names.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { lateAfter, staysBehind, withoutLatecomers } from './latecomers.ts';
import { releaseNode } from './release-node.ts';

const late = (change: Partial<PodFacts> = {}): PodFacts => aPod({ uid: 'late-0', name: 'web-1', ...change });

/** In quarantine, when `pod-0` alone was there. */
function marked(pods: readonly PodFacts[], change: Partial<NodeFenceStatus> = {}): NodeCase {
  const status = { incident: anIncident(), quarantine: { since: '2026-01-01T00:02:00Z', pods: ['pod-0'] }, ...change };
  return aCase({ node: aNode({ taints: [quarantine] }), pods, fence: aFence(status) });
}

function going(nodeCase: NodeCase): string[] {
  return releaseNode(nodeCase).flatMap(({ goes, pod }) => (goes ? [pod.uid] : []));
}

describe('a pod that came after the quarantine', () => {
  test('[SAF-9] goes like the others, if it would not come again', () => {
    const nodeCase = marked([aPod(), late()]);
    assert.deepEqual(going(nodeCase), ['pod-0', 'late-0']);
    assert.deepEqual(lateAfter(nodeCase, releaseNode(nodeCase)), ['set-0']);
  });

  const staying: readonly [string, Partial<PodFacts>][] = [
    ['tolerates everything', { tolerations: [{ operator: 'Exists' }] }],
    ['tolerates the quarantine', { tolerations: [{ key: quarantine.key, operator: 'Exists' }] }],
    ['is bound to the node', { isPinned: true }],
  ];
  for (const [what, change] of staying) {
    test(`[SAF-9] stays if it ${what}, while one that was there goes`, () => {
      const [pod, here] = [late(change), aPod(change)];
      const nodeCase = marked([here, pod]);
      assert.deepEqual(going(nodeCase), ['pod-0']);
      assert.deepEqual([staysBehind(nodeCase, pod), staysBehind(nodeCase, here)], [true, false]);
    });
  }

  test('[SAF-9] goes once for each controller: of several the first, and none after that', () => {
    const other = { group: 'apps', kind: 'ReplicaSet', name: 'shop', uid: 'set-1' };
    const pods = [late(), late({ uid: 'late-1' }), late({ uid: 'late-2', owner: { ...other, kind: 'StatefulSet' } })];
    assert.deepEqual(going(marked(pods)), ['late-0', 'late-2']);
    assert.deepEqual(going(marked(pods, { incident: anIncident({ late: ['set-0', 'set-1'] }) })), []);
    const full = Array.from({ length: 64 }, (_, index) => `other-${index}`);
    assert.deepEqual(
      going(marked(pods, { incident: anIncident({ late: full }) })),
      [],
      'of so many controllers at most',
    );
  });

  test('[SAF-9] is not told from the others where not all of those fit into the record', () => {
    const pod = late({ isPinned: true });
    const pods = Array.from({ length: MAX_QUARANTINED_PODS }, (_, at) => `pod-${at}`);
    const after = (there: string[]): string[] => {
      return going(marked([pod], { quarantine: { since: '2026-01-01T00:02:00Z', pods: there } }));
    };
    assert.deepEqual(after(pods.slice(1)), []);
    assert.deepEqual(after(pods), ['late-0']);
  });

  test('[SAF-9] that is on record is brought to its end', () => {
    const begun = ['web-1', 'web-2'].map((name, at) => ({ namespace: 'default', name, uid: `late-${at}` }));
    const releases = [aRecord({ pods: begun })];
    const nodeCase = marked([late({ isPinned: true })], { releases });
    assert.deepEqual(going(nodeCase), ['late-0']);
    assert.deepEqual(lateAfter(nodeCase, releaseNode(nodeCase)), [], 'and is not counted again');
  });

  test('[SAF-9] that does not go anyway says why, and takes the place of no other one', () => {
    const bare = late({ tolerations: [{ operator: 'Exists' }], uid: 'late-1' });
    delete bare.owner;
    const objects = { way: 'policy', objection: { reason: 'DoNothing', message: 'the policy does nothing' } } as const;
    const stays = { pod: bare, goes: false, objections: [objects] } as const;
    const nodeCase = marked([bare]);
    assert.deepEqual(withoutLatecomers(nodeCase, [stays]), [stays]);
    assert.deepEqual(lateAfter(nodeCase, [stays]), []);
  });

  test('[SAF-9] is known only where it was written down who was there, and the taint stands', () => {
    const pinned = [late({ isPinned: true })];
    const { quarantine: _, ...unwritten } = marked(pinned).fence?.status ?? aFence({}).status;
    assert.deepEqual(going(aCase({ ...marked(pinned), fence: aFence(unwritten) })), ['late-0']);
    assert.deepEqual(going({ ...marked(pinned), node: aNode() }), ['late-0']);
  });
});
