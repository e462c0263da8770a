/**
 * What happened to the pods, nodes and attachments of a scenario: for each the states that matter, in their order, and
 * between which steps. Times are not part of it, because only one of the two clusters has a clock that is never late.
 *
 * What both clusters may do in either order is kept apart or left out; each such place says why.
 */
import { conditionOf, controllerOf, isReady, isTerminating } from '../../src/world/objects/meta.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';

export interface Entry {
  /** The steps that were taken before. */
  step: number;
  state: string;
}

/** By what it is about. */
export type History = ReadonlyMap<string, readonly Entry[]>;

interface PodTrack {
  name: string;
  /** The workload whose pods have names by chance; otherwise the name is what stays. */
  group: string | undefined;
  entries: Entry[];
}

const gone = 'gone';
const refused = ' unschedulable';

export class Recorder {
  readonly #scenario: string;
  readonly #pods = new Map<string, PodTrack>();
  readonly #others = new Map<string, Entry[]>();
  #step = 0;

  constructor(scenario: string) {
    this.#scenario = scenario;
  }

  /** Only now it begins: of what was before, the last state is where it starts from. */
  begin(): void {
    for (const [uid, { entries }] of this.#pods) if (!startFromLast(entries)) this.#pods.delete(uid);
    for (const [id, entries] of this.#others) if (!startFromLast(entries)) this.#others.delete(id);
  }

  nextStep(): void {
    this.#step += 1;
  }

  /** What was answered to whoever asked for something. */
  answer(text: string): void {
    this.#note('answers', `${text} (${this.#step})`);
  }

  pod(pod: Pod, exists: boolean): void {
    if (pod.metadata.namespace !== this.#scenario) return;
    const { uid = '' } = pod.metadata;
    let track = this.#pods.get(uid);
    if (track === undefined) {
      track = { name: idOfPod(pod, (node) => this.#short(node)), group: groupOf(pod), entries: [] };
      this.#pods.set(uid, track);
    }
    add(track.entries, this.#step, exists ? podState(pod, (node) => this.#short(node)) : gone);
  }

  /**
   * Its aspects apart: taints are put there by two loops of the controller that do not wait for each other, one for
   * NoSchedule and one for NoExecute, and a kubelet that returns clears its condition while both still look.
   */
  node(node: Node, exists: boolean): void {
    const { name } = node.metadata;
    if (!name.startsWith(`${this.#scenario}-`)) return;
    const id = `node ${this.#short(name)}`;
    if (!exists) {
      for (const known of this.#others.keys()) if (known.startsWith(`${id} `)) this.#note(known, gone);
      return;
    }
    const { status, reason = '' } = conditionOf(node, 'Ready') ?? {};
    this.#note(`${id} ready`, status === undefined ? 'not said' : `${status} ${reason}`);
    this.#note(`${id} cordon`, node.spec?.unschedulable === true ? 'on' : 'off');
    const taints = new Set((node.spec?.taints ?? []).map(({ key, effect }) => `${id} taint ${key}:${effect}`));
    for (const known of this.#others.keys())
      if (known.startsWith(`${id} taint `) && !taints.has(known)) this.#note(known, 'off');
    for (const taint of taints) this.#note(taint, 'on');
  }

  /** All of a volume in one line: where it is attached is what must never be twice. */
  attachment(attachment: VolumeAttachment, exists: boolean): void {
    const { nodeName, source } = attachment.spec;
    const volume = source.persistentVolumeName ?? '';
    if (!volume.startsWith(`${this.#scenario}-`)) return;
    const state = exists ? attachmentState(attachment) : gone;
    this.#note(`volume ${volume.slice(this.#scenario.length + 1)}`, `${state} at ${this.#short(nodeName)}`);
  }

  history(): History {
    // Copies: it goes on.
    const history = new Map<string, readonly Entry[]>(
      [...this.#others].map(([id, entries]) => [id, id.startsWith('volume ') ? withoutReturns(entries) : [...entries]]),
    );
    const groups = new Map<string, PodTrack[]>();
    for (const track of this.#pods.values()) {
      const key = track.group ?? track.name;
      groups.set(key, [...(groups.get(key) ?? []), track]);
    }
    for (const [key, tracks] of groups) {
      const named = tracks.every(({ group }) => group === undefined);
      if (named)
        history.set(
          `pod ${key}`,
          tracks.flatMap(({ entries }) => withoutHaste(entries)),
        );
      else for (const [id, entries] of exchangeable(key, tracks)) history.set(id, entries);
    }
    return history;
  }

  #note(id: string, state: string): void {
    const entries = this.#others.get(id) ?? [];
    // A taint that never was needs no history of not being there.
    if (entries.length === 0 && state === 'off') return;
    this.#others.set(id, entries);
    add(entries, this.#step, state);
  }

  #short(node: string): string {
    return node.replace(`${this.#scenario}-node-`, '');
  }
}

function add(entries: Entry[], step: number, state: string): void {
  if (entries.at(-1)?.state !== state) entries.push({ step, state });
}

/** False: it is over. */
function startFromLast(entries: Entry[]): boolean {
  const last = entries.at(-1);
  entries.splice(0, entries.length, ...(last === undefined ? [] : [{ step: 0, state: last.state }]));
  return last !== undefined && last.state !== gone && last.state !== 'off' && !last.state.startsWith(`${gone} `);
}

/** Pods of one workload of which nobody can tell which is which: those with the same history may change names. */
function exchangeable(group: string, tracks: readonly PodTrack[]): [string, Entry[]][] {
  const lives = tracks.map(({ entries }) => withoutHaste(entries));
  const keys = new Map(lives.map((life) => [life, `${String(life[0]?.step).padStart(3)} ${JSON.stringify(life)}`]));
  lives.sort((a, b) => ((keys.get(a) ?? '') < (keys.get(b) ?? '') ? -1 : 1));
  return lives.map((life, at) => [`pod ${group} #${at + 1}`, life]);
}

/**
 * Without a refusal that was taken back before the next step: whether the scheduler first looks at a pod before or after
 * what it waits for has happened, is chance.
 */
function withoutHaste(entries: readonly Entry[]): Entry[] {
  const kept = entries.filter(({ step, state }, at) => {
    const next = entries[at + 1];
    return !(state.endsWith(refused) && next !== undefined && next.step === step);
  });
  const result: Entry[] = [];
  for (const { step, state } of kept) add(result, step, state);
  return result;
}

/**
 * Without a detach that is undone before the next step: when a pod comes back to its node, it depends on whether the
 * controller, which looks ten times a second, looks just while nobody wants the volume.
 */
function withoutReturns(entries: readonly Entry[]): Entry[] {
  const result: Entry[] = [];
  for (const entry of entries) {
    add(result, entry.step, entry.state);
    const node = entry.state.startsWith('attached ') ? entry.state.slice('attached '.length) : undefined;
    const round = result.slice(-5);
    const isRound =
      node !== undefined &&
      round.map(({ state }) => state).join() ===
        ['attached', 'detaching', gone, 'attaching', 'attached'].map((state) => `${state} ${node}`).join();
    if (isRound && round[1]?.step === entry.step) result.splice(-4);
  }
  return result;
}

function groupOf(pod: Pod): string | undefined {
  const kind = controllerOf(pod)?.kind;
  return kind === 'ReplicaSet' || kind === 'Job' ? pod.metadata.labels?.['app'] : undefined;
}

/** Of a daemon's pod the node that it is for. */
function idOfPod(pod: Pod, short: (node: string) => string): string {
  const { name, labels } = pod.metadata;
  if (controllerOf(pod)?.kind !== 'DaemonSet') return name;
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return `${labels?.['app'] ?? ''} for ${short(terms?.[0]?.matchFields?.[0]?.values?.[0] ?? '')}`;
}

function podState(pod: Pod, short: (node: string) => string): string {
  const { phase = '', reason } = pod.status ?? {};
  const marked = conditionOf(pod, 'DisruptionTarget');
  const scheduled = conditionOf(pod, 'PodScheduled');
  // PodGC calls a pod failed and deletes it right after: a kubelet that lives on without its Node may say in between that
  // it runs.
  if (marked?.reason === 'DeletionByPodGC') return `collected at ${short(pod.spec.nodeName ?? '')}`;
  // A daemon's pod that does not tolerate a taint is deleted by its controller and by taint eviction, who race for it.
  const disruption = controllerOf(pod)?.kind === 'DaemonSet' ? undefined : marked;
  return [
    phase,
    reason === undefined ? '' : ` (${reason})`,
    isReady(pod) ? ' ready' : '',
    pod.spec.nodeName === undefined ? '' : ` at ${short(pod.spec.nodeName)}`,
    disruption?.status === 'True' ? ` by ${disruption.reason ?? ''}` : '',
    isTerminating(pod) ? ' terminating' : '',
    pod.spec.nodeName === undefined && scheduled?.status === 'False' ? refused : '',
  ].join('');
}

function attachmentState(attachment: VolumeAttachment): string {
  if (isTerminating(attachment))
    return attachment.status?.detachError === undefined ? 'detaching' : 'failing to detach';
  return attachment.status?.attached === true ? 'attached' : 'attaching';
}
