/** One scenario on one cluster, whichever: sets it up, lets things happen to it, and writes down what follows. */
import type { Clock } from '../../src/clock.ts';
import { sleep } from '../../src/clock.ts';
import type { JsonPatchOperation, KubeClient } from '../../src/kube/client.ts';
import type { Result } from '../../src/kube/errors.ts';
import type { ObjectRef, Resource } from '../../src/kube/resources.ts';
import type { Informers } from '../../src/world/controllers/informer.ts';
import * as resources from '../../src/world/controllers/resources.ts';
import type { Fleet } from '../../src/world/fleet.ts';
import { isReady, isTerminating } from '../../src/world/objects/meta.ts';
import type { Node, Taint } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';
import { Recorder } from './history.ts';
import { fleetNodes, labelOf, manifestsOf } from './manifests.ts';
import type { Fault, NodeAt, Scenario } from './scenario.ts';
import { driverOf, nodeName, poolSize } from './scenario.ts';

export interface Cluster {
  clock: Clock;
  client: KubeClient;
  fleet: Fleet;
  /** Watches at least pods, nodes and VolumeAttachments. */
  seen: Informers;
}

/** A node that belongs to no scenario, so that the pool of one is not the whole cluster. */
export const bystander = { name: 'bystander', zone: 'bystander' };

const setUpWithinMs = 240_000;

export class Stage {
  readonly #cluster: Cluster;
  readonly #scenario: Scenario;
  readonly recorder: Recorder;

  constructor(cluster: Cluster, scenario: Scenario) {
    this.#cluster = cluster;
    this.#scenario = scenario;
    this.recorder = new Recorder(scenario.name);
    const { seen } = cluster;
    seen.of<Pod>(resources.pods).on(({ object, previous }) => {
      const pod = object ?? previous;
      if (pod !== undefined) this.recorder.pod(pod, object !== undefined);
    });
    seen.of<Node>(resources.nodes).on(({ object, previous }) => {
      const node = object ?? previous;
      if (node !== undefined) this.recorder.node(node, object !== undefined);
    });
    seen.of<VolumeAttachment>(resources.volumeAttachments).on(({ object, previous }) => {
      const attachment = object ?? previous;
      if (attachment !== undefined) this.recorder.attachment(attachment, object !== undefined);
    });
  }

