/**
 * S45: what is on is never cut while nothing is wrong with it: in a reboot or a shutdown that somebody wants, while its kubelet is
 * being replaced, while its kubelet reports that it is well and only its Lease is stuck, while nobody could renew because the API server was away, before a pause has passed that somebody asked for, nor
 * where nothing would be freed; nor while a machine boots that was off, as its device had said, until somebody switched it on; nor by an
 * operator to which the API server has said no, and nothing else, about all that it would let go there. Judged by what people did to the
 * node and the machine, by what is bound and attached there, and by how long it has been away: a boot, as its policy has it, and five
 * minutes for a kubelet whose machine answers. Who is silent has been away since its last renewal, whoever leads and whatever else was
 * wrong with it before. What a person has asked for is theirs.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { VolumeAttachment } from '../../world/objects/volumes.ts';
import type { StoredChange, StoredFence } from '../cluster-state.ts';
import { isOperator, operatorUser } from '../operator-user.ts';
import { atCuts } from './at-cuts.ts';
import type { CheckContext, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import { longActOf } from './long-act.ts';
import { hasWork } from './movable.ts';
import { leasePath } from './reads.ts';
import type { Troubles } from './trouble.ts';
import { msOf } from './trouble.ts';

/** What happens in the moment of the command could not be read before it. */
const tooLateMs = 1000;
const kubeletAwayMs = 300_000;
/** Of a kubelet that reports all the time. */
const reportsWithinMs = 12_000;
/** From a look at a node that still renews to the command: its device is asked in between. */
const lookedAtMs = 5000;
const nothingThere = 'nothing there would be freed';
/** Once may be a mistake; and who has not been told so lately does not know how it is now. */
const saysNoForMs = 5000;
const saidNoWithinMs = 20_000;
const pausePrefix = 'fenceline.dev/pause.';

export const s45 = atCuts('S45', (context, { troubles, requests, reads }) => {
  const { state, machineOf, isPortClosed, nowMs, violated, exempt } = context;
  const facts = new Facts(context, troubles);
  const refused = new Refused(context);
  const judge = (user: string, { node, told }: { node: string; told: string }, request: string | undefined): void => {
    const why = refused.whyNot(user, node) ?? facts.whyNot(node, reads.of(user, `${leasePath}${node}`)?.askedAtMs);
    if (why === undefined) return;
    const what = `${told} although ${why}`;
    // Who deletes the record of a node in quarantine takes from us what we have let go there, and no more than that.
    const isForgotten = why === nothingThere && facts.forgotten.has(node);
    if (why === nothingThere && facts.isEmptied(node)) exempt('OwnRemedy', what);
    else if (request === 'current' || isForgotten) exempt('PersonsAct', what);
    else violated(request === undefined ? what : `${what}, and the request on record ${request}`);
  };
  return {
    onStored(change, user) {
      facts.take(change, user);
      const { kind, metadata } = change.object;
      if (kind === 'NodeFence' && change.type === 'DELETED' && !isOperator(user)) {
        facts.forgotten.add((change.object as StoredFence).spec?.node ?? metadata.name);
      }
    },
    onAct(act, node) {
      if (act.do === 'apiDown') facts.apiAway = { sinceMs: nowMs() };
      if (act.do === 'apiUp' && facts.apiAway !== undefined) facts.apiAway.untilMs = nowMs();
      if (node === undefined) return;
      if (act.do === 'kubeletStop') facts.kubeletAwaySince.set(node, nowMs());
      if (act.do === 'kubeletStart') facts.kubeletAwaySince.delete(node);
      if (act.do === 'gracefulReboot' || act.do === 'gracefulShutdown') facts.goingDown.set(node, undefined);
    },
    onRenewed: (node) => facts.heard(node),
    onWire(event) {
      if (event.type === 'started') refused.forget(operatorUser(event.operator));
      if (event.type === 'answered') facts.powers.answered(event);
      // What comes after a command is our own doing.
      if (event.type === 'device' && event.action !== 'status') facts.powers.forget(event.node);
    },
    onMachine({ type }, machine) {
      if (type === 'booting') facts.powers.booting(machine);
      if (type !== 'booted') return;
      facts.goingDown.delete(machine);
      facts.emptied.delete(machine);
    },
    onCut({ operator, node, isFirst, isOn, request }) {
      // To tell it once more is another cut; what is cut off from its storage is brought to its end.
      const isBegun = !isFirst && isPortClosed(node);
      const user = operatorUser(operator);
      const isInVain = refused.whyNot(user, node) !== undefined;
      if (isOn && (!isBegun || isInVain)) judge(user, { node, told: `operator-${operator} cut ${node}` }, request);
    },
    onWrite(write) {
      refused.take(write);
      const seen = longActOf(write, state);
      if (seen === undefined) return;
      const { node } = seen;
      if (write.resource !== 'machines') facts.emptied.add(node);
      else if (machineOf(node)?.power === 'on') judge(write.user, seen, requests.of(node));
    },
  };
});

