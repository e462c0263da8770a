import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from './meta.ts';
import { statusPatch } from './status-patch.ts';

const metadata = { name: 'node-1', uid: 'uid-1', resourceVersion: '7' };
const ready: Condition = { type: 'Ready', status: 'True', lastHeartbeatTime: 'now', lastTransitionTime: 'now' };
const foreign: Condition = { type: 'KernelDeadlock', status: 'False' };

test('only the own condition is replaced, where it stands, if it still stands there', () => {
  const object = { metadata, status: { conditions: [foreign, { ...ready, status: 'Unknown' }] } };
  assert.deepEqual(statusPatch(object, { conditions: [ready], fields: {} }), {
    only: { uid: 'uid-1' },
    operations: [
      { op: 'test', path: '/status/conditions/1/type', value: 'Ready' },
      { op: 'replace', path: '/status/conditions/1', value: ready },
    ],
  });
});

test('a condition that did not change keeps its time of transition, and is written only for a heartbeat', () => {
  const object = { metadata, status: { conditions: [{ ...ready, lastTransitionTime: 'long ago' }] } };
  assert.equal(statusPatch(object, { conditions: [ready], fields: {} }), undefined);
  assert.deepEqual(statusPatch(object, { conditions: [ready], fields: {} }, true)?.operations[1], {
    op: 'replace',
    path: '/status/conditions/0',
    value: { ...ready, lastTransitionTime: 'long ago' },
  });
});

test('a new condition is appended', () => {
  const object = { metadata, status: { conditions: [foreign] } };
  assert.deepEqual(statusPatch(object, { conditions: [ready], fields: {} })?.operations, [
    { op: 'add', path: '/status/conditions/-', value: ready },
  ]);
});

test('a list that is not there is made only if nobody wrote since', () => {
  assert.deepEqual(statusPatch({ metadata, status: {} }, { conditions: [ready], fields: {} }), {
    only: { uid: 'uid-1', resourceVersion: '7' },
    operations: [
      { op: 'add', path: '/status/conditions', value: [] },
      { op: 'add', path: '/status/conditions/-', value: ready },
    ],
  });
  assert.deepEqual(statusPatch({ metadata }, { conditions: [], fields: { phase: 'Failed' } })?.operations, [
    { op: 'add', path: '/status', value: { conditions: [] } },
    { op: 'add', path: '/status/phase', value: 'Failed' },
  ]);
});

test('fields: what is equal is not written, whatever the order of its keys; what is empty equals what is absent', () => {
  const object = { metadata, status: { conditions: [], nodeInfo: { a: '1', b: '2' }, phase: 'Running', gone: 'x' } };
  const fields = { nodeInfo: { b: '2', a: '1' }, volumesInUse: [], phase: 'Failed', gone: undefined };
  assert.deepEqual(statusPatch(object, { conditions: [], fields })?.operations, [
    { op: 'add', path: '/status/phase', value: 'Failed' },
    { op: 'remove', path: '/status/gone' },
  ]);
});
