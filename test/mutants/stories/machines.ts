/** Machines that their provider removes, by Cluster API: only the very one that the node is, and only after a fence. */
import type { KubeObject } from '../../../src/kube/client.ts';
import { nodes } from '../../../src/kube/resources.ts';
import type { Resource } from '../../../src/kube/resources.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import type { Story, StoryOptions } from '../story.ts';
import type { Other } from './kit.ts';
import { meanwhile, victim } from './kit.ts';
import { place, ways } from './ways.ts';

const group = 'cluster.x-k8s.io';
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
export const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `machines.${group}` },
  spec: {
    group,
    names: { plural: 'machines', singular: 'machine', kind: 'Machine' },
    scope: 'Namespaced',
    versions: [{ name: 'v1beta1', served: true, storage: true, schema }],
  },
};
export const machines: Resource = { group, version: 'v1beta1', plural: 'machines', kind: 'Machine', namespaced: true };

interface Removed {
  /** What the Machine says of its node, beside the UID; absent: the truth. */
  nodeRef?: { name?: string; uid?: string | undefined };
  spec?: object;
  providerId?: string;
  /** Another node that says the same provider ID. */
  rival?: string;
}

/** A node that is fenced, does not come back in time, and whose machine is then removed. */
export function removed(name: string, { expect = [] }: { expect?: object[] }): Scenario {
  return ways.power(name, {
    policy: {
      thresholds: [
        {
          lease: { staleFor: '12s' },
          remedies: [
            { name: 'fence', period: '0s' },
            { name: 'remove', period: '10m' },
          ],
        },
      ],
      remedies: [
        { name: 'fence', fence: {} },
        { name: 'remove', deleteMachine: {} },
      ],
      fence: { isolateAfter: '0s', powerManagementAfter: '0s', bootTimeout: '20s', retries: 0, restarts: 0 },
    },
    objects: [definition],
    events: [{ at: '5s', partition: place }],
    expect,
    runFor: '90s',
  });
}

/** As Cluster API marks the node of a machine, and the machine of a node. */
export async function mark(other: Other, what: Removed = {}): Promise<void> {
  const { nodeRef, providerId = 'sim://a', spec = { providerID: providerId }, rival } = what;
  const node = { resource: nodes, name: victim };
  await other.patch(node, [
    { op: 'add', path: '/metadata/annotations/cluster.x-k8s.io~1machine', value: 'm-1' },
    { op: 'add', path: '/metadata/annotations/cluster.x-k8s.io~1cluster-namespace', value: 'default' },
    { op: 'add', path: '/spec/providerID', value: providerId },
  ]);
  if (rival !== undefined) {
    await other.patch({ resource: nodes, name: rival }, [{ op: 'add', path: '/spec/providerID', value: providerId }]);
  }
  const { uid } = (await other.get<KubeObject>(node)).metadata;
  const status = { nodeRef: { name: victim, uid, ...nodeRef } };
  await other.create(machines, { metadata: { name: 'm-1', namespace: 'default' }, spec, status });
}

export function marked(what?: Removed): StoryOptions {
  return meanwhile({ 1: (other) => mark(other, what) });
}

const gone = 'machines/default/m-1';

function story(name: string, what: Removed | undefined, goes: boolean): Story {
  return {
    name: `machine, ${name}`,
    scenario: () => removed(`machine-${name.replaceAll(/\W+/g, '-')}`, {}),
    options: () => {
      const deleted: string[] = [];
      const options = marked(what);
      return {
        ...options,
        onWorld: (world, clock) => {
          options.onWorld?.(world, clock);
          world.server.onAudit(({ verb, resource, namespace, name: of, code }) => {
            if (verb === 'delete' && code < 300) deleted.push(`${resource}/${namespace}/${of}`);
          });
        },
        wrong: (report) => [
          ...(options.wrong?.(report) ?? []),
          ...(deleted.includes(gone) === goes ? [] : [`${gone} is ${goes ? 'not ' : ''}deleted`]),
        ],
      };
    },
  };
}

export const machineStories: readonly Story[] = [
  story('that says that it is the node', undefined, true),
  story('that says that it is another node', { nodeRef: { name: 'node-1' } }, false),
  story('that says that it is an earlier node of the name', { nodeRef: { uid: 'earlier' } }, false),
  story(
    'with another ID of the provider',
    { nodeRef: { uid: undefined }, spec: { providerID: 'a' }, providerId: 'b' },
    false,
  ),
  story('whose provider ID another node has too', { rival: 'node-2' }, false),
];
