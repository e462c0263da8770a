import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FenceRequest } from '../api/fence-request.ts';
import type { LiveNode, NodeCase } from '../api/release-view.ts';
import { aCase, aFence, aNode, inForce } from '../../test/support/release-case.ts';
import { decideRequest, untimely } from './request.ts';

const at = '2026-01-01T00:10:00Z';

test('[SAF-6] it has ten minutes, may be a minute ahead, and is no older than its record', () => {
  const on = (wanted: string, now: string, created = '2026-01-01T00:00:00Z'): string | undefined =>
    untimely(
      { metadata: { creationTimestamp: created }, spec: { requested: { by: 'jane', at: wanted } } },
      Date.parse(now),
    )?.reason;
  assert.equal(on(at, '2026-01-01T00:20:00Z'), undefined);
  assert.equal(on(at, '2026-01-01T00:20:01Z'), 'TooOld');
  assert.equal(on(at, '2026-01-01T00:09:00Z'), undefined);
  assert.equal(on(at, '2026-01-01T00:08:59Z'), 'InTheFuture');
  assert.equal(on(at, '2026-01-01T00:11:30Z', '2026-01-01T00:11:00Z'), undefined);
  assert.equal(on(at, '2026-01-01T00:11:30Z', '2026-01-01T00:11:01Z'), 'Restored');
  assert.equal(untimely({ spec: {} }, 0), undefined);
});

const minute = (minutes: number, seconds = 0): string =>
  new Date(Date.UTC(2026, 0, 1, 0, minutes, seconds)).toISOString();

interface Looked {
  node?: Partial<LiveNode>;
  asked?: Partial<FenceRequest>;
  /** When the record was made. */
  created?: string;
  lease?: NodeCase['lease'];
}

/** Looked at ten minutes past the hour, when the Lease was renewed five seconds ago. Undefined: it is taken up. */
function refusal({ node = {}, asked = {}, created = minute(0), lease }: Looked): string | undefined {
  const fence = aFence({}, { requested: { by: 'jane', at: minute(6), ...asked } });
  const renewed = { renewTime: minute(9, 55), unchangedForMs: 5000, renewedSinceNotReady: false, renewed: true };
  const nodeCase = aCase({
    policy: inForce(),
    node: aNode({ ready: 'True', createdAt: minute(0), readySince: minute(1), ...node }),
    fence: { ...fence, metadata: { ...fence.metadata, creationTimestamp: created } },
    lease: lease ?? renewed,
  });
  return decideRequest(nodeCase).refusal?.reason;
}

test('[SAF-6] one that nobody has answered is about a node that has been Ready since before, or is not Ready', () => {
  assert.equal(refusal({}), undefined);
  assert.equal(refusal({ node: { readySince: minute(8) } }), 'NodeIsBack');
  assert.equal(refusal({ node: { readySince: minute(8), ready: 'Unknown' } }), undefined);
  assert.equal(refusal({ node: { readySince: minute(8), ready: 'False' } }), undefined);
});

test('[SAF-6] the clock of whoever asks may be a minute ahead, unless the record shows that it is not', () => {
  assert.equal(refusal({ node: { readySince: minute(5) } }), undefined);
  assert.equal(refusal({ node: { readySince: minute(5, 1) } }), 'NodeIsBack');
  assert.equal(refusal({ node: { readySince: minute(5, 30) }, created: minute(6) }), undefined);
  assert.equal(refusal({ node: { readySince: minute(6, 1) }, created: minute(6) }), 'NodeIsBack');
});

test('[SAF-6] for how long a node has been Ready is told by the clock of its kubelet alone', () => {
  const hourBehind = { renewTime: '2025-12-31T23:09:55Z', unchangedForMs: 5000, renewedSinceNotReady: false };
  assert.equal(refusal({ node: { readySince: '2025-12-31T23:08:00Z' }, lease: hourBehind }), 'NodeIsBack');
  assert.equal(refusal({ node: { readySince: '2025-12-31T23:01:00Z' }, lease: hourBehind }), undefined);
  const unreadable = { ...hourBehind, renewTime: '' };
  assert.equal(refusal({ lease: unreadable }), 'NodeIsBack', 'nobody knows');
  assert.equal(refusal({ node: { heartbeatTime: minute(9) }, lease: unreadable }), undefined);
  assert.equal(refusal({ node: { readySince: '' } }), 'NodeIsBack', 'nobody knows');
});

test('[SAF-6] one that nobody has answered is not about a node that has joined since', () => {
  assert.equal(refusal({ node: { createdAt: minute(7), readySince: minute(7) } }), 'OtherNode');
  assert.equal(refusal({ node: { createdAt: minute(7), ready: 'False' } }), 'OtherNode');
});

test('[SAF-6] one that says which life of the node it is about is told by that, and by no clock', () => {
  const about = { nodeUid: 'node-uid', bootId: 'boot-1', readySince: minute(8) };
  assert.equal(refusal({ asked: { about }, node: { readySince: minute(8) } }), undefined);
  assert.equal(refusal({ asked: { about }, node: { readySince: minute(9) } }), 'NodeIsBack');
  assert.equal(refusal({ asked: { about }, node: { readySince: minute(1) } }), 'NodeIsBack');
  assert.equal(refusal({ asked: { about }, node: { readySince: minute(9), ready: 'Unknown' } }), undefined);
  assert.equal(refusal({ asked: { about: { nodeUid: 'node-uid', bootId: 'boot-1' } } }), 'NodeIsBack');
  assert.equal(refusal({ asked: { about: { ...about, bootId: 'boot-0' } }, node: { ready: 'Unknown' } }), 'NodeIsBack');
  assert.equal(refusal({ asked: { about: { ...about, nodeUid: 'other' } } }), 'OtherNode');
});
