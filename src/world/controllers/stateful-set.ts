/**
 * StatefulSets: pods with names that stay, and claims that stay with the names. A pod is replaced only when its object
 * is gone, however dead it is: two of one name would be two writers.
 *
 * Simplified: the history of templates is not kept, so pods below a `partition` are made from the newest one too.
 */
import { isReady, isTerminating, keyOf } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import type { PersistentVolumeClaim } from '../objects/volumes.ts';
import type { StatefulSet } from '../objects/workloads.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer } from './informer.ts';
import { availableInMs, podFrom, templateHash } from './pod-factory.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { adoptOrphans, queueOwnersOfPods } from './pod-indexes.ts';
import { persistentVolumeClaims, pods, statefulSets } from './resources.ts';
import { StepFailed } from './work-queue.ts';

const who = 'statefulset-controller';
const revisionLabel = 'controller-revision-hash';

/** Everything that one look at a set is about. */
interface Scene {
  set: StatefulSet;
  revision: string;
  start: number;
  /** By ordinal from the start; undefined where there is none. */
  replicas: (Pod | undefined)[];
  /** Highest ordinal first. */
  condemned: Pod[];
  ordered: boolean;
}

export class StatefulSetController {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #sets: Informer<StatefulSet>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #podsByController: Index<Pod>;
  readonly #orphans: Index<Pod>;

  constructor(host: ControllerHost, { podsByController, orphansByNamespace }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#sets = host.informers.of(statefulSets);
    this.#claims = host.informers.of(persistentVolumeClaims);
    this.#podsByController = podsByController;
    this.#orphans = orphansByNamespace;
    const queue = host.queue(who, (key) => this.#sync(key));
    this.#sets.on(({ key }) => queue.add(key));
    queueOwnersOfPods(host, 'StatefulSet', queue);
  }

  async #sync(key: string): Promise<number | undefined> {
    const set = this.#sets.get(key);
    if (set === undefined) return undefined;
    const adopting = { api: this.#api, orphans: this.#orphans, resource: statefulSets };
    await adoptOrphans(adopting, set, (pod) => ordinalOf(set, pod) !== undefined);
    if (!isTerminating(set)) await this.#act(this.#look(set));
    const fresh = this.#sets.get(key);
    if (fresh === undefined || fresh.metadata.uid !== set.metadata.uid) return undefined;
    return this.#report(this.#look(fresh));
  }

  #look(set: StatefulSet): Scene {
    const start = set.spec.ordinals?.start ?? 0;
    const count = set.spec.replicas ?? 1;
    const replicas: (Pod | undefined)[] = Array.from({ length: count });
    const condemned: Pod[] = [];
    for (const pod of this.#podsByController.of(set.metadata.uid ?? '').values()) {
      const ordinal = ordinalOf(set, pod);
      if (ordinal === undefined) continue;
      if (ordinal >= start && ordinal < start + count) replicas[ordinal - start] = pod;
      else condemned.push(pod);
    }
    condemned.sort((a, b) => (ordinalOf(set, b) ?? 0) - (ordinalOf(set, a) ?? 0));
    const revision = `${set.metadata.name}-${templateHash(set.spec.template)}`;
    return { set, revision, start, replicas, condemned, ordered: set.spec.podManagementPolicy !== 'Parallel' };
  }

  async #act(scene: Scene): Promise<void> {
    for (const [at, pod] of scene.replicas.entries()) {
      const settled = await this.#settle(scene, at, pod);
      if (!settled && scene.ordered) return;
    }
    if (!(await this.#scaleDown(scene))) return;
    if (scene.set.spec.updateStrategy?.type !== 'OnDelete') await this.#update(scene);
  }

  /** True when the replica is as it should be, so that an ordered set may go on to the next. */
  async #settle(scene: Scene, at: number, pod: Pod | undefined): Promise<boolean> {
    if (pod === undefined) {
      await this.#create(scene, scene.start + at);
      return false;
    }
    if (isFinished(pod)) {
      if (!isTerminating(pod)) await this.#api.delete(pods, pod);
      return false;
    }
    if (pod.status?.phase === 'Pending') await this.#createClaims(scene.set, scene.start + at);
    return !isTerminating(pod) && this.#isAvailable(scene.set, pod);
  }

