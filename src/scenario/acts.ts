/** Carries out what a scenario's events say. What a person does goes through the API, as with kubectl. */
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { nodes } from '../kube/resources.ts';
import { deviceKey } from '../world/machines/feeds.ts';
import type { Node, Taint } from '../world/objects/nodes.ts';
import type { World } from '../world/world.ts';
import { approveAs } from '../cli/approve.ts';
import { ApiFaults } from './api-faults.ts';
import type { Baseline } from './baseline.ts';
import type { DrainOutcome } from './drain.ts';
import { cordon, drain } from './drain.ts';
import type { Act, NodeAct } from './format.ts';
import type { Manifests } from './manifests.ts';
import { administrator } from './operator-user.ts';
import type { OperatorHost } from './operators.ts';

export interface ActorOptions {
  world: World;
  /** As an administrator. */
  client: KubeClient;
  manifests: Manifests;
  clock: Clock;
  baseline: Baseline;
  operators: readonly OperatorHost[];
  onDrain: (node: string, state: 'running' | DrainOutcome) => void;
  onNote: (what: string, object: string) => void;
  /** Told before it is done, with the name of the node that it is about. */
  onAct: (act: Act, node: string | undefined) => void;
}

/** What a kernel needs to write its memory down before it boots again. */
const dumpMs = 60_000;

export class Actor {
  readonly #options: ActorOptions;
  readonly #apiFaults: ApiFaults;

  constructor(options: ActorOptions) {
    this.#options = options;
    this.#apiFaults = new ApiFaults(options.world.server.faults);
  }

  /** Resolves when it is done; a drain goes on by itself. Answers what went wrong, if anything. */
  async perform(act: Act): Promise<string | undefined> {
    const { world, manifests, onNote, onAct, baseline } = this.#options;
    onAct(act, 'node' in act ? baseline.nodeName(act.node) : undefined);
    switch (act.do) {
      case 'crashOperator':
      case 'isolateOperator':
      case 'restoreOperator':
        onNote(act.do, `operator-${act.operator}`);
        return this.#operator(act.do, act.operator);
      case 'clockSkew':
        onNote(`clock set by ${act.byMs / 1000} s`, `operator-${act.operator}`);
        this.#options.operators[act.operator - 1]?.skew(act.byMs);
        return undefined;
      case 'apiDate':
        onNote(act.byMs === 0 ? 'every Date is right' : `Date off by ${act.byMs / 1000} s`, 'api');
        world.server.faults.skewDate(act.byMs, act.servers);
        return undefined;
      case 'zonePartition':
      case 'zoneHeal':
        onNote(act.do, `zone/${act.zone}`);
        for (const name of world.nodesOf(act.zone)) {
          if (act.do === 'zonePartition') world.fleet.machine(name).partition();
          else world.fleet.machine(name).heal();
        }
        return undefined;
      case 'apiDown':
      case 'apiUp':
        onNote(act.do, 'api');
        if (act.do === 'apiDown') world.server.faults.down();
        else world.server.faults.up();
        return undefined;
      case 'apply': {
        const { object } = act.manifest;
        onNote('apply', `${object.kind.toLowerCase()}/${object.metadata.name}`);
        return manifests.apply(object);
      }
      case 'delete':
        onNote('delete', `${act.kind.toLowerCase()}/${act.name}`);
        return manifests.delete(act);
      case 'swapDevices': {
        const [one, other] = act.nodes.map((node) => this.#options.baseline.nodeName(node)) as [string, string];
        const [first, second] = [deviceKey(one, act.feed), deviceKey(other, act.feed)];
        onNote('swapDevices', `node/${first} and node/${second}`);
        world.swapDevices(first, second);
        return [first, second].find((name) => !world.bmcs.has(name))?.concat(' has no power device');
      }
      case 'swapPorts': {
        const [one, other] = act.nodes.map((node) => this.#options.baseline.nodeName(node)) as [string, string];
        onNote('swapPorts', `node/${one} and node/${other}`);
        world.storage.swapPorts(one, other);
        return undefined;
      }
      case 'apiFault':
        onNote(`apiFault ${act.fault}`, `operator-${act.operator}`);
        this.#apiFaults.set(act.operator, act.fault);
        return undefined;
      case 'detach':
        onNote(`detach ${act.fault}`, `driver/${act.driver}`);
        world.fleet.attacher.setDetachFault(act.driver, act.fault);
        return undefined;
      default:
        return this.#onNode(act);
    }
  }

  #operator(what: 'crashOperator' | 'isolateOperator' | 'restoreOperator', number: number): undefined {
    const operator = this.#options.operators[number - 1];
    if (what === 'crashOperator') operator?.crash();
    else if (what === 'isolateOperator') operator?.isolate();
    else operator?.restore();
  }

  async #onNode(act: Extract<Act, { node: unknown }>): Promise<string | undefined> {
    const { world, client, baseline, onNote } = this.#options;
    const name = baseline.nodeName(act.node);
    switch (act.do) {
      case 'taint':
        onNote(`taint ${act.key}:${act.effect}`, `node/${name}`);
        return changeTaints(client, name, (taints) => [
          ...taints.filter(({ key, effect }) => key !== act.key || effect !== act.effect),
          { key: act.key, effect: act.effect, ...(act.value === undefined ? {} : { value: act.value }) },
        ]);
      case 'untaint':
        onNote(`untaint ${act.key}`, `node/${name}`);
        return changeTaints(client, name, (taints) => taints.filter(({ key }) => key !== act.key));
      case 'condition':
        onNote(`condition ${act.type}=${act.status}`, `node/${name}`);
        world.fleet.kubelet(name).report(act.type, act.status);
        return undefined;
      case 'device': {
        const key = deviceKey(name, act.feed);
        onNote(`device ${act.fault}`, `node/${key}`);
        const device = world.bmcs.get(key) ?? world.storage.portCalled(name, act.feed);
        device?.setFault(act.fault);
        return device === undefined ? `${key} has no power device, nor a port` : undefined;
      }
      case 'kubeletPort':
        onNote(`kubeletPort ${act.fault}`, `node/${name}`);
        world.fleet.kubelet(name).setPortFault(act.fault);
        return undefined;
      default:
        onNote(act.do, `node/${name}`);
        return this.#simple(act.do, name);
    }
  }

