/**
 * What is proven is made known to the cluster, on the stock control plane with its own grace periods: who listens to Ready and who
 * listens to the out-of-service taint hear of it while Kubernetes has not noticed anything.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OUT_OF_SERVICE_KEY } from '../../src/api/release-view.ts';
import type { KubeObject } from '../../src/kube/client.ts';
import { nodes, type Resource } from '../../src/kube/resources.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import { isReady } from '../release/row.ts';
import { namespace, PowerWorld } from '../support/power-world.ts';

const services: Resource = { group: '', version: 'v1', plural: 'services', kind: 'Service', namespaced: true };
const endpointSlices: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
};

interface EndpointSlice extends KubeObject {
  endpoints?: { nodeName?: string; conditions?: { ready?: boolean } }[];
}

const agent = 'agent';
const groups = ['with', 'without'] as const;
type Group = (typeof groups)[number];

function condition(node: Node): { status?: string; reason?: string } {
  return node.status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
}

describe('a machine that is confirmed off', { timeout: 300_000 }, () => {
  let world: PowerWorld;
  const victims = new Map<Group, string>();
  const oldPods = new Map<Group, string>();

  /** Nodes whose pod of the DaemonSet is served to others. */
  async function served(): Promise<string[]> {
    const options = { namespace, labelSelector: `kubernetes.io/service-name=${agent}` };
    const read = await world.client.list<EndpointSlice>(endpointSlices, options);
    assert.ok(read.ok);
    return read.value.items.flatMap(({ endpoints = [] }) =>
      endpoints.flatMap(({ nodeName, conditions }) => (conditions?.ready === true ? (nodeName ?? []) : [])),
    );
  }

  const replaced = (group: Group): Promise<unknown> =>
    world.until(`a replacement ${group} it`, () =>
      world.podsOf(group).find((pod) => isReady(pod) && pod.metadata.uid !== oldPods.get(group)),
    );

  const moments = (group: Group): Node[] =>
    world.history.of('nodes', ({ metadata }) => metadata.name === victims.get(group)).map(({ object }) => object);

  before(async () => {
    const machines = groups.flatMap((group) => [1, 2, 3].map((at) => ({ name: `${group}-${at}`, labels: { group } })));
    world = await PowerWorld.start('out-of-service', machines);
    await world.policy({}, { name: 'with', of: { group: 'with' } });
    await world.policy({ markOutOfService: false }, { name: 'without', of: { group: 'without' } });
    const spec = { selector: { app: agent }, ports: [{ port: 80 }] };
    await world.create(services, { metadata: { name: agent, namespace }, spec });
    await world.daemonSet(agent, machines.length);
    await world.until('every endpoint to be served', async () => (await served()).length === machines.length);
    for (const group of groups) {
      const pod = await world.statefulSet(group, { group });
      victims.set(group, pod.spec.nodeName ?? '');
      oldPods.set(group, pod.metadata.uid ?? '');
    }
    await world.runOperator();
    for (const node of victims.values()) world.fleet.machine(node).powerOff();
    await Promise.all(groups.map(replaced));
  });

  after(() => world?.[Symbol.asyncDispose]());

  test('[EVD-5] its DaemonSet pod is no endpoint any more, which without it is one for as long as Kubernetes waits', async () => {
    await world.until('the endpoint to go', async () => !(await served()).includes(victims.get('with') ?? ''));
    assert.ok(
      (await served()).includes(victims.get('without') ?? ''),
      'Kubernetes has not noticed, and nobody tells it',
    );
    const read = await world.client.get<Node>({ resource: nodes, name: victims.get('without') ?? '' });
    assert.ok(read.ok);
    assert.equal(condition(read.value).status, 'True');
  });

  test('[EVD-5] storage that fences by the out-of-service taint alone has fenced it, and without it has not', () => {
    const fencedFrom = (group: Group): boolean[] =>
      world.detached.filter(({ node }) => node === victims.get(group)).map(({ isFenced }) => isFenced);
    assert.deepEqual([fencedFrom('with'), fencedFrom('without')], [[true], [false]]);
  });

  test('[EVD-5] the Node says why it is not Ready, before the taint, which is gone before its machine is on', async () => {
    const node = victims.get('with') ?? '';
    const isOut = ({ spec }: Node): boolean => spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE_KEY) ?? false;
    await world.until('its machine to be on again', () => world.bmcs.get(node)?.power === 'On');
    const seen = moments('with');
    assert.ok(seen.some((one) => condition(one).reason === 'FencelinePoweredOff'));
    const tainted = seen.filter(isOut);
    assert.ok(tainted.length > 0);
    assert.ok(tainted.every((one) => condition(one).status === 'Unknown'));
    assert.equal(isOut(world.node(node) as Node), false);
    assert.equal(moments('without').some(isOut), false);
  });

  test('[EVD-5] back in service, nothing of it is left', async () => {
    await world.allInService();
    await world.until('every endpoint to be served', async () => (await served()).length === 2 * 3);
  });
});
