/** What one behaviour works with: a namespace of its own on the node, and the words to say what it wants and sees. */
import assert from 'node:assert/strict';
import { sleep } from '../../../src/clock.ts';
import type { JsonPatchOperation, KubeClient, KubeObject } from '../../../src/kube/client.ts';
import type { Result } from '../../../src/kube/errors.ts';
import type { ObjectRef, Resource } from '../../../src/kube/resources.ts';
import { leases, nodes, pods } from '../../../src/kube/resources.ts';
import type { Condition } from '../../../src/world/objects/meta.ts';
import type { Lease, Node, Taint } from '../../../src/world/objects/nodes.ts';
import type { ContainerStatus, Pod } from '../../../src/world/objects/pods.ts';
import { mirrorAnnotation } from '../../../src/world/objects/pods.ts';
import { workloadImage } from '../../support/real-node/images.ts';
import type { Eye } from './eye.ts';
import type { KubeletRequest, NodeUnderTest, Subject } from './subject.ts';
import { nodeName } from './subject.ts';

export interface Behaviour {
  name: string;
  /** Does something to the node as a whole: runs by itself after the others. */
  alone?: boolean;
  /** On a real node it runs only with all the time in the world. */
  thorough?: boolean;
  run: (scene: Scene) => Promise<void>;
}

/** How the container of a pod behaves: its arguments, which both kubelets understand. */
export interface Conduct {
  exitAfterMs?: number;
  exitCode?: number;
  /** What it needs to end when it is asked to. */
  stopMs?: number;
}

type PodSpec = Pod['spec'];

/** Long enough for a real node on a busy machine; in virtual time it costs nothing. */
const patienceMs = 60_000;
const lookEveryMs = 50;

export function idOf(behaviour: Behaviour): string {
  const words = behaviour.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return words.slice(0, 50).replaceAll(/^-|-$/g, '');
}

export class Scene {
  readonly namespace: string;
  readonly node: NodeUnderTest;
  readonly client: KubeClient;
  readonly #subject: Subject;
  readonly #eye: Eye;

  constructor(subject: Subject, eye: Eye, behaviour: Behaviour) {
    this.#subject = subject;
    this.#eye = eye;
    this.node = subject.node;
    this.client = subject.client;
    this.namespace = idOf(behaviour);
  }

  // Time.

  now(): number {
    return this.#subject.clock.now();
  }

  monotonic(): number {
    return this.#subject.clock.monotonic();
  }

  /** Looks until `look` answers something; what it last threw is told when it never does. */
  async until<T>(
    what: string,
    look: () => T | Promise<T>,
    withinMs = patienceMs,
  ): Promise<Exclude<T, false | undefined>> {
    const { clock } = this.#subject;
    const deadline = clock.monotonic() + withinMs;
    for (;;) {
      let last: unknown;
      try {
        const answer = await look();
        if (answer !== undefined && answer !== false) return answer as Exclude<T, false | undefined>;
      } catch (error) {
        last = error;
      }
      if (clock.monotonic() >= deadline) {
        const detail = last instanceof Error ? `: ${last.message}` : '';
        throw new Error(`${this.namespace}: waited ${withinMs} ms in vain for ${what}${detail}`, { cause: last });
      }
      await sleep(clock, lookEveryMs);
    }
  }

  /** Something that must hold all the time. */
  async stays(forMs: number, check: () => void | Promise<void>): Promise<void> {
    const { clock } = this.#subject;
    const until = clock.monotonic() + forMs;
    while (clock.monotonic() < until) {
      await check();
      await sleep(clock, 100);
    }
    await check();
  }

  // What there is.

  pod(name: string): Pod | undefined {
    return this.#eye.pod(`${this.namespace}/${name}`);
  }

  /** Every version of a pod that was seen, in order; the last one may be how its deletion showed it. */
  versionsOf(pod: Pod): readonly Pod[] {
    return this.#eye.versionsOf(pod.metadata.uid ?? '');
  }

  get nodeObject(): Node {
    const node = this.#eye.node(nodeName);
    assert.ok(node, 'there is no Node');
    return node;
  }

  /** Undefined while there is none. */
  get nodeIfAny(): Node | undefined {
    return this.#eye.node(nodeName);
  }

  async lease(): Promise<Lease | undefined> {
    const found = await this.client.get<Lease>({ resource: leases, namespace: 'kube-node-lease', name: nodeName });
    return found.ok ? found.value : undefined;
  }

