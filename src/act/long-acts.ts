/**
 * Acts that take their time: power and storage switched, Jobs, drains, machines removed. At most one for each node; whoever
 * asks learns how it stands. Nothing of this survives the process, and nothing has to: what was begun is in the NodeFence,
 * and beginning it again is harmless (S20).
 */
import type { Method } from '../api/fence-config.ts';
import type { DoubtAbout, Refusable } from '../api/power.ts';
import type { LiveNode, NodeCase } from '../api/release-view.ts';
import type { Cordon, DeviceQuestion, Grounds, JobOrder, LongAct, Step } from '../api/steps.ts';
import { commandKey } from '../api/task.ts';
import type { Clock } from '../clock.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Knock } from '../kube/knock.ts';
import { knock as knockByNetwork } from '../kube/knock.ts';
import { deleteMachine } from './delete-machine.ts';
import type { Hear, MayAct } from './device-tasks.ts';
import { DeviceTasks } from './device-tasks.ts';
import type { DrainCalls } from './drain-node.ts';
import { cordonFirst, drainNode, Leavers } from './drain-node.ts';
import type { LookElsewhere } from './grounds.ts';
import { namesCause, verify } from './grounds.ts';
import { runJob } from './jobs.ts';
import { LiveReads } from './live-reads.ts';
import { AnsweringDoors } from './answering-doors.ts';
import { KubeletDoors } from './kubelet-doors.ts';
import type { TryOutcome } from './power.ts';
import { PowerQuestions } from './power-questions.ts';
import type { PowerWatchOptions } from './power-watch.ts';
import { PowerWatch } from './power-watch.ts';
import { Refusals } from './refusals.ts';
import { setScheduling } from './scheduling.ts';

export interface LongActsOptions {
  client: KubeClient;
  clock: Clock;
  provider: DeviceProvider;
  /** Where the Jobs of remedies are made. */
  namespace: string;
  isLeading: () => boolean;
  timeoutMs: number;
  /** The node that this process runs on; absent: nobody knows, or it is outside of the cluster. */
  nodeName?: string | undefined;
  /** How the ports of kubelets are reached; default: over the network. */
  knock?: Knock | undefined;
  /** What the word of a device is worth. */
  doubt: DoubtAbout;
  /** Notes what a device said, and adds what is known of it. */
  hear: Hear;
  /** What a device of a node said, if on was its last word, whoever has asked it. */
  saysOn?: (node: string, method: Method) => string | undefined;
  /** The power of a node is about to be cut by this device. */
  onCut: (node: LiveNode, method: Method) => void;
  /** The object of a Job; undefined: nobody knows its template any more. */
  jobObject: (
    order: JobOrder,
  ) => { object: Record<string, unknown>; label: { key: string; value: string } } | undefined;
  /** Something about this node has changed. */
  onNode: (name: string) => void;
  /** It was found otherwise than it was decided on. */
  onChanged: (name: string) => void;
  /** Who else is at work on a node now; absent: nobody knows. */
  elsewhere?: LookElsewhere;
  random: () => number;
  /** A fence of it is under way. */
  isFenced: (name: string) => boolean;
  /** How the watch of its devices is doing. */
  onWatch: PowerWatchOptions['onState'];
}

type SwitchAct = Extract<LongAct, { do: 'switch' }>;

export class LongActs {
  readonly #options: LongActsOptions;
  readonly #tasks: DeviceTasks;
  readonly #questions: PowerQuestions;
  /** The same about the way to its storage, which may well be cut under a living node. */
  readonly #storage: PowerQuestions;
  readonly #doors: KubeletDoors;
  readonly #knock: Knock;
  /** Asks devices all the time, where somebody wants that. */
  readonly watch: PowerWatch;
  /** By node: the Job that runs. */
  readonly #jobs = new Map<string, NonNullable<NodeCase['job']>>();
  /** By node: its devices said on when they were asked whether it is off, in the phase that began then. */
  readonly #onAgain = new Map<string, NonNullable<NodeCase['onAgain']>>();
  /** By node: they did not say off when they were asked, in that phase, and since when. */
  readonly #unconfirmed = new Map<string, Omit<NonNullable<NodeCase['unconfirmed']>, 'forMs'> & { sinceMs: number }>();
  /** What does not go at the API server: acts that are done at once, and grounds of those that take their time. */
  readonly refusals: Refusals;
  readonly #refusedGrounds: Refusals;
  /** By node: the tries that the latest decision calls for. */
  readonly #wanted = new Map<string, readonly string[]>();
  /** By node: the command that may have been sent by what we have recorded ourselves, and was not. */
  readonly #unsent = new Map<string, string>();

