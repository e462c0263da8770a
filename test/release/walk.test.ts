/**
 * The documents of an administrator from top to bottom, as they stand: how to fence, what is released, how to drain. On a real
 * control plane, with a real IPMI device; whatever a document tells people to type is typed, and what comes of it is looked at.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ensureFenceAgents } from '../devices/needs.ts';
import { waitFor } from '../support/wait.ts';
import { Newcomer } from './newcomer.ts';
import { drainStations } from './stations/drain.ts';
import { fencingStations } from './stations/fencing.ts';
import { recoveryStations } from './stations/recovery.ts';
import { patient, Scene } from './stations/scene.ts';

/** Each in a zone of its own: Kubernetes evicts from one node after the other, and waits between two of a zone. */
const nodes = [
  { name: 'worker-1' },
  { name: 'worker-2', labels: { storage: 'safe' } },
  { name: 'worker-3', labels: { type: 'compute' } },
  { name: 'node-1' },
  { name: 'node-2' },
  { name: 'node-3' },
].map((node) => ({ ...node, zone: node.name }));

describe('the documents from top to bottom', { timeout: 900_000 }, () => {
  let newcomer: Newcomer | undefined;
  let scene: Scene;

  before(async () => {
    await ensureFenceAgents();
    newcomer = await Newcomer.start({
      name: 'walk',
      nodes,
      drivers: ['csi.other.test', 'csi.example.com', 'driver.longhorn.io'],
      graceSeconds: 12,
      kubelet: { leaseRenewMs: 2000, statusEveryMs: 2000 },
    });
    await newcomer.reader.wire(newcomer.fleet, ['worker-1']);
    scene = new Scene(newcomer);
  });

  after(async () => {
    await scene?.end();
    await newcomer?.[Symbol.asyncDispose]();
  });

  // One test: whoever is lost in a document does not go on with the next.
  test('[USE-1, USE-2, SEC-6] every step does what its document says, and in the end a pod of a dead node runs elsewhere', async () => {
    const { cluster, reader } = scene;
    await reader.walk('docs/fencing.md', fencingStations(scene));
    await reader.walk('docs/recovery.md', recoveryStations(scene));
    await reader.walk('docs/drain.md', drainStations(scene));

    await cluster.inService('worker-1');
    const ledger = await scene.runningOn('worker-1', 'ledger');
    ledger.machine.powerOff();
    await cluster.movedFrom(ledger);
    assert.equal(await scene.basisOf(ledger), 'PowerOff');
    await waitFor('the machine to be switched on', () => reader.bmc('worker-1').told().at(-1) === 'on', patient);
    for (const name of ['worker-2', 'worker-3']) await cluster.inService(name);
  });
});
