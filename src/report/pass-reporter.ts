/** Tells about passes over nodes in trouble: in the log, in events, in metrics. All from the one value of the pass. */
import { isDeepStrictEqual } from 'node:util';
import type { ActOutcome } from '../act/act-outcome.ts';
import type { NodeFenceStatus, StuckPod } from '../api/node-fence.ts';
import { ALARM, FENCED, RELEASE_EVENTS } from '../api/reasons.ts';
import { OUT_OF_SERVICE_KEY, QUARANTINE_KEY } from '../api/release-view.ts';
import type { Act } from '../api/steps.ts';
import { isBadNews } from '../fence/told.ts';
import type { EventInput, EventRecorder, ObjectReference } from '../kube/events.ts';
import { nodeFences } from '../kube/resources.ts';
import { endedRemedies } from './ended-remedies.ts';
import { Incidents } from './incidents.ts';
import type { Log } from './log.ts';
import type { ReleaseMetrics } from './metrics.ts';
import type { Pass } from './pass.ts';
import { Counter } from './prometheus.ts';
import { ReleaseTimes } from './release-times.ts';

const { reason } = RELEASE_EVENTS;

export class PassReporter implements ReleaseMetrics {
  readonly released: ReleaseMetrics['released'] = new Counter();
  readonly times = new ReleaseTimes();
  readonly refused: ReleaseMetrics['refused'] = new Counter();
  readonly fenceSteps: ReleaseMetrics['fenceSteps'] = new Counter();
  readonly remedies: ReleaseMetrics['remedies'] = new Counter();
  readonly holds: ReleaseMetrics['holds'] = new Counter();
  readonly incidents = new Incidents();
  readonly #options: { log: Log; events: EventRecorder };
  /** What was last said of each stuck pod, by node. */
  readonly #stuck = new Map<string, Map<string, StuckPod>>();
  /** What drivers last said of volumes that they do not detach, by node. */
  readonly #refusals = new Map<string, Set<string>>();

  /** Why each node is held, where it is. */
  readonly #holds = new Map<string, string>();

  constructor(options: { log: Log; events: EventRecorder }) {
    this.#options = options;
  }

