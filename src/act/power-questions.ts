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

export interface PowerQuestionsOptions {
  clock: Clock;
  ask: (node: LiveNode, method: Method) => Promise<PowerAnswer>;
  /** A node whose devices have answered. */
  onAnswer: (node: string) => void;
}

interface Known {
  question: string;
  askedAtMs: number;
  answers?: readonly PowerAnswer[];
  /** When it was asked again; undefined: nothing is under way. */
  openSinceMs?: number | undefined;
  /** Said off, and on after that, with nothing told in between. */
  cameOn?: boolean;
  /** What is under way was asked before something was told: its answer is not kept. */
  isVoid?: boolean;
}

/** What is older is asked for again. */
export const askAgainAfterMs = 5000;

export class PowerQuestions {
  readonly #options: PowerQuestionsOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: PowerQuestionsOptions) {
    this.#options = options;
  }

  of(node: string): PowerFacts | undefined {
    const known = this.#known.get(node);
    if (known === undefined) return undefined;
    const { question, askedAtMs, answers, cameOn } = known;
    const askedForMs = this.#options.clock.monotonic() - askedAtMs;
    return {
      question,
      askedForMs,
      ...(answers === undefined ? {} : { answers }),
      ...(cameOn === undefined ? {} : { cameOn }),
    };
  }

  want(node: LiveNode, methods: readonly Method[]): void {
    if (methods.length === 0) return;
    const nowMs = this.#options.clock.monotonic();
    const question = questionOf(methods);
    const known = this.#known.get(node.name);
    const isSame = known?.question === question;
    if (known?.openSinceMs !== undefined) return;
    if (isSame && nowMs - known.askedAtMs < askAgainAfterMs) return;
    const asked: Known = isSame ? known : { question, askedAtMs: nowMs };
    asked.openSinceMs = nowMs;
    this.#known.set(node.name, asked);
    void this.#ask(node, methods, asked);
  }

  /** What was said is not so any more. */
  contradict(node: string, { isOn }: { isOn: boolean }): void {
    const known = this.#known.get(node);
    if (known === undefined) return;
    delete known.answers;
    if (isOn) known.cameOn = true;
  }

  /** Nothing that was said or asked so far counts any more: the node is gone, or its device was told something. */
  forget(node: string): void {
    const known = this.#known.get(node);
    // One that is under way keeps its place, or a device that hangs would be asked again beside it.
    if (known?.openSinceMs === undefined) this.#known.delete(node);
    else {
      delete known.answers;
      delete known.cameOn;
      known.isVoid = true;
    }
  }

  async #ask(node: LiveNode, methods: readonly Method[], asked: Known): Promise<void> {
    const { ask, onAnswer } = this.#options;
    const { openSinceMs } = asked;
    const answers = await Promise.all(methods.map((method) => ask(node, method)));
    asked.openSinceMs = undefined;
    asked.askedAtMs = openSinceMs ?? asked.askedAtMs;
    if (asked.isVoid === true) this.#known.delete(node.name);
    else {
      if (asked.answers?.every(isOff) && answers.some(({ power }) => power === 'on')) asked.cameOn = true;
      asked.answers = answers;
    }
    onAnswer(node.name);
  }
}

function isOff({ power }: PowerAnswer): boolean {
  return power === 'off';
}
