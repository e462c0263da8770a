/**
 * Carries out the steps of a plan: the live read of its grounds, then the writes, each with its preconditions. Nothing
 * else in the house writes to nodes, pods and attachments. Every act can be repeated; one that finds its work done is
 * content. A step that fails ends the rest: what comes next rests on it.
 */
import { goneNode, isOver, isStillLookedAt } from '../api/facts.ts';
import type { LiveNode, PodFacts, Remediation } from '../api/release-view.ts';
import { OUR_OUT_OF_SERVICE } from '../api/out-of-service.ts';
import type { Act, FreeAct, GroundedAct, Step } from '../api/steps.ts';
import { CORDONED_ANNOTATION, DRAIN_NOTE, isOurCordon } from '../api/plans.ts';
import {
  OUT_OF_SERVICE_KEY,
  QUARANTINE_KEY,
  REMEDIATION_POD_ANNOTATION,
  REMEDIATION_TIME_ANNOTATION,
  UNPUBLISH_FENCE_ANNOTATION,
} from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { CallOptions, JsonPatchOperation, KubeClient, KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import type { Taint } from '../kube/patches.ts';
import { addTaint, removeAnnotation, removeTaint, setAnnotation, setAnnotations } from '../kube/patches.ts';
import { nodes, pods, volumeAttachments } from '../kube/resources.ts';
import type { ActOutcome } from './act-outcome.ts';
import type { AskDevices, Refusal } from './grounds.ts';
import { notConfirmed, verify } from './grounds.ts';
import type { WireNode } from './out-of-service.ts';
import { isMeant, isReadyNow, notReady, unready } from './out-of-service.ts';
import { LiveReads } from './live-reads.ts';
import type { LongActs } from './long-acts.ts';
import type { Turnstile } from './turnstile.ts';

export interface ActOptions {
  client: KubeClient;
  clock: Pick<Clock, 'monotonic'>;
  /** Asked at the wire before every write: whether this instance still leads (S19). */
  guard: () => boolean;
  /** The time that is written into conditions. */
  at: string;
  timeoutMs: number;
  /** A pod was written, to be seen before the next decision (S17): its version now; undefined: it was deleted. */
  onPod: (uid: string, version: string | undefined) => void;
  /** Shared by all nodes. */
  turnstile: Turnstile;
  /** For steps that rest on the word of a device. */
  ask: AskDevices;
  longActs: LongActs;
}

/** Kubernetes writes two taints of its own when a node is not Ready any more. */
const taintTries = 5;
/** Whoever waits at the turnstile for longer asks its devices once more. */
const answerCountsMs = 10_000;

/** Whose pods and taints these are. `node` is absent where there is no Node object, and nothing is done to one then. */
export interface Target {
  name: string;
  node?: LiveNode;
}

export async function perform(steps: readonly Step[], target: Target, options: ActOptions): Promise<ActOutcome[]> {
  const outcomes: ActOutcome[] = [];
  for (const step of steps) {
    const done = await performStep(step, target, options);
    outcomes.push(...done);
    if (done.some(({ kind }) => kind !== 'done' && kind !== 'needless' && kind !== 'begun')) return outcomes;
  }
  return outcomes;
}

async function performStep(step: Step, target: Target, options: ActOptions): Promise<ActOutcome[]> {
  if ('begins' in step) return begin(step, target, options);
  const { client, clock, timeoutMs, turnstile } = options;
  const acts = 'free' in step ? step.free : step.acts;
  // A device may be silent for a minute: nobody stands in the way of others while it is asked (S27).
  const doubt = 'free' in step ? undefined : await notConfirmed(step.grounds, options.ask);
  if (doubt !== undefined) return [refusedAs(doubt)];
  const askedMs = clock.monotonic();
  const ask: AskDevices = async (question) =>
    clock.monotonic() - askedMs <= answerCountsMs ? undefined : options.ask(question);
  const leave = await turnstile.enter(acts.length);
  try {
    const reads = new LiveReads(client, { timeoutMs });
    const refusal = 'free' in step ? undefined : await verify(reads, step.grounds, { ask });
    if (refusal !== undefined) return [refusedAs(refusal)];
    const performer = new Performer(target, reads, options);
    return await Promise.all(acts.map((act) => performer.do(act)));
  } finally {
    leave();
  }
}

/** What takes its time reads its grounds when it comes to the point. A machine whose Node object is gone is only switched on. */
async function begin(
  step: Extract<Step, { begins: unknown }>,
  { name, node: there }: Target,
  { longActs }: ActOptions,
): Promise<ActOutcome[]> {
  const isOn = step.begins.do === 'switch' && step.begins.what === 'power' && step.begins.method.action === 'on';
  const node = there ?? (isOn ? goneNode(name) : undefined);
  if (node === undefined) return [];
  if ('grounds' in step) await longActs.begin(node, step.begins, step.grounds);
  else await longActs.cordon(node, step.begins);
  return [{ kind: 'begun', act: step.begins }];
}

function refusedAs(refusal: Refusal): ActOutcome {
  return refusal.kind === 'unreadable' ? { kind: 'failed', error: refusal.error } : refusal;
}

class Performer {
  readonly #target: Target;
  readonly #reads: LiveReads;
  readonly #options: ActOptions;
  readonly #calls: CallOptions;

  constructor(target: Target, reads: LiveReads, options: ActOptions) {
    this.#target = target;
    this.#reads = reads;
    this.#options = options;
    // What was found unchanged a moment ago need not be so after a busy server has had its pauses: it is read again then (S15).
    this.#calls = { guard: options.guard, timeoutMs: options.timeoutMs, isAtOnce: true };
  }

  async do(act: FreeAct | GroundedAct): Promise<ActOutcome> {
    switch (act.do) {
      case 'quarantine':
        return this.#quarantine(act);
      case 'untaint':
        return this.#onNode(act, (node) => (isMeant(node, act) ? removeTaint(node, act) : []));
      case 'takeOutOfService':
        return this.#takeOutOfService(act);
      case 'markUnready':
        return outcomeOf(act, await this.#patchPod(act.pod, unready(act.pod, this.#options.at)));
      case 'freeVolumes':
        return this.#onNode(act, (node) => withoutEntries(node, act.volumes), 'status');
      case 'requestFence':
        return this.#requestFence(act);
      case 'deleteAttachment':
        return this.#deleteAttachment(act);
      case 'failPod':
        return outcomeOf(act, await this.#fail(act.pod, act.basis));
      case 'forceDelete':
        return this.#forceDelete(act);
      case 'deleteNode':
        return this.#deleteNode(act);
      case 'forgetCordon':
        return this.#onNode(act, (node) => (isOurCordon(node) ? [] : removeAnnotation(node, CORDONED_ANNOTATION)));
      case 'noteDrain':
        return this.#onNode(act, (node) => drainNote(node, act.isDraining));
      case 'noteRemediation':
        return this.#onNode(act, (node) => remediationNotes(node, act.remediation));
    }
  }

  async #onNode(act: Act, change: (node: WireNode) => JsonPatchOperation[], subresource?: string): Promise<ActOutcome> {
    const { name, node } = this.#target;
    if (node === undefined) return { kind: 'needless', act };
    // Where it was compared right now, it is patched as it was compared.
    const read = await this.#reads.get<WireNode>({ resource: nodes, name });
    if (!read.ok) return outcomeOf(act, read);
    const operations = change(read.value);
    if (operations.length === 0) return { kind: 'needless', act };
    return outcomeOf(act, await this.#patchNode(node, operations, subresource));
  }

  /** A newcomer of the same name is another machine, which nobody has decided anything about (S14). */
  #patchNode(
    { name, uid }: LiveNode,
    operations: JsonPatchOperation[],
    subresource?: string,
  ): Promise<Result<unknown>> {
    const { client } = this.#options;
    const ref = { resource: nodes, name };
    const calls = { ...this.#calls, metadataOnly: true };
    const options = subresource === undefined ? calls : { ...calls, subresource };
    return client.patch(ref, { uid }, operations, options);
  }

  /**
   * On the taints that were read live for the decision, a moment ago: the patch tests what it rests on. Only where somebody has
   * written to them since are they read again.
   */
  async #quarantine(act: Extract<FreeAct, { do: 'quarantine' }>): Promise<ActOutcome> {
    const { name, node } = this.#target;
    const { taints = [] } = node ?? {};
    const decided = { metadata: { name }, spec: taints.length === 0 ? {} : { taints: [...taints] } };
    const operations = addTaint(decided, quarantineBy(act));
    if (node !== undefined && operations.length > 0) {
      const patched = await this.#patchNode(node, operations);
      if (patched.ok || patched.error.kind !== 'conflict') return outcomeOf(act, patched);
    }
    return this.#onNode(act, (live) => addTaint(live, quarantineBy(act)));
  }

  /**
   * Ready first: a taint that drives pods away is put on no node that reads Ready (S6). Kubernetes answers Ready with taints of its
   * own, which may come between.
   */
  async #takeOutOfService(act: Extract<Act, { do: 'takeOutOfService' }>): Promise<ActOutcome> {
    const { name, node } = this.#target;
    const said = await this.#onNode(act, (live) => notReady(live, this.#options.at), 'status');
    if (node === undefined || !act.isTainted || (said.kind !== 'done' && said.kind !== 'needless')) return said;
    for (let tries = 1; ; tries += 1) {
      const read = await this.#options.client.get<WireNode>({ resource: nodes, name }, this.#calls);
      if (!read.ok) return outcomeOf(act, read);
      if (isReadyNow(read.value)) return { kind: 'changed', act, what: `${name} is Ready again` };
      // That of an administrator says the same, and stays theirs.
      if (read.value.spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE_KEY)) return { kind: 'needless', act };
      const patched = await this.#patchNode(node, addTaint(read.value, { ...OUR_OUT_OF_SERVICE }));
      if (patched.ok || patched.error.kind !== 'conflict' || tries === taintTries) return outcomeOf(act, patched);
    }
  }

  async #deleteNode(act: Act): Promise<ActOutcome> {
    const { name, node } = this.#target;
    const uid = node?.uid;
    if (uid === undefined) return { kind: 'needless', act };
    const deleted = await this.#options.client.delete({ resource: nodes, name }, { uid }, this.#calls);
    if (!deleted.ok && deleted.error.kind === 'notFound') return { kind: 'needless', act };
    return outcomeOf(act, deleted);
  }

  /** Read back before anything relies on it: an attacher that never sees the wish would detach without a fence. */
  async #requestFence(act: Extract<Act, { do: 'requestFence' }>): Promise<ActOutcome> {
    const { client } = this.#options;
    const ref = { resource: volumeAttachments, name: act.attachment };
    const before = await client.get(ref, this.#calls);
    if (!before.ok) return outcomeOf(act, before);
    const operations = setAnnotation(before.value, UNPUBLISH_FENCE_ANNOTATION, 'true');
    if (operations.length === 0) return { kind: 'needless', act };
    const patched = await client.patch(ref, { uid: act.uid }, operations, this.#calls);
    if (!patched.ok) return outcomeOf(act, patched);
    const after = await client.get(ref, this.#calls);
    if (!after.ok) return outcomeOf(act, after);
    return after.value.metadata.annotations?.[UNPUBLISH_FENCE_ANNOTATION] === 'true'
      ? { kind: 'done', act }
      : { kind: 'changed', act, what: `VolumeAttachment ${act.attachment} has lost its annotation` };
  }

  /** Its finalizers keep it for a while, and a view that lags does not show that it is on its way already. */
  async #deleteAttachment(act: Extract<Act, { do: 'deleteAttachment' }>): Promise<ActOutcome> {
    const { client } = this.#options;
    const ref = { resource: volumeAttachments, name: act.attachment };
    const read = await client.get(ref, this.#calls);
    if (!read.ok) return outcomeOf(act, read);
    if (read.value.metadata.deletionTimestamp !== undefined) return { kind: 'needless', act };
    return outcomeOf(act, await client.delete(ref, { uid: act.uid }, this.#calls));
  }

  /**
   * As PodGC does it where somebody will still look: a pod that is not over keeps its volumes for as long as a finalizer
   * keeps its object. Whether somebody will is what its version says: a finalizer that was added since conflicts (POD-6).
   */
  async #forceDelete(act: Extract<Act, { do: 'forceDelete' }>): Promise<ActOutcome> {
    const { pod, basis } = act;
    const { uid } = pod;
    let { resourceVersion } = pod;
    const isMarked = isStillLookedAt(pod) && !isOver(pod);
    if (isMarked) {
      const failed = await this.#fail(pod, basis);
      if (!failed.ok) return outcomeOf(act, failed);
      resourceVersion = failed.value.metadata.resourceVersion ?? resourceVersion;
    }
    const first = await this.#deletePod(pod, resourceVersion);
    const isOvertaken = !first.ok && first.error.kind === 'conflict';
    const version = isOvertaken ? await this.#askedSince(pod) : undefined;
    const deleted = version === undefined ? first : await this.#deletePod(pod, version);
    if (deleted.ok) this.#options.onPod(uid, undefined);
    // A controller may take away at once what we have just marked Failed: that was our doing, and is told as such.
    if (isMarked && !deleted.ok && deleted.error.kind === 'notFound') return { kind: 'done', act };
    return outcomeOf(act, deleted);
  }

  #deletePod({ namespace, name, uid }: PodFacts, resourceVersion: string): Promise<Result<unknown>> {
    const ref = { resource: pods, namespace, name };
    const calls = { ...this.#calls, metadataOnly: true, gracePeriodSeconds: 0 };
    return this.#options.client.delete(ref, { uid, resourceVersion }, calls);
  }

  /**
   * Under a taint Kubernetes asks the same pods to go that we let go, at the same moment. One that was only asked since it was seen
   * is the same pod: its version now. Undefined: something else has changed, to be decided anew.
   */
  async #askedSince(pod: PodFacts): Promise<string | undefined> {
    const { namespace, name } = pod;
    const read = await this.#options.client.get<KubeObject>({ resource: pods, namespace, name }, this.#calls);
    return read.ok && wasOnlyAsked(pod, read.value.metadata) ? read.value.metadata.resourceVersion : undefined;
  }

  async #fail(pod: PodFacts, basis: string): Promise<Result<KubeObject>> {
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByFenceline',
      message: `released from node ${this.#target.name} on the basis ${basis}`,
      lastTransitionTime: this.#options.at,
    };
    const operations: JsonPatchOperation[] = [
      { op: 'add', path: '/status/phase', value: 'Failed' },
      conditionSet(pod, condition),
    ];
    return this.#patchPod(pod, operations);
  }

  /** Its status, and only while it is as it was seen. */
  async #patchPod(pod: PodFacts, operations: JsonPatchOperation[]): Promise<Result<KubeObject>> {
    const { namespace, name, uid, resourceVersion } = pod;
    const ref = { resource: pods, namespace, name };
    const options = { ...this.#calls, metadataOnly: true, subresource: 'status' };
    const patched = await this.#options.client.patch(ref, { uid, resourceVersion }, operations, options);
    if (patched.ok) this.#options.onPod(uid, patched.value.metadata.resourceVersion ?? resourceVersion);
    return patched;
  }
}

