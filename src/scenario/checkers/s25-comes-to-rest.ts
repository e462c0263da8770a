/**
 * S25: when faults stop, every node ends healthy, or held with a stated reason, in bounded time. Judged at the end of a run in which
 * nothing was done to the cluster for five minutes and everything that was broken is whole again: what operators have left behind
 * by then, and nobody says why, stays so for ever. A reason is one that is true, as far as the world can tell. Whatever is broken
 * still, a machine that operators have cut and that is off for long is not off without a word of what it waits for; where its device does
 * what it is told, no word will do for ten minutes but that a person holds it; and what is cut of one whose Node object is gone is an
 * alarm. A machine with several supplies is not whole again before each is on that operators have switched off: that it runs on the
 * others is what nobody would notice.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { KubeObject } from '../../kube/client.ts';
import { QUARANTINE_KEY } from '../../api/release-view.ts';
import { isReady } from '../../world/objects/meta.ts';
import type { MachineEvent } from '../../world/machines/machine.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Act } from '../format.ts';
import type { StoredChange } from '../cluster-state.ts';
import type { CheckContext, Checker, Invariant, WireEvent } from './checker.ts';
import { LeftOff } from './left-off.ts';
import { Statements } from './stated.ts';
import { Troubles } from './trouble.ts';

const restMs = 5 * 60_000;
const cordonedByUs = 'fenceline.dev/cordoned';

export const s25: Invariant = { id: 'S25', check: (context) => new ComesToRest(context) };

/** What begins a fault, and what ends it. */
const ends: Partial<Record<Act['do'], Act['do']>> = {
  powerOff: 'powerOn',
  hang: 'resume',
  partition: 'heal',
  zonePartition: 'zoneHeal',
  storagePartition: 'storageHeal',
  kubeletStop: 'kubeletStart',
  leaseStop: 'leaseStart',
  apiDown: 'apiUp',
  isolateOperator: 'restoreOperator',
};

interface Left {
  what: string;
  taint?: string;
  isOff?: boolean;
  isCutOff?: boolean;
  /** Of a machine that runs on its other supplies. */
  isFeed?: boolean;
}

class ComesToRest implements Checker {
  readonly #context: CheckContext;
  readonly #faults = new Set<string>();
  /** As `node key`. */
  readonly #taintedByHand = new Set<string>();
  /** Nodes whose record a person has deleted while they were switched off: nobody remembers who did it (SAF-4). */
  readonly #forgotten = new Set<string>();
  /** The same, cut off from their storage, by the UID of that record; no other has known of it since. */
  readonly #unknown = new Map<string, string | undefined>();
  /** And a person has also deleted whatever had named the port of it, before or after that: nobody can find out. */
  readonly #unfindable = new Set<string>();
  /** What names ports to the storage, by kind and name, and of which node; empty: it may be of any. */
  readonly #naming = new Map<string, string>();
  /** Nodes of which a port said that it was open when its cut was taken off the record, and it was closed. */
  readonly #liedTo = new Set<string>();
  /** Nodes that a person has taken out of quarantine: whoever does has looked whether they are connected (RET-2). */
  readonly #letBack = new Set<string>();
  /** Machines that an operator has told a device to switch off, and that have not booted since. */
  readonly #cut = new Set<string>();
  readonly #leftOff: LeftOff;
  /** Feeds that an operator has told a device to switch off, as `node feed`. */
  readonly #cutFeeds = new Set<string>();
  readonly #troubles: Troubles;
  readonly #statements: Statements;
  #lastMs = -Infinity;

  constructor(context: CheckContext) {
    this.#context = context;
    this.#troubles = new Troubles(context);
    this.#leftOff = new LeftOff(context);
    this.#statements = new Statements(context, this.#troubles, this.#leftOff);
  }

  onWire(event: WireEvent): void {
    this.#leftOff.onWire(event);
    if (event.type !== 'device' || event.action !== 'off') return;
    this.#cut.add(event.node);
    if (event.feed !== undefined) this.#cutFeeds.add(`${event.node} ${event.feed}`);
  }

  /** Whoever has switched it on, what ended with its power has ended. */
  onMachine(event: MachineEvent, machine: string): void {
    const { type } = event;
    this.#leftOff.onMachine(event, machine);
    if (type !== 'booted') return;
    this.#cut.delete(machine);
    for (const end of ['powerOn', 'resume']) this.#faults.delete(`${end} ${machine}`);
  }

