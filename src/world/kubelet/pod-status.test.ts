import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exit, Process } from '../machines/machine.ts';
import type { ContainerStatus, Pod } from '../objects/pods.ts';
import { endedStatus, runningStatus, waitingStatus } from './pod-status.ts';

const addresses = { host: '10.10.0.2', pod: '10.100.1.2' };
const now = Date.UTC(2026, 0, 1);

function process(id: string): Process {
  return { id, podUid: 'uid-1', namespace: 'default', podName: 'web-0', bootId: 'boot', startedAt: now, volumes: [] };
}

function exit(code: number): Exit {
  return { code, at: now, process: process('a-1') };
}

function pod(status: Pod['status']): Pod {
  const base: Pod = { metadata: { name: 'web-0', uid: 'uid-1' }, spec: { containers: [{ name: 'main', image: 'i' }] } };
  return status === undefined ? base : { ...base, status };
}

function containers(status: { fields: Record<string, unknown> }): ContainerStatus[] {
  return status.fields['containerStatuses'] as ContainerStatus[];
}

test('a first start counts no restart, a start in place of another one counts one more', () => {
  const first = containers(runningStatus(pod(undefined), process('a-1'), addresses));
  assert.deepEqual([first[0]?.restartCount, first[0]?.ready], [0, true]);
  const again = containers(runningStatus(pod({ containerStatuses: first }), process('b-1'), addresses));
  assert.equal(again[0]?.restartCount, 1);
  const creating = { waiting: { reason: 'ContainerCreating' }, hasRun: true };
  const waited = containers(waitingStatus(pod({ containerStatuses: first }), addresses, now, creating));
  assert.deepEqual([waited[0]?.ready, waited[0]?.state], [false, { waiting: { reason: 'ContainerCreating' } }]);
  assert.equal(
    containers(runningStatus(pod({ containerStatuses: waited }), process('b-1'), addresses))[0]?.restartCount,
    1,
  );
});

test('what the server adds to a container status is no reason to write it again', () => {
  const [written] = containers(runningStatus(pod(undefined), process('a-1'), addresses));
  const stored = [Object.assign({}, written, { lastState: {} })];
  assert.equal(containers(runningStatus(pod({ containerStatuses: stored }), process('a-1'), addresses)), stored);
});

test('the start time of a pod outlives the restarts of its containers', () => {
  const running = runningStatus(pod({ startTime: '2025-01-01T00:00:00Z' }), process('a-1'), addresses);
  assert.equal(running.fields['startTime'], '2025-01-01T00:00:00Z');
});

test('how a pod ends depends on its exit code, and without one it failed', () => {
  assert.equal(endedStatus(pod({}), exit(0), now).fields['phase'], 'Succeeded');
  assert.equal(endedStatus(pod({}), exit(137), now).fields['phase'], 'Failed');
  const unknown = endedStatus(pod({}), undefined, now);
  assert.equal(unknown.fields['phase'], 'Failed');
  assert.equal(containers(unknown)[0]?.state.terminated?.reason, 'ContainerStatusUnknown');
});

test('a pod that may not run on has failed, however well its container ended', () => {
  const late = endedStatus(pod({}), exit(0), now, { reason: 'DeadlineExceeded', message: 'late' });
  assert.deepEqual([late.fields['phase'], late.fields['reason']], ['Failed', 'DeadlineExceeded']);
});

test('a container that was started again tells how the one before it ended', () => {
  const first = containers(runningStatus(pod(undefined), process('a-1'), addresses));
  const backingOff = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' }, hasRun: true, exit: exit(3) };
  const waiting = waitingStatus(pod({ containerStatuses: first }), addresses, now, backingOff);
  assert.equal(waiting.fields['phase'], 'Running');
  const waited = containers(waiting);
  assert.equal(waited[0]?.lastState?.terminated?.exitCode, 3);
  const again = containers(runningStatus(pod({ containerStatuses: waited }), process('a-2'), addresses));
  assert.deepEqual([again[0]?.restartCount, again[0]?.lastState?.terminated?.exitCode], [1, 3]);
});

test('a pod is ready when every gate is open that it waits for', () => {
  const gated = (status: Pod['status']): Pod => ({
    ...pod(status),
    spec: { ...pod({}).spec, readinessGates: [{ conditionType: 'gate' }] },
  });
  const ready = (status: Pod['status']): (string | undefined)[] => {
    const { conditions } = runningStatus(gated(status), process('a-1'), addresses);
    const found = conditions.find(({ type }) => type === 'Ready');
    return [found?.status, found?.message];
  };
  assert.deepEqual(ready({}), ['False', 'corresponding condition of pod readiness gate "gate" does not exist.']);
  const gate = (status: string): Pod['status'] => ({ conditions: [{ type: 'gate', status }] });
  assert.deepEqual(ready(gate('False')), ['False', 'the status of pod readiness gate "gate" is not "True", but False']);
  assert.deepEqual(ready(gate('True')), ['True', undefined]);
});

test('a pod in the network of its node has the address of the node', () => {
  const hostNetwork = { ...pod({}), spec: { ...pod({}).spec, hostNetwork: true } };
  assert.equal(runningStatus(hostNetwork, process('a-1'), addresses).fields['podIP'], addresses.host);
  assert.equal(runningStatus(pod({}), process('a-1'), addresses).fields['podIP'], addresses.pod);
});
