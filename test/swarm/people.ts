/** What people do to a cluster of the swarm, mostly at the wrong moment. */
import type { Chance } from '../twins/chance.ts';
import type { Happening, Manifest, SwarmNode } from './document.ts';
import { seconds } from './document.ts';
import { configuration, methodsOff, shapes } from './configurations.ts';
import { byKured, marked, pausedForAll } from './others.ts';
import { policyObject, remedyPolicy } from './policies.ts';

export interface Scene {
  chance: Chance;
  nodes: readonly SwarmNode[];
  objects: readonly Manifest[];
  node: string;
  at: number;
}

/** What is done, a second after each other, or so much later. */
type Deed = (scene: Scene) => ({ after?: number } & Record<string, unknown>)[];

/** Time 0 of a scenario, give or take: nobody needs to know it better. */
const zeroMs = Date.UTC(2026, 0, 1, 0, 0, 31);

export function clock(at: number): string {
  return new Date(zeroMs + Math.round(at) * 1000).toISOString().replace('.000', '');
}

export function fenceObject(node: string, spec: object = {}): Manifest {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: `node-fence-${node}` },
    spec: { node, ...spec },
  };
}

const request: Deed = ({ chance, node, at }) => {
  const when = at + chance.one([0, 0, 0, -3600, 3600, 40, 90]);
  const without = chance.maybe(0.3) ? { withoutPolicy: true } : {};
  return [{ apply: fenceObject(node, { requested: { by: 'somebody', at: clock(when), ...without } }) }];
};

/** As from a backup: the spec as it was, and no status. */
const restore: Deed = ({ chance, node, at }) => [
  { delete: { kind: 'NodeFence', name: `node-fence-${node}` } },
  {
    apply: fenceObject(node, {
      policy: 'policy-0',
      ...(chance.maybe(0.5) ? { requested: { by: 'somebody', at: clock(at - chance.one([30, 3600, 86_400])) } } : {}),
    }),
  },
];

const editPolicy: Deed = ({ chance, nodes, objects }) => {
  const known = objects.filter(({ kind }) => kind === 'RemedyPolicy');
  if (known.length === 0) return [{ apply: remedyPolicy(chance, nodes) }];
  const old = chance.one(known);
  const spec = old['spec'] as object;
  const { spec: other } = remedyPolicy(chance, nodes) as unknown as { spec: Record<string, unknown> };
  const part = chance.one(['mode', 'fence', 'storm', 'release', 'return']);
  return [{ apply: { ...old, spec: { ...spec, [part]: other[part] } } }];
};

const setMode: Deed = ({ chance, objects }) => {
  const known = objects.filter(({ kind }) => kind === 'RemedyPolicy');
  if (known.length === 0) return [];
  const old = chance.one(known);
  const mode = chance.one(['Paused', 'Paused', 'DryRun', 'Enforce', 'Approve']);
  return [{ apply: { ...old, spec: { ...(old['spec'] as object), mode } } }];
};

/** All records at once, from a backup that has no status. */
const restoreAll: Deed = ({ nodes }) =>
  nodes.flatMap(({ name }) => [
    { delete: { kind: 'NodeFence', name: `node-fence-${name}` }, after: 0 },
    { apply: fenceObject(name, { policy: 'policy-0' }), after: 0 },
  ]);

/** Stopped, and some time later let go on. */
const stopAndResume: Deed = ({ chance, node }) => [
  { apply: fenceObject(node, { stop: true }) },
  { apply: fenceObject(node, { stop: false }), after: chance.one([5, 20, 60]) },
];

/** Rehearsed, paused or waiting for somebody, and then told to act, or the other way round. */
const changeMode: Deed = ({ chance, objects }) => {
  const old = objects.find(({ kind }) => kind === 'RemedyPolicy');
  if (old === undefined) return [];
  const apply = (mode: string): Manifest => ({ ...old, spec: { ...(old['spec'] as object), mode } });
  const [first, then] = chance.one([
    ['DryRun', 'Enforce'],
    ['Paused', 'Enforce'],
    ['Approve', 'Enforce'],
    ['Enforce', 'DryRun'],
  ]);
  return [{ apply: apply(first) }, { apply: apply(then), after: chance.one([5, 15, 40]) }];
};

/** A policy of another opinion about the same node, which may be in force before the first or not. */
const anotherPolicy: Deed = ({ chance, nodes, node }) => {
  const { spec } = remedyPolicy(chance, nodes) as unknown as { spec: Record<string, unknown> };
  const { allNodes: _all, selector: _selector, ...rest } = spec;
  const whom = chance.maybe(0.5)
    ? { allNodes: true }
    : { selector: { matchLabels: { 'kubernetes.io/hostname': node } } };
  const added = { apply: policyObject({ ...rest, ...whom, priority: chance.between(-1, 1) }, 9) };
  const gone = { delete: { kind: 'RemedyPolicy', name: 'policy-9' }, after: chance.one([10, 40]) };
  return chance.maybe(0.5) ? [added] : [added, gone];
};

