/**
 * A port on loopback at which nobody answers, as at that of a machine without power: not even that nobody listens. Its process
 * listens and never takes a call; once as many wait as may, the kernel drops the rest.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

const program = `
const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  require('node:fs').writeSync(1, server.address().port + '\\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;
/** More than may wait. */
const callers = 4;

export interface SilentDoor {
  port: number;
  close(): Promise<void>;
}

export async function openSilentDoor(): Promise<SilentDoor> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const port = Number(line);
  const waiting = Array.from({ length: callers }, (): Socket => connect({ host: '127.0.0.1', port }));
  for (const socket of waiting) socket.on('error', () => {});
  const [first] = waiting;
  if (first !== undefined) await once(first, 'connect');
  return {
    port,
    close: async () => {
      for (const socket of waiting) socket.destroy();
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
