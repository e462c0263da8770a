/** What several ways ask: each way has its own tests, and most of them never come to these answers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anAttachment,
  aPod,
  aVolume,
  driver,
  inForce,
  renewedLease,
} from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, VolumeFacts } from '../api/release-view.ts';
import { attachedOnce, fenceSettled, isListed, knownVolumes, kubeletSilent } from './checks.ts';

const unread: VolumeFacts = { claim: 'default/gone', known: false, reason: 'VolumeMissing', message: 'it is gone' };

describe('a kubelet', () => {
  test('[SAF-14] is not heard of where there is no Lease', () => {
    const { lease: _, ...unheard } = aCase();
    assert.equal(kubeletSilent(unheard), undefined);
    assert.equal(kubeletSilent(aCase({ lease: renewedLease }))?.reason, 'KubeletAlive');
  });
});

describe('a fence that has failed', () => {
  const fence = aFence({
    fence: {
      step: 'power-management',
      status: 'error',
      phase: 'failed',
      level: 0,
      index: 0,
      cleanResources: true,
      retries: 0,
      restarts: 0,
      startedAt: '2026-01-01T00:00:00Z',
      stepStartedAt: '2026-01-01T00:00:00Z',
      switched: [],
    } satisfies NonNullable<NodeFenceStatus['fence']>,
  });
  const objects = (policy: NodeCase['policy']): string | undefined => fenceSettled(aCase({ fence, policy }))?.reason;

  test('[POD-3] lets nothing go but by a policy that accepts that risk, and without one nobody does', () => {
    assert.equal(objects(inForce({ riskAfterFailedFence: true })), undefined);
    assert.equal(objects(inForce()), 'FenceUnsettled');
    assert.equal(objects({ kind: 'none' }), 'FenceUnsettled');
  });
});

describe('the volumes of a pod', () => {
  const claims = ['data-web-0', 'gone'].map((claim) => ({ volume: claim, claim }));
  const both = { volumes: { 'default/data-web-0': aVolume(), 'default/gone': unread }, pods: [aPod({ claims })] };
  const elsewhere = (volume: string): NodeCase =>
    aCase({ ...both, attachments: [anAttachment({ node: 'node-2', volume })] });

  test('[NGS-2] are those of which something is known', () => {
    assert.deepEqual(
      knownVolumes(aCase(both), aPod({ claims })).map(({ volume }) => volume),
      ['pv-0'],
    );
  });

  test('[NGS-2] are attached to one node: what is attached to another one is another volume', () => {
    assert.equal(attachedOnce(elsewhere('pv-0'), aPod({ claims }))?.reason, 'AttachedElsewhere');
    assert.equal(attachedOnce(elsewhere('pv-9'), aPod({ claims })), undefined);
    assert.equal(attachedOnce(elsewhere('pv-0'), aPod({ claims, phase: 'Failed' })), undefined, 'it is over');
  });

  test('[POD-5] are of a listed provisioner, by their driver or by who made them', () => {
    const { csi: _, ...inTree } = aVolume() as Extract<VolumeFacts, { known: true }>;
    const listed = ['other.example.com', driver];
    assert.equal(isListed(aVolume(), listed), true);
    assert.equal(isListed({ ...inTree, provisionedBy: driver }, listed), true);
    for (const volume of [inTree, unread]) assert.equal(isListed(volume, listed), false);
    assert.equal(isListed(aVolume(), []), false);
  });
});