  /** Pods that should have gone, by why they have not. */
  get stuck(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const pods of this.#stuck.values()) {
      for (const { reason: why } of pods.values()) counts.set(why, (counts.get(why) ?? 0) + 1);
    }
    return counts;
  }

  /** Nodes that are held, by why. */
  get held(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const why of this.#holds.values()) counts.set(why, (counts.get(why) ?? 0) + 1);
    return counts;
  }

  report(pass: Pass): void {
    this.#tellNews(pass);
    this.#tellHold(pass);
    this.#tellRehearsal(pass);
    for (const act of pass.acts) this.#tellAct(pass, act);
    this.times.note(pass);
    for (const ended of endedRemedies(pass)) this.remedies.increase(ended);
    this.#tellStuck(pass);
    this.#tellRefusals(pass);
  }

  /** There is no pass to tell of: a mistake of ours. */
  undecided(name: string, node: { name: string; uid: string } | undefined, { message, cause }: Error): void {
    this.#options.log.warn({ node: name, problem: message, cause }, 'cannot decide');
    if (node === undefined) return;
    const regarding = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid };
    const note = `nothing is done about it, and it is tried again: ${message}`;
    this.#options.events.record({ regarding, type: 'Warning', reason: reason.Undecided, action: 'Decide', note });
  }

  /** Nobody attends to this node any more: whatever was said of it last is over. */
  forget(name: string): void {
    for (const said of [this.#stuck, this.#holds, this.#refusals]) said.delete(name);
    this.times.forget(name);
  }

  /** Whoever no longer leads knows of nothing that is stuck. */
  clear(): void {
    for (const said of [this.#stuck, this.#holds, this.#refusals]) said.clear();
    this.times.clear();
  }

  #tellAct(pass: Pass, act: ActOutcome): void {
    const { log } = this.#options;
    const node = pass.nodeCase.name;
    switch (act.kind) {
      case 'done':
        log.info({ node, did: described(act.act), tookMs: Math.round(pass.tookMs) }, 'acted');
        this.#tellDone(pass, act.act);
        return;
      case 'needless':
      case 'begun':
        return;
      case 'changed':
        this.refused.increase({ why: 'changed' });
        log.warn({ node, why: act.what }, 'stopped before an act');
        this.#onNode(pass, { reason: reason.ReleaseStopped, type: 'Warning', note: act.what, action: 'Release' });
        return;
      case 'unconfirmed':
        this.refused.increase({ why: 'unconfirmed' });
        log.warn({ node, why: act.what }, 'waits for a device');
        this.#onNode(pass, { reason: reason.ReleaseStopped, type: 'Warning', note: act.what, action: 'Release' });
        return;
      case 'failed':
        this.refused.increase({ why: act.error.kind });
        log.warn({ node, problem: act.error.message }, 'an act failed');
        if (act.error.kind === 'forbidden' || act.error.kind === 'invalid')
          this.#onNode(pass, {
            reason: reason.ReleaseStopped,
            type: 'Warning',
            note: act.error.message,
            action: 'Release',
          });
    }
  }

  /** Every step of a fence, on the node and on its record (ADM-1). */
  #tellNews(pass: Pass): void {
    const news = newsOf(pass);
    this.incidents.note(pass, news);
    for (const { reason: why, message = '' } of news) {
      const isRefusal = why === reason.FenceRefused;
      if (!Object.hasOwn(FENCED.reason, why) && !isAlarm(why) && !isRefusal && why !== reason.Approved) continue;
      this.fenceSteps.increase({ step: why });
      const isInVain = why === FENCED.reason.PoweringOff && (pass.fence?.status.fence?.retries ?? 0) > 0;
      const type = isBadNews(why) || isAlarm(why) || isRefusal || isInVain ? 'Warning' : 'Normal';
      this.#options.log.info({ node: pass.nodeCase.name, step: why, what: message }, 'fence');
      this.#onBoth(pass, { reason: why, type, note: noteOf(why, message), action: 'Fence' });
    }
  }

  /** What a policy would have done, each step once (SAF-12). */
  #tellRehearsal(pass: Pass): void {
    const { nodeCase, fence } = pass;
    const { rehearsal: before } = nodeCase.fence?.status ?? {};
    const { rehearsal } = fence?.status ?? {};
    const told = before?.incident === rehearsal?.incident ? (before?.steps.length ?? 0) : 0;
    for (const { reason: why, message } of rehearsal?.steps.slice(told) ?? []) {
      this.#options.log.info({ node: nodeCase.name, step: why, what: message }, 'rehearsed');
      this.#onBoth(pass, { reason: why, type: 'Normal', note: message, action: 'Rehearse' });
    }
  }

  #onBoth(pass: Pass, event: Omit<EventInput, 'regarding'>): void {
    this.#onNode(pass, event);
    const { name, uid } = pass.fence?.metadata ?? {};
    if (name === undefined || uid === undefined) return;
    const apiVersion = `${nodeFences.group}/${nodeFences.version}`;
    this.#options.events.record({ regarding: { apiVersion, kind: nodeFences.kind, name, uid }, ...event });
  }

  #tellHold(pass: Pass): void {
    const { nodeCase, decision } = pass;
    const { hold, trouble } = decision.findings ?? {};
    const before = this.#holds.get(nodeCase.name);
    if (hold === undefined || trouble === undefined) this.#holds.delete(nodeCase.name);
    else if (before !== hold.reason) {
      this.#holds.set(nodeCase.name, hold.reason);
      this.holds.increase({ reason: hold.reason });
      // Those who have it on record have told it.
      if (decision.storm !== undefined) return;
      this.#options.log.info({ node: nodeCase.name, reason: hold.reason, why: hold.message }, 'held');
      const { ends, to, command } = pass.fence?.status.hold ?? {};
      const advice = [ends && `ends when ${ends}`, command && `${to}: ${command}`].filter((part) => part !== undefined);
      const note = [`${hold.reason}: ${hold.message}`, ...advice].join('; ');
      this.#onNode(pass, { reason: reason.Held, type: 'Warning', note, action: 'Fence' });
    }
  }

  #tellDone(pass: Pass, action: Act): void {
    if (action.do === 'quarantine') {
      this.#onNode(pass, {
        reason: reason.Quarantined,
        type: 'Warning',
        note: 'takes no pods until it is back and clean',
        action: 'Release',
      });
    } else if (action.do === 'untaint' && action.key === QUARANTINE_KEY) {
      this.#onNode(pass, {
        reason: reason.BackInService,
        type: 'Normal',
        note: 'is clean and takes pods again',
        action: 'Release',
      });
    } else if (action.do === 'takeOutOfService') {
      const note = `${pass.nodeCase.name} is off, as its power device says: the Node and its pods say so as well`;
      this.#onNode(pass, { reason: reason.OutOfService, type: 'Warning', note, action: 'Release' });
    } else if (action.do === 'forceDelete' || action.do === 'failPod') {
      const { pod, basis } = action;
      this.released.increase({ basis });
      const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid };
      const why = action.do === 'failPod' ? reason.VolumesFreed : reason.Released;
      const note = `released from node ${pass.nodeCase.name} on the basis ${basis}`;
      this.#options.events.record({ regarding, type: 'Normal', reason: why, action: 'Release', note });
    }
  }

  #tellStuck({ nodeCase, decision }: Pass): void {
    const before = this.#stuck.get(nodeCase.name);
    const now = new Map((decision.findings?.stuck ?? []).map((stuck) => [`${stuck.namespace}/${stuck.name}`, stuck]));
    for (const [key, { namespace, name, reason: why, message }] of now) {
      const said = before?.get(key);
      // By podsPerMinute hundreds may wait, and go by themselves: that the moment has moved is no news.
      const isSaid = said?.reason === why && (why === 'ReleaseRate' || said.message === message);
      if (isSaid) continue;
      const pod = nodeCase.pods.find((one) => one.namespace === namespace && one.name === name);
      if (pod === undefined) continue;
      const regarding = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid: pod.uid };
      this.#options.log.info({ node: nodeCase.name, pod: key, reason: why, why: message }, 'stuck');
      const type = 'Warning';
      this.#options.events.record({ regarding, type, reason: reason.NotReleased, action: 'Release', note: message });
    }
    if (now.size === 0) this.#stuck.delete(nodeCase.name);
    else this.#stuck.set(nodeCase.name, now);
  }

  #tellRefusals(pass: Pass): void {
    const { nodeCase, decision } = pass;
    const before = this.#refusals.get(nodeCase.name);
    const now = new Set(
      (decision.findings?.refusals ?? []).map(({ volume, message }) => `volume ${volume}: ${message}`),
    );
    for (const note of now)
      if (!before?.has(note))
        this.#onNode(pass, { reason: reason.DetachRefused, type: 'Warning', note: note, action: 'Release' });
    if (now.size === 0) this.#refusals.delete(nodeCase.name);
    else this.#refusals.set(nodeCase.name, now);
  }

  #onNode({ nodeCase }: Pass, event: Omit<EventInput, 'regarding'>): void {
    const { node } = nodeCase;
    if (node === undefined) return;
    const regarding: ObjectReference = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid };
    this.#options.events.record({ regarding, ...event });
  }
}