  onStored(change: StoredChange): void {
    this.#troubles.take(change);
    this.#statements.take(change);
    const { object, type } = change;
    this.#onRecord(object);
    const what = `${object.kind} ${object.metadata.name}`;
    const named = type === 'DELETED' ? undefined : portNamedBy(object);
    if (named === undefined) this.#naming.delete(what);
    else this.#naming.set(what, named);
    for (const [node, uid] of this.#unknown) {
      if (this.#isOnAnother(node, uid)) this.#unknown.delete(node);
      else if (!this.#isNamed(node)) this.#unfindable.add(node);
    }
    // Whoever writes it again lets it be found out.
    for (const node of this.#unfindable) if (this.#isNamed(node)) this.#unfindable.delete(node);
  }

  #onRecord({ kind, metadata }: KubeObject): void {
    if (kind !== 'NodeFence') return;
    const { state, isPortClosed, saysPortOpen } = this.#context;
    const { spec, status } = state.fences.get(metadata.name) ?? {};
    const node = spec?.node ?? '';
    if ((status?.fence?.switched ?? []).some(({ step }) => step === 'isolation')) this.#liedTo.delete(node);
    else if (isPortClosed(node) && saysPortOpen(node)) this.#liedTo.add(node);
  }

  /** That it is cut off is on record again. */
  #isOnAnother(node: string, uid: string | undefined): boolean {
    const { metadata, status } = this.#context.state.fences.get(nodeFenceName(node)) ?? {};
    return metadata?.uid !== uid && (status?.fence?.switched ?? []).some(({ step }) => step === 'isolation');
  }

  onAct(act: Act, node: string | undefined): void {
    this.#leftOff.onAct(act, node);
    this.#lastMs = this.#context.nowMs();
    if (act.do === 'delete' && act.kind === 'NodeFence') this.#onForgotten(act.name);
    if (act.do === 'taint') this.#taintedByHand.add(`${node} ${act.key}`);
    if (act.do === 'untaint' && act.key === QUARANTINE_KEY) this.#letBack.add(`${node}`);
    if (act.do === 'untaint') this.#taintedByHand.delete(`${node} ${act.key}`);
    const whom = 'operator' in act ? String(act.operator) : 'zone' in act ? act.zone : (node ?? '');
    if ('fault' in act) {
      const what = [act.do, 'driver' in act ? act.driver : whom, 'feed' in act ? act.feed : ''].join(' ');
      if (act.fault === 'none') this.#faults.delete(what);
      else this.#faults.add(what);
    } else if (act.do === 'swapDevices' || act.do === 'clockSkew') {
      // Two of them undo each other.
      const what = `${act.do} ${whom}`;
      if (!this.#faults.delete(what)) this.#faults.add(what);
    } else if (act.do === 'apiDate') {
      if (act.byMs === 0) this.#faults.delete(act.do);
      else this.#faults.add(act.do);
    } else if (act.do === 'condition') {
      if (act.status === 'True') this.#faults.add(`${act.type} ${whom}`);
      else this.#faults.delete(`${act.type} ${whom}`);
    } else if (ends[act.do] !== undefined) {
      this.#faults.add(`${ends[act.do]} ${whom}`);
    } else this.#faults.delete(`${act.do} ${whom}`);
  }

  #onForgotten(record: string): void {
    const { state, machineOf, isPortClosed } = this.#context;
    const node = [...state.nodes.keys()].find((name) => nodeFenceName(name) === record);
    if (node === undefined) return;
    if (machineOf(node)?.power === 'off') this.#forgotten.add(node);
    if (!isPortClosed(node)) return;
    this.#unknown.set(node, state.fences.get(record)?.metadata.uid);
    if (!this.#isNamed(node)) this.#unfindable.add(node);
  }

  #isNamed(node: string): boolean {
    return [...this.#naming.values()].some((of) => of === '' || of === node);
  }

  onEnd(): void {
    const { state, nowMs, violated, exempt } = this.#context;
    this.#lookAtGone();
    this.#lookAtLeft();
    for (const [name, node] of state.nodes) {
      if (!this.#isLeftOff(name) || this.#statements.of(name, node) !== undefined) continue;
      violated(`${name} was cut minutes ago, is off, and nobody says what it waits for`);
    }
    if (this.#faults.size > 0 || nowMs() - this.#lastMs < restMs) return;
    for (const [name, node] of state.nodes) {
      const left = this.#leftOn(name, node);
      const stated = this.#statements.of(name, node);
      if (left === undefined) continue;
      if (left.isFeed === true ? isPersons(stated?.says) : stated?.isSo === true) continue;
      const why = stated === undefined ? 'nobody says why' : `what is said of it is not so (${stated.says})`;
      const told = `${name} ${left.what} five minutes after the last fault, and ${why}`;
      const isTheirs = left.taint !== undefined && this.#taintedByHand.has(`${name} ${left.taint}`);
      const isForgotten = left.isOff === true && this.#forgotten.has(name);
      const isLetBack = left.isCutOff === true && (this.#letBack.has(name) || this.#unfindable.has(name));
      if (isTheirs || isForgotten || isLetBack) exempt('PersonsAct', told);
      else if (left.isCutOff === true && this.#liedTo.has(name)) exempt('LyingDevice', told);
      else violated(told);
    }
  }

  /** Whatever else is broken. */
  #lookAtLeft(): void {
    const { state, violated, exempt } = this.#context;
    for (const [name, node] of state.nodes) {
      const stated = this.#statements.of(name, node);
      if (!this.#leftOff.isLeft(name) || stated?.isSo === true) continue;
      const why = stated === undefined ? 'nobody says why' : `what is said is no reason (${stated.says})`;
      const told = `${name} was cut, is off although its device does what it is told, and ${why}`;
      if (this.#forgotten.has(name)) exempt('PersonsAct', told);
      else violated(told);
    }
  }

  /** What is left cut of a machine without a Node object is somebody's to look at: the alarm stands for as long as it is. */
  #lookAtGone(): void {
    const { state, machineOf, isPortClosed, violated } = this.#context;
    for (const { spec, status } of state.fences.values()) {
      const name = spec?.node ?? '';
      if (state.nodes.has(name) || spec?.stop === true || status?.fence?.phase === 'finished') continue;
      const isOff = this.#cut.has(name) && machineOf(name)?.power === 'off';
      if (!isOff && !isPortClosed(name)) continue;
      const isTold = (status?.conditions ?? []).some((one) => one.type === 'Alarm' && one.status === 'True');
      const what = isOff ? 'is off' : 'is cut off from its storage';
      if (!isTold) violated(`${name} was cut, ${what}, and has no Node object: nobody is told`);
    }
  }

  /** Off since longer than whatever is let go there, or switched on, takes; what keeps its pods is said of each of them. */
  #isLeftOff(name: string): boolean {
    const { state, machineOf, wallMs } = this.#context;
    const { fence, stuck = [] } = state.fences.get(nodeFenceName(name))?.status ?? {};
    if (machineOf(name)?.power !== 'off' || fence?.phase !== 'off' || stuck.length > 0) return false;
    return wallMs() - Date.parse(fence.stepStartedAt ?? '') > restMs;
  }

  #leftOn(name: string, node: Node): Left | undefined {
    if (this.#context.machineOf(name)?.power === 'off') return { what: 'is still switched off', isOff: true };
    const feed = this.#context.feedsOff(name).find((one) => this.#cutFeeds.has(`${name} ${one}`));
    if (feed !== undefined) return { what: `runs without its feed ${feed}`, isFeed: true };
    if (this.#context.isPortClosed(name)) return { what: 'is still cut off from its storage', isCutOff: true };
    const taint = node.spec?.taints?.find(({ key }) => key.startsWith('fenceline.dev/'))?.key;
    if (taint !== undefined) return { what: `still has the taint ${taint}`, taint };
    const annotations = node.metadata.annotations ?? {};
    const isOurs = annotations[cordonedByUs] !== undefined;
    if (node.spec?.unschedulable === true && isOurs) return { what: 'still has our cordon' };
    return isReady(node) ? undefined : { what: 'is still not Ready' };
  }
}

/** Of which node it says by what it is cut off from its storage; empty: of some; undefined: of none. */
function portNamedBy(object: KubeObject): string | undefined {
  const { data = {}, spec = {} } = object as { data?: Record<string, string>; spec?: { cuts?: string; node?: string } };
  if (object.kind === 'FenceDevice') return spec.cuts === 'Storage' ? (spec.node ?? '') : undefined;
  const { 'config.properties': text = '' } = object.kind === 'ConfigMap' ? data : {};
  if (!/^\s*isolation\s*=\s*\S/m.test(text)) return undefined;
  return /^\s*node_name\s*=\s*(?<node>\S+)\s*$/m.exec(text)?.groups?.['node'] ?? '';
}

/** Nobody but a person can end it, and it is said. That a fence has failed is no reason to leave off what it has cut. */
function isPersons(says = ''): boolean {
  return says === 'it is stopped' || says.includes('nothing that is configured switches it on');
}
