/**
 * Decides who goes next. Requests of several parties to the API are steps: each waits here until everything else of its
 * moment has come to rest, and then one of them, which somebody chooses, goes to the server. So any order in which they
 * could have arrived can be had, from the very programs that send them.
 */
import type { Clock } from '../../clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../kube/transport.ts';

export interface Step {
  party: string;
  request: HttpRequest;
}

/** Whose oldest step goes; or that time passes until one of this party comes, but not for longer than so long. */
export type Choice = { go: string } | { await: string; forMs: number };

export interface StepGateOptions {
  clock: Clock & { readonly nextAt: number | undefined };
  /** What is no step goes straight through. */
  isStep: (step: Step) => boolean;
  /** The oldest step of each party that has one; `late`: a party that was awaited in vain. */
  choose: (heads: ReadonlyMap<string, Step>, late: string | undefined) => Choice;
}

interface Waiting extends Step {
  go: () => void;
}

export class StepGate {
  readonly #options: StepGateOptions;
  readonly #waiting: Waiting[] = [];
  #open = true;
  #awaited: { party: string; cancel: () => void } | undefined;
  #due = false;

  constructor(options: StepGateOptions) {
    this.#options = options;
  }

  /** From now on steps wait for their turn. */
  close(): void {
    this.#open = false;
  }

  /** Whatever waits goes, in the order in which it came. */
  open(): void {
    this.#open = true;
    this.#awaited?.cancel();
    this.#awaited = undefined;
    for (const { go } of this.#waiting.splice(0)) go();
  }

  /** The way to the API for one party. */
  between(party: string, inner: Transport): Transport {
    return { send: (request) => this.#send(party, request, inner), close: () => inner.close() };
  }

  async #send(party: string, request: HttpRequest, inner: Transport): Promise<HttpResponse> {
    if (!this.#open && this.#options.isStep({ party, request })) {
      await new Promise<void>((go) => {
        this.#waiting.push({ party, request, go });
        if (this.#awaited?.party === party) this.#stopAwaiting();
        this.#look();
      });
    }
    return inner.send(request);
  }

  #stopAwaiting(): void {
    this.#awaited?.cancel();
    this.#awaited = undefined;
  }

  /** Once for however many came, when nothing else of this moment is left to run. */
  #look(late?: string): void {
    if (this.#due || this.#awaited !== undefined) return;
    this.#due = true;
    const { clock } = this.#options;
    clock.after(0, () => {
      this.#due = false;
      if (this.#open || this.#waiting.length === 0) return;
      if ((clock.nextAt ?? Infinity) <= clock.monotonic()) this.#look(late);
      else this.#next(late);
    });
  }

  #next(late: string | undefined): void {
    const heads = new Map<string, Waiting>();
    for (const step of this.#waiting) if (!heads.has(step.party)) heads.set(step.party, step);
    const choice = this.#options.choose(heads, late);
    // Whoever chooses may have opened the gate instead.
    if (this.#open) return;
    if ('await' in choice) {
      const cancel = this.#options.clock.after(choice.forMs, () => {
        this.#awaited = undefined;
        this.#look(choice.await);
      });
      this.#awaited = { party: choice.await, cancel };
      return;
    }
    const step = heads.get(choice.go);
    if (step === undefined) throw new Error(`no step of ${choice.go} waits`);
    this.#waiting.splice(this.#waiting.indexOf(step), 1);
    step.go();
    if (this.#waiting.length > 0) this.#look();
  }
}
