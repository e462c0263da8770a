import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FenceRequest } from '../api/fence-request.ts';
import type { LiveNode, NodeCase } from '../api/release-view.ts';
import { commandKey } from '../api/task.ts';
import { aCase, aFence, aNode, aRemedy, inForce } from '../../test/support/release-case.ts';
import { askedFor, decideRequest, untimely } from './request.ts';

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
  // All of these the API server takes for a time, or did.
  for (const none of ['2020-01-01T00:00:00+25:00', '', 'now', [[]] as unknown as string]) {
    assert.equal(on(none, '2026-01-01T00:11:30Z'), 'TimeUnreadable', none);
  }
});

const minute = (minutes: number, seconds = 0): string =>
  new Date(Date.UTC(2026, 0, 1, 0, minutes, seconds)).toISOString();

interface Looked {
  node?: Partial<LiveNode>;
  asked?: Partial<FenceRequest>;
  /** When the record was made. */
  created?: string;
  lease?: NodeCase['lease'];
  config?: NodeCase['config'];
}

/** Looked at ten minutes past the hour, when the Lease was renewed five seconds ago. Undefined: it is taken up. */
function refusal({ node = {}, asked = {}, created = minute(0), lease, config }: Looked): string | undefined {
  const fence = aFence({}, { requested: { by: 'jane', at: minute(6), ...asked } });
  const renewed = { renewTime: minute(9, 55), unchangedForMs: 5000, renewedSinceNotReady: false, renewed: true };
  const nodeCase = aCase({
    policy: inForce(),
    node: aNode({ ready: 'True', createdAt: minute(0), readySince: minute(1), ...node }),
    fence: { ...fence, metadata: { ...fence.metadata, creationTimestamp: created } },
    lease: lease ?? renewed,
    ...(config && { config }),
  });
  return decideRequest(nodeCase).refusal?.reason;
}

test('[SAF-6] one that nobody has answered is about a node that has been Ready since before, or is not Ready', () => {
  assert.equal(refusal({}), undefined);
  assert.equal(refusal({ node: { readySince: minute(8) } }), 'NodeIsBack');
  assert.equal(refusal({ node: { readySince: minute(8), ready: 'Unknown' } }), undefined);
  assert.equal(refusal({ node: { readySince: minute(8), ready: 'False' } }), undefined);
});

test('[SAF-6, FEN-7] one about a node whose fence configuration has a mistake is refused with it', () => {
  const problems = [{ file: 'fence-config-node-1', key: 'config.properties', reason: 'no such method: offf' }];
  assert.equal(refusal({ config: { ok: false, problems } }), 'ConfigurationInvalid');
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

test('[SAF-6, SAF-8] until a command is sent it is about the node that was lost, though the command is on record', () => {
  const request = { by: 'jane', at: minute(6), answeredAt: minute(6), reason: 'TakenUp', trouble: 'Ready=Unknown' };
  const sent = { step: 'power-management', method: 'off', device: 'd', storage: [], commandSentAt: minute(9) } as const;
  const begun = { phase: 'poweringOff', startedAt: minute(9), switched: [sent] };
  const incident = { id: 'i', startedAt: minute(6), nodeUid: 'node-uid', flaps: 0, acts: 0 };
  const reason = (also: { unsent?: string; told?: string[]; switched?: readonly object[] }): string | undefined => {
    const { unsent, ...more } = also;
    const status = { incident, request, fence: { ...begun, ...more } } as unknown as Parameters<typeof aFence>[0];
    const fence = aFence(status, { requested: { by: 'jane', at: minute(6) } });
    const lease = { renewTime: minute(9, 55), unchangedForMs: 5000, renewedSinceNotReady: false, renewed: true };
    const node = aNode({ ready: 'True', createdAt: minute(0), readySince: minute(1) });
    const nodeCase = aCase({ policy: inForce(), node, fence, lease, ...(unsent === undefined ? {} : { unsent }) });
    return decideRequest(nodeCase).refusal?.reason;
  };
  const unsent = commandKey('off', minute(9));
  assert.equal(reason({ unsent }), 'NodeIsBack');
  assert.equal(reason({}), undefined, 'it may have been sent');
  assert.equal(reason({ unsent: commandKey('off', minute(8)) }), undefined, 'this one was sent');
  assert.equal(reason({ unsent, told: ['d'] }), undefined, 'an earlier try has told it');
  assert.equal(reason({ unsent, switched: [sent, { ...sent, method: 'other' }] }), undefined);
});

test('[SAF-8] what was wrong with a node when somebody asked has to be so still when its device is told', () => {
  const silent = { renewTime: minute(9), unchangedForMs: 60_000, renewedSinceNotReady: false, renewed: true };
  const renewing = { ...silent, renewTime: minute(10), unchangedForMs: 1000 };
  const of = (ready: LiveNode['ready'], lease: NodeCase['lease']): object =>
    askedFor(aCase({ policy: inForce(), node: aNode({ ready }), ...(lease === undefined ? {} : { lease }) }));
  assert.deepEqual(of('Unknown', renewing), { isAsked: true, trouble: { type: 'Ready', status: 'NotTrue' } });
  assert.deepEqual(of('True', silent), { isAsked: true, leaseRenewTime: minute(9), heartbeatTime: '' });
  assert.deepEqual(of('True', renewing), { isAsked: true });
  assert.deepEqual(of(undefined, renewing), { isAsked: true }, 'what nobody reports cannot go on');
});

test('[SAF-8] where a policy looks for what is wrong, it is that', () => {
  const renewing = { renewTime: minute(10), unchangedForMs: 1000, renewedSinceNotReady: false, renewed: true };
  const deadlock = { type: 'KernelDeadlock', status: 'True', forMs: 60_000 } as const;
  const threshold = { key: 'KernelDeadlock=True', condition: deadlock, remedies: [], recovery: [] };
  const policy = inForce({ remedy: aRemedy({ thresholds: [threshold] }) });
  const trouble = { conditions: [deadlock] };
  const found = askedFor(aCase({ policy, node: aNode({ ready: 'True' }), lease: renewing, trouble }));
  assert.deepEqual(found, { isAsked: true, trouble: { type: 'KernelDeadlock', status: 'True' } });
});
