/** Knocks at the port of a kubelet: nothing is said, only whether somebody opens. */
import { connect } from 'node:net';

/**
 * `refused`: the machine answers that nobody listens there. `silent`: nobody has answered in that time. `unknown`: something between
 * us and the machine does not let us knock, which says nothing of the machine (S26).
 */
export type Knocked = 'open' | 'refused' | 'silent' | 'unknown';

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
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => end(byError[code] ?? 'unknown'));
  });

/** No route, no right, no socket left: all of that is about us, or about the way. */
const byError: Readonly<Record<string, Knocked>> = { ECONNREFUSED: 'refused', ETIMEDOUT: 'silent' };
