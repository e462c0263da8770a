/** The network between real nodes and their API server: a bridge, and a cable from it to each node. */
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { isAlive } from '../../../control-plane/lock.ts';
import { command } from './commands.ts';
import type { Namespaces } from './namespaces.ts';

/** From the range for documentation and benchmarks, which nobody's network uses. */
const range = '198.18';
/** Of the cluster, and of its storage: one can fail without the other. */
const bridgePrefixes = { cluster: 'fl-br-', storage: 'fl-st-' } as const;

export type Purpose = keyof typeof bridgePrefixes;

const interfaces: Record<Purpose, string> = { cluster: 'eth0', storage: 'eth1' };

export class NodeNetwork {
  /** The bridge, whose own address is that of this machine. */
  readonly #bridge: string;
  readonly #prefix: string;
  readonly #purpose: Purpose;
  #cables = 0;

  private constructor(purpose: Purpose, prefix: string) {
    this.#purpose = purpose;
    this.#bridge = `${bridgePrefixes[purpose]}${process.pid}`;
    this.#prefix = prefix;
  }

  /** One of each for each process: it is named after it, so that what a killed one left behind can be told. */
  static async make(purpose: Purpose = 'cluster'): Promise<NodeNetwork> {
    const used = await command('ip', '-oneline', '-4', 'address');
    const thirds = Array.from({ length: 254 }, (_, index) => index + 1);
    const third = thirds.find((candidate) => !used.includes(`${range}.${candidate}.`));
    if (third === undefined) throw new Error('no range of addresses is left for another network of nodes');
    const network = new NodeNetwork(purpose, `${range}.${third}`);
    // A bridge without a hardware address of its own takes that of a cable, and another when that is torn out: then every node
    // would look in vain for this machine until it asks again who has its address.
    await command('ip', 'link', 'add', network.#bridge, 'address', hardwareAddress(), 'type', 'bridge');
    await command('ip', 'address', 'add', `${network.address}/24`, 'dev', network.#bridge);
    await command('ip', 'link', 'set', network.#bridge, 'up');
    return network;
  }

  static async removeAbandoned(): Promise<void> {
    for (const name of await readdir('/sys/class/net')) {
      const prefix = Object.values(bridgePrefixes).find((one) => name.startsWith(one));
      const pid = Number(prefix === undefined ? Number.NaN : name.slice(prefix.length));
      if (Number.isInteger(pid) && !isAlive(pid)) await command('ip', 'link', 'delete', name);
    }
  }

  /** Of this machine, as the nodes see it. */
  get address(): string {
    return `${this.#prefix}.1`;
  }

  cable(): Cable {
    this.#cables += 1;
    return new Cable(this.#bridge, `${this.#prefix}.${this.#cables + 1}`, interfaces[this.#purpose]);
  }

  /** To a virtual machine. */
  tap(): Tap {
    this.#cables += 1;
    return new Tap(this.#bridge, `${this.#prefix}.${this.#cables + 1}`);
  }

  async remove(): Promise<void> {
    await command('ip', 'link', 'delete', this.#bridge);
  }
}

/** The machine makes it when it starts, and it goes with the machine. */
export class Tap {
  readonly address: string;
  /** Of the machine's end. */
  readonly hardware: string;
  readonly name = `fl${randomBytes(4).toString('hex')}`;
  readonly #bridge: string;

  constructor(bridge: string, address: string) {
    this.#bridge = bridge;
    this.address = address;
    this.hardware = hardwareAddress();
  }

  async join(): Promise<void> {
    await command('ip', 'link', 'set', this.name, 'master', this.#bridge, 'up');
  }
}

function hardwareAddress(): string {
  return `02:fe:ce:${[...randomBytes(3)].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;
}

/** Goes with the node's network namespace, and has to be laid again after that. */
export class Cable {
  readonly address: string;
  readonly #bridge: string;
  /** What the node calls it. */
  readonly #inside: string;
  #end: string | undefined;
  /** A cable that is pulled stays so, whatever is done to the machine. */
  #state: 'up' | 'down' = 'up';

  constructor(bridge: string, address: string, inside: string) {
    this.#bridge = bridge;
    this.address = address;
    this.#inside = inside;
  }

  /** The kernel takes its time to remove a namespace: until then the old cable has its name, and answers for its address. */
  async lay(to: Namespaces): Promise<void> {
    const inside = this.#inside;
    const end = `fl${randomBytes(4).toString('hex')}`;
    await this.tearOut();
    this.#end = end;
    await command('ip', 'link', 'add', end, 'type', 'veth', 'peer', 'name', inside, 'netns', String(to.pid));
    await command('ip', 'link', 'set', end, 'master', this.#bridge, this.#state);
    await to.run('ip', 'link', 'set', 'lo', 'up');
    await to.run('ip', 'address', 'add', `${this.address}/24`, 'dev', inside);
    await to.run('ip', 'link', 'set', inside, 'up');
  }

  /** What is still on its way gets nowhere. */
  async tearOut(): Promise<void> {
    const end = this.#end;
    this.#end = undefined;
    // It may go at this very moment: whether it was there does not matter, only that it is gone.
    if (end !== undefined) await command('ip', 'link', 'delete', end).catch(() => undefined);
  }

  unplug(): Promise<void> {
    return this.#set('down');
  }

  plug(): Promise<void> {
    return this.#set('up');
  }

  async #set(state: 'up' | 'down'): Promise<void> {
    this.#state = state;
    if (this.#end !== undefined) await command('ip', 'link', 'set', this.#end, state);
  }
}