  async #simple(act: NodeAct, name: string): Promise<string | undefined> {
    const { world, client, clock, manifests, onDrain } = this.#options;
    const machine = world.fleet.machine(name);
    const kubelet = world.fleet.kubelet(name);
    switch (act) {
      case 'powerOff':
        return done(machine.powerOff());
      case 'powerOn':
        return done(machine.powerOn());
      case 'reboot':
        return done(machine.reset());
      case 'replaceMachine':
        return done(machine.replace());
      case 'gracefulReboot':
      case 'gracefulShutdown':
        return done(world.shutDown(name, { boots: act === 'gracefulReboot' }));
      case 'hang':
        return done(machine.hang());
      case 'resume':
        return done(machine.resume());
      case 'partition':
        return done(machine.partition());
      case 'heal':
        return done(machine.heal());
      case 'storagePartition':
        return done(world.storage.partition(name));
      case 'storageHeal':
        return done(world.storage.heal(name));
      case 'kubeletStop':
        return done(kubelet.stop());
      case 'kubeletStart':
        return done(kubelet.start());
      case 'leaseStop':
      case 'leaseStart':
        return done(kubelet.keepLease(act === 'leaseStart'));
      case 'kdump':
        world.kernelCrash(name, dumpMs);
        return undefined;
      case 'kdumpSent':
        return done(world.sendKdump(name));
      case 'cordon':
        return cordon(client, name, true);
      case 'uncordon':
        return cordon(client, name, false);
      case 'drain':
        onDrain(name, 'running');
        void drain(client, clock, name).then((outcome) => onDrain(name, outcome));
        return undefined;
      case 'deleteNode':
        return manifests.delete({ kind: 'Node', name });
      case 'approve':
        return approveAs(client, name, administrator, {}).then(done, (error: Error) => error.message);
    }
  }
}

function done(_nothing: unknown): undefined {
  return undefined;
}

async function changeTaints(
  client: KubeClient,
  name: string,
  change: (taints: Taint[]) => Taint[],
): Promise<string | undefined> {
  const ref = { resource: nodes, name };
  for (let attempt = 1; ; attempt += 1) {
    const node = await client.get<Node>(ref);
    if (!node.ok) return node.error.message;
    const { uid = '', resourceVersion = '' } = node.value.metadata;
    const taints = change(node.value.spec?.taints ?? []);
    const operation = { op: 'add' as const, path: '/spec/taints', value: taints };
    const patched = await client.patch(ref, { uid, resourceVersion }, [operation]);
    if (patched.ok) return undefined;
    if (patched.error.kind !== 'conflict' || attempt === 5) return patched.error.message;
  }
}