function outcomeOf(act: Act, result: Result<unknown>): ActOutcome {
  if (result.ok) return { kind: 'done', act };
  const { error } = result;
  // What is gone needs nothing any more, and a newcomer of its name was not meant.
  if (error.kind === 'notFound') return { kind: 'needless', act };
  if (error.kind === 'conflict') return { kind: 'changed', act, what: error.message };
  return { kind: 'failed', act, error };
}

/** To go, and nobody else wants to see it first (POD-6). */
function wasOnlyAsked({ uid, owner, hasFinalizers }: PodFacts, now: KubeObject['metadata']): boolean {
  const controller = now.ownerReferences?.find((one) => one.controller === true);
  const isSame = now.uid === uid && controller?.uid === owner?.uid;
  return isSame && !hasFinalizers && (now.finalizers ?? []).length === 0 && now.deletionTimestamp !== undefined;
}

/** In place of the one that eviction has set: a list of conditions has one of each type. */
function conditionSet({ disruptionAt, hasConditions }: PodFacts, value: object): JsonPatchOperation {
  const path = '/status/conditions';
  if (disruptionAt !== undefined) return { op: 'replace', path: `${path}/${disruptionAt}`, value };
  return hasConditions ? { op: 'add', path: `${path}/-`, value } : { op: 'add', path, value: [value] };
}

/** Tests the whole list: whoever wrote it meanwhile is a kubelet that lives. */
function withoutEntries(node: WireNode, entries: readonly string[]): JsonPatchOperation[] {
  const before = node.status?.volumesInUse ?? [];
  const after = before.filter((entry) => !entries.includes(entry));
  if (after.length === before.length) return [];
  const path = '/status/volumesInUse';
  return [
    { op: 'test', path, value: before },
    { op: 'replace', path, value: after },
  ];
}

function drainNote(node: WireNode, isDraining: boolean): JsonPatchOperation[] {
  return isOurCordon(node) ? setAnnotation(node, CORDONED_ANNOTATION, isDraining ? DRAIN_NOTE : 'true') : [];
}

function remediationNotes(node: WireNode, remediation: Remediation | undefined): JsonPatchOperation[] {
  return setAnnotations(node, {
    [REMEDIATION_TIME_ANNOTATION]: remediation?.since,
    [REMEDIATION_POD_ANNOTATION]: remediation?.pod,
  });
}

function quarantineBy({ mark: value }: Extract<FreeAct, { do: 'quarantine' }>): Taint {
  return { key: QUARANTINE_KEY, effect: 'NoSchedule', ...(value === undefined ? {} : { value }) };
}
