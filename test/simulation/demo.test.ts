/** The cluster of `make run` in virtual time: what a newcomer sees after pulling a plug, whichever it is and however early. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { workloadReport } from '../../src/cli/check-workloads.ts';
import { explainNode } from '../../src/cli/explain.ts';
import { planOf } from '../../src/cli/rehearse.ts';
import { snapshotOf } from '../../src/cli/snapshot-of.ts';
import { DemoCluster } from '../../src/console/demo-cluster.ts';
import { demoNamespace } from '../../src/console/demo-objects.ts';
import type { MachineAction } from '../../src/console/snapshot.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { runDocument } from '../../src/scenario/from-cluster/plan.ts';
import { Random } from '../../src/world/random.ts';
import { VirtualClock } from '../../src/world/time/virtual-clock.ts';

const nodes = ['node-1', 'node-2', 'node-3', 'node-4', 'node-5', 'node-6'];

interface Told {
  /** Seconds since it was done. */
  at: number;
  text: string;
}

interface Seen {
  told: Told[];
  /** What ran there before, as it is called in the story; and of those, whose volumes it had. */
  ran: string[];
  withVolumes: string[];
}

/** What is told from when something is done to a node of a new cluster. */
async function seen(node: string, action: MachineAction, times: { afterMs: number; forMs: number }): Promise<Seen> {
  const clock = new VirtualClock();
  const demo = new DemoCluster(clock, new Random(1));
  const stop = new AbortController();
  const running = demo.start().then(() => demo.run(stop.signal));
  await clock.runFor(times.afterMs);
  const before = demo.source.podsOn(node);
  const doneAt = clock.now();
  demo.source.act(node, action);
  await clock.runFor(times.forMs);
  const { story } = demo.source;
  stop.abort();
  await running;
  await demo.world.stop();
  const told = story
    .map(({ at, text }) => ({ at: (Date.parse(at) - doneAt) / 1000, text }))
    .filter(({ at }) => at >= 0)
    .toReversed();
  const nameOf = (pod: { namespace: string; name: string }): string => `${pod.namespace}/${pod.name}`;
  return {
    told,
    ran: before.map(nameOf).toSorted(),
    withVolumes: before.filter(({ volumes }) => volumes.length > 0).map(nameOf),
  };
}

/** A pod of a Deployment has another name when it runs again. */
const byApp = (text: string): string => text.replace(/shop-\S+/, 'shop');

/** What a person reads from the pulled plug until the node is as before; `runs elsewhere` stands for any other node. */
function wholeStory(node: string, { ran, withVolumes }: Seen): string[] {
  return [
    `${node}: somebody pulled the plug`,
    `${node}: healthy → suspect (LeaseStale)`,
    `${node}: waits: whether other nodes are silent too is found out first`,
    `${node}: found off, as its device says`,
    `${node}: in quarantine: it takes no pods until it is back and clean`,
    `${node}: its Node says that the machine is off, and so do the pods that stay`,
    ...(withVolumes.length > 0 ? [`${node}: its volumes may be attached elsewhere`] : []),
    ...ran.map((pod) => `${node}: released pod ${pod} on the basis PowerOff`),
    `${node}: suspect → down (ReadyUnknown)`,
    `${node}: its Node does not say out of service any more: all that may go has gone`,
    `${node}: being switched on again`,
    ...withVolumes.map((pod) => `pod ${pod} runs elsewhere`),
    `${node}: is on, and boots`,
    `${node}: the fence is over`,
    `${node}: down → healthy (ReadyAndRenewing)`,
    `pod longhorn-system/instance-manager-${node} runs on ${node}`,
    `${node}: out of quarantine: it takes pods again`,
  ].map(byApp);
}