  async #create(scene: Scene, ordinal: number): Promise<void> {
    const { set, revision } = scene;
    await this.#createClaims(set, ordinal);
    const name = `${set.metadata.name}-${ordinal}`;
    const pod = podFrom(set.spec.template, set, statefulSets, {
      name,
      labels: {
        [revisionLabel]: revision,
        'statefulset.kubernetes.io/pod-name': name,
        'apps.kubernetes.io/pod-index': String(ordinal),
      },
    });
    const claims = (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => ({
      name: metadata.name,
      persistentVolumeClaim: { claimName: claimName(set, metadata.name, ordinal) },
    }));
    const others = (pod.spec.volumes ?? []).filter((volume) => !claims.some(({ name }) => name === volume.name));
    const volumes = [...claims, ...others];
    const { serviceName } = set.spec;
    await this.#api.create<Pod>(pods, {
      ...pod,
      spec: {
        ...pod.spec,
        hostname: name,
        ...(serviceName === undefined || serviceName === '' ? {} : { subdomain: serviceName }),
        ...(volumes.length === 0 ? {} : { volumes }),
      },
    });
  }

  async #createClaims(set: StatefulSet, ordinal: number): Promise<void> {
    for (const template of set.spec.volumeClaimTemplates ?? []) {
      const name = claimName(set, template.metadata.name, ordinal);
      const namespace = set.metadata.namespace ?? '';
      const known = this.#claims.get(`${namespace}/${name}`);
      if (known !== undefined && isTerminating(known)) throw beingDeleted(known);
      if (known !== undefined) continue;
      const labels = { ...template.metadata.labels, ...set.spec.selector.matchLabels };
      await this.#api.create<PersistentVolumeClaim>(persistentVolumeClaims, {
        metadata: { name, namespace, labels },
        ...(template.spec === undefined ? {} : { spec: template.spec }),
      });
    }
  }

  /** From the highest ordinal down; an ordered set waits for each. */
  async #scaleDown({ set, condemned, replicas, ordered }: Scene): Promise<boolean> {
    const lowestBad = [...replicas.filter((pod) => pod !== undefined), ...condemned.toReversed()].find(
      (pod) => !this.#isAvailable(set, pod),
    );
    for (const pod of condemned) {
      if (isTerminating(pod)) {
        if (ordered) return false;
        continue;
      }
      if (ordered && !this.#isAvailable(set, pod) && pod !== lowestBad) return false;
      await this.#api.delete(pods, pod);
      if (ordered) return false;
    }
    return true;
  }

  /** One pod at a time, the highest ordinal first. */
  async #update({ set, replicas, revision }: Scene): Promise<void> {
    const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
    for (const pod of replicas.slice(partition).toReversed()) {
      if (pod === undefined) return;
      if (pod.metadata.labels?.[revisionLabel] !== revision && !isTerminating(pod)) {
        await this.#api.delete(pods, pod);
        return;
      }
      if (isTerminating(pod) || !this.#isAvailable(set, pod)) return;
    }
  }

  async #report({ set, revision, replicas, condemned }: Scene): Promise<number | undefined> {
    const all = [...replicas.filter((pod) => pod !== undefined), ...condemned];
    const now = this.#host.clock.now();
    const waits: number[] = [];
    /** How many pods there are of each revision. */
    const made = new Map<string | undefined, number>();
    for (const pod of all) {
      if (isRunningAndReady(pod)) waits.push(availableInMs(pod, set.spec.minReadySeconds, now));
      if (isTerminating(pod)) continue;
      const label = pod.metadata.labels?.[revisionLabel];
      made.set(label, (made.get(label) ?? 0) + 1);
    }
    const updated = made.get(revision) ?? 0;
    const { currentRevision } = set.status ?? {};
    const finished = updated === all.length && updated === (set.spec.replicas ?? 1);
    const current = finished || currentRevision === undefined ? revision : currentRevision;
    await this.#api.counters(statefulSets, set, {
      observedGeneration: set.metadata.generation,
      replicas: all.length,
      readyReplicas: waits.length,
      availableReplicas: waits.filter((wait) => wait === 0).length,
      updatedReplicas: updated,
      currentReplicas: made.get(current) ?? 0,
      currentRevision: current,
      updateRevision: revision,
    });
    const later = waits.filter((wait) => wait > 0);
    return later.length === 0 ? undefined : Math.min(...later) + 1;
  }

  #isAvailable(set: StatefulSet, pod: Pod): boolean {
    return isRunningAndReady(pod) && availableInMs(pod, set.spec.minReadySeconds, this.#host.clock.now()) === 0;
  }
}

function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && isReady(pod);
}

function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const { name } = pod.metadata;
  const dash = set.metadata.name.length;
  if (name[dash] !== '-' || !name.startsWith(set.metadata.name)) return undefined;
  const rest = name.slice(dash + 1);
  return /^[0-9]+$/.test(rest) ? Number(rest) : undefined;
}

function claimName(set: StatefulSet, template: string, ordinal: number): string {
  return `${template}-${set.metadata.name}-${ordinal}`;
}

function beingDeleted(claim: PersistentVolumeClaim): StepFailed {
  const message = `claim ${keyOf(claim)} is being deleted`;
  return new StepFailed({ kind: 'conflict', message, mayHaveHappened: false });
}