  async containers(pod: Pod): Promise<string[]> {
    return this.node.containersOf(pod.metadata.annotations?.[mirrorAnnotation] ?? pod.metadata.uid ?? '');
  }

  async mounts({ metadata }: Pod): Promise<string[]> {
    return this.node.mountsOf(metadata.uid ?? '');
  }

  async kubeletRequests(verb: string, resource: string): Promise<KubeletRequest[]> {
    const all = await this.#subject.requests();
    return all.filter((one) => one.verb === verb && one.resource === resource && one.namespace === this.namespace);
  }

  // What is waited for.

  podWhere(name: string, what: string, is: (pod: Pod) => boolean, withinMs?: number): Promise<Pod> {
    return this.until(
      `pod ${name} ${what}, which is ${JSON.stringify(this.pod(name)?.status ?? {})}`,
      () => {
        const pod = this.pod(name);
        return pod !== undefined && is(pod) ? pod : undefined;
      },
      withinMs,
    );
  }

  /** Running and ready, by the API and in truth. */
  async ready(name: string): Promise<Pod> {
    const pod = await this.podWhere(name, 'to be ready', (one) => conditionOf(one, 'Ready')?.status === 'True');
    same(pod.status?.phase, 'Running');
    // A runtime says that it has started a program a moment before the program is what runs.
    await this.until(`the container of ${name}`, async () => (await this.containers(pod)).length === 1, 2000);
    return pod;
  }

  gone(name: string, withinMs?: number): Promise<unknown> {
    return this.until(`pod ${name} to be gone`, () => this.pod(name) === undefined, withinMs);
  }

  async stopped(pod: Pod, withinMs?: number): Promise<void> {
    const name = pod.metadata.name;
    await this.until(
      `the container of ${name} to stop`,
      async () => (await this.containers(pod)).length === 0,
      withinMs,
    );
  }

  /**
   * What becomes of a running pod that somebody has called failed: it is called running again, or, where the kubelet
   * looked at it first, ended. Which of the two is a matter of luck with the stock kubelet, and so is what it calls one that it
   * ended: failed, as it was told, or, if it had called it running again by then, what the container's exit code says. A report
   * that was under way may say otherwise for a moment: what counts is that the two agree in the end, and stay so.
   */
  async contradicted(pod: Pod, containers: readonly string[]): Promise<void> {
    const { clock } = this.#subject;
    const { name } = pod.metadata;
    const seen: { phase: string; running: string; sinceMs: number }[] = [];
    const look = async (): Promise<boolean> => {
      const { phase = 'none' } = this.pod(name)?.status ?? {};
      const running = (await this.containers(pod)).join();
      const before = seen.at(-1);
      if (before?.phase !== phase || before.running !== running)
        seen.push({ phase, running, sinceMs: clock.monotonic() });
      const agrees =
        phase === 'Running' ? running === containers.join() : running === '' && /^(Failed|Succeeded)$/.test(phase);
      if (agrees && clock.monotonic() - (seen.at(-1)?.sinceMs ?? Infinity) >= 2000) return true;
      throw new Error(
        `it was ${seen.map((one) => `${one.phase} with ${one.running || 'no container'}`).join(', then ')}`,
      );
    };
    await this.until(`pod ${name} to be what it is called, and to stay so`, look);
    same([this.pod(name)?.metadata.uid, statusOf(this.pod(name))?.restartCount], [pod.metadata.uid, 0]);
  }

  async nodeReady(): Promise<Node> {
    return this.until('the node to be ready', () => {
      const node = this.nodeIfAny;
      return conditionOf(node, 'Ready')?.status === 'True' ? node : undefined;
    });
  }

  /** The next sign of life, later than any so far. */
  async renewed(): Promise<Lease> {
    const before = (await this.lease())?.spec?.renewTime ?? '';
    return this.until('the lease to be renewed', async () => {
      const lease = await this.lease();
      return (lease?.spec?.renewTime ?? '') > before ? lease : undefined;
    });
  }

  // What is done, as an administrator does.

  async create<T extends KubeObject>(resource: Resource, object: T): Promise<T> {
    const own = resource.namespaced ? { namespace: this.namespace } : {};
    return valueOf(await this.client.create<T>(resource, { ...object, metadata: { ...object.metadata, ...own } }));
  }