/** What was added to the history of the node. */
function newsOf({ nodeCase, fence }: Pass): NodeFenceStatus['history'] {
  const old = nodeCase.fence?.status.history ?? [];
  return (fence?.status.history ?? []).filter((entry) => !old.some((one) => isDeepStrictEqual(one, entry)));
}

function isAlarm(reason: string): boolean {
  return reason !== ALARM.reason.NoAlarm && Object.hasOwn(ALARM.reason, reason);
}

/** In words, for the log and the console. */
export function described(action: Act): string {
  switch (action.do) {
    case 'quarantine':
      return `tainted ${QUARANTINE_KEY}:NoSchedule`;
    case 'untaint':
      return `took the taint ${action.key}:${action.effect} away`;
    case 'forceDelete':
      return `released pod ${action.pod.namespace}/${action.pod.name} on the basis ${action.basis}`;
    case 'failPod':
      return `released the volumes of pod ${action.pod.namespace}/${action.pod.name} on the basis ${action.basis}`;
    case 'takeOutOfService':
      return `said on the Node that its machine is off${action.isTainted ? `, and tainted ${OUT_OF_SERVICE_KEY}:NoSchedule` : ''}`;
    case 'markUnready':
      return `marked pod ${action.pod.namespace}/${action.pod.name} not ready`;
    case 'freeVolumes':
      return `took out of volumesInUse: ${action.volumes.join(', ')}`;
    case 'requestFence':
      return `asked the driver to fence when it detaches ${action.attachment}`;
    case 'deleteAttachment':
      return `deleted VolumeAttachment ${action.attachment}`;
    case 'deleteNode':
      return 'deleted its Node object: the machine is off and removed';
    case 'forgetCordon':
      return 'noted that somebody has taken our cordon away';
    case 'noteDrain':
      return action.isDraining ? 'noted that it is being drained' : 'noted that it is not being drained any more';
    case 'noteRemediation':
      return action.remediation === undefined
        ? 'noted that no remedy runs any more'
        : `noted that pod ${action.remediation.pod} remedies it`;
    case 'switch':
      return `began ${action.method.name}`;
    case 'runJob':
      return `began Job ${action.job.name}`;
    case 'cordon':
    case 'uncordon':
    case 'drain':
    case 'deleteMachine':
      return `began ${action.do}`;
  }
}

/** A step that has nothing of its own to add says what it means: whoever reads events has no list of reasons beside them. */
function noteOf(why: string, message: string): string {
  const explanations: { readonly [reason: string]: string } = { ...FENCED.explanation, ...ALARM.explanation };
  return message === '' ? (explanations[why] ?? why) : message;
}
