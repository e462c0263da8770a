/** A kubelet that is away or cut off, and a machine that loses its power. */
import assert from 'node:assert/strict';
import type { Behaviour } from '../scene.ts';
import { conditionOf, same, statusOf } from '../scene.ts';
import { contractTimes } from '../subject.ts';

/** Longer than two renewals: whoever renews would have done so. */
const silenceMs = 2.5 * contractTimes.leaseRenewMs;

export const outageBehaviours: Behaviour[] = [
  {
    name: 'without its kubelet a node is silent, and its containers run on',
    alone: true,
    async run(scene) {
      await scene.createPod('web');
      const pod = await scene.ready('web');
      const containers = await scene.containers(pod);
      await scene.node.stopKubelet();
      const renewTime = (await scene.lease())?.spec?.renewTime;
      await scene.deletePod('web');
      await scene.stays(silenceMs, async () => {
        same((await scene.lease())?.spec?.renewTime, renewTime);
        same(await scene.containers(pod), containers);
        assert.ok(scene.pod('web')?.metadata.deletionTimestamp);
      });
      await scene.node.startKubelet();
      await scene.stopped(pod);
      await scene.gone('web');
    },
  },
  {
    name: 'a kubelet that starts anew finds its pods: same containers, no restart, same start',
    alone: true,
    async run(scene) {
      await scene.createPod('web');
      await scene.createPod('job', { exitAfterMs: 300 }, { restartPolicy: 'Never' });
      const before = await scene.ready('web');
      const job = await scene.podWhere('job', 'to succeed', ({ status }) => status?.phase === 'Succeeded');
      const containers = await scene.containers(before);
      await scene.node.stopKubelet();
      await scene.node.startKubelet();
      await scene.renewed();
      await scene.stays(3000, async () => {
        same(await scene.containers(before), containers);
        same(await scene.containers(job), []);
      });
      const after = await scene.ready('web');
      same(after.metadata.uid, before.metadata.uid);
      same([after.status?.startTime, after.status?.podIP], [before.status?.startTime, before.status?.podIP]);
      same(statusOf(after)?.restartCount, 0);
      same(scene.pod('job')?.status?.phase, 'Succeeded');
    },
  },
  {
    name: 'a pod deleted by force while the kubelet was away is stopped when it is back',
    alone: true,
    async run(scene) {
      await scene.createPod('web');
      const pod = await scene.ready('web');
      await scene.node.stopKubelet();
      await scene.deletePod('web', 0);
      await scene.gone('web');
      same((await scene.containers(pod)).length, 1);
      await scene.node.startKubelet();
      await scene.stopped(pod);
    },
  },
  {
    name: 'cut off, a node is silent and its containers run on, also one that was deleted by force',
    alone: true,
    async run(scene) {
      await scene.createPod('stays');
      await scene.createPod('goes');
      const [stays, goes] = [await scene.ready('stays'), await scene.ready('goes')];
      const containers = [...(await scene.containers(stays)), ...(await scene.containers(goes))];
      await scene.node.partition();
      const renewTime = (await scene.lease())?.spec?.renewTime;
      await scene.deletePod('goes', 0);
      await scene.gone('goes');
      await scene.stays(silenceMs, async () => {
        same((await scene.lease())?.spec?.renewTime, renewTime);
        same([...(await scene.containers(stays)), ...(await scene.containers(goes))], containers);
      });
      await scene.node.heal();
      await scene.renewed();
      await scene.stopped(goes);
      same((await scene.containers(stays)).length, 1);
      same(statusOf(await scene.ready('stays'))?.restartCount, 0);
    },
  },
  {
    name: 'a pod deleted while the node was cut off ends in order when it is back',
    alone: true,
    async run(scene) {
      await scene.createPod('web', { stopMs: 500 });
      const pod = await scene.ready('web');
      await scene.node.partition();
      await scene.deletePod('web', 5);
      await scene.stays(1500, async () => same((await scene.containers(pod)).length, 1));
      await scene.node.heal();
      await scene.stopped(pod);
      await scene.gone('web');
      same(scene.versionsOf(pod).at(-1)?.status?.phase, 'Succeeded');
    },
  },
  {
    name: 'a pod called failed while the node was cut off does not stay failed and running when it is back',
    alone: true,
    async run(scene) {
      await scene.createPod('web');
      const pod = await scene.ready('web');
      const containers = await scene.containers(pod);
      await scene.node.partition();
      await scene.patchStatus('web', [{ op: 'replace', path: '/status/phase', value: 'Failed' }]);
      await scene.podWhere('web', 'to be called failed', ({ status }) => status?.phase === 'Failed');
      same(await scene.containers(pod), containers);
      await scene.node.heal();
      await scene.contradicted(pod, containers);
    },
  },
  {
    name: 'a pod called failed while the kubelet was away is ended when it is back, and stays failed',
    alone: true,
    async run(scene) {
      await scene.createPod('web', {}, { terminationGracePeriodSeconds: 2 });
      const pod = await scene.ready('web');
      await scene.node.stopKubelet();
      await scene.patchStatus('web', [{ op: 'replace', path: '/status/phase', value: 'Failed' }]);
      await scene.node.startKubelet();
      await scene.stopped(pod);
      await scene.stays(2000, async () => {
        same(await scene.containers(pod), []);
        same(scene.pod('web')?.status?.phase, 'Failed');
      });
    },
  },
  {
    name: 'after a loss of power the same pods are started again, each counting one more restart',
    alone: true,
    async run(scene) {
      await scene.createPod('web');
      const before = await scene.ready('web');
      const bootId = await scene.node.bootId();
      await scene.node.powerOff();
      same(await scene.containers(before), []);
      await scene.node.powerOn();
      assert.notEqual(await scene.node.bootId(), bootId);
      const after = await scene.podWhere('web', 'to run again', (pod) => statusOf(pod)?.restartCount === 1);
      same(after.metadata.uid, before.metadata.uid);
      same(after.status?.startTime, before.status?.startTime);
      assert.notEqual(statusOf(after)?.containerID, statusOf(before)?.containerID);
      await scene.ready('web');
      // It may report its boot before it is ready for pods.
      await scene.until('to be Ready in the new boot', async () => {
        const { status } = scene.nodeObject;
        const isNew = status?.nodeInfo?.bootID === (await scene.node.bootId());
        return isNew && conditionOf(scene.nodeObject, 'Ready')?.status === 'True';
      });
    },
  },
  {
    name: 'after a loss of power a pod that is never restarted has failed, and one that was deleted goes',
    alone: true,
    async run(scene) {
      await scene.createPod('once', {}, { restartPolicy: 'Never' });
      await scene.createPod('deleted');
      await scene.createPod('done', { exitAfterMs: 300 }, { restartPolicy: 'Never' });
      const once = await scene.ready('once');
      await scene.ready('deleted');
      const done = await scene.podWhere('done', 'to succeed', ({ status }) => status?.phase === 'Succeeded');
      await scene.node.powerOff();
      await scene.deletePod('deleted');
      await scene.node.powerOn();
      await scene.gone('deleted');
      const failed = await scene.podWhere('once', 'to fail', ({ status }) => status?.phase === 'Failed');
      same([failed.metadata.uid, statusOf(failed)?.restartCount], [once.metadata.uid, 0]);
      await scene.stays(2000, async () => {
        for (const pod of [once, done]) same(await scene.containers(pod), []);
        same(scene.pod('done')?.status?.phase, 'Succeeded');
      });
    },
  },
];
