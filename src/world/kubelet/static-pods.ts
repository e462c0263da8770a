/**
 * Pods that a kubelet runs from files of its own. The API only shows a copy of each, a mirror: deleting it stops nothing,
 * the kubelet makes a new one. The simulated kubelet takes a mirror that it meets for the first time as the news that
 * such a file was put on its disk.
 */
import type { ObjectRef } from '../../kube/resources.ts';
import { pods } from '../../kube/resources.ts';
import type { Pod } from '../objects/pods.ts';
import { mirrorAnnotation } from '../objects/pods.ts';
import { statusPatch } from '../objects/status-patch.ts';
import { apiTime } from '../objects/times.ts';
import { LevelLoop } from '../time/level-loop.ts';
import { ownerOf } from './node-status.ts';
import { runningStatus } from './pod-status.ts';
import type { PodHost } from './pod-worker.ts';

export interface StaticManifest {
  pod: Pod;
  /** Taken off the disk again. Remembered, else its mirror, while it lasts, would be taken for news. */
  removed: boolean;
}

/** What stands in a file of the node. */
export interface StaticPodFile {
  name: string;
  namespace: string;
  spec: Omit<Pod['spec'], 'nodeName'>;
}

/** The copy of it that goes to the API, but for its owner. No taint can drive it away, so it tolerates them all. */
export function mirrorOf(hash: string, { name, namespace, spec }: StaticPodFile, nodeName: string, now: number): Pod {
  const annotations = {
    [mirrorAnnotation]: hash,
    'kubernetes.io/config.hash': hash,
    'kubernetes.io/config.seen': apiTime(now),
    'kubernetes.io/config.source': 'file',
  };
  const tolerations = [...(spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }];
  return {
    metadata: { name: `${name}-${nodeName}`, namespace, annotations },
    spec: { ...spec, nodeName, tolerations },
  };
}

export class StaticPods {
  readonly #host: PodHost;
  readonly #manifests: Map<string, StaticManifest>;
  readonly #mirrors = new Map<string, Pod>();
  readonly #loop: LevelLoop;
  readonly #missed = new Set<string>();
  #looked = false;

  constructor(host: PodHost, manifests: Map<string, StaticManifest>) {
    this.#host = host;
    this.#manifests = manifests;
    this.#loop = new LevelLoop(host.machine.clock, () => this.#step());
    this.#loop.kick();
  }

  /** Whether this is the UID under which a static pod runs: its hash, because it lives without the API. */
  owns(uid: string): boolean {
    return this.#manifests.has(uid);
  }

  look(bound: readonly Pod[]): void {
    this.#looked = true;
    this.#mirrors.clear();
    for (const pod of bound) {
      const hash = pod.metadata.annotations?.[mirrorAnnotation];
      if (hash === undefined) continue;
      this.#mirrors.set(hash, pod);
      if (!this.#manifests.has(hash)) this.#manifests.set(hash, { pod: manifestOf(pod), removed: false });
    }
    this.#loop.kick();
  }

  kick(): void {
    if (this.#manifests.size > 0) this.#loop.kick();
  }

  stop(): void {
    this.#loop.stop();
  }

  async #step(): Promise<number | undefined> {
    let settled = true;
    const { machine, signal } = this.#host;
    for (const [hash, { pod, removed }] of this.#manifests) {
      const { namespace = '', name } = pod.metadata;
      if (removed) machine.stopProcess(hash, 0, 0);
      else if (machine.processOf(hash) === undefined) machine.startProcess({ uid: hash, namespace, name });
      if (this.#looked && !(await (removed ? this.#dropMirror(hash) : this.#showMirror(hash, pod)))) settled = false;
      if (signal.aborted) return undefined;
    }
    // Without a link every attempt is in vain; the kubelet looks when it is back.
    return settled || !machine.connected ? undefined : this.#host.retryMs * (0.5 + this.#host.random());
  }

  async #showMirror(hash: string, manifest: Pod): Promise<boolean> {
    const { client, signal, machine } = this.#host;
    const mirror = this.#mirrors.get(hash);
    const process = machine.processOf(hash);
    if (mirror === undefined) {
      // Not at once: a controller that deletes every mirror at once would else keep the two of them busy for ever.
      if (!this.#missed.delete(hash)) {
        this.#missed.add(hash);
        return false;
      }
      const created = await client.create<Pod>(pods, this.#owned(manifest), { signal });
      return created.ok || created.error.kind === 'alreadyExists';
    }
    if (mirror.metadata.deletionTimestamp !== undefined) return this.#dropMirror(hash);
    if (process === undefined) return false;
    const patch = statusPatch(mirror, runningStatus(mirror, process, this.#host.addressesOf(hash)));
    if (patch === undefined) return true;
    const written = await client.patch<Pod>(refOf(mirror), patch.only, patch.operations, {
      signal,
      subresource: 'status',
    });
    if (written.ok) this.#mirrors.set(hash, written.value);
    return written.ok;
  }

  #owned(manifest: Pod): Pod {
    const node = this.#host.node();
    if (node === undefined) return manifest;
    const ownerReferences = ownerOf(node).map((owner) => ({ ...owner, controller: true }));
    return { ...manifest, metadata: { ...manifest.metadata, ownerReferences } };
  }

  async #dropMirror(hash: string): Promise<boolean> {
    const mirror = this.#mirrors.get(hash);
    if (mirror === undefined) return true;
    const options = { signal: this.#host.signal, gracePeriodSeconds: 0 };
    const deleted = await this.#host.client.delete(refOf(mirror), { uid: mirror.metadata.uid ?? '' }, options);
    return deleted.ok || deleted.error.kind === 'notFound' || deleted.error.kind === 'conflict';
  }
}

function refOf({ metadata: { namespace = '', name } }: Pod): ObjectRef {
  return { resource: pods, namespace, name };
}

function manifestOf(mirror: Pod): Pod {
  const { name, namespace = 'default', labels = {}, annotations = {}, ownerReferences } = mirror.metadata;
  return {
    metadata: { name, namespace, labels, annotations, ...(ownerReferences === undefined ? {} : { ownerReferences }) },
    spec: mirror.spec,
  };
}
