/**
 * The controllers of Kubernetes, as far as the fate of pods and volumes depends on them, as clients of any API server.
 * All read from one shared copy of the cluster; each can be left out, so that the stock one can take its place.
 */
import type { Resource } from '../../kube/resources.ts';
import { AttachDetach } from './attach-detach.ts';
import { DaemonSetController } from './daemon-set.ts';
import { DeploymentController } from './deployment.ts';
import { DisruptionController } from './disruption.ts';
import { GarbageCollector } from './garbage-collector.ts';
import type { HostOptions } from './host.ts';
import { ControllerHost } from './host.ts';
import type { Informers } from './informer.ts';
import { JobController } from './job.ts';
import { NamespaceController } from './namespace.ts';
import { NodeLifecycle } from './node-lifecycle.ts';
import { PodGarbageCollector } from './pod-gc.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { indexPods } from './pod-indexes.ts';
import { ReplicaSetController } from './replica-set.ts';
import * as resources from './resources.ts';
import { StatefulSetController } from './stateful-set.ts';
import { TaintEviction } from './taint-eviction.ts';
import { VolumeBinder } from './volume-binder.ts';
import { protectVolumes } from './volume-protection.ts';

/** What can hold or be held by an ownerReference. */
const owned: readonly Resource[] = [
  resources.pods,
  resources.replicaSets,
  resources.statefulSets,
  resources.deployments,
  resources.daemonSets,
  resources.jobs,
  resources.podDisruptionBudgets,
  resources.persistentVolumeClaims,
  resources.nodes,
  resources.leases,
  resources.csiNodes,
  resources.configMaps,
];

const unwatched: readonly Resource[] = [
  resources.controllerRevisions,
  resources.secrets,
  resources.services,
  resources.serviceAccounts,
  resources.events,
];

type Builder = (host: ControllerHost, indexes: PodIndexes, options: ControllerManagerOptions) => unknown;

/** In the order of their start. */
const builders = {
  nodeLifecycle: (host, indexes) => new NodeLifecycle(host, indexes),
  taintEviction: (host, indexes) => new TaintEviction(host, indexes),
  podGc: (host) => new PodGarbageCollector(host),
  statefulSet: (host, indexes) => new StatefulSetController(host, indexes),
  replicaSet: (host, indexes) => new ReplicaSetController(host, indexes),
  deployment: (host, indexes) => new DeploymentController(host, indexes),
  daemonSet: (host, indexes) => new DaemonSetController(host, indexes),
  job: (host, indexes) => new JobController(host, indexes),
  volumeBinder: (host, _indexes, { provisioners = [] }) => new VolumeBinder(host, provisioners),
  volumeProtection: (host, indexes) => protectVolumes(host, indexes),
  attachDetach: (host, indexes) => new AttachDetach(host, indexes),
  disruption: (host, indexes) => new DisruptionController(host, indexes),
  garbageCollector: (host, _indexes, { ownedResources = [] }) =>
    new GarbageCollector(host, [...owned, ...ownedResources]),
  namespace: (host, _indexes, { ownedResources = [] }) =>
    new NamespaceController(host, [...owned, ...unwatched, ...ownedResources]),
} satisfies Record<string, Builder>;

export type ControllerName = keyof typeof builders;

export const controllerNames = Object.keys(builders) as readonly ControllerName[];

export interface ControllerManagerOptions extends HostOptions {
  /** Those to leave out. */
  without?: readonly ControllerName[];
  /** Provisioners of storage classes that are simulated: their volumes appear by themselves. */
  provisioners?: readonly string[];
  /** More resources that are collected by owner and deleted with their namespace; they have to exist at the start. */
  ownedResources?: readonly Resource[];
}

export class ControllerManager {
  readonly indexes: PodIndexes;
  readonly #host: ControllerHost;

  constructor(options: ControllerManagerOptions) {
    this.#host = new ControllerHost('system:kube-controller-manager', options);
    this.indexes = indexPods(this.#host.informers);
    for (const name of controllerNames) {
      const build: Builder = builders[name];
      if (options.without?.includes(name) !== true) build(this.#host, this.indexes, options);
    }
  }

  /** For a Scheduler that is to share them: built before `run`, it needs no watches of its own. */
  get informers(): Informers {
    return this.#host.informers;
  }

  /** Ends when `signal` fires; rejects with what broke, if anything did. */
  run(signal: AbortSignal): Promise<void> {
    return this.#host.run(signal);
  }
}
