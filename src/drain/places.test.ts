import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainNode, DrainView, ReplicaFacts, StorageNodeFacts } from '../api/drain-view.ts';
import { drainView, node, replica, storageNode, volume } from '../../test/support/drain-case.ts';
import { known } from './known.ts';
import { hasNoPlace, placesFor } from './places.ts';

const own = replica('v', 'a');

function places(b: Partial<DrainNode>, change: Partial<DrainView> = {}): string[] {
  return placesFor(known(drainView({ nodes: [node('a'), node('b', b)], replicas: [own], ...change })), own);
}

const storage = (change: Partial<StorageNodeFacts>): Partial<DrainNode> => ({ storage: storageNode('b', change) });
const disk = { name: 'd', evictionRequested: false, closed: false };

describe('where a replica could be rebuilt', () => {
  test('on any other node that takes replicas', () => {
    assert.deepEqual(places({}), ['b']);
  });

  const closed: Record<string, Partial<DrainNode>> = {
    'is cordoned': { cordoned: true },
    'is not ready': storage({ ready: false }),
    'is closed': storage({ closed: true }),
    'is to be emptied': storage({ evictionRequested: true }),
    'has only a closed disk': storage({ disks: [{ ...disk, closed: true }] }),
    'has only a disk that is to be emptied': storage({ disks: [{ ...disk, evictionRequested: true }] }),
    'has too little room': storage({ disks: [{ ...disk, roomBytes: 1 }] }),
    'has no disk': storage({ disks: [] }),
  };
  for (const [what, change] of Object.entries(closed)) {
    test(`not on one that ${what}`, () => assert.deepEqual(places(change), []));
  }

  test('what is not known is not impossible', () => {
    assert.deepEqual(places(storage({ ready: 'unknown', disks: [disk] })), ['b']);
    assert.deepEqual(places(storage({ disks: [{ ...disk, roomBytes: 1 }] }), { volumes: [] }), ['b']);
  });

  test('not beside another replica, unless the volume or the system allows it', () => {
    const replicas = [own, replica('v', 'b')];
    assert.deepEqual(places({}, { replicas }), []);
    assert.deepEqual(places({}, { replicas, softAntiAffinity: true }), ['b']);
    assert.deepEqual(places({}, { replicas, volumes: [volume('v', { softAntiAffinity: true })] }), ['b']);
    const strict = { replicas, softAntiAffinity: true, volumes: [volume('v', { softAntiAffinity: false })] };
    assert.deepEqual(places({}, strict), []);
  });

  test('with a copy in the making there is a place', () => {
    const none = (second: ReplicaFacts[]): boolean =>
      hasNoPlace(known(drainView({ nodes: [node('a'), node('b')], replicas: [own, ...second] })), own);
    assert.equal(none([replica('v', 'b')]), true);
    assert.equal(none([replica('v', 'b', { copy: 'rebuilding' })]), false);
    assert.equal(none([replica('v', 'b', { copy: 'rebuilding', deleting: true })]), true);
  });
});
