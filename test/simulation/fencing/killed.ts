/** Runs a scenario with an operator that is killed right before or after one of its writes. */
import type { HttpRequest, Transport } from '../../../src/kube/transport.ts';
import { TransportError } from '../../../src/kube/transport.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';

export interface CrashPoint {
  at: number;
  side: 'before' | 'after';
}

function isWrite({ method, path }: HttpRequest): boolean {
  return method !== 'GET' && !/\/(leases|events)(\/|\?|$)/.test(path);
}

/** Answers also with the writes in order, up to the crash and beyond. */
export async function killedAtWrite(
  scenario: Scenario,
  point?: CrashPoint,
): Promise<{ seen: Observed; writes: string[] }> {
  const writes: string[] = [];
  let crash: (() => void) | undefined;
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      if (user !== 'operator-1' || !isWrite(request)) return inner.send(request);
      const isIt = writes.length === point?.at;
      writes.push(`${request.method} ${request.path.split('?', 1)[0]}`);
      if (isIt && point?.side === 'before') {
        crash?.();
        throw new TransportError('notSent', 'killed');
      }
      const response = await inner.send(request);
      if (isIt) crash?.();
      return response;
    },
    close: () => inner.close(),
  });
  const seen = await observe(scenario, { wire, onOperator: (operator) => (crash = operator.crash) });
  return { seen, writes };
}
