/** Containers that end by themselves, and what becomes of their pods. */
import assert from 'node:assert/strict';
import type { Pod } from '../../../../src/world/objects/pods.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { conditionOf, same, statusOf } from '../scene.ts';

async function ended(scene: Scene, name: string): Promise<Pod> {
  const pod = await scene.podWhere(name, 'to end', ({ status }) =>
    ['Succeeded', 'Failed'].includes(status?.phase ?? ''),
  );
  await scene.stopped(pod);
  return pod;
}

/** Between the end of the container before and the start of this one. */
function pauseMs(pod: Pod): number {
  const { state, lastState } = statusOf(pod) ?? {};
  return Date.parse(state?.running?.startedAt ?? '') - Date.parse(lastState?.terminated?.finishedAt ?? '');
}

export const endingBehaviours: Behaviour[] = [
  {
    name: 'a pod that is never restarted has succeeded after exit code 0, and stays as it is',
    async run(scene) {
      await scene.createPod('job', { exitAfterMs: 500 }, { restartPolicy: 'Never' });
      const pod = await ended(scene, 'job');
      same(pod.status?.phase, 'Succeeded');
      const { terminated } = statusOf(pod)?.state ?? {};
      same([terminated?.exitCode, terminated?.reason], [0, 'Completed']);
      for (const type of ['Ready', 'ContainersReady']) {
        same([conditionOf(pod, type)?.status, conditionOf(pod, type)?.reason], ['False', 'PodCompleted']);
      }
      await scene.stays(1500, async () => {
        same(await scene.containers(pod), []);
        same(scene.pod('job')?.status?.phase, 'Succeeded');
      });
    },
  },
  {
    name: 'a pod that is never restarted has failed after another exit code',
    async run(scene) {
      await scene.createPod('job', { exitAfterMs: 500, exitCode: 3 }, { restartPolicy: 'Never' });
      const pod = await ended(scene, 'job');
      same(pod.status?.phase, 'Failed');
      const { terminated } = statusOf(pod)?.state ?? {};
      same([terminated?.exitCode, terminated?.reason, statusOf(pod)?.restartCount], [3, 'Error', 0]);
      same([conditionOf(pod, 'Ready')?.status, conditionOf(pod, 'Ready')?.reason], ['False', 'PodFailed']);
    },
  },
  {
    name: 'restarted on failure: again after a failure, done after a success',
    async run(scene) {
      await scene.createPod('good', { exitAfterMs: 500 }, { restartPolicy: 'OnFailure' });
      await scene.createPod('bad', { exitAfterMs: 500, exitCode: 1 }, { restartPolicy: 'OnFailure' });
      const good = await ended(scene, 'good');
      same([good.status?.phase, statusOf(good)?.restartCount], ['Succeeded', 0]);
      const bad = await scene.podWhere('bad', 'to restart', (pod) => (statusOf(pod)?.restartCount ?? 0) > 0);
      same(bad.status?.phase, 'Running');
    },
  },
  {
    name: 'a container that ends is started again in the same pod: at once, then after a back-off of ten seconds',
    async run(scene) {
      await scene.createPod('web', { exitAfterMs: 1500, exitCode: 1 });
      const first = await scene.podWhere('web', 'to run', (pod) => statusOf(pod)?.state.running !== undefined);
      const again = await scene.podWhere(
        'web',
        'to run again',
        (pod) => statusOf(pod)?.restartCount === 1 && statusOf(pod)?.state.running !== undefined,
      );
      same([again.metadata.uid, again.status?.podIP], [first.metadata.uid, first.status?.podIP]);
      assert.notEqual(statusOf(again)?.containerID, statusOf(first)?.containerID);
      same(statusOf(again)?.lastState?.terminated?.exitCode, 1);
      const betweenMs = pauseMs(again);
      assert.ok(betweenMs < 8000, `it waited ${betweenMs} ms`);
      const waiting = await scene.podWhere('web', 'to back off', (pod) => statusOf(pod)?.state.waiting !== undefined);
      same(statusOf(waiting)?.state.waiting?.reason, 'CrashLoopBackOff');
      assert.match(statusOf(waiting)?.state.waiting?.message ?? '', /^back-off 10s restarting failed container=main /);
      same([waiting.status?.phase, conditionOf(waiting, 'Ready')?.status], ['Running', 'False']);
      same(conditionOf(waiting, 'Ready')?.reason, 'ContainersNotReady');
      same(await scene.containers(waiting), []);
      const third = await scene.podWhere(
        'web',
        'to run once more',
        (pod) => statusOf(pod)?.restartCount === 2 && statusOf(pod)?.state.running !== undefined,
      );
      const waitedMs = pauseMs(third);
      assert.ok(waitedMs >= 9000 && waitedMs <= 30_000, `it waited ${waitedMs} ms`);
    },
  },
  {
    name: 'a pod has failed when its deadline has passed, and its container is stopped',
    async run(scene) {
      await scene.createPod('late', {}, { activeDeadlineSeconds: 8, terminationGracePeriodSeconds: 2 });
      const running = await scene.ready('late');
      const pod = await ended(scene, 'late');
      same([pod.status?.phase, pod.status?.reason], ['Failed', 'DeadlineExceeded']);
      same(pod.status?.message, 'Pod was active on the node longer than the specified deadline');
      const activeMs = scene.now() - Date.parse(running.status?.startTime ?? '');
      assert.ok(activeMs >= 8000, `it was stopped after ${activeMs} ms`);
      same(scene.pod('late')?.metadata.uid, pod.metadata.uid);
    },
  },
  {
    name: 'a pod that somebody called failed does not stay failed while it runs',
    async run(scene) {
      await scene.createPod('web', {}, { terminationGracePeriodSeconds: 2 });
      const pod = await scene.ready('web');
      const containers = await scene.containers(pod);
      await scene.patchStatus('web', [{ op: 'replace', path: '/status/phase', value: 'Failed' }]);
      await scene.podWhere('web', 'to be called failed', (one) =>
        scene.versionsOf(one).some(({ status }) => status?.phase === 'Failed'),
      );
      await scene.contradicted(pod, containers);
    },
  },
];
