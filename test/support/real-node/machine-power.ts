/** The power of a real node, as its BMC switches it: one thing at a time, and off means that nothing of it runs any more. */
import type { ClusterNode } from './node.ts';

export interface Switched {
  readonly at: Date;
  readonly to: 'on' | 'off';
  readonly by: 'bmc' | 'test';
}

export class MachinePower {
  readonly node: ClusterNode;
  /** What it was told, the oldest first. */
  readonly log: Switched[] = [];
  /** What happens between the word of its BMC and the end of the machine, the next time that it is told to go off. */
  meanwhile: (() => Promise<void>) | undefined;
  #isOn = true;
  #cycles = 0;
  #last: Promise<void> = Promise.resolve();
  #problem: unknown;

  constructor(node: ClusterNode) {
    this.node = node;
  }

  get state(): 'on' | 'off' {
    return this.#isOn ? 'on' : 'off';
  }

  /** Over when the machine is dead. */
  off(by: Switched['by']): Promise<void> {
    this.log.push({ at: new Date(), to: 'off', by });
    return this.#then(async () => {
      if (by === 'bmc') await this.#takeTime();
      await this.node.powerOff();
      if (this.#isOn && by === 'bmc') this.#cycles += 1;
      this.#isOn = false;
    });
  }

  /** It has power from now on; it boots by itself. */
  on(by: Switched['by']): void {
    this.log.push({ at: new Date(), to: 'on', by });
    void this.#then(async () => {
      this.#isOn = true;
      await this.node.powerOn();
    });
  }

  /** When nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#last;
    if (this.#problem !== undefined) throw this.#problem;
  }

  /** How often its BMC was told to cut it. */
  get cuts(): number {
    return this.log.filter(({ to, by }) => to === 'off' && by === 'bmc').length;
  }

  /** How often its BMC has really taken the power from it: told twice, it goes off once. */
  get cycles(): number {
    return this.#cycles;
  }

  async #takeTime(): Promise<void> {
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
  }

  #then(step: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(step).catch((error: unknown) => {
      this.#problem ??= error;
    });
    return this.#last;
  }
}
