/** The test plan of the second document: what may be detached safely, what may not, and the way back. */
import assert from 'node:assert/strict';
import { QUARANTINE_KEY, UNPUBLISH_FENCE_ANNOTATION } from '../../../src/api/release-view.ts';
import * as check from '../checks.ts';
import type { Row, RowSpec, Wish } from '../row.ts';
import { fencing, plain, safe, troubled } from '../world.ts';

const app = 'db';
/** Nothing here waits for it to be up. */
const longGraceSeconds = 240;
const quietPolicy = { podDeletion: 'do-nothing' };

async function released(row: Row, driver: string, count = 1): Promise<void> {
  await row.terminating(app);
  await row.world.gatesOpen;
  await row.gone(app);
  await row.replaced(app);
  check.recordedFirst(row, app, 'StorageSafeDetach');
  check.inOrder(row, app, driver, count);
  for (let index = 0; index < count; index += 1) check.oneWriter(row, app, index);
}

/** Ready, without taints, and not before nothing of what was released is attached to it. */
async function backInService(row: Row): Promise<void> {
  const placed = check.tainted(row, QUARANTINE_KEY);
  const lifted = await check.untainted(row, QUARANTINE_KEY, placed);
  const detached = row.world.history
    .of('volumeAttachments', ({ spec }) => spec.nodeName === row.name)
    .filter(({ type }) => type === 'deleted')
    .map(({ revision }) => revision);
  assert.ok(Math.max(...detached) < lifted.revision, 'detached before the quarantine went');
  assert.equal(row.ready(), 'True');
  await row.world.until(`${row.name} to have no taint`, () => row.taints().length === 0);
}

function stuckRow(name: string, title: string, wishes: Wish[], reason: string): RowSpec {
  return {
    name,
    title,
    prepare: async (row) => {
      await row.policy(quietPolicy);
      await row.workload('StatefulSet', app, { volumes: wishes });
    },
    run: async (row) => {
      row.machine.powerOff();
      await row.terminating(app);
      await row.world.gatesOpen;
      const stuck = await row.world.until(`${reason} to be told`, () => {
        const told = row.stuck(app);
        return told?.reason === reason && told;
      });
      assert.ok(stuck.message.includes(row.volume(app, wishes.length - 1)), stuck.message);
      await row.world.observed();
      check.untouched(row, app, await row.world.asked());
      assert.deepEqual(
        row.taints().filter((key) => key === QUARANTINE_KEY),
        [],
      );
    },
  };
}

