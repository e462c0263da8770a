/**
 * Carries out the steps of a plan: the live read of its grounds, then the writes, each with its preconditions. Nothing
 * else in the house writes to nodes, pods and attachments. Every act can be repeated; one that finds its work done is
 * content. A step that fails ends the rest: what comes next rests on it.
 */
import { isOver } from '../api/facts.ts';
import type { Action, PodFacts, Remediation, Step } from '../api/release-view.ts';
import {
  REMEDIATION_POD_ANNOTATION,
  REMEDIATION_TIME_ANNOTATION,
  UNPUBLISH_FENCE_ANNOTATION,
} from '../api/release-view.ts';
import type { CallOptions, JsonPatchOperation, KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import type { NodeLike } from '../kube/patches.ts';
import { addTaint, removeTaint, setAnnotation, setAnnotations } from '../kube/patches.ts';
import { nodes, pods, volumeAttachments } from '../kube/resources.ts';
import type { AskDevices, Refusal } from './grounds.ts';
import { verify } from './grounds.ts';
import type { Room } from './room.ts';

export interface ActOptions {
  client: KubeClient;
  /** Asked at the wire before every write: whether this instance still leads (S19). */
  guard: () => boolean;
  /** The time that is written into conditions. */
  at: string;
  timeoutMs: number;
  /** A pod was written, to be seen before the next decision (S17): its version now; undefined: it was deleted. */
  onPod: (uid: string, version: string | undefined) => void;
  /** Shared by all nodes. */
  room: Room;
  /** For steps that rest on the machine being off. */
  notOff?: AskDevices;
}

export type Outcome =
  | { kind: 'done'; action: Action }
  /** It was so already, or the object is gone. */
  | { kind: 'needless'; action: Action }
  /** Somebody changed what it rests on: decide anew. */
  | { kind: 'changed'; action?: Action; what: string }
  /** A device does not say what it rests on: ask again, but not at once. */
  | { kind: 'unconfirmed'; what: string }
  | { kind: 'failed'; action?: Action; error: KubeError };

interface WireNode extends NodeLike {
  status?: { volumesInUse?: string[] };
}

/** Whose pods and taints these are. `uid` is absent where there is no Node object, and nothing is done to one then. */
export interface Target {
  name: string;
  uid?: string;
}

export async function perform(steps: readonly Step[], node: Target, options: ActOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const { notOff } = options;
  const calls = { timeoutMs: options.timeoutMs, ...(notOff === undefined ? {} : { notOff }) };
  for (const { actions, grounds } of steps) {
    const leave = await options.room.enter(actions.length);
    try {
      const refusal = grounds === undefined ? undefined : await verify(options.client, grounds, calls);
      if (refusal !== undefined) return [...outcomes, refusedAs(refusal)];
      const done = await Promise.all(actions.map((action) => new Act(node, options).do(action)));
      outcomes.push(...done);
      if (done.some(({ kind }) => kind === 'changed' || kind === 'failed')) return outcomes;
    } finally {
      leave();
    }
  }
  return outcomes;
}

function refusedAs(refusal: Refusal): Outcome {
  return refusal.kind === 'unreadable' ? { kind: 'failed', error: refusal.error } : refusal;
}

class Act {
  readonly #node: Target;
  readonly #options: ActOptions;
  readonly #calls: CallOptions;

  constructor(node: Target, options: ActOptions) {
    this.#node = node;
    this.#options = options;
    this.#calls = { guard: options.guard, timeoutMs: options.timeoutMs };
  }

  async do(action: Action): Promise<Outcome> {
    switch (action.do) {
      case 'taint':
        return this.#onNode(action, (node) => addTaint(node, { key: action.key, effect: action.effect }));
      case 'untaint':
        return this.#untaint(action);
      case 'freeVolumes':
        return this.#onNode(action, (node) => withoutEntries(node, action.volumes), 'status');
      case 'requestFence':
        return this.#requestFence(action);
      case 'deleteAttachment':
        return this.#deleteAttachment(action);
      case 'failPod':
        return outcomeOf(action, await this.#fail(action.pod, action.basis));
      case 'forceDelete':
        return this.#forceDelete(action);
      case 'deleteNode':
        return this.#deleteNode(action);
      case 'noteRemediation':
        return this.#onNode(action, (node) => remediationNotes(node, action.remediation));
    }
  }

  async #onNode(
    action: Action,
    change: (node: WireNode) => JsonPatchOperation[],
    subresource?: string,
  ): Promise<Outcome> {
    const { client } = this.#options;
    const { name, uid } = this.#node;
    const ref = { resource: nodes, name };
    const read = await client.get<WireNode>(ref, this.#calls);
    if (!read.ok) return outcomeOf(action, read);
    // A newcomer of the same name is another machine, which nobody has decided anything about (S14).
    if (uid === undefined || read.value.metadata.uid !== uid) {
      return { kind: 'changed', action, what: `${name} is another node of the same name` };
    }
    const operations = change(read.value);
    if (operations.length === 0) return { kind: 'needless', action };
    const calls = { ...this.#calls, metadataOnly: true };
    const options = subresource === undefined ? calls : { ...calls, subresource };
    return outcomeOf(action, await client.patch(ref, { uid }, operations, options));
  }

  async #deleteNode(action: Action): Promise<Outcome> {
    const { name, uid } = this.#node;
    if (uid === undefined) return { kind: 'needless', action };
    const deleted = await this.#options.client.delete({ resource: nodes, name }, { uid }, this.#calls);
    if (!deleted.ok && deleted.error.kind === 'notFound') return { kind: 'needless', action };
    return outcomeOf(action, deleted);
  }

  /** Live, and on the very node that was read: a pod that came meanwhile keeps the taint where it is. */
  async #untaint(action: Extract<Action, { do: 'untaint' }>): Promise<Outcome> {
    const { name: node } = this.#node;
    const fieldSelector = `spec.nodeName=${node}`;
    const read = await this.#options.client.list(pods, { fieldSelector }, this.#calls);
    if (!read.ok) return outcomeOf(action, read);
    const unexpected = read.value.items.find(({ metadata }) => !action.pods.includes(metadata.uid ?? ''));
    if (unexpected !== undefined) {
      const { namespace, name } = unexpected.metadata;
      return { kind: 'changed', action, what: `pod ${namespace}/${name} is new on ${node}` };
    }
    return this.#onNode(action, (node) => removeTaint(node, action));
  }

  /** Read back before anything relies on it: an attacher that never sees the wish would detach without a fence. */
  async #requestFence(action: Extract<Action, { do: 'requestFence' }>): Promise<Outcome> {
    const { client } = this.#options;
    const ref = { resource: volumeAttachments, name: action.attachment };
    const before = await client.get(ref, this.#calls);
    if (!before.ok) return outcomeOf(action, before);
    const operations = setAnnotation(before.value, UNPUBLISH_FENCE_ANNOTATION, 'true');
    if (operations.length === 0) return { kind: 'needless', action };
    const patched = await client.patch(ref, { uid: action.uid }, operations, this.#calls);
    if (!patched.ok) return outcomeOf(action, patched);
    const after = await client.get(ref, this.#calls);
    if (!after.ok) return outcomeOf(action, after);
    return after.value.metadata.annotations?.[UNPUBLISH_FENCE_ANNOTATION] === 'true'
      ? { kind: 'done', action }
      : { kind: 'changed', action, what: `VolumeAttachment ${action.attachment} has lost its annotation` };
  }

  /** Its finalizers keep it for a while, and a view that lags does not show that it is on its way already. */
  async #deleteAttachment(action: Extract<Action, { do: 'deleteAttachment' }>): Promise<Outcome> {
    const { client } = this.#options;
    const ref = { resource: volumeAttachments, name: action.attachment };
    const read = await client.get(ref, this.#calls);
    if (!read.ok) return outcomeOf(action, read);
    if (read.value.metadata.deletionTimestamp !== undefined) return { kind: 'needless', action };
    return outcomeOf(action, await client.delete(ref, { uid: action.uid }, this.#calls));
  }

  /** As PodGC does it: a pod that is not over keeps its volumes for as long as a finalizer keeps its object (POD-6). */
  async #forceDelete(action: Extract<Action, { do: 'forceDelete' }>): Promise<Outcome> {
    const { pod, basis } = action;
    const { namespace, name, uid } = pod;
    let { resourceVersion } = pod;
    const wasOver = isOver(pod);
    if (!wasOver) {
      const failed = await this.#fail(pod, basis);
      if (!failed.ok) return outcomeOf(action, failed);
      resourceVersion = failed.value.metadata.resourceVersion ?? resourceVersion;
    }
    const ref = { resource: pods, namespace, name };
    const only = { uid, resourceVersion };
    const calls = { ...this.#calls, metadataOnly: true, gracePeriodSeconds: 0 };
    const deleted = await this.#options.client.delete(ref, only, calls);
    if (deleted.ok) this.#options.onPod(uid, undefined);
    // A controller may take away at once what we have just called over: that was our doing, and is told as such.
    if (!wasOver && !deleted.ok && deleted.error.kind === 'notFound') return { kind: 'done', action };
    return outcomeOf(action, deleted);
  }

  async #fail(pod: PodFacts, basis: string): Promise<Result<KubeObject>> {
    const { namespace, name, uid, resourceVersion } = pod;
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByFenceline',
      message: `released from node ${this.#node.name} on the basis ${basis}`,
      lastTransitionTime: this.#options.at,
    };
    const operations: JsonPatchOperation[] = [
      { op: 'add', path: '/status/phase', value: 'Failed' },
      conditionSet(pod, condition),
    ];
    const ref = { resource: pods, namespace, name };
    const options = { ...this.#calls, metadataOnly: true, subresource: 'status' };
    const failed = await this.#options.client.patch(ref, { uid, resourceVersion }, operations, options);
    if (failed.ok) this.#options.onPod(uid, failed.value.metadata.resourceVersion ?? resourceVersion);
    return failed;
  }
}

function outcomeOf(action: Action, result: Result<unknown>): Outcome {
  if (result.ok) return { kind: 'done', action };
  const { error } = result;
  // What is gone needs nothing any more, and a newcomer of its name was not meant.
  if (error.kind === 'notFound') return { kind: 'needless', action };
  if (error.kind === 'conflict') return { kind: 'changed', action, what: error.message };
  return { kind: 'failed', action, error };
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

function remediationNotes(node: WireNode, remediation: Remediation | undefined): JsonPatchOperation[] {
  return setAnnotations(node, {
    [REMEDIATION_TIME_ANNOTATION]: remediation?.since,
    [REMEDIATION_POD_ANNOTATION]: remediation?.pod,
  });
}
