/** Knocks at the port of a kubelet: nothing is said, only whether somebody opens. */
import { connect } from 'node:net';

/** `refused`: the machine answers that nobody listens there. `silent`: nobody answers, or something else does not let us. */
export type Knocked = 'open' | 'refused' | 'silent';

export interface Door {
  address: string;
  port: number;
}

export type Knock = (door: Door, timeoutMs: number) => Promise<Knocked>;

export const knock: Knock = ({ address: host, port }, timeoutMs) =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (knocked: Knocked): void => {
      socket.destroy();
      resolve(knocked);
    };
    socket.once('connect', () => end('open'));
    socket.once('timeout', () => end('silent'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => end(code === 'ECONNREFUSED' ? 'refused' : 'silent'));
  });
