/**
 * The storage of a real cluster: block volumes over the network, by the NBD protocol. It knows nothing of Kubernetes. Every write that
 * it carries out is in its ledger, with the connection that it came by, so that two writers cannot hide from it.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { BlockLedger, type Connection } from './block-ledger.ts';
import { ByteReader } from './byte-reader.ts';

const MAGIC = Buffer.from('NBDMAGIC');
const OPTION = Buffer.from('IHAVEOPT');
const OPTION_REPLY = 0x3e889045565a9n;
const REQUEST = 0x25609513;
const REPLY = 0x67446698;
const FIXED_NEWSTYLE = 1;
const NO_ZEROES = 2;
/** With flags, takes flushes. */
const EXPORT_FLAGS = 1 | 4;
const options = { exportName: 1, abort: 2, info: 6, go: 7 } as const;
const replies = { ack: 1, info: 3, unsupported: 0x8000_0001, policy: 0x8000_0002, unknown: 0x8000_0006 } as const;
const commands = { read: 0, write: 1, disconnect: 2, flush: 3 } as const;
const EINVAL = 22;
const EIO = 5;

/** No request is longer: what is, is no request. */
const LONGEST = 32 * 2 ** 20;

export class BlockServer {
  readonly ledger = new BlockLedger();
  readonly #server: Server;
  readonly #volumes = new Map<string, Buffer>();
  readonly #volumeBytes: number;
  readonly #refused = new Set<string>();
  /** Volumes that are served to those alone to whom they were granted. */
  readonly #granted = new Map<string, Set<string>>();
  readonly #sockets = new Map<Socket, Client>();

