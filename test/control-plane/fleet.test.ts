/**
 * The simulated fleet as clients of a real control plane: the stock scheduler, attach-detach, node lifecycle, taint
 * eviction, StatefulSet and PodGC controllers must take it for real nodes, in health and in every kind of failure.
 *
 * Time is scaled: 8 s of silence until a node is Unknown, 5 s of tolerance, 2 s between the heartbeats.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { HttpRequest, Transport } from '../../src/kube/transport.ts';
import { attacherFinalizer } from '../../src/world/storage/attacher.ts';
import { Fleet } from '../../src/world/fleet.ts';
import type { Process } from '../../src/world/machines/machine.ts';
import type { Condition } from '../../src/world/objects/meta.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import { attachNameOf } from '../../src/world/objects/volumes.ts';
import { connectionTo } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { FleetCluster } from '../support/fleet-cluster.ts';
import { waitFor } from '../support/wait.ts';

const driver = 'driver.longhorn.io';
const nodeNames = ['node-1', 'node-2', 'node-3', 'node-4', 'node-5'];

/** Polls as waitFor does, but for something that must stay true all the time. */
async function staysTrue(forMs: number, check: () => Promise<void>): Promise<void> {
  const until = performance.now() + forMs;
  await waitFor(
    `${forMs} ms to pass`,
    async () => {
      const failed = await check().then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      return failed ?? (performance.now() >= until && 'passed');
    },
    { timeoutMs: forMs + 20_000, intervalMs: 250 },
  ).then((answer) => {
    if (answer !== 'passed') throw answer.error;
  });
}

function conditionOf(object: { status?: { conditions?: Condition[] } } | undefined, type: string): string | undefined {
  return object?.status?.conditions?.find((condition) => condition.type === type)?.status;
}

