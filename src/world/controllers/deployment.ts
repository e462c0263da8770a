/** Deployments: one ReplicaSet per template, exchanged step by step or all at once. */
import type { Condition } from '../objects/meta.ts';
import { controlledBy, controllerOf, isTerminating } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import { apiTime } from '../objects/times.ts';
import type { Deployment, ReplicaSet } from '../objects/workloads.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer } from './informer.ts';
import { templateHash } from './pod-factory.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { scaled } from './quantities.ts';
import { deployments, pods, replicaSets } from './resources.ts';

const who = 'deployment-controller';
const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';

interface Scene {
  deployment: Deployment;
  wanted: number;
  current: ReplicaSet;
  old: ReplicaSet[];
}

export class DeploymentController {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #deployments: Informer<Deployment>;
  readonly #setsByController: Index<ReplicaSet>;
  readonly #podsByController: Index<Pod>;

  constructor(host: ControllerHost, { podsByController }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#deployments = host.informers.of(deployments);
    this.#podsByController = podsByController;
    const sets = host.informers.of<ReplicaSet>(replicaSets);
    this.#setsByController = sets.indexBy((set) => {
      const uid = controllerOf(set)?.uid;
      return uid === undefined ? [] : [uid];
    });
    const queue = host.queue(who, (key) => this.#sync(key));
    this.#deployments.on(({ key }) => queue.add(key));
    const wake = (set: ReplicaSet | undefined): void => {
      const owner = set === undefined ? undefined : controllerOf(set);
      if (owner?.kind === 'Deployment') queue.add(`${set?.metadata.namespace ?? ''}/${owner.name}`);
    };
    sets.on(({ object, previous }) => wake(object ?? previous));
    // A set does not count those on their way out, so that only their end tells one that waits for it.
    host.informers.of<Pod>(pods).on(({ object, previous }) => {
      const owner = object === undefined ? controllerOf(previous) : undefined;
      if (owner?.kind === 'ReplicaSet') wake(sets.get(`${previous?.metadata.namespace ?? ''}/${owner.name}`));
    });
  }

  async #sync(key: string): Promise<undefined> {
    const deployment = this.#deployments.get(key);
    if (deployment === undefined) return;
    const owned = [...this.#setsByController.of(deployment.metadata.uid ?? '').values()];
    if (isTerminating(deployment)) return;
    const hash = templateHash(deployment.spec.template);
    const current =
      owned.find(({ metadata }) => metadata.labels?.[hashLabel] === hash) ??
      (await this.#create(deployment, owned, hash));
    if (current === undefined) return;
    const old = owned.filter((set) => set !== current);
    const scene = { deployment, wanted: deployment.spec.replicas ?? 1, current, old };
    if (deployment.spec.strategy?.type === 'Recreate') await this.#recreate(scene);
    else await this.#roll(scene);
    await this.#report(key);
  }

  /** Starts with no pods, unless it is the only one. */
  async #create(deployment: Deployment, owned: ReplicaSet[], hash: string): Promise<ReplicaSet | undefined> {
    const { template, selector, minReadySeconds, replicas = 1 } = deployment.spec;
    const { name, namespace = '' } = deployment.metadata;
    const labels = { ...template.metadata?.labels, [hashLabel]: hash };
    const first = owned.every((set) => (set.spec.replicas ?? 0) === 0);
    const revision =
      1 + Math.max(0, ...owned.map((set) => Number(set.metadata.annotations?.[revisionAnnotation] ?? 0)));
    const recreate = deployment.spec.strategy?.type === 'Recreate';
    return this.#api.create<ReplicaSet>(replicaSets, {
      metadata: {
        name: `${name}-${hash}`,
        namespace,
        labels,
        annotations: { [revisionAnnotation]: String(revision) },
        ownerReferences: [controlledBy(deployment, deployments)],
      },
      spec: {
        replicas: first && !recreate ? replicas : 0,
        ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    });
  }

  /** Nothing new before everything old is gone, pods that are still being deleted included. */
  async #recreate({ current, old, wanted }: Scene): Promise<void> {
    for (const set of old) await this.#scale(set, 0);
    const left = old.some((set) =>
      [...this.#podsByController.of(set.metadata.uid ?? '').values()].some((pod) => !isFinished(pod)),
    );
    if (!left) await this.#scale(current, wanted);
  }

  async #roll({ deployment, current, old, wanted }: Scene): Promise<void> {
    const { maxSurge = '25%', maxUnavailable = '25%' } = deployment.spec.strategy?.rollingUpdate ?? {};
    const surge = scaled(maxSurge, wanted, 'up');
    const roundedDown = scaled(maxUnavailable, wanted, 'down');
    const unavailable = surge === 0 && roundedDown === 0 ? 1 : roundedDown;
    const size = (set: ReplicaSet): number => set.spec.replicas ?? 0;
    const total = [current, ...old].reduce((sum, set) => sum + size(set), 0);
    if (size(current) > wanted) {
      await this.#scale(current, wanted);
      return;
    }
    const room = wanted + surge - total;
    if (size(current) < wanted && room > 0) {
      await this.#scale(current, Math.min(wanted, size(current) + room));
      return;
    }
    await this.#shrink({ deployment, current, old, wanted }, unavailable);
  }

  /** What never became available goes first, then as many of the rest as may be missing. */
  async #shrink({ current, old, wanted }: Scene, unavailable: number): Promise<void> {
    const size = (set: ReplicaSet): number => set.spec.replicas ?? 0;
    const available = (set: ReplicaSet): number => set.status?.availableReplicas ?? 0;
    const sets = [current, ...old];
    const total = sets.reduce((sum, set) => sum + size(set), 0);
    let budget = total - (wanted - unavailable) - (size(current) - available(current));
    for (const set of old) {
      if (budget <= 0) return;
      const broken = Math.min(budget, size(set) - available(set));
      if (broken > 0) {
        await this.#scale(set, size(set) - broken);
        budget -= broken;
        return;
      }
    }
    let spare = sets.reduce((sum, set) => sum + available(set), 0) - (wanted - unavailable);
    for (const set of old) {
      const fewer = Math.min(spare, size(set));
      if (fewer <= 0) continue;
      await this.#scale(set, size(set) - fewer);
      spare -= fewer;
    }
  }

  async #scale(set: ReplicaSet, replicas: number): Promise<void> {
    if ((set.spec.replicas ?? 0) === replicas) return;
    await this.#api.patch(replicaSets, set, [{ op: 'add', path: '/spec/replicas', value: replicas }], { exact: true });
  }

  async #report(key: string): Promise<void> {
    const deployment = this.#deployments.get(key);
    if (deployment === undefined) return;
    const sets = [...this.#setsByController.of(deployment.metadata.uid ?? '').values()];
    const hash = templateHash(deployment.spec.template);
    const current = sets.find(({ metadata }) => metadata.labels?.[hashLabel] === hash);
    const sum = (field: 'replicas' | 'readyReplicas' | 'availableReplicas'): number =>
      sets.reduce((all, set) => all + (set.status?.[field] ?? 0), 0);
    const wanted = deployment.spec.replicas ?? 1;
    const available = sum('availableReplicas');
    const lost = scaled(deployment.spec.strategy?.rollingUpdate?.maxUnavailable ?? 0, wanted, 'down');
    await this.#api.counters(
      deployments,
      deployment,
      {
        observedGeneration: deployment.metadata.generation,
        replicas: sum('replicas'),
        updatedReplicas: current?.status?.replicas ?? 0,
        readyReplicas: sum('readyReplicas'),
        availableReplicas: available,
        unavailableReplicas: Math.max(0, wanted - available),
      },
      [this.#available(available >= wanted - lost)],
    );
  }

  #available(yes: boolean): Condition {
    const time = apiTime(this.#host.clock.now());
    return {
      type: 'Available',
      status: yes ? 'True' : 'False',
      reason: yes ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
      message: `Deployment ${yes ? 'has' : 'does not have'} minimum availability.`,
      lastTransitionTime: time,
    };
  }
}
