/** Questions and answers over a socket of a virtual machine, each in one line, in the order in which they were asked. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

interface Waiting {
  resolve: (answer: string) => void;
  reject: (reason: Error) => void;
}

export class Conversation {
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];

  /** What it says without having been asked goes to `hears`, which answers whether it is such. */
  private constructor(socket: Socket, hears: (line: string) => boolean) {
    this.#socket = socket;
    socket.on('error', () => socket.destroy());
    createInterface(socket).on('line', (line) => {
      if (!hears(line)) this.#waiting.shift()?.resolve(line);
    });
    socket.once('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the machine is off'));
    });
  }

  static async open(path: string, hears: (line: string) => boolean): Promise<Conversation> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new Conversation(socket, hears);
  }

  ask(line: string): Promise<string> {
    if (this.#socket.destroyed) return Promise.reject(new Error('the machine is off'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.write(`${line}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