describe('a simulated fleet on the real control plane', { timeout: 240_000 }, () => {
  let controlPlane: ControlPlane;
  let fleet: Fleet;
  let transport: Transport;
  let cluster: FleetCluster;
  const writes: string[] = [];
  /** Every start and end of a process, as the machines saw it. */
  const ledger: { type: 'processStarted' | 'processStopped'; machine: string; process: Process }[] = [];

  before(async () => {
    controlPlane = await startControlPlane({ name: 'fleet', controllerManager: true, scheduler: true });
    transport = new HttpTransport(connectionTo(controlPlane), realClock);
    const counting: Transport = {
      send(request: HttpRequest) {
        if (request.method !== 'GET') writes.push(`${request.method} ${request.path.split('?', 1)[0]}`);
        return transport.send(request);
      },
      close: () => {},
    };
    fleet = new Fleet({
      clock: realClock,
      random: Math.random,
      transportFor: () => counting,
      nodes: nodeNames.map((name) => ({ name, zone: 'z1', labels: { type: 'compute' } })),
      drivers: [driver],
      bootTimeMs: 1500,
      kubelet: { leaseRenewMs: 2000, statusEveryMs: 2000, reconnectMs: 500 },
      behaviourOf: (pod) =>
        pod.metadata.labels?.['job'] === undefined
          ? { startupMs: 100, stopMs: 300 }
          : { startupMs: 0, stopMs: 0, exit: { afterMs: 200, code: 0 } },
    });
    for (const machine of fleet.machines) {
      machine.on((event, { name }) => {
        if (event.type === 'processStarted' || event.type === 'processStopped') {
          ledger.push({ type: event.type, machine: name, process: event.process });
        }
      });
    }
    fleet.start();
    cluster = new FleetCluster(controlPlane, fleet, driver);
    await cluster.allReady();
  });

  afterEach(async () => {
    controlPlane.resume('kube-controller-manager');
    fleet.attacher.setDetachFault(driver, 'none');
    for (const machine of fleet.machines) {
      machine.heal();
      machine.resume();
      machine.powerOn();
    }
    for (const kubelet of fleet.kubelets.values()) {
      kubelet.start();
      kubelet.removeStaticPod('file-1');
    }
    await cluster.clean();
    await cluster.untaint('node-2', 'test/out');
    await cluster.allReady();
  });

  after(async () => {
    cluster?.close();
    await fleet?.stop();
    transport?.close();
    await controlPlane?.stop();
  });

  test('a StatefulSet with a CSI volume runs, attached by the stock controllers', async () => {
    const startedAt = performance.now();
    const { pod, machine, volume } = await cluster.statefulSet('web');
    console.log(`# bound, attached and Ready: ${Math.round(performance.now() - startedAt)} ms`);
    const process = machine.processOf(pod.metadata.uid ?? '');
    assert.ok(process, 'the pod really runs');
    assert.deepEqual(process.volumes, [
      { persistentVolume: volume, driver, handle: volume, attachName: attachNameOf(driver, volume) },
    ]);
    const node = await cluster.node(machine.name);
    assert.deepEqual(node.status?.volumesInUse, [attachNameOf(driver, volume)]);
    assert.deepEqual(
      node.status?.volumesAttached?.map(({ name }) => name),
      [attachNameOf(driver, volume)],
    );
    assert.equal(node.status?.nodeInfo?.bootID, machine.bootId);
    const attachment = await cluster.attachmentOf(volume);
    assert.equal(attachment?.status?.attached, true);
    assert.ok(attachment.metadata.finalizers?.includes(attacherFinalizer(driver)));
    const lease = await cluster.lease(machine.name);
    assert.equal(lease.metadata.ownerReferences?.[0]?.uid, node.metadata.uid);

    await cluster.deleteStatefulSet('web');
    await waitFor('the volume to be detached', async () => (await cluster.attachmentOf(volume)) === undefined);
    assert.equal(machine.processes.size, 0);
    assert.deepEqual((await cluster.node(machine.name)).status?.volumesInUse ?? [], []);
  });

  test('power off: Kubernetes alone gets stuck; power on: the old pod goes and its replacement runs', async () => {
    const { pod, machine, volume } = await cluster.statefulSet('off');
    const uid = pod.metadata.uid ?? '';
    const bootId = machine.bootId;
    const offAt = performance.now();
    const since = (): number => Math.round(performance.now() - offAt);

    machine.powerOff();
    assert.equal(machine.processes.size, 0);
    await waitFor('Ready=Unknown', async () => conditionOf(await cluster.node(machine.name), 'Ready') === 'Unknown');
    console.log(`# power off → Ready=Unknown: ${since()} ms`);
    await waitFor('the pod to be terminating', async () => (await cluster.pod('off-0'))?.metadata.deletionTimestamp);
    console.log(`# → pod terminating: ${since()} ms`);
    // More than one round of PodGC, which runs every 20 s, and far beyond the pod's grace.
    await staysTrue(22_000, async () => {
      assert.equal((await cluster.pod('off-0'))?.metadata.uid, uid, 'the pod of the dead node is stuck');
      const attachment = await cluster.attachmentOf(volume);
      assert.equal(attachment?.spec.nodeName, machine.name);
      assert.equal(attachment.metadata.deletionTimestamp, undefined, 'nobody detaches its volume');
    });

    const onAt = performance.now();
    machine.powerOn();
    await waitFor('Ready', async () => conditionOf(await cluster.node(machine.name), 'Ready') === 'True');
    console.log(`# power on (boot 1500 ms) → Ready: ${Math.round(performance.now() - onAt)} ms`);
    const replacement = await waitFor('the replacement to run', async () => {
      const now = await cluster.pod('off-0');
      return now?.metadata.uid !== uid && conditionOf(now, 'Ready') === 'True' && now;
    });
    console.log(`# power on → replacement Ready: ${Math.round(performance.now() - onAt)} ms`);
    assert.notEqual(machine.bootId, bootId);
    assert.equal((await cluster.node(machine.name)).status?.nodeInfo?.bootID, machine.bootId);
    assert.ok(cluster.machineOf(replacement).processOf(replacement.metadata.uid ?? ''));
    const restarts = ledger.filter(({ process, type }) => process.podUid === uid && type === 'processStarted');
    assert.equal(restarts.length, 1, 'a pod that was terminating is not started again after the boot');
  });

  test('reboot: the same pod, under the same UID, is started again', async () => {
    const { pod, machine } = await cluster.statefulSet('boot');
    const uid = pod.metadata.uid ?? '';
    const before = machine.processOf(uid);
    machine.reset();
    const again = await waitFor('the restart to be reported', async () => {
      const now = await cluster.pod('boot-0');
      return now?.status?.containerStatuses?.[0]?.restartCount === 1 && conditionOf(now, 'Ready') === 'True' && now;
    });
    assert.equal(again.metadata.uid, uid);
    assert.notEqual(machine.processOf(uid)?.id, before?.id);
    assert.equal(machine.processOf(uid)?.bootId, machine.bootId);
  });

  test('partition: the process runs on, also after its pod was deleted by force, and ends after the heal', async () => {
    const { pod, machine } = await cluster.statefulSet('cut');
    const uid = pod.metadata.uid ?? '';
    const bootId = machine.bootId;
    machine.partition();
    await waitFor('Ready=Unknown', async () => conditionOf(await cluster.node(machine.name), 'Ready') === 'Unknown');
    assert.ok(machine.processOf(uid), 'the API has lost it, the process runs on');
    await cluster.forceDelete(pod);
    await waitFor('another pod of the name', async () => {
      const now = await cluster.pod('cut-0');
      return now !== undefined && now.metadata.uid !== uid;
    });
    await staysTrue(3000, async () => {
      assert.ok(machine.processOf(uid), 'deleting by force stops nothing on a node that does not hear of it');
      assert.equal(conditionOf(await cluster.node(machine.name), 'Ready'), 'Unknown');
    });

    const healedAt = performance.now();
    machine.heal();
    await waitFor('the process to end', () => machine.processOf(uid) === undefined);
    console.log(`# heal → process of the deleted pod ended: ${Math.round(performance.now() - healedAt)} ms`);
    await waitFor('the replacement', async () => conditionOf(await cluster.pod('cut-0'), 'Ready') === 'True');
    console.log(`# heal → replacement Ready: ${Math.round(performance.now() - healedAt)} ms`);
    assert.equal(machine.bootId, bootId);
  });

  test('a NoExecute taint: admission refuses, but not pods from files of the node', async () => {
    const name = 'node-2';
    // The taint eviction would race with the kubelet for the same pods.
    controlPlane.pause('kube-controller-manager');
    const mark = writes.length;
    await cluster.taint(name, { key: 'test/out', value: 'x', effect: 'NoExecute' });
    await waitFor('the kubelet to have read the taint: it has had the answer to its last status', () => {
      const reports = writes.slice(mark).filter((write) => write === `PATCH /api/v1/nodes/${name}/status`);
      return reports.length >= 2;
    });
    await cluster.createPod('tolerant', { nodeName: name, tolerations: [{ key: 'test/out', operator: 'Exists' }] });
    await cluster.createPod('refused', { nodeName: name });
    // Kubelets give their static pods this toleration; without it the taint eviction would delete every mirror.
    const tolerations = [{ operator: 'Exists', effect: 'NoExecute' }];
    await cluster.createPod('static', { nodeName: name, tolerations }, { 'kubernetes.io/config.mirror': 'file-1' });
    const refused = await waitFor('the refusal', async () => {
      const now = await cluster.pod('refused');
      return now?.status?.phase === 'Failed' && now;
    });
    assert.equal(refused.status?.reason, 'TaintToleration');
    assert.match(refused.status?.message ?? '', /^Pod was rejected: Predicate TaintToleration failed/);
    const isReady = async (pod: string): Promise<boolean> => conditionOf(await cluster.pod(pod), 'Ready') === 'True';
    await waitFor('the others to run', async () => (await isReady('tolerant')) && (await isReady('static')));
    assert.equal(fleet.machine(name).processOf(refused.metadata.uid ?? ''), undefined);
    assert.ok(fleet.machine(name).processOf('file-1'));
    controlPlane.resume('kube-controller-manager');

    const mirror = (await cluster.pod('static')) as Pod;
    await cluster.forceDelete(mirror);
    await waitFor('a new mirror', async () => {
      const now = await cluster.pod('static');
      return now !== undefined && now.metadata.uid !== mirror.metadata.uid && conditionOf(now, 'Ready') === 'True';
    });
    assert.equal(ledger.filter(({ process }) => process.podUid === 'file-1').length, 1, 'the process never stopped');
  });

  test('hang: nothing moves and nothing is written, though its power reads on; it resumes where it was', async () => {
    const { pod, machine } = await cluster.statefulSet('hang');
    const uid = pod.metadata.uid ?? '';
    const { bootId } = machine;
    machine.hang();
    assert.equal(machine.power, 'on');
    // A request that was under way may still be carried out: it had left the machine.
    const renewed = (await cluster.lease(machine.name)).spec?.renewTime;
    await waitFor('Ready=Unknown', async () => conditionOf(await cluster.node(machine.name), 'Ready') === 'Unknown');
    const later = (await cluster.lease(machine.name)).spec?.renewTime ?? '';
    assert.ok(Date.parse(later) - Date.parse(renewed ?? '') < 500, `${renewed} and ${later}`);
    await cluster.forceDelete(pod);
    await staysTrue(2000, async () => assert.ok(machine.processOf(uid)));
    machine.resume();
    await waitFor('Ready again', async () => conditionOf(await cluster.node(machine.name), 'Ready') === 'True');
    await waitFor('the process to end', () => machine.processOf(uid) === undefined);
    assert.equal(machine.bootId, bootId);
  });

  test('a crashed kubelet leaves its pods running; the next one takes them over and cleans up', async () => {
    const { pod, machine } = await cluster.statefulSet('crash');
    const uid = pod.metadata.uid ?? '';
    const kept = machine.processOf(uid);
    fleet.kubelet(machine.name).stop();
    await waitFor('Ready=Unknown', async () => conditionOf(await cluster.node(machine.name), 'Ready') === 'Unknown');
    assert.equal(machine.processOf(uid), kept);
    fleet.kubelet(machine.name).start();
    await waitFor('Ready', async () => conditionOf(await cluster.node(machine.name), 'Ready') === 'True');
    await waitFor('the pod Ready', async () => conditionOf(await cluster.pod('crash-0'), 'Ready') === 'True');
    assert.equal(machine.processOf(uid), kept, 'taken over, not restarted');
    assert.equal((await cluster.pod('crash-0'))?.status?.containerStatuses?.[0]?.restartCount, 0);

    fleet.kubelet(machine.name).stop();
    await cluster.deleteStatefulSet('crash', { wait: false });
    await waitFor('the deletion', async () => (await cluster.pod('crash-0'))?.metadata.deletionTimestamp);
    await staysTrue(2000, async () => {
      assert.equal((await cluster.pod('crash-0'))?.metadata.uid, uid);
      assert.equal(machine.processOf(uid), kept);
    });
    fleet.kubelet(machine.name).start();
    await waitFor('the pod to go', async () => (await cluster.pod('crash-0')) === undefined);
    assert.equal(machine.processOf(uid), undefined);
  });

  test('a deleted Node stays away until its kubelet starts anew', async () => {
    const name = 'node-5';
    const { uid } = (await cluster.node(name)).metadata;
    await cluster.deleteNode(name);
    await staysTrue(5000, async () => assert.equal(await cluster.hasNode(name), false));
    fleet.kubelet(name).stop();
    fleet.kubelet(name).start();
    await cluster.allReady();
    const again = await cluster.node(name);
    assert.notEqual(again.metadata.uid, uid);
    await waitFor('a lease of the new Node', async () => {
      return (await cluster.lease(name)).metadata.ownerReferences?.[0]?.uid === again.metadata.uid;
    });
  });

  test('a detach that fails or hangs keeps the attachment until the fault is over', async () => {
    const { volume } = await cluster.statefulSet('detach');
    fleet.attacher.setDetachFault(driver, 'errors');
    await cluster.deleteStatefulSet('detach');
    await waitFor('the error', async () => (await cluster.attachmentOf(volume))?.status?.detachError !== undefined);
    fleet.attacher.setDetachFault(driver, 'hangs');
    await staysTrue(2000, async () => assert.ok((await cluster.attachmentOf(volume))?.metadata.deletionTimestamp));
    fleet.attacher.setDetachFault(driver, 'none');
    await waitFor('the detach', async () => (await cluster.attachmentOf(volume)) === undefined);
  });

  test('containers that end by themselves', async () => {
    await cluster.createPod('once', { nodeName: 'node-3', restartPolicy: 'Never' }, {}, { job: 'x' });
    await waitFor('success', async () => (await cluster.pod('once'))?.status?.phase === 'Succeeded');
    assert.equal(fleet.machine('node-3').processes.size, 0);
  });

  test('a fleet at rest writes its heartbeats and nothing else', async () => {
    await cluster.statefulSet('rest');
    await staysTrue(1000, () => Promise.resolve());
    writes.length = 0;
    await staysTrue(8000, () => Promise.resolve());
    const counts = Map.groupBy(writes, (write) => write);
    const others = [...counts.keys()].filter((write) => !/^PUT .*\/leases\/|^PATCH .*\/nodes\/.*\/status$/.test(write));
    assert.deepEqual(others, []);
    for (const [write, { length }] of counts) assert.ok(length >= 3 && length <= 6, `${write}: ${length} times`);
    assert.equal(counts.size, 2 * nodeNames.length);
  });
});