  /** Ends when everything is at home and runs, and the spare places are open. */
  async setUp(): Promise<void> {
    const { fleet, client } = this.#cluster;
    for (const node of fleetNodes(this.#scenario)) fleet.add(node).powerOn(0);
    await this.#until('the nodes', () => this.#nodes().length === poolSize && this.#nodes().every(isFit));
    for (const { resource, object } of manifestsOf(this.#scenario)) valueOf(await client.create(resource, object));
    await this.#until('all to run', () => this.#isComplete());
    for (const workload of this.#scenario.workloads) {
      for (const [ordinal, { spare }] of workload.places.entries()) {
        if (spare === undefined) continue;
        const path = `/metadata/labels/${labelOf(workload, ordinal)}`;
        await this.#patch(resources.nodes, this.#nodeName(spare), [{ op: 'add', path, value: 'yes' }]);
      }
    }
    this.recorder.begin();
  }

  /** The machines of the scenario are gone for good. */
  end(): void {
    for (const { name } of fleetNodes(this.#scenario)) this.#cluster.fleet.machine(name).powerOff();
  }

  async apply(fault: Fault): Promise<void> {
    this.recorder.nextStep();
    const { fleet } = this.#cluster;
    switch (fault.do) {
      case 'zonePartition':
        for (const node of fault.nodes) fleet.machine(this.#nodeName(node)).partition();
        break;
      case 'zoneHeal':
        for (const node of fault.nodes) fleet.machine(this.#nodeName(node)).heal();
        break;
      case 'blackout':
        for (const machine of fleet.machines) machine.partition();
        break;
      case 'lightsOn':
        for (const machine of fleet.machines) machine.heal();
        break;
      case 'detach':
        fleet.attacher.setDetachFault(driverOf(this.#scenario.name), fault.fault);
        break;
      case 'deletePod':
      case 'evict':
        this.recorder.answer(`${fault.do}: ${await this.#endPod(fault)}`);
        break;
      case 'scale': {
        const kind = this.#scenario.workloads.find(({ name }) => name === fault.workload)?.kind;
        const resource = kind === 'StatefulSet' ? resources.statefulSets : resources.deployments;
        await this.#patch(resource, fault.workload, [{ op: 'add', path: '/spec/replicas', value: fault.replicas }]);
        break;
      }
      default:
        await this.#applyToNode(fault);
    }
  }

  async #applyToNode(fault: Extract<Fault, { node: NodeAt }>): Promise<void> {
    const name = this.#nodeName(fault.node);
    const kubelet = this.#cluster.fleet.kubelet(name);
    switch (fault.do) {
      case 'reboot':
        kubelet.machine.reset();
        break;
      case 'kubeletStop':
        kubelet.stop();
        break;
      case 'kubeletStart':
        kubelet.start();
        break;
      case 'cordon':
      case 'uncordon': {
        const value = fault.do === 'cordon';
        await this.#patch(resources.nodes, name, [{ op: 'add', path: '/spec/unschedulable', value }]);
        break;
      }
      case 'deleteNode': {
        const node = valueOf(await this.#cluster.client.get({ resource: resources.nodes, name }));
        const only = { uid: node.metadata.uid ?? '' };
        valueOf(await this.#cluster.client.delete({ resource: resources.nodes, name }, only));
        break;
      }
      case 'taint':
      case 'untaint':
        await this.#changeTaints(name, (taints) => {
          const others = taints.filter(({ key, effect }) => key !== fault.key || effect !== fault.effect);
          return fault.do === 'untaint' ? others : [...others, { key: fault.key, effect: fault.effect }];
        });
        break;
      default:
        kubelet.machine[fault.do]();
    }
  }

  async #endPod(fault: Extract<Fault, { do: 'deletePod' | 'evict' }>): Promise<string> {
    const { client } = this.#cluster;
    const found = this.#pods().find(({ metadata }) =>
      fault.pod === undefined
        ? metadata.labels?.['app'] === fault.of && metadata.deletionTimestamp === undefined
        : metadata.name === fault.pod,
    );
    if (found === undefined) return 'none';
    const { name, namespace = '', uid = '' } = found.metadata;
    const ref = { resource: resources.pods, namespace, name };
    const ended =
      fault.do === 'evict'
        ? await client.evict(ref, { uid })
        : await client.delete(ref, { uid }, fault.force ? { gracePeriodSeconds: 0 } : {});
    return ended.ok ? 'ok' : ended.error.kind;
  }

  #isComplete(): boolean {
    const wanted = this.#scenario.workloads.reduce(
      (sum, { kind, places }) => sum + (kind === 'DaemonSet' ? poolSize : places.length),
      0,
    );
    const pods = this.#pods();
    return pods.length === wanted && pods.every((pod) => isReady(pod) && !isTerminating(pod));
  }

  #pods(): Pod[] {
    const all = [...this.#cluster.seen.of<Pod>(resources.pods).values()];
    return all.filter(({ metadata }) => metadata.namespace === this.#scenario.name);
  }

  #nodes(): Node[] {
    const all = [...this.#cluster.seen.of<Node>(resources.nodes).values()];
    return all.filter(({ metadata }) => metadata.name.startsWith(`${this.#scenario.name}-`));
  }

  #nodeName(node: NodeAt): string {
    return nodeName(this.#scenario.name, node);
  }

  async #until(what: string, look: () => boolean): Promise<void> {
    const { clock } = this.#cluster;
    const deadline = clock.monotonic() + setUpWithinMs;
    while (!look()) {
      if (clock.monotonic() > deadline) {
        const pods = this.#pods().map(({ metadata, spec, status }) => ({
          name: metadata.name,
          at: spec.nodeName,
          status,
        }));
        throw new Error(`${this.#scenario.name}: waited in vain for ${what}: ${JSON.stringify(pods)}`);
      }
      await sleep(clock, 100);
    }
  }

  async #changeTaints(name: string, change: (taints: Taint[]) => Taint[]): Promise<void> {
    const ref = { resource: resources.nodes, name };
    for (;;) {
      const { metadata, spec } = valueOf(await this.#cluster.client.get<Node>(ref));
      const only = { uid: metadata.uid ?? '', resourceVersion: metadata.resourceVersion ?? '' };
      const value = change(spec?.taints ?? []);
      const patched = await this.#cluster.client.patch(ref, only, [{ op: 'add', path: '/spec/taints', value }]);
      if (patched.ok) return;
      if (patched.error.kind !== 'conflict') throw new Error(patched.error.message);
    }
  }

  async #patch(resource: Resource, name: string, operations: JsonPatchOperation[]): Promise<void> {
    const own = resource.namespaced ? { namespace: this.#scenario.name } : {};
    const ref: ObjectRef = { resource, name, ...own };
    const found = valueOf(await this.#cluster.client.get(ref));
    valueOf(await this.#cluster.client.patch(ref, { uid: found.metadata.uid ?? '' }, operations));
  }
}

function isFit(node: Node): boolean {
  return isReady(node) && (node.spec?.taints ?? []).length === 0;
}

function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}