  /** Nodes whose devices were told to cut them by a try that is not over. */
  readonly #cutting = new Set<string>();

  /** By node: who has been driven out by the drain of this key. */
  readonly #leavers = new Map<string, { key: string; leavers: Leavers }>();

  constructor(options: LongActsOptions) {
    this.#options = options;
    const { clock, provider, isLeading: guard, doubt, hear, saysOn, onCut, onNode: onDone } = options;
    const { onNode, knock: reached = knockByNetwork } = options;
    this.refusals = new Refusals(clock);
    this.#refusedGrounds = new Refusals(clock);
    const doors = new AnsweringDoors({ clock, random: options.random, knock: reached });
    const { knock } = doors;
    this.#knock = knock;
    this.#doors = new KubeletDoors({ clock, knock, onAnswer: onNode });
    const known = saysOn === undefined ? {} : { saysOn };
    this.#tasks = new DeviceTasks({ clock, provider, guard, doubt, hear, ...known, onCut, knock, onDone });
    this.#questions = new PowerQuestions({
      clock,
      ask: (node, method) => this.#tasks.ask(node, { method, what: 'power', isKept: this.watch.isWatched(node.name) }),
      isWatched: (name) => this.watch.isWatched(name),
      knock,
      onAnswer: onNode,
    });
    this.#storage = new PowerQuestions({
      clock,
      ask: (node, method) => this.#tasks.ask(node, { method, what: 'storage' }),
      isWatched: () => false,
      knock,
      onAnswer: onNode,
    });
    this.watch = new PowerWatch({
      clock,
      random: options.random,
      questions: this.#questions,
      doors,
      isCheap: async (node, method) => {
        const found = await provider.device(node, method, { isKept: true });
        return found.ok ? found.isCheap === true : undefined;
      },
      isBusy: options.isFenced,
      onState: options.onWatch,
    });
  }

  /** What its devices said last. */
  powerOf(name: string): Pick<NodeCase, 'power'> {
    const power = this.#questions.of(name);
    return power === undefined ? {} : { power };
  }

  /** Whose devices were told to cut them, and may not have done so yet: that is so whatever became of the record (STM-4). */
  get cutting(): Iterable<string> {
    return this.#cutting;
  }

  /** What is known here of a node, as its case has it. */
  of(
    name: string,
  ): Pick<
    NodeCase,
    'task' | 'job' | 'unsent' | 'onAgain' | 'unconfirmed' | 'power' | 'storage' | 'kubelet' | keyof Refusable
  > {
    const task = this.#tasks.current(name);
    const job = this.#jobs.get(name);
    const unsent = this.#unsent.get(name);
    const onAgain = this.#onAgain.get(name);
    const kubelet = this.#doors.of(name);
    const storage = this.#storage.of(name);
    const refused = this.refusals.of(name);
    const refusedGrounds = this.#refusedGrounds.of(name);
    return {
      ...this.powerOf(name),
      ...(storage === undefined ? {} : { storage }),
      ...(task === undefined ? {} : { task }),
      ...(job === undefined ? {} : { job }),
      ...(unsent === undefined ? {} : { unsent }),
      ...(onAgain === undefined ? {} : { onAgain }),
      ...this.#unconfirmedOf(name),
      ...(refused === undefined ? {} : { refused }),
      ...(refusedGrounds === undefined ? {} : { refusedGrounds }),
      ...(kubelet === undefined ? {} : { kubelet }),
    };
  }

  /**
   * What the latest decision about a node calls for. Whatever else is under way there comes to nothing: another policy is in
   * force, or the record was made anew, which the grounds of one act cannot tell.
   */
  want(name: string, steps: readonly Step[]): void {
    const begun = steps.flatMap((step) => ('begins' in step ? [step.begins] : []));
    this.#wanted.set(
      name,
      begun.map(({ key }) => key),
    );
    for (const act of begun) {
      if (act.do === 'switch' && act.sent?.isFirst) this.#unsent.set(name, commandOf(act));
    }
  }

  /** A decision wants to know how these devices are; nobody waits for it. */
  wonder(node: LiveNode, methods: readonly Method[], olderThanMs: number): void {
    void this.#questions.want(node, methods, { olderThanMs, isWatch: false });
  }

  /** A decision wants to know whether its node is connected to its storage. */
  wonderAboutStorage(node: LiveNode, methods: readonly Method[], olderThanMs: number): void {
    void this.#storage.want(node, methods, { olderThanMs, isWatch: false });
  }

  /** A decision wants to know whether somebody opens at the port of its kubelet. */
  wonderAboutKubelet(node: LiveNode): void {
    this.#doors.want(node);
  }

  /** The API server did not say what would have to be known to decide anything about it. */
  away(name: string): void {
    for (const known of [this.refusals, this.#refusedGrounds]) known.away(name);
  }

  forget(name: string): void {
    this.#onAgain.delete(name);
    this.#unconfirmed.delete(name);
    for (const known of [this.refusals, this.#refusedGrounds]) known.forget(name);
    this.#doors.forget(name);
    this.#questions.forget(name);
    this.#storage.forget(name);
    this.#tasks.forget(name);
    this.#unsent.delete(name);
    this.#leavers.delete(name);
    if (this.#tasks.current(name) === undefined) this.#wanted.delete(name);
    else this.#wanted.set(name, []);
  }

  async cordon(node: LiveNode, { key }: Cordon): Promise<void> {
    await this.#tasks.ensure(node, { key, run: () => this.#schedule(node, 'cordon'), isAwaited: true });
  }

  async begin(node: LiveNode, act: LongAct, grounds: Grounds): Promise<void> {
    const { key } = act;
    const isAwaited = act.do === 'uncordon';
    const first = act.do === 'drain' ? { first: () => cordonFirst(node, this.#drainCalls(node, act, grounds)) } : {};
    const method = act.do === 'switch' ? act.method : undefined;
    await this.#tasks.ensure(node, { key, method, run: () => this.#run(node, act, grounds), isAwaited, ...first });
  }

  /** Why the machine, or its way to the storage, cannot be taken for off, asked of its devices now; undefined: it is. */
  async notOff(node: LiveNode | undefined, question: DeviceQuestion, since: string): Promise<string | undefined> {
    if (node === undefined) return 'there is no Node object';
    const sinceMs = this.#options.clock.monotonic();
    const found = await this.#tasks.notOff(node, question);
    // Whoever is on has to boot; a way to the storage that is open again is only not closed any more.
    const isOnAgain = question.what === 'power' && found?.isOn === true;
    if (isOnAgain) this.#onAgain.set(node.name, { since, message: found.message });
    const before = this.#unconfirmed.get(node.name);
    if (found === undefined || isOnAgain) this.#unconfirmed.delete(node.name);
    else {
      const { message, isDisbelieved } = found;
      const first = before?.since === since ? before.sinceMs : sinceMs;
      this.#unconfirmed.set(node.name, { since, message, isDisbelieved, sinceMs: first });
    }
    return found?.message;
  }

  #unconfirmedOf(name: string): Pick<NodeCase, 'unconfirmed'> {
    const known = this.#unconfirmed.get(name);
    if (known === undefined) return {};
    const { sinceMs, ...unconfirmed } = known;
    return { unconfirmed: { ...unconfirmed, forMs: this.#options.clock.monotonic() - sinceMs } };
  }

  #run(node: LiveNode, act: LongAct, grounds: Grounds): Promise<TryOutcome> {
    const calls = this.#callsFor(node.name, act, grounds);
    const { mayAct } = calls;
    switch (act.do) {
      case 'switch':
        return this.#switch(node, act, mayAct);
      case 'uncordon':
        return this.#uncordon(node, mayAct);
      case 'drain':
        return drainNode(node.name, this.#drainCalls(node, act, grounds));
      case 'deleteMachine':
        return act.wasOff ? deleteMachine(node, calls) : Promise.resolve(notFenced(node));
      case 'runJob':
        return this.#runJob(node, act, mayAct);
    }
  }

  /**
   * What it says of itself includes whether anything was told: a fence whose trouble has ended before that ends with it
   * (SAF-8). What another leader has recorded may have been sent by that one.
   */
  async #switch(node: LiveNode, act: SwitchAct, mayAct: MayAct): Promise<TryOutcome> {
    const { isQuestion = false, sent, what, method } = act;
    let told = sent !== undefined && this.#unsent.get(node.name) !== commandOf(act);
    const outcome = await this.#tasks.operate(node, { ...act, mayBeSent: told }, async () => {
      const objection = isQuestion ? 'it is only asked' : await mayAct();
      if (objection === undefined) {
        told = true;
        if (method.action === 'off') this.#cutting.add(node.name);
        this.#questions.forget(node.name);
        this.#storage.forget(node.name);
        this.#unsent.delete(node.name);
      }
      return objection;
    });
    this.#cutting.delete(node.name);
    const isNo = isQuestion && outcome.outcome === 'dropped';
    // What was found off is not any more, or not for certain: whoever decides next does so without that word.
    const isFoundOff = isQuestion && what === 'power' && method.action === 'off';
    if (isFoundOff && outcome.outcome !== 'succeeded') this.#questions.contradict(node.name);
    return { ...outcome, ...(isNo ? { outcome: 'failed' as const } : {}), told };
  }

  async #uncordon(node: LiveNode, mayAct: MayAct): Promise<TryOutcome> {
    const objection = await mayAct();
    return objection === undefined ? this.#schedule(node, 'uncordon') : { outcome: 'dropped', message: objection };
  }

  /** Who has left is the same for every try of one drain. */
  #drainCalls({ name }: LiveNode, act: LongAct, grounds: Grounds): DrainCalls {
    const known = this.#leavers.get(name);
    const leavers = known?.key === act.key ? known.leavers : new Leavers();
    this.#leavers.set(name, { key: act.key, leavers });
    return { ...this.#callsFor(name, act, grounds), leavers };
  }

  #callsFor(name: string, act: LongAct, grounds: Grounds): Omit<DrainCalls, 'leavers'> {
    const { client, clock, isLeading: guard, timeoutMs } = this.#options;
    return { client, clock, guard, timeoutMs, mayAct: () => this.#mayAct(name, act, grounds) };
  }

  #schedule(node: LiveNode, action: 'cordon' | 'uncordon'): Promise<TryOutcome> {
    const { client, isLeading: guard, timeoutMs } = this.#options;
    return setScheduling(node, action, { client, guard, timeoutMs });
  }

  async #runJob(
    node: LiveNode,
    { job, wasMade }: Extract<LongAct, { do: 'runJob' }>,
    mayAct: MayAct,
  ): Promise<TryOutcome> {
    const { client, clock, isLeading: guard, timeoutMs, namespace, jobObject, onNode } = this.#options;
    const made = jobObject(job);
    if (made === undefined) return { outcome: 'failed', message: `the template of remedy ${job.remedy} is gone` };
    const onSeen = (seen: { uid: string; pod?: string }): void => {
      this.#jobs.set(node.name, { name: job.name, ...seen });
      onNode(node.name);
    };
    try {
      const run = { namespace, name: job.name, wasMade, ...made };
      return await runJob(run, { client, clock, guard, timeoutMs, onSeen, mayAct });
    } finally {
      if (this.#jobs.get(node.name)?.name === job.name) this.#jobs.delete(node.name);
    }
  }

  /**
   * What takes its time reads its grounds when it comes to the point, and again while it goes on: a device that is slow to
   * say how it is, a drain that waits for budgets (S15, S19).
   */
  async #mayAct(name: string, act: LongAct, grounds: Grounds): Promise<string | undefined> {
    const { key } = act;
    const isCut = act.do === 'switch' && act.method.action === 'off';
    if (isCut && !namesCause(grounds)) return 'nobody says what it is for';
    const { client, isLeading, timeoutMs, nodeName, onChanged, elsewhere } = this.#options;
    // Whatever was decided, and whoever recorded it: nobody would be left to finish what is begun here and elsewhere (STM-8).
    if (isCut && name === nodeName) return 'this process runs on it';
    const refusal = await verify(new LiveReads(client, { timeoutMs }), grounds, {
      knock: this.#knock,
      elsewhere,
      ask: async () => 'nobody is asked here',
    });
    if (refusal?.kind === 'changed') onChanged(name);
    this.#refusedGrounds.note(name, refusal?.kind === 'unreadable' ? refusal.error : undefined);
    if (!isLeading()) return 'this instance does not lead any more';
    if (this.#wanted.get(name)?.includes(key) === false) return 'it was decided otherwise since';
    if (refusal === undefined) return undefined;
    return refusal.kind === 'unreadable' ? refusal.error.message : refusal.what;
  }
}

function commandOf({ method, sent }: SwitchAct): string {
  return commandKey(method.name, sent?.at ?? '');
}

/** S13: what may still write is not given away. */
function notFenced({ name }: LiveNode): TryOutcome {
  return { outcome: 'failed', message: `${name} was not switched off before: put a fence before it on the ladder` };
}
