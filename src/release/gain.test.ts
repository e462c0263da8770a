import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, aNode, anAttachment, anIncident, aPod, quarantine } from '../../test/support/release-case.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { gainOf } from './gain.ts';

const gained = (...pods: PodFacts[]): string | undefined => nameOf({ pods, attachments: [] });

function nameOf(change: Partial<NodeCase>): string | undefined {
  return gainOf(aCase(change))?.name;
}

describe('[SAF-18] what would be free if nothing ran on a node any more', () => {
  test('is a pod that could run elsewhere', () => {
    assert.deepEqual(gainOf(aCase()), { kind: 'pod', namespace: 'default', name: 'web-0', uid: 'pod-0' });
    assert.equal(gained(), undefined);
    assert.equal(gained(aPod({ mirror: true }), aPod({ name: 'web-1' })), 'web-1');
    assert.equal(gained(aPod({ mirror: true })), undefined);
    assert.equal(gained(aPod({ phase: 'Succeeded' })), undefined);
    assert.equal(gained(aPod({ claims: [] })), 'web-0', 'whether or not it has a volume');
  });

  test('and none that is made for this very node, unless it has a volume that others may use', () => {
    assert.equal(gained(aPod({ isPinned: true, claims: [] })), undefined);
    assert.equal(gained(aPod({ isPinned: true })), 'web-0');
  });

  test('nor one that came after the quarantine and would come again', () => {
    const fence = aFence({ incident: anIncident(), quarantine: { since: '2026-01-01T00:02:00Z', pods: [] } });
    const late = { node: aNode({ taints: [quarantine] }), fence, attachments: [] };
    assert.equal(nameOf({ ...late, pods: [aPod({ tolerations: [{ operator: 'Exists' }] })] }), undefined);
    assert.equal(nameOf({ ...late, pods: [aPod()] }), 'web-0');
  });

  test('or a volume that no pod there uses', () => {
    const stays = aPod({ mirror: true });
    assert.deepEqual(gainOf(aCase({ pods: [] })), { kind: 'attachment', name: 'csi-0', uid: 'attachment-0' });
    assert.equal(nameOf({ pods: [stays] }), undefined, 'it goes on using its own');
    assert.equal(nameOf({ pods: [stays], attachments: [anAttachment({ volume: 'pv-9' })] }), 'csi-0');
    assert.equal(nameOf({ pods: [stays], attachments: [anAttachment({ volume: 'pv-9', node: 'node-2' })] }), undefined);
  });
});
