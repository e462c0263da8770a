/** Drains of nodes with replicas: what holds each back, and who comes in between. */
import { podDisruptionBudgets } from '../../../src/kube/resources.ts';
import type { DrainPolicy } from '../../../src/api/drain-policy.ts';
import type { JsonPatchOperation, KubeObject } from '../../../src/kube/client.ts';
import type { ObjectRef, Resource } from '../../../src/kube/resources.ts';
import { parseScenarios } from '../../../src/scenario/parse.ts';
import type { Invariant } from '../../../src/scenario/checkers/checker.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { replicas, storageNodes } from '../../../src/storage/longhorn-objects.ts';
import type { Story, StoryOptions } from '../story.ts';
import type { Deed, Other } from './kit.ts';
import { between, matching, meanwhile, overtaken, together, watching } from './kit.ts';

const namespace = 'longhorn-system';

interface Drain {
  policy: string;
  /** Of the one volume, on these nodes; used on the last node of the cluster, unless it is at rest. */
  copies: string[];
  isAtRest?: boolean;
  objects?: object[];
  events?: object[];
  expect?: object[];
  runFor?: string;
}

const drained = (by: string): object => ({ by, drain: { node: 'node-1', done: true } });
const blocked = (at: string): object => ({ at, drain: { node: 'node-1', done: false } });

export function drain(name: string, { policy, copies, isAtRest = false, ...more }: Drain): Scenario {
  const { objects = [], events = [{ at: '10s', drain: 'node-1' }], expect = [], runFor = '30s' } = more;
  const spec = {
    cluster: {
      nodes: 4,
      longhorn: {
        volumes: [{ name: 'v', sizeGiB: 1, replicas: copies, ...(isAtRest ? {} : { attachedTo: 'node-4' }) }],
      },
    },
    objects: [
      {
        apiVersion: 'fenceline.dev/v1alpha1',
        kind: 'DrainPolicy',
        metadata: { name: 'default' },
        spec: { allNodes: true, policy },
      },
      ...objects,
    ],
    events,
    runFor,
    expect,
  };
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', metadata: { name }, spec });
  const [scenario] = parseScenarios(name, text);
  if (scenario === undefined) throw new Error('no scenario');
  return scenario;
}

function story(name: string, what: Drain, options?: () => StoryOptions): Story {
  const short = `drain-${name.replaceAll(/\W+/g, '-')}`;
  return { name: `drain, ${name}`, scenario: () => drain(short, what), ...(options && { options }) };
}

const two = ['node-1', 'node-2'];
const lastReplica = 'block-if-contains-last-replica';
/** Of which volume it is cannot be told. */
const unreadable = {
  apiVersion: 'longhorn.io/v1beta2',
  kind: 'Replica',
  metadata: { name: 'half-written', namespace },
  spec: { nodeID: 'node-1', evictionRequested: false },
};

export const fromBefore = {
  ...unreadable,
  metadata: { name: 'from-before', namespace },
  spec: { volumeName: 'gone' },
  status: { evictionRequested: true },
};

const policies = {
  'block-if-contains-last-replica': { holds: ['node-1'], lets: two },
  'allow-if-replica-is-stopped': { holds: ['node-1'], lets: two },
  'block-for-eviction': { holds: two, lets: ['node-2'] },
  'block-for-eviction-if-contains-last-replica': { holds: ['node-1'], lets: two },
};

const ruleStories: readonly Story[] = Object.entries(policies).flatMap(([policy, { holds, lets }]) => [
  story(`${policy}: held`, { policy, copies: holds, expect: [blocked('25s')], runFor: '25s' }),
  story(`${policy}: let go`, { policy, copies: lets, expect: [drained('30s')] }),
]);

const budget = (node: string): ObjectRef => ({
  resource: podDisruptionBudgets,
  namespace,
  name: `fenceline-instance-manager-${node}`,
});
const annotated =
  (ref: ObjectRef): Deed =>
  async (other) => {
    const { annotations } = (await other.get(ref)).metadata;
    const value = { ...annotations, 'example.com/a': 'b' };
    await other.patch(ref, [{ op: 'add', path: '/metadata/annotations', value }]);
  };

