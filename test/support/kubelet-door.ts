/**
 * A port on loopback that answers, and at which nobody answers once it is shut, as at that of a machine without power: not even that
 * nobody listens. Then its process stands still; once as many wait as may, the kernel drops the rest.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

const program = `
const server = require('node:net').createServer((socket) => socket.on('error', () => {}).destroy());
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`;
/** More than may wait. */
const callers = 4;

export class KubeletDoor {
  readonly address = '127.0.0.1';
  readonly port: number;
  readonly #child: ChildProcess;
  #callers: Socket[] = [];
  #isClosed = false;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async make(): Promise<KubeletDoor> {
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new KubeletDoor(child, Number(line));
  }

  /** Ends when nobody is let in any more. A machine that is put down when all is over goes off as well: then there is no door. */
  async shut(): Promise<void> {
    if (this.#isClosed) return;
    this.#child.kill('SIGSTOP');
    this.#callers = Array.from({ length: callers }, (): Socket => connect({ host: this.address, port: this.port }));
    for (const socket of this.#callers) socket.on('error', () => {});
    await once(this.#callers[0] as Socket, 'connect').catch((error: unknown) => {
      if (!this.#isClosed) throw error;
    });
  }

  open(): void {
    for (const socket of this.#callers.splice(0)) socket.destroy();
    this.#child.kill('SIGCONT');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const socket of this.#callers.splice(0)) socket.destroy();
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
