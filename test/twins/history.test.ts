import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';
import { Recorder } from './history.ts';

const scenario = 's1';

function pod(name: string, status: Pod['status'], more: { uid?: string; owner?: string; node?: string } = {}): Pod {
  const { uid = name, owner, node } = more;
  const reference = { apiVersion: 'v1', kind: owner ?? '', name: 'web', uid: 'o', controller: true };
  return {
    metadata: {
      name,
      namespace: scenario,
      uid,
      labels: { app: 'web' },
      ...(owner === undefined ? {} : { ownerReferences: [reference] }),
    },
    spec: { containers: [], ...(node === undefined ? {} : { nodeName: `${scenario}-node-${node}` }) },
    status: status ?? {},
  };
}

function attachment(node: number, state: 'attaching' | 'attached' | 'detaching'): VolumeAttachment {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  return {
    metadata: { name: `va-${node}`, ...(state === 'detaching' ? { deletionTimestamp } : {}) },
    spec: { attacher: 'x', nodeName: `${scenario}-node-${node}`, source: { persistentVolumeName: `${scenario}-db-0` } },
    status: { attached: state !== 'attaching' },
  };
}

const states = (recorder: Recorder, id: string): string[] =>
  (recorder.history().get(id) ?? []).map(({ step, state }) => `${step} ${state}`);
const pending = { phase: 'Pending' };
const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const unschedulable = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False' }] };

describe('the history of a scenario', () => {
  test('a pod under its name: what it was, where, and the next one after it', () => {
    const recorder = new Recorder(scenario);
    recorder.pod(pod('db-0', pending), true);
    recorder.pod(pod('db-0', running, { node: '2' }), true);
    recorder.pod(pod('db-0', running, { node: '2' }), true);
    recorder.nextStep();
    recorder.pod(pod('db-0', running, { node: '2' }), false);
    recorder.pod(pod('db-0', pending, { uid: 'next' }), true);
    assert.deepEqual(states(recorder, 'pod db-0'), ['0 Pending', '0 Running ready at 2', '1 gone', '1 Pending']);
  });

  test('what a kubelet says of a pod while it is collected is left out', () => {
    const recorder = new Recorder(scenario);
    const collected = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC' };
    recorder.pod(pod('a', running, { node: '1' }), true);
    for (const phase of ['Failed', 'Running', 'Failed'])
      recorder.pod(pod('a', { phase, conditions: [collected] }, { node: '1' }), true);
    recorder.pod(pod('a', { phase: 'Failed', conditions: [collected] }, { node: '1' }), false);
    assert.deepEqual(states(recorder, 'pod a'), ['0 Running ready at 1', '0 collected at 1', '0 gone']);
  });

  test('it begins with what there is, and forgets what was', () => {
    const recorder = new Recorder(scenario);
    recorder.pod(pod('db-0', pending), true);
    recorder.pod(pod('db-0', running), true);
    recorder.pod(pod('old', running), true);
    recorder.pod(pod('old', running), false);
    recorder.begin();
    assert.deepEqual([...recorder.history().keys()], ['pod db-0']);
    assert.deepEqual(states(recorder, 'pod db-0'), ['0 Running ready']);
  });

  test('pods of a deployment may change names, not lives', () => {
    const lives = (names: [string, string]): unknown => {
      const recorder = new Recorder(scenario);
      for (const name of names) recorder.pod(pod(name, pending, { owner: 'ReplicaSet' }), true);
      recorder.pod(pod(names[1], running, { owner: 'ReplicaSet', node: '1' }), true);
      return [...recorder.history()];
    };
    assert.deepEqual(lives(['web-a', 'web-b']), lives(['web-x', 'web-c']));
    assert.deepEqual(Object.keys(Object.fromEntries(lives(['web-a', 'web-b']) as [string, unknown][])), [
      'pod web #1',
      'pod web #2',
    ]);
  });

  test('a refusal that is taken back between two steps is left out, one that stays is not', () => {
    const recorder = new Recorder(scenario);
    recorder.pod(pod('a', unschedulable), true);
    recorder.pod(pod('a', pending, { node: '1' }), true);
    recorder.pod(pod('b', unschedulable), true);
    recorder.nextStep();
    recorder.pod(pod('b', pending, { node: '1' }), true);
    assert.deepEqual(states(recorder, 'pod a'), ['0 Pending at 1']);
    assert.deepEqual(states(recorder, 'pod b'), ['0 Pending unschedulable', '1 Pending at 1']);
  });

  test('each aspect of a node apart, and its end in all of them', () => {
    const recorder = new Recorder(scenario);
    const node = (taints: string[], ready: string): Node => ({
      metadata: { name: `${scenario}-node-1` },
      spec: { taints: taints.map((effect) => ({ key: 'k', effect })) },
      status: { conditions: [{ type: 'Ready', status: ready, reason: 'R' }] },
    });
    recorder.node(node([], 'True'), true);
    recorder.node(node(['NoExecute'], 'Unknown'), true);
    recorder.node(node([], 'True'), true);
    recorder.node(node([], 'True'), false);
    assert.deepEqual(states(recorder, 'node 1 ready'), ['0 True R', '0 Unknown R', '0 True R', '0 gone']);
    assert.deepEqual(states(recorder, 'node 1 taint k:NoExecute'), ['0 on', '0 off', '0 gone']);
    assert.deepEqual(states(recorder, 'node 1 cordon'), []);
  });

  test('a volume in one line: where it is attached, and where else', () => {
    const recorder = new Recorder(scenario);
    recorder.attachment(attachment(1, 'attached'), true);
    recorder.attachment(attachment(1, 'detaching'), true);
    recorder.attachment(attachment(2, 'attached'), true);
    recorder.attachment(attachment(1, 'detaching'), false);
    const seen = ['0 attached at 1', '0 detaching at 1', '0 attached at 2', '0 gone at 1'];
    assert.deepEqual(states(recorder, 'volume db-0'), seen);
  });

  test('a detach that is undone at the same node between two steps is left out, another one is not', () => {
    const round = (there: number, back: number): string[] => {
      const recorder = new Recorder(scenario);
      recorder.attachment(attachment(there, 'attached'), true);
      recorder.nextStep();
      recorder.attachment(attachment(there, 'detaching'), true);
      recorder.attachment(attachment(there, 'detaching'), false);
      recorder.attachment(attachment(back, 'attaching'), true);
      recorder.attachment(attachment(back, 'attached'), true);
      return states(recorder, 'volume db-0');
    };
    assert.deepEqual(round(1, 1), ['0 attached at 1']);
    assert.equal(round(1, 2).length, 5);
  });

  test('what belongs to others is not seen', () => {
    const recorder = new Recorder('s2');
    recorder.pod(pod('db-0', running), true);
    recorder.node({ metadata: { name: `${scenario}-node-1` } }, true);
    recorder.attachment(attachment(1, 'attached'), true);
    assert.equal(recorder.history().size, 0);
  });
});
