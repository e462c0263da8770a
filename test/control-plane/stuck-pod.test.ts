/**
 * What the simulator says of a pod on a node without power (scenarios/stuck-pod.yaml), at scaled times on the stock
 * controllers: a fifth of the grace period, a sixtieth of the toleration, and a minute that stands for ever.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { Transport } from '../../src/kube/transport.ts';
import { Fleet } from '../../src/world/fleet.ts';
import { connectionTo } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { FleetCluster } from '../support/fleet-cluster.ts';
import { waitFor } from '../support/wait.ts';

const driver = 'driver.longhorn.io';
const graceMs = 8000;
const tolerationMs = 5000;
const heartbeatMs = 2000;
const stuckMs = 60_000;
/** A look of the node controller, a poll of ours, and a busy machine. */
const slackMs = 6000;

describe('a pod on a node without power, and no operator', { timeout: 240_000 }, () => {
  let controlPlane: ControlPlane;
  let fleet: Fleet;
  let transport: Transport;
  let cluster: FleetCluster;

  before(async () => {
    controlPlane = await startControlPlane({ name: 'stuck-pod', controllerManager: true, scheduler: true });
    transport = new HttpTransport(connectionTo(controlPlane), realClock);
    fleet = new Fleet({
      clock: realClock,
      random: Math.random,
      transportFor: () => transport,
      nodes: ['node-1', 'node-2', 'node-3'].map((name) => ({ name })),
      drivers: [driver],
      kubelet: { leaseRenewMs: heartbeatMs, statusEveryMs: heartbeatMs },
    });
    fleet.start();
    cluster = new FleetCluster(controlPlane, fleet, driver);
    await cluster.allReady();
  });

  after(async () => {
    cluster?.close();
    await fleet?.stop();
    transport?.close();
    await controlPlane?.stop();
  });

  test('NotReady after the grace period, terminating after the toleration, and stuck from then on', async () => {
    const { pod, machine, volume } = await cluster.statefulSet('web');
    const { uid } = pod.metadata;
    const offAt = performance.now();
    machine.powerOff();

    await waitFor('the node to be Unknown', async () => {
      const { status } = await cluster.node(machine.name);
      return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'Unknown');
    });
    const unknownMs = performance.now() - offAt;
    assert.ok(
      unknownMs > graceMs - heartbeatMs - 500 && unknownMs < graceMs + slackMs,
      `Unknown after ${unknownMs} ms`,
    );

    await waitFor('the pod to terminate', async () => {
      const now = await cluster.pod('web-0');
      return now?.metadata.deletionTimestamp !== undefined;
    });
    const terminatingMs = performance.now() - offAt - unknownMs;
    assert.ok(
      terminatingMs > tolerationMs - 1500 && terminatingMs < tolerationMs + slackMs,
      `terminating ${terminatingMs} ms after that`,
    );

    await delay(stuckMs);
    const stuck = await cluster.pod('web-0');
    assert.equal(stuck?.metadata.uid, uid, 'the same pod is still there');
    assert.equal(stuck?.spec.nodeName, machine.name);
    const attachment = await cluster.attachmentOf(volume);
    assert.equal(attachment?.spec.nodeName, machine.name, 'and so is its volume');
    assert.equal(attachment?.status?.attached, true);
    console.log(
      `# Unknown after ${Math.round(unknownMs)} ms, terminating ${Math.round(terminatingMs)} ms later, then stuck`,
    );
  });
});
