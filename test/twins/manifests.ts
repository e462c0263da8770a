/** The objects of a scenario. */
import type { KubeObject } from '../../src/kube/client.ts';
import type { Resource } from '../../src/kube/resources.ts';
import * as resources from '../../src/world/controllers/resources.ts';
import type { FleetNode } from '../../src/world/fleet.ts';
import type { PodSpec } from '../../src/world/objects/pods.ts';
import type { NodeAt, Scenario, Workload } from './scenario.ts';
import { driverOf, nodeName, placeLabel, poolLabel, poolSize } from './scenario.ts';

export interface Manifest {
  resource: Resource;
  object: KubeObject & Record<string, unknown>;
}

/** A node carries from the start what is at home there. */
export function fleetNodes({ name, workloads }: Scenario): FleetNode[] {
  return Array.from({ length: poolSize }, (_, at) => {
    const labels = workloads.flatMap((workload) =>
      workload.places.flatMap(({ home }, ordinal) => (home === at ? [[labelOf(workload, ordinal), 'yes']] : [])),
    );
    return {
      name: nodeName(name, at as NodeAt),
      zone: name,
      labels: { [poolLabel]: name, ...(Object.fromEntries(labels) as Record<string, string>) },
      drivers: [driverOf(name)],
    };
  });
}

/** Replicas of a Deployment share one place, or may be at each other's. */
export function labelOf({ kind, name }: Workload, ordinal: number): string {
  return placeLabel(name, kind === 'StatefulSet' ? ordinal : 0);
}

export function manifestsOf(scenario: Scenario): Manifest[] {
  const namespace = { resource: resources.namespaces, object: { metadata: { name: scenario.name } } };
  return [namespace, ...scenario.workloads.flatMap((workload) => manifestsFor(scenario, workload))];
}

function manifestsFor(scenario: Scenario, workload: Workload): Manifest[] {
  const { kind, name, places, volumes, budget } = workload;
  const namespace = scenario.name;
  const made: Manifest[] = volumes ? places.map((_, ordinal) => volume(scenario, workload, ordinal)) : [];
  if (kind === 'Deployment' && volumes) {
    const metadata = { name: `data-${name}-0`, namespace };
    made.push({ resource: resources.persistentVolumeClaims, object: { metadata, spec: claimSpec(namespace) } });
  }
  if (budget !== undefined) {
    const spec = { minAvailable: budget, selector: { matchLabels: { app: name } } };
    made.push({ resource: resources.podDisruptionBudgets, object: { metadata: { name, namespace }, spec } });
  }
  return [...made, controllerOf(scenario, workload)];
}

function controllerOf(scenario: Scenario, workload: Workload): Manifest {
  const { kind, name, places, volumes, parallel } = workload;
  const metadata = { name, namespace: scenario.name };
  const spec = podSpec(scenario, workload);
  const template = { metadata: { labels: { app: name } }, spec };
  const selector = { matchLabels: { app: name } };
  const replicas = places.length;
  switch (kind) {
    case 'Pod':
      return { resource: resources.pods, object: { metadata: { ...metadata, labels: { app: name } }, spec } };
    case 'StatefulSet': {
      const podManagementPolicy = parallel ? 'Parallel' : 'OrderedReady';
      const volumeClaimTemplates = volumes ? [{ metadata: { name: 'data' }, spec: claimSpec(scenario.name) }] : [];
      const set = { replicas, serviceName: name, podManagementPolicy, selector, template, volumeClaimTemplates };
      return { resource: resources.statefulSets, object: { metadata, spec: set } };
    }
    case 'Deployment':
      return { resource: resources.deployments, object: { metadata, spec: { replicas, selector, template } } };
    case 'DaemonSet':
      return { resource: resources.daemonSets, object: { metadata, spec: { selector, template } } };
    case 'Job':
      return { resource: resources.jobs, object: { metadata, spec: { backoffLimit: 20, template } } };
  }
}

function podSpec(scenario: Scenario, workload: Workload): PodSpec {
  const { kind, name, places, volumes } = workload;
  // What has a volume goes where the volume can be reached.
  const placed = volumes || kind === 'DaemonSet' ? {} : { [placeLabel(name, 0)]: 'yes' };
  const apart = { labelSelector: { matchLabels: { app: name } }, topologyKey: 'kubernetes.io/hostname' };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } };
  const claim = { name: 'data', persistentVolumeClaim: { claimName: `data-${name}-0` } };
  return {
    terminationGracePeriodSeconds: 2,
    nodeSelector: { [poolLabel]: scenario.name, ...placed },
    containers: [{ name: 'main', image: 'example/main:1' }],
    ...(kind === 'Deployment' && places.length > 1 ? { affinity } : {}),
    ...(kind === 'Deployment' && volumes ? { volumes: [claim] } : {}),
    ...(kind === 'Job' ? { restartPolicy: 'Never' } : {}),
  };
}

function volume({ name: namespace }: Scenario, workload: Workload, ordinal: number): Manifest {
  const name = `${namespace}-${workload.name}-${ordinal}`;
  const placed = { key: labelOf(workload, ordinal), operator: 'In', values: ['yes'] };
  const spec = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    storageClassName: namespace,
    persistentVolumeReclaimPolicy: 'Retain',
    csi: { driver: driverOf(namespace), volumeHandle: name },
    claimRef: { namespace, name: `data-${workload.name}-${ordinal}` },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [placed] }] } },
  };
  return { resource: resources.persistentVolumes, object: { metadata: { name }, spec } };
}

function claimSpec(storageClassName: string): object {
  return { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } } };
}