function bootOf({ status }: Node): string | undefined {
  return status?.nodeInfo?.bootID;
}

class Facts {
  /** The last time. */
  apiAway: { sinceMs: number; untilMs?: number } | undefined;
  /** When a person stopped it. */
  readonly kubeletAwaySince = new Map<string, number>();
  /** Shut down in good order, and when their kubelets have said so; undefined: nobody has heard of it. */
  readonly goingDown = new Map<string, number | undefined>();
  /** Their records were deleted by a person. */
  readonly forgotten = new Set<string>();
  /** An operator has evicted a pod there, or run a Job for it. */
  readonly emptied = new Set<string>();
  readonly powers: Powers;
  readonly #context: CheckContext;
  readonly #troubles: Troubles;
  /** The last two renewals of a node. */
  readonly #heard = new Map<string, { atMs: number; beforeMs: number }>();
  /** When the kubelet of a node last wrote its status although it had not renewed when it should have. */
  readonly #reportedMs = new Map<string, number>();
  /** Since when others have a node cordoned. */
  readonly #cordonedSince = new Map<string, number>();

  constructor(context: CheckContext, troubles: Troubles) {
    this.#context = context;
    this.#troubles = troubles;
    this.powers = new Powers(context, () => this.apiAway?.sinceMs !== undefined && this.apiAway.untilMs === undefined);
  }

  heard(node: string): void {
    const atMs = this.#context.nowMs();
    this.powers.forget(node);
    this.#heard.set(node, { atMs, beforeMs: this.#heard.get(node)?.atMs ?? atMs });
  }

