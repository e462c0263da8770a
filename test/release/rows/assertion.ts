/** The test plan of the third document: its three scenarios, and the other taints that say the same. */
import assert from 'node:assert/strict';
import {
  CLOUD_SHUTDOWN_KEY,
  FORCE_EVICTION_KEY,
  OUT_OF_SERVICE_KEY,
  QUARANTINE_KEY,
} from '../../../src/api/release-view.ts';
import { pods, volumeAttachments } from '../../../src/kube/resources.ts';
import { attachNameOf } from '../../../src/world/objects/volumes.ts';
import * as check from '../checks.ts';
import type { Row, RowSpec } from '../row.ts';
import { plain, slow } from '../world.ts';

const app = 'db';
const longGraceSeconds = 240;
const forceEviction = { key: FORCE_EVICTION_KEY, effect: 'NoExecute' };
const tolerated = { ...forceEviction, operator: 'Exists' };
const unreachable = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };

async function prepare(row: Row): Promise<void> {
  await row.policy({ podDeletion: 'do-nothing' });
  await row.workload('StatefulSet', app, { volumes: [{ driver: plain }], graceSeconds: longGraceSeconds });
}

/** A copy of what a kubelet runs from a file: the simulated one takes it as such a file. */
async function staticPod(row: Row, name: string): Promise<void> {
  await row.world.create(pods, {
    metadata: { name, namespace: row.name, annotations: { 'kubernetes.io/config.mirror': name } },
    spec: { nodeName: row.name, containers: [{ name: 'main', image: 'example/main:1' }] },
  });
}

async function released(row: Row, driver: string): Promise<void> {
  await row.gone(app);
  await row.replaced(app);
  check.recordedFirst(row, app, 'Asserted');
  check.inOrder(row, app, driver);
  check.oneWriter(row, app);
}

async function serves(row: Row): Promise<void> {
  await row.world.until(
    `${row.name} to be Ready and without taints`,
    () => row.ready() === 'True' && row.taints().length === 0,
  );
}

/** The taint was there until everything that it is about was gone and detached, and both lists are free of it. */
async function liftedLast(row: Row, app: string, driver: string): Promise<void> {
  const lifted = await check.untainted(row, FORCE_EVICTION_KEY, check.tainted(row, FORCE_EVICTION_KEY));
  const detached = row.world.history
    .of('volumeAttachments', ({ spec }) => spec.nodeName === row.name)
    .filter(({ type }) => type === 'deleted');
  assert.ok(detached.length > 0);
  const gone = row.world.history
    .of(
      'pods',
      ({ metadata }) => metadata.namespace === row.name && ['db', 'patient'].includes(metadata.labels?.['app'] ?? ''),
    )
    .filter(({ type, object }) => type === 'deleted' && object.spec.nodeName === row.name);
  assert.ok(
    gone.every(({ revision }) => revision < lifted.revision),
    'gone before the taint went',
  );
  assert.ok(
    detached.every(({ revision }) => revision < lifted.revision),
    'detached before the taint went',
  );
  const { volumesInUse = [], volumesAttached = [] } = row.node().status ?? {};
  const entry = attachNameOf(driver, row.volume(app));
  assert.ok(!volumesInUse.includes(entry) && volumesAttached.every(({ name }) => name !== entry));
}

