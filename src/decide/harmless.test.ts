/** When a node that is back may reach its storage again: nothing of before can write there. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Change } from '../../test/support/fenced-case.ts';
import { aStored, decided, entryOf, fenced, minutesAgo } from '../../test/support/fenced-case.ts';
import {
  anIncident,
  aPod,
  aRecord,
  aVolume,
  entry,
  quarantine,
  renewedLease,
} from '../../test/support/release-case.ts';
import { hash } from '../api/hash.ts';
import type { FenceDecision } from '../fence/decide-fence.ts';
describe('[SAF-4] a node that is back is let to its storage again', () => {
  const confirmedAt = minutesAgo(7);
  const cut = aStored('recovering', { switched: [entryOf('isolation', { confirmedAt })] });
  const serving = aPod();
  delete serving.deletionAtMs;
  const back = (change: Change = {}): FenceDecision => {
    const { node, ...more } = change;
    return decided(fenced(cut, { lease: renewedLease, pods: [serving], node: { ready: 'True', ...node }, ...more }));
  };
  const isLet = (change: Change = {}): boolean => back(change).run?.action === 'on';

  test('when each volume that its kubelet uses is one of a pod that is there', () => {
    assert.ok(isLet());
    assert.ok(isLet({ pods: [], node: { volumesInUse: [] } }));
    assert.equal(isLet({ pods: [] }), false, 'whose is it?');
    assert.match(back({ pods: [] }).fence?.waitsFor ?? '', /^it stays cut off .* until nothing that was let go/);
    assert.equal(isLet({ node: { volumesInUse: [entry, `${entry}-other`] } }), false);
  });

  test('a pod that somebody has sent away accounts for nothing: it may be gone by force at any moment', () => {
    assert.equal(isLet({ pods: [aPod()] }), false);
  });

  test('nor does one whose volumes cannot be read, whatever else is accounted for', () => {
    assert.equal(isLet({ volumes: {} }), false);
    assert.equal(isLet({ volumes: {}, node: { volumesInUse: [] } }), false);
  });

  test('with every pod there that no kubelet can speak for, or in another boot', () => {
    const unseen = (bootId: string): Change => ({
      status: { incident: anIncident({ unseen: { bootId, pods: ['pod-9'] } }) },
    });
    assert.equal(isLet(unseen('boot-1')), false);
    assert.match(back(unseen('boot-1')).fence?.waitsFor ?? '', /until it is rebooted/);
    assert.ok(isLet(unseen('boot-0')));
    const there = { ...unseen('boot-1'), pods: [serving, { ...serving, uid: 'pod-9' }] };
    assert.ok(isLet(there));
    assert.equal(isLet({ ...there, pods: [serving, aPod({ uid: 'pod-9' })] }), false, 'on its way out');
    const two = { status: { incident: anIncident({ unseen: { bootId: 'boot-1', pods: ['pod-0', 'pod-9'] } }) } };
    assert.equal(isLet(two), false, 'every one of them');
  });

  test('and what was released from this very boot is clean and soaked', () => {
    const released = (change: Parameters<typeof aRecord>[0]): Change => ({ status: { releases: [aRecord(change)] } });
    assert.equal(isLet(released({})), false);
    assert.ok(isLet(released({ bootId: 'boot-0' })));
    assert.equal(isLet(released({ nodeUid: 'another' })), false, 'its Node object was made anew in the same boot');
    const soaked = { stage: 'clean' as const, since: minutesAgo(5), failures: 0 };
    const status = { releases: [aRecord({ endedAt: minutesAgo(6) })], return: soaked };
    const empty = { status, attachments: [], pods: [], node: { volumesInUse: [] } };
    assert.ok(isLet(empty));
    const beside = { ...empty, node: { volumesInUse: [`${entry}-other`] } };
    assert.equal(isLet(beside), false, 'others have let go what no record of ours knows');
  });

  test('in another boot than the one that was cut, unless something was let go in that one too', () => {
    const booted = (change: Change = {}): boolean => isLet({ ...change, node: { bootId: 'boot-2', ...change.node } });
    const unremembered = { taints: [quarantine] };
    assert.ok(booted());
    assert.ok(booted({ node: unremembered }));
    assert.equal(booted({ status: { releases: [aRecord({ bootId: 'boot-2' })] } }), false, 'let go in this boot');
    assert.equal(booted({ pods: [] }), false, 'its kubelet uses what no pod accounts for');
    const { csi: _, ...old } = { ...aVolume({ inTree: true }), csi: undefined };
    const inTree = { 'default/data-web-0': old };
    assert.ok(booted({ volumes: inTree }), 'under a name that only its driver knows');
    assert.equal(isLet({ volumes: inTree }), false, 'in the boot that was cut it may be that of another');
    assert.equal(isLet({ node: { bootId: '' } }), true, 'nobody knows of another boot, and nothing was let go');
  });

  test('where our quarantine is, something was let go: without a record it has to soak, and what shows nowhere needs a boot', () => {
    const forgotten = { taints: [quarantine] };
    assert.equal(isLet({ node: forgotten }), false);
    const soaked = { return: { stage: 'clean' as const, since: minutesAgo(5), failures: 0 } };
    assert.ok(isLet({ node: forgotten, status: soaked }));
    assert.ok(isLet({ node: forgotten, status: { releases: [aRecord({ bootId: 'boot-0' })] } }), 'it is remembered');
    const marked = { taints: [{ ...quarantine, value: `i.${hash('boot-1')}` }] };
    assert.equal(isLet({ node: marked, status: soaked }), false);
    assert.match(back({ node: marked, status: soaked }).fence?.waitsFor ?? '', /until it is rebooted/);
    assert.ok(isLet({ node: { ...marked, bootId: 'boot-2' } }));
    const again = { taints: [{ ...quarantine, value: `i.${hash('boot-2')}` }], bootId: 'boot-2' };
    assert.equal(isLet({ node: again }), false, 'let go in the boot that it is in');
    assert.equal(isLet({ node: { ...forgotten, bootId: '' } }), false, 'nobody knows of another boot');
  });

  test('[FEN-16] where no boot ID tells, power that was off and a kubelet that has started since do', () => {
    const poweredOff = { at: minutesAgo(8), bootId: 'boot-1', signs: { renewTime: 'before', heartbeatTime: 'before' } };
    const status = { incident: anIncident({ poweredOff }), releases: [aRecord()] };
    const shared = { status, node: { sharesBootId: true } };
    assert.equal(isLet(shared), false);
    assert.ok(
      decided(
        fenced(
          { ...cut, bootId: 'boot-0' },
          { lease: renewedLease, pods: [serving], ...shared, node: { ...shared.node, ready: 'True' } },
        ),
      ).run?.action === 'on',
    );
  });
});