/** What is known of its device is forgotten, or the device that somebody has written. */
const deleteDevice: Deed = ({ chance, objects, node }) => {
  const written = objects.filter(({ kind }) => kind === 'FenceDevice').map(({ metadata }) => metadata.name);
  const known = objects.some(({ metadata }) => metadata.name === `fence-config-${node}`)
    ? methodsOff.slice(1).map((method) => `${node}.${method}`)
    : [`${node}.${methodsOff[0]}`];
  const name = chance.one(chance.maybe(0.5) && written.length > 0 ? written : known);
  const gone = { delete: { kind: 'FenceDevice', name, namespace: 'fenceline' } };
  const back = objects.find(({ kind, metadata }) => kind === 'FenceDevice' && metadata.name === name);
  return back === undefined || chance.maybe(0.3) ? [gone] : [gone, { apply: back, after: chance.one([1, 10, 40]) }];
};

const annotate =
  (annotation: string): Deed =>
  ({ chance, node, at }) => {
    const until = clock(at + chance.one([30, 120]));
    return [
      { apply: { apiVersion: 'v1', kind: 'Node', metadata: { name: node, annotations: { [annotation]: until } } } },
    ];
  };

const deeds: readonly { weight: number; choice: Deed }[] = [
  { weight: 2, choice: ({ node }) => [{ cordon: node }] },
  { weight: 2, choice: ({ node }) => [{ uncordon: node }] },
  { weight: 2, choice: ({ node }) => [{ drain: node }] },
  { weight: 2, choice: ({ node }) => [{ untaint: { node, key: 'fenceline.dev/quarantine' } }] },
  {
    weight: 2,
    choice: ({ chance, node }) => [
      {
        taint: {
          node,
          key: chance.one(['node.kubernetes.io/out-of-service', 'fenceline.dev/force-eviction', 'example.com/theirs']),
          effect: 'NoExecute',
        },
      },
    ],
  },
  {
    weight: 1,
    choice: ({ chance, node }) => [
      { untaint: { node, key: chance.one(['node.kubernetes.io/out-of-service', 'fenceline.dev/force-eviction']) } },
    ],
  },
  { weight: 2, choice: ({ node }) => [{ delete: { kind: 'NodeFence', name: `node-fence-${node}` } }] },
  { weight: 2, choice: restore },
  { weight: 2, choice: ({ chance, node }) => [{ apply: fenceObject(node, { stop: chance.maybe(0.6) }) }] },
  { weight: 3, choice: request },
  { weight: 2, choice: ({ node }) => [{ approve: node }] },
  { weight: 2, choice: editPolicy },
  { weight: 2, choice: setMode },
  { weight: 1, choice: () => [{ delete: { kind: 'RemedyPolicy', name: 'policy-0' } }] },
  { weight: 2, choice: ({ chance, node }) => [{ apply: configuration(node, chance.one(shapes)) }] },
  {
    weight: 1,
    choice: ({ node }) => [{ delete: { kind: 'ConfigMap', name: `fence-config-${node}`, namespace: 'fenceline' } }],
  },
  { weight: 1, choice: annotate('fenceline.dev/maintenance-until') },
  { weight: 1, choice: annotate('fenceline.dev/pause.work') },
  { weight: 1, choice: restoreAll },
  { weight: 2, choice: stopAndResume },
  { weight: 2, choice: changeMode },
  { weight: 2, choice: anotherPolicy },
  { weight: 2, choice: deleteDevice },
  { weight: 2, choice: ({ node }) => [{ delete: { kind: 'Lease', name: node, namespace: 'kube-node-lease' } }] },
  { weight: 1, choice: ({ chance }) => [{ delete: { kind: 'Pod', name: `db-${chance.between(0, 3)}` } }] },
  { weight: 1, choice: ({ node }) => [{ deleteNode: node }, { kubeletStop: node }, { kubeletStart: node }] },
];

/** What has its own times. */
const undertakings: readonly ((scene: Scene) => Happening[])[] = [
  ({ chance, at }) => pausedForAll(chance, at, at + chance.one([10, 40, 100]), clock),
  ({ chance, node, at }) => marked(chance, node, at, ...chance.one<[] | [number]>([[], [at + 20], [at + 80]])),
  ({ chance, node, at }) => byKured({ node, at, begun: at + chance.one([5, 30]), back: at + chance.one([60, 120]) }),
];

export function deed(scene: Scene): Happening[] {
  if (scene.chance.maybe(0.12)) return scene.chance.one(undertakings)(scene);
  const chosen = scene.chance.weighted(deeds);
  let { at } = scene;
  return (chosen?.(scene) ?? []).map(({ after = 1, ...act }, index) => {
    if (index > 0) at += after;
    return { at: seconds(at), ...act };
  });
}
