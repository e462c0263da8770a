/**
 * Runs a scenario with an operator that is killed at one of its writes: right before it leaves, or when the server has
 * carried it out and the answer has not arrived. Events, which may be lost, and the Lease of the election, whose renewals
 * are part of no path, do not count.
 */
import type { HttpRequest, Transport } from '../../src/kube/transport.ts';
import { TransportError } from '../../src/kube/transport.ts';
import type { Scenario } from '../../src/scenario/format.ts';
import type { RunOptions } from '../../src/scenario/runner.ts';
import type { Observed } from './release/observed.ts';
import { observe } from './release/observed.ts';

export interface CrashPoint {
  /** Which write, from 0. */
  at: number;
  side: 'before' | 'after';
}

export interface Killed {
  seen: Observed;
  /** In order, those up to the crash and those of the successor. */
  writes: string[];
  /** How many of them came before time 0. */
  early: number;
  crashes: number;
}

export function crashPointsOf(count: number): CrashPoint[] {
  return Array.from({ length: count }, (_, at) => at).flatMap((at): CrashPoint[] => [
    { at, side: 'before' },
    { at, side: 'after' },
  ]);
}

export function whereOf({ at, side }: CrashPoint, writes: readonly string[]): string {
  return `killed ${side} write ${at + 1} of ${writes.length}: ${writes[at]}`;
}

/**
 * More than any path needs. An operator that goes round in circles does so in no time, and the run would never end: from
 * here on it is refused, and waits before it tries again.
 */
const mostWrites = 1000;

function isWrite({ method, path }: HttpRequest): boolean {
  return method !== 'GET' && !/\/(leases|events)(\/|\?|$)/.test(path);
}

/** Without a point nobody is killed. */
export async function killedAtWrite(scenario: Scenario, point?: CrashPoint, options: RunOptions = {}): Promise<Killed> {
  const writes: string[] = [];
  let crash: (() => void) | undefined;
  let crashes = 0;
  let early = 0;
  const die = (): void => {
    crashes += 1;
    crash?.();
  };
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      if (user !== 'operator-1' || !isWrite(request)) return inner.send(request);
      const isIt = writes.length === point?.at;
      writes.push(`${request.method} ${request.path.split('?', 1)[0]}`);
      if (writes.length > mostWrites) throw new TransportError('notSent', 'too many writes');
      if (isIt && point?.side === 'before') {
        die();
        throw new TransportError('notSent', 'killed');
      }
      const response = await inner.send(request);
      if (isIt) die();
      return response;
    },
    close: () => inner.close(),
  });
  const seen = await observe(scenario, {
    ...options,
    wire,
    onOperator: (operator) => (crash = operator.crash),
    onZero: () => {
      early = writes.length;
      options.onZero?.();
    },
  });
  return { seen, writes, early, crashes };
}