export const safeDetachRows: readonly RowSpec[] = [
  {
    name: 'safe',
    title: '[NGS-2, NGS-4, NGS-6] volumes of SafeDetach drivers leave a dead node at once, and do not come back to it',
    prepare: (row) =>
      row.workload('StatefulSet', app, {
        volumes: [{ driver: safe }, { driver: safe }],
        graceSeconds: longGraceSeconds,
      }),
    run: async (row) => {
      row.machine.powerOff();
      await released(row, safe, 2);
      await row.world.observed();
      for (const index of [0, 1]) check.neverAttachedAgain(row, app, index);
      assert.ok(row.replacement(app), 'it still runs');
      assert.ok(row.taints().includes(QUARANTINE_KEY), 'quarantine stays as long as the node is away');
    },
  },
  stuckRow(
    'shared',
    '[NGS-2] a ReadWriteMany volume keeps its pod, and the reason names it',
    [{ driver: safe }, { driver: safe, modes: ['ReadWriteMany'] }],
    'VolumeShared',
  ),
  stuckRow(
    'mixed',
    '[NGS-2] one volume of another driver keeps its pod, and the reason names it',
    [{ driver: safe }, { driver: plain }],
    'VolumeNotProtected',
  ),
  stuckRow(
    'in-tree',
    '[NGS-3] an in-tree volume is never covered',
    [{ driver: safe }, { source: 'nfs' }],
    'VolumeNotProtected',
  ),
  stuckRow(
    'local',
    '[NGS-3] a local volume is never covered',
    [{ driver: safe }, { source: 'local' }],
    'VolumeNotProtected',
  ),
  {
    name: 'fencing',
    title: '[NGS-5] the wish to fence is on the attachment, and read back, before the pod goes',
    prepare: (row) =>
      row.workload('StatefulSet', app, { volumes: [{ driver: fencing }], graceSeconds: longGraceSeconds }),
    run: async (row) => {
      row.machine.powerOff();
      await released(row, fencing);
      const asked = await row.world.until('the audit log', async () => {
        const events = await row.world.asked();
        return events.some(({ verb, objectRef }) => verb === 'delete' && objectRef?.namespace === row.name) && events;
      });
      const attachment = row.world.history.of('volumeAttachments', ({ spec, metadata }) => {
        const isOurs = spec.nodeName === row.name && spec.source.persistentVolumeName === row.volume(app);
        return isOurs && metadata.annotations?.[UNPUBLISH_FENCE_ANNOTATION] === 'true';
      })[0];
      assert.ok(attachment, 'the attachment was annotated');
      const verbs = asked
        .filter(
          ({ objectRef }) =>
            objectRef?.name === attachment.object.metadata.name ||
            (objectRef?.namespace === row.name && objectRef.resource === 'pods'),
        )
        .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`);
      const patched = verbs.indexOf('patch volumeattachments');
      assert.ok(patched >= 0 && verbs[patched + 1] === 'get volumeattachments', verbs.join(', '));
      assert.ok(patched + 1 < verbs.indexOf('delete pods'), verbs.join(', '));
    },
  },
  {
    name: 'refused',
    title: '[NGS-5, NGS-7] a driver that cannot detach is respected, and the node stays in quarantine until it has',
    prepare: (row) =>
      row.workload('StatefulSet', app, { volumes: [{ driver: troubled }], graceSeconds: longGraceSeconds }),
    run: async (row) => {
      row.world.fleet.attacher.setDetachFault(troubled, 'errors');
      row.machine.powerOff();
      await row.terminating(app);
      await row.world.gatesOpen;
      await row.gone(app);
      const attachment = await row.world.until('the driver to refuse', () =>
        row.world.history
          .now('volumeAttachments')
          .find(({ spec, status }) => spec.nodeName === row.name && status?.detachError !== undefined),
      );
      row.machine.powerOn();
      await row.isReady();
      await row.world.until('the return to wait for it', () =>
        /still attached/.test(row.fence()?.status.return?.waitsFor ?? ''),
      );
      assert.ok(row.taints().includes(QUARANTINE_KEY));
      assert.ok(row.replacement(app) === undefined, 'nobody else has the volume');
      const asked = await row.world.asked();
      assert.deepEqual(
        asked.filter(({ verb, objectRef }) => objectRef?.name === attachment.metadata.name && verb === 'delete'),
        [],
        'it is being deleted already',
      );
      row.world.fleet.attacher.setDetachFault(troubled, 'none');
      await row.replaced(app);
      check.oneWriter(row, app);
      await backInService(row);
    },
  },
  {
    name: 'rebooted',
    title: '[NGS-7] a node that comes back rebooted returns to service, fails again, and is treated the same',
    prepare: (row) => row.workload('StatefulSet', app, { volumes: [{ driver: safe }], graceSeconds: longGraceSeconds }),
    run: async (row) => {
      row.machine.powerOff();
      await released(row, safe);
      row.machine.powerOn();
      await row.isReady();
      await backInService(row);
      assert.equal(row.machine.processes.size, 0, 'nothing of before runs there');
      const again = 'again';
      await row.workload('bare', again, { volumes: [{ driver: safe }], graceSeconds: longGraceSeconds, pinned: true });
      await row.settle([again]);
      const { revision } = row.nodeMoments().at(-1) ?? { revision: 0 };
      row.machine.powerOff();
      const gone = await row.gone(again);
      assert.ok(check.tainted(row, QUARANTINE_KEY, revision) < gone.revision);
    },
  },
  {
    name: 'healed',
    title: '[NGS-8] a node that was only cut off is treated alike; its old pod has stopped before the quarantine goes',
    prepare: (row) =>
      row.workload('StatefulSet', app, {
        volumes: [{ driver: safe }],
        graceSeconds: longGraceSeconds,
        annotations: { 'test/stop-ms': '4000' },
      }),
    run: async (row) => {
      let stoppedAtMs = Infinity;
      row.machine.on((event) => {
        if (event.type === 'processStopped' && event.process.podUid === row.oldUid(app))
          stoppedAtMs = performance.now();
      });
      row.machine.partition();
      await released(row, safe);
      assert.ok(row.machine.processOf(row.oldUid(app)), 'the old pod runs on behind the partition');
      row.machine.heal();
      await row.isReady();
      const lifted = await check.untainted(row, QUARANTINE_KEY, check.tainted(row, QUARANTINE_KEY));
      assert.ok(stoppedAtMs < lifted.atMs, 'stopped before the quarantine went');
      await row.world.until(`${row.name} to have no taint`, () => row.taints().length === 0);
      check.oneWriter(row, app);
    },
  },
];