  take({ object, previous, type }: StoredChange, user: string): void {
    if (object.kind !== 'Node') return;
    const { metadata, spec } = object as Node;
    const { name } = metadata;
    // Of a boot that its kubelet could not report nobody knows.
    if (previous !== undefined && bootOf(previous) !== bootOf(object)) this.forgotten.delete(name);
    const ready = (object as Node).status?.conditions?.find((one) => one.type === 'Ready');
    const before: Node | undefined = previous;
    const beatBefore = before?.status?.conditions?.find((one) => one.type === 'Ready')?.lastHeartbeatTime;
    const isReport = before !== undefined && ready?.lastHeartbeatTime !== beatBefore;
    if (isReport && this.#isOverdue(name)) this.#reportedMs.set(name, this.#context.nowMs());
    if (this.goingDown.has(name) && ready?.status === 'False') {
      this.goingDown.set(name, this.goingDown.get(name) ?? this.#context.nowMs());
    }
    // A kubelet that is started again meanwhile does not know of it, and takes back what was said.
    if (this.goingDown.has(name) && ready?.status === 'True') this.goingDown.set(name, undefined);
    const isCordoned = spec?.unschedulable === true;
    const wasCordoned = before?.spec?.unschedulable === true;
    if (type === 'DELETED' || !isCordoned) this.#cordonedSince.delete(name);
    else if (!wasCordoned && !isOperator(user)) this.#cordonedSince.set(name, this.#context.nowMs());
  }

  /** By an operator, and its kubelet lives. */
  isEmptied(node: string): boolean {
    const pulse = this.#context.pulseOf(node);
    return this.emptied.has(node) && pulse !== undefined && pulse.silentForMs < pulse.silentAfterMs;
  }

  /** It was well when the API server went away, and its next renewal since that is back is not overdue. */
  #couldNotRenew(node: string): boolean {
    const pulse = this.#context.pulseOf(node);
    if (this.apiAway === undefined || pulse === undefined || this.#troubles.conditionsOf(node).length > 0) return false;
    const { sinceMs, untilMs = Infinity } = this.apiAway;
    const now = this.#context.nowMs();
    const silentBeforeMs = pulse.silentForMs - (now - sinceMs);
    return now - untilMs < pulse.silentAfterMs && silentBeforeMs < pulse.silentAfterMs;
  }

  /** Why what is on must not be cut now; undefined: it may. `readMs`: when whoever cuts it asked for its Lease. */
  whyNot(node: string, readMs = Infinity): string | undefined {
    if (this.#couldNotRenew(node)) return 'nobody could renew: the API server was away until a moment ago';
    const until = this.#pausedUntil(node);
    if (until !== undefined) return `somebody has paused it until ${until}`;
    if (this.#isKubeletAway(node) && this.#silentMs(node, readMs) < kubeletAwayMs)
      return 'its machine answers, and only its kubelet is stopped';
    if (this.#isReporting(node)) return 'its kubelet reports that it is well, and only its Lease is stuck';
    const { fence = {} } = (this.#troubles.policyOf(node)?.spec ?? {}) as { fence?: { bootTimeout?: string } };
    const bootMs = msOf(fence.bootTimeout ?? '10m');
    const onSinceMs = this.powers.onSinceMs(node);
    if (this.#hasLasted(onSinceMs) && this.#context.nowMs() - (onSinceMs ?? 0) < bootMs) {
      return 'it was off, and somebody has switched it on';
    }
    if (this.#awayMs(node, readMs) >= bootMs) return undefined;
    if (this.#hasLasted(this.#cordonedSince.get(node))) return 'somebody has cordoned it';
    if (this.#hasLasted(this.goingDown.get(node))) return 'somebody has shut it down';
    return hasWork(this.#context.state, node) ? undefined : nothingThere;
  }

  #hasLasted(sinceMs: number | undefined): boolean {
    return sinceMs !== undefined && this.#context.nowMs() - sinceMs >= tooLateMs;
  }

  /** How long it has been silent; of one that is not, how long what is wrong with it has lasted. */
  #awayMs(node: string, readMs: number): number {
    const { pulseOf, nowMs } = this.#context;
    const silentMs = this.#silentMs(node, readMs);
    if (silentMs >= (pulseOf(node)?.silentAfterMs ?? Infinity) + lookedAtMs) return silentMs;
    const since = [
      ...this.#troubles.statusOf(node, 'Ready').filter(({ status }) => status !== 'True'),
      ...this.#troubles.conditionsOf(node),
    ];
    return Math.max(silentMs, ...since.map(({ sinceMs }) => nowMs() - sinceMs));
  }

  #silentMs(node: string, readMs: number): number {
    const { pulseOf, nowMs } = this.#context;
    const { atMs = -Infinity, beforeMs = nowMs() } = this.#heard.get(node) ?? {};
    // A renewal that came after that could not be read before the command.
    return atMs > readMs ? nowMs() - beforeMs : (pulseOf(node)?.silentForMs ?? 0);
  }

  #isKubeletAway(node: string): boolean {
    const machine = this.#context.machineOf(node);
    return this.#hasLasted(this.kubeletAwaySince.get(node)) && machine?.alive === true && machine.linked;
  }

  #isOverdue(node: string): boolean {
    const pulse = this.#context.pulseOf(node);
    return pulse !== undefined && pulse.silentForMs >= pulse.silentAfterMs;
  }

  /** Kubernetes has heard of it, and it has nothing that its policy would act upon. */
  #isReporting(node: string): boolean {
    const [ready] = this.#troubles.statusOf(node, 'Ready');
    const reportedMs = this.#reportedMs.get(node);
    if (!this.#isOverdue(node) || ready?.status !== 'True' || this.#troubles.conditionsOf(node).length > 0)
      return false;
    return this.#hasLasted(reportedMs) && this.#context.nowMs() - (reportedMs ?? 0) < reportsWithinMs;
  }

  #pausedUntil(node: string): string | undefined {
    const { state, wallMs } = this.#context;
    const annotations = Object.entries(state.nodes.get(node)?.metadata.annotations ?? {});
    return annotations
      .filter(([key]) => key.startsWith(pausePrefix))
      .map(([, until]) => until)
      .find((until) => !(Date.parse(until) <= wallMs() + tooLateMs));
  }
}

/** What an operator was told when it wanted to write on a node, its pods and its attachments: no, since when and until when. */
class Refused {
  readonly #context: CheckContext;
  /** As `user node`. */
  readonly #since = new Map<string, { firstMs: number; lastMs: number }>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  take(write: Write): void {
    const key = `${write.user} ${this.#nodeOf(write)}`;
    const nowMs = this.#context.nowMs();
    if (succeeded(write)) this.#since.delete(key);
    if (write.status !== 403) return;
    this.#since.set(key, { firstMs: this.#since.get(key)?.firstMs ?? nowMs, lastMs: nowMs });
  }

  forget(user: string): void {
    for (const key of this.#since.keys()) if (key.startsWith(`${user} `)) this.#since.delete(key);
  }

  whyNot(user: string, node: string): string | undefined {
    const { firstMs = Infinity, lastMs = -Infinity } = this.#since.get(`${user} ${node}`) ?? {};
    const nowMs = this.#context.nowMs();
    const isSo = nowMs - firstMs >= saysNoForMs && nowMs - lastMs <= saidNoWithinMs;
    return isSo ? 'the API server lets it change nothing there' : undefined;
  }

  /** What was carried out is told with what was there before, which may be gone by now. */
  #nodeOf({ resource, namespace, name = '', before }: Write): string | undefined {
    const { state } = this.#context;
    if (resource === 'nodes') return name;
    if (resource === 'pods')
      return ((before as Pod | undefined) ?? state.pods.get(`${namespace}/${name}`))?.spec.nodeName;
    if (resource !== 'volumeattachments') return undefined;
    return ((before as VolumeAttachment | undefined) ?? state.attachments.get(name))?.spec.nodeName;
  }
}

/** Machines that were off by themselves, as operators were told by their devices, and were switched on then. */
class Powers {
  readonly #context: CheckContext;
  readonly #isApiAway: () => boolean;
  /** When an operator was first and last told so. */
  readonly #off = new Map<string, { firstMs: number; lastMs: number }>();
  readonly #on = new Map<string, number>();

  constructor(context: CheckContext, isApiAway: () => boolean) {
    this.#context = context;
    this.#isApiAway = isApiAway;
  }

  /** While there is a fence to wait with it, and somewhere to keep it. */
  answered({ node, power }: { node: string; power: 'on' | 'off' }): void {
    const { state, machineOf, nowMs } = this.#context;
    const isOff = power === 'off' && machineOf(node)?.power === 'off';
    if (!isOff || this.#isApiAway() || state.fences.get(nodeFenceName(node))?.status?.fence === undefined) return;
    const firstMs = this.#off.get(node)?.firstMs ?? nowMs();
    this.#off.set(node, { firstMs, lastMs: nowMs() });
  }

  /**
   * Who was told once may have died of it: told again later, it has had the time to keep it. One that was on, and was reset, has said off to
   * nobody in between: it boots since it was on, as far as anybody can see.
   */
  booting(node: string): void {
    const { firstMs = 0, lastMs = 0 } = this.#off.get(node) ?? {};
    if (lastMs <= (this.#on.get(node) ?? -Infinity)) return;
    if (lastMs - firstMs >= tooLateMs) this.#on.set(node, this.#context.nowMs());
  }

  forget(node: string): void {
    this.#off.delete(node);
    this.#on.delete(node);
  }

  onSinceMs(node: string): number | undefined {
    return this.#on.get(node);
  }
}