describe('the plug of a node of the demo is pulled', () => {
  for (const node of nodes) {
    test(`[EVD-2] ${node}, in the first minute: suspected by its Lease, before Kubernetes says a word`, async () => {
      const { told } = await seen(node, 'power-off', { afterMs: 45_000, forMs: 15_000 });
      const verdicts = told.filter(({ text }) => text.includes('→'));
      assert.deepEqual(
        verdicts.map(({ text }) => text),
        [`${node}: healthy → suspect (LeaseStale)`, `${node}: suspect → down (ReadyUnknown)`],
      );
      assert.ok((verdicts[0]?.at ?? Infinity) <= 13, `suspected after ${verdicts[0]?.at} s`);
    });

    test(`[EVD-2, SAF-9] ${node}: the story has what a person needs to read, once each, and comes to an end`, async () => {
      const all = await seen(node, 'power-off', { afterMs: 15_000, forMs: 900_000 });
      const read = all.told.map(({ text }) =>
        byApp(text.includes(`runs on ${node}`) ? text : text.replace(/runs on \S+/, 'runs elsewhere')),
      );
      assert.deepEqual(read, wholeStory(node, all));
      assert.ok((all.told.at(-1)?.at ?? Infinity) < 60, 'all of it within a minute');
    });
  }
});

test('[SAF-7] the network of a node of the demo is cut: why nothing happens for a while is told', async () => {
  const { told } = await seen('node-3', 'partition', { afterMs: 15_000, forMs: 30_000 });
  assert.deepEqual(told.map(({ text }) => text).slice(0, 4), [
    'node-3: its network was cut; it runs on',
    'node-3: healthy → suspect (LeaseStale)',
    'node-3: waits: whether other nodes are silent too is found out first',
    'node-3: switched off, as its device confirms',
  ]);
});

test('[USE-4, EXP-1] explain tells the truth about the demo', async () => {
  const clock = new VirtualClock();
  const demo = new DemoCluster(clock, new Random(1));
  const stop = new AbortController();
  const running = demo.start().then(() => demo.run(stop.signal));
  await clock.runFor(45_000);
  demo.source.act('node-3', 'power-off');
  await clock.runFor(20_000);
  const transport = demo.world.server.transport('kubernetes-admin', { shares: true });
  const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
  const asked = explainNode(client, 'node-3');
  await clock.runFor(100);
  const { summary, operator } = await asked;
  stop.abort();
  await running;
  await demo.world.stop();
  assert.notEqual(operator.leads, 'nobody');
  assert.match(
    summary,
    /^node-3 is down \(its Lease is not renewed\); its fence is done with the cut: it was switched on/,
  );
});

describe('what is asked of the demo from outside', () => {
  test('[EXP-1, EXP-2, EXP-4] agrees with its operator: it leads, every pod would fail over, and a lost node is freed', async () => {
    const clock = new VirtualClock();
    const demo = new DemoCluster(clock, new Random(1));
    const stop = new AbortController();
    const running = demo.start().then(() => demo.run(stop.signal));
    await clock.runFor(45_000);
    const transport = demo.world.server.transport('jane');
    const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
    const asked = Promise.all([
      explainNode(client, 'node-1'),
      workloadReport(client, demoNamespace, { names: [], flags: { allowAgentParameters: [] } }),
      snapshotOf(client, demoNamespace),
    ]);
    await clock.runFor(5000);
    const [{ operator }, { stateful, findings }, snapshot] = await asked;
    stop.abort();
    await running;
    await demo.world.stop();
    assert.deepEqual(operator, { leads: 'yes', holder: 'demo' });
    assert.deepEqual([stateful, findings], [4, []]);
    const { documents, struck, notes } = planOf(snapshot, { node: ['node-1'], runFor: '3m' });
    assert.doesNotMatch(notes.join(), /without a device/);
    const outcome = await runDocument(documents[0]?.document ?? assert.fail(), { struck, wallNow: () => 0 });
    assert.deepEqual(
      outcome.nodes.map(({ node, releases }) => [node, releases[0]?.basis]),
      [['node-1', 'PowerOff']],
    );
  });
});
