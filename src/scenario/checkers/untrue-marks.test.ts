import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Machine } from '../../world/machines/machine.ts';
import type { Node } from '../../world/objects/nodes.ts';
import { ClusterState } from '../cluster-state.ts';
import type { CheckContext } from './checker.ts';
import { UntrueMarks } from './untrue-marks.ts';

interface Given {
  isReady?: boolean;
  stop?: boolean;
  isFaulty?: boolean;
  /** When another one leads, or nobody says so, in seconds. */
  otherAt?: number;
  silentAt?: number;
}

/** What is said of a node with a mark of ours in two minutes of a lead. */
function said({ isReady = false, stop = false, isFaulty = false, otherAt, silentAt }: Given): string[] {
  const found: string[] = [];
  const state = new ClusterState();
  const node = {
    kind: 'Node',
    metadata: { name: 'node-1' },
    spec: { taints: [{ key: 'marked', effect: 'NoSchedule' }] },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }], nodeInfo: { bootID: 'one' } },
  } as unknown as Node;
  const fence = { kind: 'NodeFence', metadata: { name: 'node-fence-node-1' }, spec: { node: 'node-1', stop } };
  for (const object of [node, fence as unknown as Node]) state.apply({ type: 'ADDED', object, previous: undefined });
  let atMs = 0;
  const machineOf = (): Machine => ({ alive: isReady, bootId: 'one' }) as Machine;
  const context = { state, machineOf, nowMs: () => atMs, violated: (told: string) => found.push(told) };
  const marks = new UntrueMarks(context as unknown as CheckContext, ({ spec }) => spec?.taints?.[0]);
  if (isFaulty) marks.acted({ do: 'apiFault', operator: 1, fault: 'deniesNodes' });
  for (let seconds = 0; seconds <= 120; seconds += 10) {
    atMs = seconds * 1000;
    if (seconds !== silentAt) marks.led(seconds === otherAt ? 'operator-2' : 'operator-1');
  }
  return found;
}

test('S5: a mark of ours that is not true any more is told once, of whoever leads all the time and can do something', () => {
  const told = 'node-1 keeps the taint marked, which is ours, although';
  assert.deepEqual(said({ isReady: true }), [`${told} it is Ready`]);
  assert.deepEqual(said({ stop: true }), [`${told} somebody has stopped its fence`]);
  assert.deepEqual(said({}), [], 'that is what it is for');
  assert.deepEqual(said({ isReady: true, isFaulty: true }), []);
  assert.deepEqual(said({ isReady: true, otherAt: 60 }), []);
  assert.deepEqual(said({ isReady: true, silentAt: 60 }), []);
});
