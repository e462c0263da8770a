/** Clusters by chance: nodes with and without power devices that know whose they are, Leases of several lengths, gates. */
import type { Chance } from '../twins/chance.ts';
import type { SwarmNode } from './document.ts';

export interface SwarmCluster extends Record<string, unknown> {
  nodes: SwarmNode[];
}

export type Size = 'small' | 'large';

const nodesOf = { small: [2, 3, 3, 3, 4, 4, 4], large: [4, 5, 6, 7, 8] } as const;

export function cluster(chance: Chance, size: Size): SwarmCluster {
  const count = chance.one<number>(nodesOf[size]);
  const allHaveDevices = chance.maybe(0.6);
  const noneHasIdentity = chance.maybe(0.15);
  const zones = chance.one([1, 1, 3]);
  const controlPlane = chance.one([0, 0, 0, 1, 3]);
  const nodes = Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    zone: `z${(index % zones) + 1}`,
    ...(index < controlPlane ? { labels: { 'node-role.kubernetes.io/control-plane': 'true' } } : {}),
    ...(allHaveDevices || chance.maybe(0.7) ? {} : { bmc: false }),
    ...(noneHasIdentity || chance.maybe(0.1) ? { identity: false } : {}),
  }));
  const nodeMonitorGracePeriod = chance.one(['20s', '20s', '40s', '50s']);
  const bootTime = chance.one(['10s', '10s', '30s', '90s']);
  const lease = chance.maybe(0.2) ? { leaseDuration: chance.one(['20s', '60s', '80s']) } : {};
  const detach = chance.maybe(0.15) ? { forceDetachAfter: '1m' } : {};
  return {
    nodes,
    kubernetes: { nodeMonitorGracePeriod, bootTime, ...lease, ...detach },
    operators: operators(chance),
    featureGates: { NonGracefulFailover: chance.maybe(0.5), ForceEviction: chance.maybe(0.5) },
  };
}

function operators(chance: Chance): unknown {
  if (chance.maybe(0.6)) return 1;
  return chance.maybe(0.7) ? 2 : { count: 2, onNodes: true };
}

/** Storage with replicas, for drains. */
export function longhorn(chance: Chance, nodes: readonly SwarmNode[]): object {
  const names = nodes.map(({ name }) => name);
  const volumes = Array.from({ length: chance.between(1, 2) }, (_, index) => {
    const replicas = chance.some(names, chance.between(1, Math.min(3, names.length)));
    const attachedTo = chance.maybe(0.7) ? { attachedTo: chance.one(names) } : {};
    return { name: `lh-${index}`, sizeGiB: chance.one([1, 10]), replicas, ...attachedTo };
  });
  return { rebuildMiBps: chance.one([50, 500]), softAntiAffinity: chance.maybe(0.2), volumes };
}
