/**
 * Asks the devices of a node how they are, while a decision wants to know. Nobody waits for it: what was answered is kept
 * here with its age, and whoever decides is told when there is something new. One question for each node at a time, so that
 * a device that hangs is not asked twice and delays nobody (S27).
 */
import type { Method } from '../api/fence-config.ts';
import type { PowerAnswer, PowerFacts } from '../api/power.ts';
import { questionOf } from '../api/power.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { Knock, Knocked } from '../kube/knock.ts';
import { knockTimeoutMs } from './device-tasks.ts';

export interface PowerQuestionsOptions {
  clock: Clock;
  ask: (node: LiveNode, method: Method) => Promise<PowerAnswer>;
  /** Whether its devices are asked all the time: then who answers at the port of its kubelet voids what they say (EVD-4). */
  isWatched: (node: string) => boolean;
  knock: Knock;
  /** A node whose devices have answered. */
  onAnswer: (node: string) => void;
}

/** Who asks: a decision is told of every answer, a watch of those only that are news. */
export interface Wanted {
  olderThanMs: number;
  isWatch: boolean;
}

interface Known {
  question: string;
  askedAtMs: number;
  answers?: readonly PowerAnswer[];
  port?: Knocked | undefined;
  /** A decision waits for it. */
  isAwaited?: boolean;
  /** When it was asked again; undefined: nothing is under way. */
  openSinceMs?: number | undefined;
  /** What is under way was asked before something was told: its answer is not kept. */
  isVoid?: boolean;
}

/** What is older is asked for again. */
export const askAgainAfterMs = 5000;
const ofDecision: Wanted = { olderThanMs: askAgainAfterMs, isWatch: false };

export class PowerQuestions {
  readonly #options: PowerQuestionsOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: PowerQuestionsOptions) {
    this.#options = options;
  }

  of(node: string): PowerFacts | undefined {
    const known = this.#known.get(node);
    if (known === undefined) return undefined;
    const { question, askedAtMs, answers, port } = known;
    const askedForMs = this.#options.clock.monotonic() - askedAtMs;
    return {
      question,
      askedForMs,
      ...(answers === undefined ? {} : { answers }),
      ...(port === undefined ? {} : { port }),
    };
  }

  /** Ends with the answers, whatever is kept of them; at once, with those that are known, where none is due. */
  async want(
    node: LiveNode,
    methods: readonly Method[],
    by: Wanted = ofDecision,
  ): Promise<readonly PowerAnswer[] | undefined> {
    if (methods.length === 0) return undefined;
    const nowMs = this.#options.clock.monotonic();
    const question = questionOf(methods);
    const known = this.#known.get(node.name);
    const isSame = known?.question === question;
    if (known?.openSinceMs !== undefined) {
      if (!by.isWatch) known.isAwaited = true;
      return known.answers;
    }
    if (isSame && nowMs - known.askedAtMs < by.olderThanMs) return known.answers;
    const asked: Known = isSame ? known : { question, askedAtMs: nowMs };
    asked.openSinceMs = nowMs;
    asked.isAwaited = !by.isWatch;
    this.#known.set(node.name, asked);
    return this.#ask(node, methods, asked);
  }

  /** What was said is not so any more. */
  contradict(node: string): void {
    const known = this.#known.get(node);
    if (known === undefined) return;
    delete known.answers;
    delete known.port;
  }

  /** Nothing that was said or asked so far counts any more: the node is gone, or its device was told something. */
  forget(node: string): void {
    const known = this.#known.get(node);
    // One that is under way keeps its place, or a device that hangs would be asked again beside it.
    if (known?.openSinceMs === undefined) this.#known.delete(node);
    else {
      delete known.answers;
      delete known.port;
      known.isVoid = true;
    }
  }

  async #ask(node: LiveNode, methods: readonly Method[], asked: Known): Promise<readonly PowerAnswer[]> {
    const { ask, onAnswer } = this.#options;
    const { openSinceMs } = asked;
    const answers = await Promise.all(methods.map((method) => ask(node, method)));
    const port = answers.every(isOff) ? await this.#port(node) : undefined;
    const isNews = asked.isAwaited === true || isOther(asked.answers, answers);
    asked.openSinceMs = undefined;
    asked.askedAtMs = openSinceMs ?? asked.askedAtMs;
    if (asked.isVoid === true) this.#known.delete(node.name);
    else {
      asked.answers = answers;
      asked.port = port;
    }
    if (isNews) onAnswer(node.name);
    return answers;
  }

  async #port({ name, kubelet }: LiveNode): Promise<Knocked | undefined> {
    const { isWatched, knock } = this.#options;
    return kubelet === undefined || !isWatched(name) ? undefined : knock(kubelet, knockTimeoutMs);
  }
}

/** What is said again says nothing new, but that it is off: that counts for a moment only. */
function isOther(before: readonly PowerAnswer[] | undefined, now: readonly PowerAnswer[]): boolean {
  return now.every(isOff) || (before ?? []).every(isOff) || now.some((one, at) => one.power !== before?.[at]?.power);
}

function isOff({ power }: PowerAnswer): boolean {
  return power === 'off';
}
