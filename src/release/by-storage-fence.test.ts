import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, aPod, aRecord, aVolume, driver } from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { byStorageFence } from './by-storage-fence.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;

const at = '2026-01-01T00:00:00Z';
const isolated: Fence = {
  step: 'isolation',
  status: 'running',
  phase: 'isolated',
  method: 'fc-off',
  level: 0,
  index: 1,
  bootId: 'boot-1',
  cleanResources: true,
  retries: 0,
  restarts: 0,
  startedAt: at,
  stepStartedAt: at,
  switched: [{ step: 'isolation', method: 'fc-off', device: 'fc', storage: [driver], confirmedAt: at }],
};

function caseOf(fence: Partial<Fence>, change: Partial<NodeCase> = {}): NodeCase {
  return aCase({ fence: aFence({ fence: { ...isolated, ...fence } }), ...change });
}

function objects(change: Partial<NodeCase>, pod: Partial<PodFacts> = {}, fence: Partial<Fence> = {}): string {
  const [found] = byStorageFence.checks.flatMap((check) => check(caseOf(fence, change), aPod(pod)) ?? []);
  return found?.reason ?? 'goes';
}

describe('[FEN-11] released by the fence of the storage', () => {
  test('a pod all of whose volumes are there', () => {
    assert.equal(objects({}), 'goes');
    assert.ok(byStorageFence.stillStands(caseOf({}), aRecord()));
  });

  test('and none where nothing is cut off, nor where pods are not to go with it', () => {
    const [cut] = isolated.switched;
    const uncut: Partial<Fence>[] = [
      { switched: [] },
      { switched: [{ ...cut!, storage: [] }] },
      { cleanResources: false },
    ];
    for (const fence of uncut) {
      assert.equal(objects({}, {}, fence), 'StorageNotFenced', JSON.stringify(fence));
      assert.equal(byStorageFence.stillStands(caseOf(fence), aRecord()), false);
    }
  });

  test('none that has no volume: nothing keeps what it runs from doing harm elsewhere', () => {
    assert.equal(objects({}, { claims: [] }), 'NoPersistentVolume');
  });

  test('none with one volume that is somewhere else, or of which nobody knows where it is', () => {
    const claims = [
      { volume: 'data', claim: 'data-web-0' },
      { volume: 'more', claim: 'more-web-0' },
    ];
    const and = (more?: ReturnType<typeof aVolume>): Partial<NodeCase> => ({
      volumes: { 'default/data-web-0': aVolume(), ...(more && { 'default/more-web-0': more }) },
    });
    const other = { claim: 'default/more-web-0', volume: 'pv-1' };
    assert.equal(objects(and(aVolume(other)), { claims }), 'goes');
    const elsewhere = aVolume({ ...other, csi: { driver: 'other.csi', handle: 'pv-1' } });
    assert.equal(objects(and(elsewhere), { claims }), 'VolumeNotProtected');
    assert.equal(objects(and(), { claims }), 'VolumeUnknown');
    assert.equal(objects({}, { directVolumes: ['nfs'] }), 'VolumeNotProtected', 'named in the pod itself');
  });

  test('[SAF-1] none by a port of which nobody knows whose it is: all by which its storage is reached have to be its own', () => {
    const [cut] = isolated.switched;
    const other = { ...cut!, method: 'fc-b-off', device: 'fc-b' };
    const elsewhere = { ...other, storage: ['other.csi'] };
    const by = (unshownPorts: string[], ...switched: Fence['switched']): string =>
      objects({ unshownPorts }, {}, { switched });
    assert.equal(by(['fc'], cut!), 'PortUnproven');
    assert.equal(by(['another'], cut!), 'goes');
    assert.equal(by(['fc-b'], cut!, other), 'PortUnproven', 'it may reach the storage by the other one');
    assert.equal(by(['fc-b'], cut!, elsewhere), 'goes', 'which is the way to another storage');
    const [found] = byStorageFence.checks.flatMap((check) => check(caseOf({}, { unshownPorts: ['fc'] }), aPod()) ?? []);
    assert.match(found?.message ?? '', /^fc-off cannot say whose port it is, .*: fenceline check --shown node-1$/);
    assert.equal(byStorageFence.stillStands(caseOf({}, { unshownPorts: ['fc'] }), aRecord()), false);
  });
});