/** Something of the storage system, by what it says. */
async function find(other: Other, resource: Resource, fits: (object: KubeObject) => boolean): Promise<ObjectRef> {
  const listed = await other.client.list(resource, { namespace });
  const found = listed.ok ? listed.value.items.find(fits) : undefined;
  return { resource, namespace, name: found?.metadata.name ?? '' };
}
const isOn = (node: string) => (object: KubeObject) => (object as { spec?: { nodeID?: string } }).spec?.nodeID === node;
const onReplica =
  (node: string, operations: JsonPatchOperation[] | undefined): Deed =>
  async (other) => {
    const ref = await find(other, replicas, isOn(node));
    await (operations === undefined ? annotated(ref)(other) : other.patch(ref, operations));
  };
const announces = /^PATCH .*\/poddisruptionbudgets\/fenceline-instance-manager-node-1 /;
const takesAway = /^DELETE .*\/poddisruptionbudgets\/fenceline-instance-manager-node-1 /;
export const edited: Deed = (other) =>
  other.patch(budget('node-1'), [{ op: 'replace', path: '/spec/minAvailable', value: 0 }]);

const writeStories: readonly Story[] = [
  story('a budget that is announced to go', { policy: lastReplica, copies: two }, () =>
    overtaken(announces, annotated(budget('node-1'))),
  ),
  story('a budget that goes', { policy: lastReplica, copies: two }, () =>
    overtaken(takesAway, annotated(budget('node-1'))),
  ),
  story('a budget that is mended', { policy: lastReplica, copies: two, events: [] }, () =>
    together(overtaken(announces, annotated(budget('node-1'))), meanwhile({ 5: edited })),
  ),
  story('a replica that is asked to leave', { policy: 'block-for-eviction', copies: two }, () =>
    overtaken(/^PATCH .*\/replicas\//, onReplica('node-1', undefined)),
  ),
  story('a storage node that is marked', { policy: 'block-for-eviction', copies: two }, () =>
    overtaken(
      /^PATCH .*longhorn\.io.*\/nodes\/[^ ]*\/status /,
      annotated({ resource: storageNodes, namespace, name: 'node-1' }),
    ),
  ),
  story(
    'a replica from before the upgrade',
    { policy: lastReplica, copies: two, objects: [fromBefore], events: [] },
    () =>
      overtaken(/^PATCH .*\/replicas\/from-before /, annotated({ resource: replicas, namespace, name: 'from-before' })),
  ),
  story('the budget of another copy is gone', { policy: lastReplica, copies: two }, () =>
    between({
      before: matching(/^GET .*\/poddisruptionbudgets\/fenceline-instance-manager-node-2 /),
      deed: (other) => other.remove(budget('node-2')),
      not: matching(takesAway),
      until: matching(/^POST .*\/poddisruptionbudgets/),
    }),
  ),
  story('another copy is about to go', { policy: lastReplica, copies: two }, () =>
    between({
      before: matching(/^GET .*\/replicas\//),
      deed: onReplica('node-2', [{ op: 'add', path: '/spec/evictionRequested', value: true }]),
      not: matching(takesAway),
      until: matching(announces),
    }),
  ),
];

/** What a drain that waits is told to wait for. */
const says = (pattern: RegExp): Invariant => ({
  id: 'told',
  check: ({ violated }) => ({
    onStored({ object }) {
      if (object.kind !== 'DrainPolicy') return;
      const { draining = [] } = (object as { status?: Partial<DrainPolicy['status']> }).status ?? {};
      for (const { node, blocked: waits, reason, message } of draining) {
        if (node === 'node-1' && waits && !pattern.test(message ?? '')) violated(`${reason}: ${message}`);
      }
    },
  }),
});

const unreadableStories: readonly Story[] = Object.entries(policies).map(([policy, { lets }]) =>
  story(
    `${policy}: unreadable`,
    { policy, copies: lets, objects: [unreadable], expect: [blocked('25s')], runFor: '25s' },
    () => watching([says(/^replica half-written does not say yet /)]),
  ),
);

export const drainStories: readonly Story[] = [...ruleStories, ...unreadableStories, ...writeStories];
