/** The supplies of a machine that has several, each fed by a device of its own: it runs for as long as one of them has power. */
import type { Powered } from './bmc.ts';
import type { Machine } from './machine.ts';

export class Feed implements Powered {
  readonly machine: Machine;
  power: 'on' | 'off' = 'on';
  readonly #all: ReadonlyMap<string, Feed>;

  constructor(machine: Machine, all: ReadonlyMap<string, Feed>) {
    this.machine = machine;
    this.#all = all;
  }

  get name(): string {
    return this.machine.name;
  }

  powerOff(): void {
    this.power = 'off';
    if (![...this.#all.values()].some(({ power }) => power === 'on')) this.machine.powerOff();
  }

  /** As machines are mostly set: one that gets power again goes on. */
  powerOn(): void {
    this.power = 'on';
    this.machine.powerOn();
  }
}

/** Without power from any of them nobody switches the machine on. */
export function feedsOf(machine: Machine, names: readonly string[]): ReadonlyMap<string, Feed> {
  const feeds = new Map<string, Feed>();
  for (const name of names) feeds.set(name, new Feed(machine, feeds));
  if (feeds.size > 0) machine.isFed = () => [...feeds.values()].some(({ power }) => power === 'on');
  return feeds;
}

/** What a device is called: that of its node, or of one feed of it. */
export function deviceKey(node: string, feed: string | undefined): string {
  return feed === undefined ? node : `${node}/${feed}`;
}
