import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aCase,
  aFence,
  aNode,
  anIncident,
  aPod,
  driver,
  quarantine,
  withoutNode,
} from '../../test/support/release-case.ts';
import { hash } from './hash.ts';
import { incidentIdOf, isForgotten, markOf } from './quarantine.ts';
import type { NodeCase, PodFacts } from './release-view.ts';

const attachless = { [driver]: { name: driver, safeDetach: false, unpublishFence: false, attachless: true } };
const recorded = aFence({ incident: anIncident() });

test('[SAF-4] the quarantine says of which boot nothing shows that it has ended, and which incident knows more', () => {
  const value = markOf(aCase({ drivers: attachless, fence: recorded }));
  assert.match(value ?? '', /^[0-9a-z]+\.[0-9a-z]+$/);
  assert.equal(markOf(aCase({ fence: recorded })), undefined, 'its kubelet reports every volume');
  assert.equal(markOf(aCase({ drivers: attachless, fence: recorded, pods: [] })), undefined);
  const put = (taintValue: string, change: Partial<NodeCase> = {}): string | undefined =>
    markOf(
      aCase({
        drivers: attachless,
        fence: recorded,
        node: aNode({ taints: [{ ...quarantine, value: taintValue }] }),
        ...change,
      }),
    );
  assert.equal(put(''), value, 'one that somebody else has put there says it from now on');
  assert.equal(put('i.another-boot'), value);
  assert.equal(put(value ?? ''), undefined, 'it is said');
  const later = (change: Partial<NodeCase>, node = {}): boolean =>
    isForgotten(aCase({ node: aNode({ taints: [{ ...quarantine, ...(value && { value }) }], ...node }), ...change }));
  assert.equal(later({ fence: recorded }), false, 'it is on record');
  assert.equal(later({}), true);
  assert.equal(later({ fence: aFence() }), true);
  assert.equal(later({ fence: aFence({ incident: anIncident({ id: 'node-1-2' }) }) }), true);
  assert.equal(later({}, { bootId: 'boot-7' }), false, 'it was rebooted');
  assert.equal(later({}, { taints: [quarantine] }), false, 'as somebody else, or an earlier version, has put it there');
  assert.equal(later({}, { taints: [] }), false);
});

test('[SAF-4] the quarantine says so as well when what was let go is on record, and not on the node any more', () => {
  const gone = (status: object): string | undefined => markOf(aCase({ pods: [], fence: aFence(status) }));
  const { bootId, uid: nodeUid } = aNode();
  const unseen = { bootId, pods: ['uid-1'] };
  assert.notEqual(gone({ incident: anIncident({ unseen }) }), undefined);
  assert.equal(gone({ incident: anIncident({ unseen: { ...unseen, bootId: 'boot-7' } }) }), undefined);
  const letGo = (record: object, pod: object = { unseen: 'pv-0' }): string | undefined => {
    const pods = [{ namespace: 'default', name: 'web-0', uid: 'uid-1', ...pod }];
    const release = {
      id: 'r',
      basis: 'StorageFenced',
      startedAt: '2026-01-01T00:00:00Z',
      bootId,
      nodeUid,
      pods,
      volumes: [],
      freed: [],
      ...record,
    };
    return gone({ incident: anIncident(), releases: [release] });
  };
  assert.notEqual(letGo({}), undefined);
  assert.equal(letGo({ bootId: 'boot-7' }), undefined, 'that was another boot');
  assert.notEqual(letGo({ nodeUid: 'another' }), undefined, 'its Node object was made anew, and its machine runs on');
  assert.equal(letGo({}, {}), undefined, 'its kubelet reports every volume of it');
  assert.notEqual(letGo({}, { graceSeconds: 31 }), undefined, 'it shows in no volume, and may take long to end');
  assert.equal(letGo({}, { graceSeconds: 30 }), undefined, 'so long every node is waited for');
  const several = [{ uid: 'uid-0' }, { uid: 'uid-1', unseen: 'pv-0' }];
  assert.notEqual(letGo({ pods: several }), undefined, 'one of several');
});

test('[SAF-4] the quarantine says so too of a pod that shows in no volume and may take long to end', () => {
  const says = (change: Partial<PodFacts>): boolean =>
    markOf(aCase({ fence: recorded, pods: [aPod({ claims: [], endsWithinSeconds: 31, ...change })] })) !== undefined;
  assert.equal(says({}), true);
  assert.equal(says({ endsWithinSeconds: 30 }), false);
  const claims = aPod().claims;
  assert.equal(says({ claims }), false, 'its volume shows');
  assert.equal(says({ mirror: true }), false, 'it is not let go');
});

test('[SAF-4] it says nothing where there is no Node, and no other taint speaks for it', () => {
  const said = { ...quarantine, value: `i.${hash('boot-1')}` };
  const forgotten = (...taints: (typeof said)[]): boolean => isForgotten(aCase({ node: aNode({ taints }) }));
  assert.equal(forgotten(said), true);
  assert.equal(forgotten({ ...said, key: 'example.com/quarantine' }), false);
  assert.equal(forgotten({ ...said, effect: 'NoExecute' }), false);
  assert.equal(isForgotten(withoutNode(aCase())), false);
});

test('[FEN-3] an incident is that of this very Node, and its name fits', () => {
  assert.equal(incidentIdOf(aCase({ fence: recorded })), 'node-1-1');
  assert.equal(
    incidentIdOf(withoutNode(aCase({ fence: recorded }))),
    'node-1-1',
    'a Node that is gone is no other one',
  );
  assert.equal(incidentIdOf(aCase({ fence: recorded, node: aNode({ uid: 'another' }) })), 'node-1-20260101001000');
  assert.equal(incidentIdOf(aCase({ name: 'n'.repeat(253) })).length, 64);
});