export const assertionRows: readonly RowSpec[] = [
  {
    name: 'evicted-first',
    title:
      '[FEV-2, FEV-5, FEV-6] scenario 1: the heartbeat comes in the middle, and the eviction finishes first; ' +
      'what tolerates the taint, static and DaemonSet pods stay',
    prepare: async (row) => {
      await row.policy({ podDeletion: 'do-nothing' });
      await row.workload('StatefulSet', app, { volumes: [{ driver: slow }], graceSeconds: longGraceSeconds });
      await row.workload('bare', 'tolerant', { tolerations: [unreachable, tolerated], volumes: [{ driver: plain }] });
      await row.workload('DaemonSet', 'agent');
      await staticPod(row, 'static');
    },
    run: async (row) => {
      await row.world.gatesOpen;
      row.world.fleet.attacher.setDetachFault(slow, 'hangs');
      row.machine.powerOff();
      await row.isDown();
      await row.taint(forceEviction);
      await row.gone(app);
      row.machine.powerOn();
      await row.isReady();
      const { revision } = row.nodeMoments().at(-1) ?? { revision: 0 };
      await row.world.until('the operator to have seen it', () =>
        row.world.history.of('nodeFences', ({ spec }) => spec.node === row.name).some((one) => one.revision > revision),
      );
      assert.ok(row.taints().includes(FORCE_EVICTION_KEY), 'its volume is not detached yet');
      row.world.fleet.attacher.setDetachFault(slow, 'none');
      await released(row, slow);
      await liftedLast(row, app, slow);
      await serves(row);
      check.stillAttached(row, 'tolerant');
      assert.ok(row.pods().some(({ metadata }) => metadata.name === 'static'));
      const asked = await row.world.asked();
      for (const kept of ['tolerant', 'agent']) assert.deepEqual(check.touches(row, kept, asked), []);
    },
  },
  {
    name: 'evicted-cut-off',
    title:
      '[FEV-2, FEV-4, FEV-5, FEV-6] scenario 2: the kubelet cannot reach the API server after the restart; ' +
      'what tolerates the taint for a while goes then, and so does a forgotten attachment',
    prepare: async (row) => {
      await prepare(row);
      const patient = { ...tolerated, tolerationSeconds: 15 };
      await row.workload('bare', 'patient', { tolerations: [unreachable, patient], graceSeconds: longGraceSeconds });
      await forget(row);
    },
    run: async (row) => {
      await row.world.gatesOpen;
      const started: string[] = [];
      row.machine.on((event) => {
        if (event.type === 'processStarted') started.push(event.process.podName);
      });
      row.machine.powerOff();
      await row.isDown();
      await row.taint(forceEviction);
      row.machine.partition();
      row.machine.powerOn();
      const first = await row.gone(app);
      await released(row, plain);
      const patient = await row.gone('patient');
      assert.ok(first.revision < patient.revision);
      await liftedLast(row, app, plain);
      assert.deepEqual(started, [], 'nothing of before was started again');
      row.machine.heal();
      await serves(row);
      check.neverAttachedAgain(row, app);
    },
  },
  {
    name: 'evicted-not',
    title: '[FEV-3, FEV-6] scenario 3: the heartbeat comes first; nothing is deleted by force, and the taint goes',
    prepare,
    run: async (row) => {
      await row.world.gatesOpen;
      row.machine.powerOff();
      await row.isDown();
      row.machine.powerOn();
      await row.isReady();
      const { revision } = row.nodeMoments().at(-1) ?? { revision: 0 };
      await row.taint(forceEviction);
      await check.untainted(row, FORCE_EVICTION_KEY, check.tainted(row, FORCE_EVICTION_KEY, revision));
      await serves(row);
      await row.world.observed();
      const asked = await row.world.asked();
      const forced = asked.filter(
        ({ verb, objectRef }) => objectRef?.resource === 'pods' && objectRef.namespace === row.name && verb !== 'list',
      );
      assert.deepEqual(forced, []);
    },
  },
  {
    name: 'wrong-effect',
    title: '[FEV-1] the taint with another effect asserts nothing',
    prepare,
    run: async (row) => {
      await row.world.gatesOpen;
      row.machine.powerOff();
      await row.isDown();
      await row.taint({ key: FORCE_EVICTION_KEY, effect: 'NoSchedule' });
      await row.world.observed();
      check.untouched(row, app, await row.world.asked());
      assert.ok(row.taints().includes(FORCE_EVICTION_KEY), 'and it stays');
      check.stillAttached(row, app);
    },
  },
  {
    name: 'out-of-service',
    title: '[FEV-8] the out-of-service taint of an administrator is the same assertion, and stays',
    prepare: async (row) => {
      await row.policy({ podDeletion: 'do-nothing', assertions: ['OutOfService'] });
      await row.workload('StatefulSet', app, { volumes: [{ driver: plain }], graceSeconds: longGraceSeconds });
    },
    run: async (row) => {
      row.machine.powerOff();
      await row.isDown();
      await row.taint({ key: OUT_OF_SERVICE_KEY, value: 'nodeshutdown', effect: 'NoExecute' });
      await row.gone(app);
      await row.replaced(app);
      check.oneWriter(row, app);
      await row.world.observed();
      check.neverAttachedAgain(row, app);
      assert.ok(row.taints().includes(OUT_OF_SERVICE_KEY), 'the taint is not ours');
      await row.untaint(OUT_OF_SERVICE_KEY);
      row.machine.powerOn();
      await serves(row);
    },
  },
  {
    name: 'shut-down',
    title: "[FEV-7] the cloud provider's shutdown taint is one where the policy says so",
    prepare: async (row) => {
      await row.policy({ podDeletion: 'do-nothing', assertions: ['CloudShutdown'] });
      await row.workload('StatefulSet', app, { volumes: [{ driver: plain }], graceSeconds: longGraceSeconds });
    },
    run: async (row) => {
      row.machine.powerOff();
      await row.isDown();
      await row.taint({ key: CLOUD_SHUTDOWN_KEY, effect: 'NoSchedule' });
      await released(row, plain);
      await row.world.observed();
      check.neverAttachedAgain(row, app);
      assert.ok(row.taints().includes(CLOUD_SHUTDOWN_KEY));
    },
  },
  {
    name: 'shut-down-unlisted',
    title: '[FEV-7] and is nothing where it does not',
    prepare,
    run: async (row) => {
      row.machine.powerOff();
      await row.isDown();
      await row.taint({ key: CLOUD_SHUTDOWN_KEY, effect: 'NoSchedule' });
      await row.world.observed();
      check.untouched(row, app, await row.world.asked());
      assert.ok(!row.taints().includes(QUARANTINE_KEY));
    },
  },
];

/** An attachment that the attach-detach controller knows nothing of, as after it was restored from a backup. */
async function forget(row: Row): Promise<void> {
  await row.world.create(volumeAttachments, {
    metadata: { name: `forgotten-${row.name}` },
    spec: { attacher: plain, nodeName: row.name, source: { persistentVolumeName: 'forgotten' } },
  });
}
