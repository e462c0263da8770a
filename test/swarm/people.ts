/** What people do to a cluster of the swarm, mostly at the wrong moment. */
import type { Chance } from '../twins/chance.ts';
import type { Happening, Manifest, SwarmNode } from './document.ts';
import { seconds } from './document.ts';
import { configuration, remedyPolicy, shapes } from './policies.ts';

export interface Scene {
  chance: Chance;
  nodes: readonly SwarmNode[];
  objects: readonly Manifest[];
  node: string;
  at: number;
}

type Deed = (scene: Scene) => object[];

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
  const when = at + chance.one([0, 0, 0, -3600, 3600, 40]);
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
  {
    weight: 1,
    choice: ({ chance, node, at }) => {
      const until = clock(at + chance.one([30, 120]));
      const metadata = { name: node, annotations: { 'fenceline.dev/maintenance-until': until } };
      return [{ apply: { apiVersion: 'v1', kind: 'Node', metadata } }];
    },
  },
  { weight: 1, choice: ({ node }) => [{ deleteNode: node }, { kubeletStop: node }, { kubeletStart: node }] },
];

export function deed(scene: Scene): Happening[] {
  const chosen = scene.chance.weighted(deeds);
  return (chosen?.(scene) ?? []).map((act, index) => ({ at: seconds(scene.at + index), ...act }));
}