  private constructor(volumeBytes: number) {
    this.#volumeBytes = volumeBytes;
    this.#server = createServer({ noDelay: true }, (socket) => {
      this.#serve(socket).catch((error: unknown) => {
        socket.destroy();
        // A machine that loses its power does not say goodbye.
        if (!isLostConnection(error)) this.ledger.complain(error);
      });
    });
  }

  static async start(address: string, volumeBytes = 16 * 2 ** 20): Promise<BlockServer> {
    const server = new BlockServer(volumeBytes);
    server.#server.listen(0, address);
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** What a volume holds now, as its disk has it. */
  contentOf(volume: string): Buffer {
    return this.#volume(volume);
  }

  /** From now on nothing of this machine is carried out, whatever it has sent already. */
  revoke(address: string): void {
    this.#refused.add(address);
    for (const [socket, { peer }] of this.#sockets) if (peer === address) socket.destroy();
  }

  allow(address: string): void {
    this.#refused.delete(address);
  }

  /** From the first time on it is for those alone who were granted it, and from whom it was not withdrawn. */
  grant(volume: string, address: string): void {
    this.#granted.set(volume, (this.#granted.get(volume) ?? new Set()).add(address));
  }

  /** From now on nothing of this machine is carried out on this volume, whatever it has sent already. */
  withdraw(volume: string, address: string): void {
    const granted = this.#granted.get(volume) ?? new Set();
    granted.delete(address);
    this.#granted.set(volume, granted);
    for (const [socket, client] of this.#sockets) {
      if (client.peer === address && client.volume === volume) socket.destroy();
    }
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets.keys()) socket.destroy();
    await closed;
  }

  #mayUse(volume: string, peer: string): boolean {
    return !this.#refused.has(peer) && this.#granted.get(volume)?.has(peer) !== false;
  }

  #volume(name: string): Buffer {
    const found = this.#volumes.get(name) ?? Buffer.alloc(this.#volumeBytes);
    this.#volumes.set(name, found);
    return found;
  }

  async #serve(socket: Socket): Promise<void> {
    const peer = socket.remoteAddress ?? 'unknown';
    this.#sockets.set(socket, { peer });
    // Dead machines hold connections too; when they are told off, or their peer is gone, so is the rest.
    socket.once('error', () => socket.destroy());
    const reader = new ByteReader(socket);
    let connection: Connection | undefined;
    try {
      const name = await this.#negotiate(socket, reader, peer);
      if (name === undefined) return;
      this.#sockets.set(socket, { peer, volume: name });
      connection = this.ledger.open(peer, name);
      await this.#transmit(socket, reader, { connection, content: this.#volume(name), peer });
    } finally {
      this.#sockets.delete(socket);
      if (connection !== undefined) this.ledger.close(connection);
      socket.destroy();
    }
  }

  /** Answers the volume that is wanted, or nothing where there is to be none. */
  async #negotiate(socket: Socket, reader: ByteReader, peer: string): Promise<string | undefined> {
    const hello = Buffer.alloc(2);
    hello.writeUInt16BE(FIXED_NEWSTYLE | NO_ZEROES);
    socket.write(Buffer.concat([MAGIC, OPTION, hello]));
    await reader.take(4);
    for (;;) {
      const head = await reader.take(16);
      if (!head.subarray(0, 8).equals(OPTION)) throw new Error('this is no option of NBD');
      const option = head.readUInt32BE(8);
      const data = await reader.take(bounded(head.readUInt32BE(12)));
      const reply = (type: number, body: Buffer = Buffer.alloc(0)): void => {
        const answer = Buffer.alloc(20);
        answer.writeBigUInt64BE(OPTION_REPLY);
        answer.writeUInt32BE(option, 8);
        answer.writeUInt32BE(type, 12);
        answer.writeUInt32BE(body.length, 16);
        socket.write(Buffer.concat([answer, body]));
      };
      if (option === options.abort) {
        reply(replies.ack);
        return undefined;
      }
      if (option !== options.go && option !== options.info) {
        reply(replies.unsupported);
        continue;
      }
      const name = data.subarray(4, 4 + data.readUInt32BE(0)).toString();
      if (!this.#mayUse(name, peer)) {
        reply(replies.policy);
        continue;
      }
      reply(replies.info, this.#description());
      reply(replies.ack);
      if (option === options.go) return name;
    }
  }

  #description(): Buffer {
    const info = Buffer.alloc(12);
    info.writeBigUInt64BE(BigInt(this.#volumeBytes), 2);
    info.writeUInt16BE(EXPORT_FLAGS, 10);
    return info;
  }

  async #transmit(socket: Socket, reader: ByteReader, served: Served): Promise<void> {
    for (;;) {
      const head = await reader.take(28);
      if (head.readUInt32BE(0) !== REQUEST) throw new Error('this is no request of NBD');
      const type = head.readUInt16BE(6);
      const length = head.readUInt32BE(24);
      if (type === commands.disconnect) return;
      const data = type === commands.write ? await reader.take(bounded(length)) : undefined;
      const { error, body } = this.#carryOut(served, { type, offset: Number(head.readBigUInt64BE(16)), length, data });
      const answer = Buffer.alloc(16);
      answer.writeUInt32BE(REPLY);
      answer.writeUInt32BE(error, 4);
      head.copy(answer, 8, 8, 16);
      socket.write(Buffer.concat([answer, body]));
    }
  }

  #carryOut(served: Served, { type, offset, length, data }: Request): { error: number; body: Buffer } {
    const { connection, content, peer } = served;
    const nothing = Buffer.alloc(0);
    if (!this.#mayUse(connection.volume, peer)) return { error: EIO, body: nothing };
    if (type === commands.flush) return { error: 0, body: nothing };
    if (offset + length > content.length) return { error: EINVAL, body: nothing };
    if (type === commands.read) return { error: 0, body: Buffer.from(content.subarray(offset, offset + length)) };
    if (data === undefined) return { error: EINVAL, body: nothing };
    data.copy(content, offset);
    this.ledger.write(connection, offset, length);
    return { error: 0, body: nothing };
  }
}

interface Client {
  peer: string;
  /** Once it has chosen one. */
  volume?: string;
}

interface Served {
  connection: Connection;
  content: Buffer;
  peer: string;
}

interface Request {
  type: number;
  offset: number;
  length: number;
  data: Buffer | undefined;
}

function bounded(length: number): number {
  if (length > LONGEST) throw new Error(`a request of ${length} bytes`);
  return length;
}

function isLostConnection(error: unknown): boolean {
  return error instanceof Error && (error.message === ByteReader.ended || 'code' in error);
}
