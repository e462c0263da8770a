/**
 * Which ports of kubelets answer us at all. Only at one that has answered lately does silence say something: behind a firewall, or
 * where a network policy lets nothing through, every machine is silent, and lives (EVD-4). So whoever has its power watched is knocked at
 * now and then while it is well.
 */
import type { Clock } from '../clock.ts';
import type { Door, Knock, Knocked } from '../kube/knock.ts';

export interface AnsweringDoorsOptions {
  clock: Clock;
  random: () => number;
  knock: Knock;
}

interface Known {
  /** When it last answered; undefined: never, or it does not any more. */
  answeredAtMs?: number | undefined;
  /** How often in a row nobody answered although the machine was not said to be off. */
  missed: number;
  /** When somebody who only wants to learn knocks again. */
  againAtMs: number;
}

/** An answer that is older says nothing of the way to it now. */
const answeredWithinMs = 300_000;
/** So often a door is knocked at to learn whether it answers, and so far apart from those of others. */
const learnEveryMs = 120_000;
const spread = 0.5;
const learnTimeoutMs = 500;
/** One that has answered, and once does not, may have lost its power a moment ago: then that is not to be forgotten. */
const missedAtMost = 1;

export class AnsweringDoors {
  readonly #options: AnsweringDoorsOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: AnsweringDoorsOptions) {
    this.#options = options;
  }

  /** As over the network, but that silence is unknown where nobody has answered lately. */
  readonly knock: Knock = async (door, timeoutMs) => {
    const found = await this.#options.knock(door, timeoutMs);
    const known = this.#known.get(keyOf(door));
    if (known !== undefined && isAnswer(found)) known.answeredAtMs = this.#options.clock.monotonic();
    return found === 'silent' && !this.#hasAnswered(known) ? 'unknown' : found;
  };

  /** Knocks if it is time to, at the door of a machine that is not said to be off; answers whether somebody answers there. */
  async learn(door: Door): Promise<boolean> {
    const { clock, random, knock } = this.#options;
    const known = this.#known.get(keyOf(door)) ?? { missed: 0, againAtMs: -Infinity };
    this.#known.set(keyOf(door), known);
    if (clock.monotonic() < known.againAtMs) return this.#hasAnswered(known);
    const found = await knock(door, learnTimeoutMs);
    const nowMs = clock.monotonic();
    const hadAnswered = this.#hasAnswered(known);
    known.missed = isAnswer(found) ? 0 : known.missed + 1;
    if (isAnswer(found)) known.answeredAtMs = nowMs;
    else if (known.missed > missedAtMost) known.answeredAtMs = undefined;
    const isSoon = hadAnswered && known.missed > 0 && known.missed <= missedAtMost;
    known.againAtMs = isSoon ? nowMs : nowMs + learnEveryMs * (1 - spread / 2 + spread * random());
    return this.#hasAnswered(known);
  }

  /** Nobody has its power watched any more. */
  forget(door: Door): void {
    this.#known.delete(keyOf(door));
  }

  #hasAnswered({ answeredAtMs = -Infinity }: Pick<Known, 'answeredAtMs'> = {}): boolean {
    return this.#options.clock.monotonic() - answeredAtMs <= answeredWithinMs;
  }
}

function isAnswer(found: Knocked): boolean {
  return found === 'open' || found === 'refused';
}

function keyOf({ address, port }: Door): string {
  return `${address} ${port}`;
}
