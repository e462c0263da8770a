/**
 * Hears that a node is dumping its memory (FEN-12): the kernel that kdump boots into sends the datagrams of fence_kdump
 * until the dump is written. From the first of them on, nothing that ran on the node runs any more.
 *
 * The sender is known by its address alone. A datagram proves nothing about who sent it, so the listener belongs on a
 * network on which addresses cannot be forged; what is not exactly such a message, or comes from an address that is not
 * that of exactly one node, is counted and otherwise ignored.
 *
 * Whoever can send one can send a million. One costs a look at eight bytes and at a table, and is not remembered; only the address
 * of a node is, for a second, of which so many messages are handed on. Nothing is dropped unread: a flood from elsewhere must not
 * hide the message of a real crash.
 */
import type { RemoteInfo, Socket } from 'node:dgram';
import { isIPv4 } from 'node:net';
import type { Clock } from '../clock.ts';
import { PerSecond } from '../clock.ts';

/** Where fence_kdump_send sends to when it is not told otherwise. */
export const KDUMP_PORT = 7410;

const MAGIC = 0x1b302a40;
const VERSION = 1;
const LENGTH = 8;

/**
 * fence_kdump_send sends one in ten seconds, and at most one in a second: more of the same in a second say nothing. The addresses
 * are those of nodes alone, of which no cluster has more.
 */
const HANDED_ON = { each: 4, comers: 16_384 };

/**
 * Whether this is the message of fence_kdump, version 1: its magic number and version, 32 bits each, in the byte order
 * of the sender, which need not be that of this machine.
 */
export function isKdumpMessage(datagram: Uint8Array): boolean {
  if (datagram.length !== LENGTH) return false;
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
  return [true, false].some(
    (littleEndian) => view.getUint32(0, littleEndian) === MAGIC && view.getUint32(4, littleEndian) === VERSION,
  );
}

/** A socket for both families sees IPv4 senders as `::ffff:10.0.0.7`, and link-local ones with their interface. */
export function plainAddress(address: string): string {
  const bare = (address.split('%')[0] ?? '').toLowerCase();
  const embedded = bare.replace(/^::ffff:/, '');
  return isIPv4(embedded) ? embedded : bare;
}

export interface KdumpMessage {
  node: string;
  address: string;
}

/** By what came of them; the names are those of `fenceline_kdump_messages_total`. A type, so that it is a record as well. */
export type KdumpCounts = {
  /** Messages that named exactly one node, and were handed on. */
  heard: number;
  /** The same from the same address, again and again within a second. */
  repeated: number;
  /** Not a message of fence_kdump. */
  malformed: number;
  /** A message from an address that no node has. */
  stranger: number;
  /** A message from an address that several nodes claim: it might be either's, so it is nobody's. */
  ambiguous: number;
};

export interface KdumpListenerOptions {
  createSocket: () => Socket;
  clock: Clock;
  port: number;
  /** Where to listen; all addresses when absent. */
  address?: string;
  /** The nodes that have this address, as `plainAddress` writes it. */
  nodesAt: (address: string) => readonly string[];
  /** Called again and again: a dump takes minutes and the sender repeats itself. */
  onMessage: (message: KdumpMessage) => void;
  /** The socket broke after it had been opened: nothing is heard from now on. */
  onBroken: (error: Error) => void;
}

export class KdumpListener {
  readonly counts: KdumpCounts = { heard: 0, repeated: 0, malformed: 0, stranger: 0, ambiguous: 0 };
  readonly #options: KdumpListenerOptions;
  readonly #rate: PerSecond;
  #socket: Socket | undefined;

  constructor(options: KdumpListenerOptions) {
    this.#options = options;
    this.#rate = new PerSecond(options.clock, HANDED_ON);
  }

  /** Answers the port it listens on. Rejects where it cannot. */
  async start(): Promise<number> {
    if (this.#socket !== undefined) throw new Error('the kdump listener has been started already');
    const socket = this.#options.createSocket();
    this.#socket = socket;
    socket.on('message', (datagram, from) => this.#receive(datagram, from));
    await new Promise<void>((resolve, reject) => {
      const failed = (error: Error): void => {
        this.#socket = undefined;
        socket.close();
        reject(error);
      };
      socket.once('error', failed);
      socket.bind(
        { port: this.#options.port, ...(this.#options.address && { address: this.#options.address }) },
        () => {
          socket.off('error', failed);
          resolve();
        },
      );
    });
    socket.on('error', (error) => this.#options.onBroken(error));
    return socket.address().port;
  }

  async stop(): Promise<void> {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    await new Promise<void>((resolve) => {
      socket.close(() => resolve());
    });
  }

  #receive(datagram: Uint8Array, from: RemoteInfo): void {
    if (!isKdumpMessage(datagram)) {
      this.counts.malformed += 1;
      return;
    }
    const address = plainAddress(from.address);
    const [node, ...others] = new Set(this.#options.nodesAt(address));
    if (node === undefined) {
      this.counts.stranger += 1;
    } else if (others.length > 0) {
      this.counts.ambiguous += 1;
    } else if (!this.#rate.take(address)) {
      this.counts.repeated += 1;
    } else {
      this.counts.heard += 1;
      this.#options.onMessage({ node, address });
    }
  }
}