  podSpec(conduct: Conduct = {}, spec: Partial<PodSpec> = {}): PodSpec {
    const args = ['run'];
    if (conduct.exitAfterMs !== undefined) args.push(`--exit-after-ms=${conduct.exitAfterMs}`);
    if (conduct.exitCode !== undefined) args.push(`--exit-code=${conduct.exitCode}`);
    if (conduct.stopMs !== undefined) args.push(`--stop-ms=${conduct.stopMs}`);
    return {
      nodeName,
      // A taint of another behaviour, which the kubelet may see for longer than we do, is none of its business.
      tolerations: [{ operator: 'Exists' }],
      terminationGracePeriodSeconds: 30,
      containers: [{ name: 'main', image: workloadImage, args }],
      ...spec,
    };
  }

  /** The part of a spec that mounts the volume of a claim. What no container mounts, a kubelet does not look at. */
  withClaim(claimName: string, conduct: Conduct = {}): Partial<PodSpec> {
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    return {
      containers: this.podSpec(conduct).containers.map((container) => ({ ...container, volumeMounts })),
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
      terminationGracePeriodSeconds: 2,
    };
  }

  /** Bound to the node from the beginning: no scheduler is needed. */
  createPod(name: string, conduct: Conduct = {}, spec: Partial<PodSpec> = {}): Promise<Pod> {
    return this.create<Pod>(pods, { metadata: { name }, spec: this.podSpec(conduct, spec) });
  }

  async deletePod(name: string, gracePeriodSeconds?: number): Promise<void> {
    const ref = { resource: pods, namespace: this.namespace, name };
    const { metadata } = valueOf(await this.client.get(ref));
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    valueOf(await this.client.delete(ref, { uid: metadata.uid ?? '' }, options));
  }

  async patchStatus(name: string, operations: JsonPatchOperation[]): Promise<void> {
    await this.#patch({ resource: pods, namespace: this.namespace, name }, operations, 'status');
  }

  async addCondition(name: string, condition: Condition): Promise<void> {
    await this.patchStatus(name, [{ op: 'add', path: '/status/conditions/-', value: condition }]);
  }

  async patchNode(operations: (node: Node) => JsonPatchOperation[], subresource?: string): Promise<void> {
    const ref = { resource: nodes, name: nodeName };
    await this.until('the node to be patched', async () => {
      const node = valueOf(await this.client.get<Node>(ref));
      const only = { uid: node.metadata.uid ?? '', resourceVersion: node.metadata.resourceVersion ?? '' };
      const options = subresource === undefined ? {} : { subresource };
      return (await this.client.patch(ref, only, operations(node), options)).ok;
    });
  }

  async taint(taint: Taint): Promise<void> {
    await this.patchNode(({ spec }) => [{ op: 'add', path: '/spec/taints', value: [...(spec?.taints ?? []), taint] }]);
  }

  async untaint(key: string): Promise<void> {
    await this.patchNode(({ spec }) => [
      { op: 'add', path: '/spec/taints', value: (spec?.taints ?? []).filter((taint) => taint.key !== key) },
    ]);
  }

  /** A real node is small. */
  async tidyUp(): Promise<void> {
    const left = await this.client.list<Pod>(pods, { namespace: this.namespace });
    if (!left.ok) return;
    for (const { metadata } of left.value.items) {
      const ref = { resource: pods, namespace: this.namespace, name: metadata.name };
      await this.client.delete(ref, { uid: metadata.uid ?? '' }, { gracePeriodSeconds: 0 });
    }
  }

  async #patch(ref: ObjectRef, operations: JsonPatchOperation[], subresource?: string): Promise<void> {
    const found = valueOf(await this.client.get(ref));
    const options = subresource === undefined ? {} : { subresource };
    valueOf(await this.client.patch(ref, { uid: found.metadata.uid ?? '' }, operations, options));
  }
}

export function conditionOf(object: Pod | Node | undefined, type: string): Condition | undefined {
  return object?.status?.conditions?.find((condition) => condition.type === type);
}

/** Of the only container. */
export function statusOf(pod: Pod | undefined): ContainerStatus | undefined {
  return pod?.status?.containerStatuses?.[0];
}

export function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

export function same(actual: unknown, expected: unknown): void {
  assert.deepEqual(actual, expected);
}
