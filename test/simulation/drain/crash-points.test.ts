/**
 * [S20] The guard is killed at every write of a drain, once before the write leaves and once when the server has carried
 * it out and the answer has not arrived, and started again five seconds later. `FENCELINE_EXHAUSTIVE=1` takes every
 * crash point, otherwise every third. Events, which may be lost, and the
 * renewals of the operator's own Lease do not count.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HttpRequest, Transport } from '../../../src/kube/transport.ts';
import { TransportError } from '../../../src/kube/transport.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import type { Report } from '../../../src/scenario/report.ts';
import { failuresOf, run, scenarioOf } from '../run-file.ts';

const stride = process.env['FENCELINE_EXHAUSTIVE'] === '1' ? 1 : 3;

interface CrashPoint {
  write: number;
  side: 'before' | 'after';
}

/** Event counts are those of an undisturbed run. */
function pathOf(name: string): Scenario {
  const scenario = scenarioOf(`drain/${name}`);
  return { ...scenario, expectations: scenario.expectations.filter(({ state }) => state.of !== 'event') };
}

function isWrite({ method, path }: HttpRequest): boolean {
  return method !== 'GET' && !/\/(events|leases)(\/|\?|$)/.test(path);
}

async function runWith(scenario: Scenario, point?: CrashPoint): Promise<{ report: Report; writes: string[] }> {
  const writes: string[] = [];
  let crash: (() => void) | undefined;
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      if (user !== 'operator-1' || !isWrite(request)) return inner.send(request);
      const isIt = writes.length === point?.write;
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
  const report = await run(scenario, {
    wire,
    onOperator: (operator) => (crash = operator.crash),
  });
  return { report, writes };
}

describe('crash points of drains', () => {
  const names = ['plan-1-block-for-eviction', 'plan-2-last-replica-only', 'two-nodes-at-once'];
  for (const [index, name] of names.entries()) {
    test(`S20: ${name}`, async () => {
      const scenario = pathOf(name);
      const { report, writes } = await runWith(scenario);
      assert.deepEqual(failuresOf(report), [], 'without a crash');
      const points = writes.flatMap((_, write) => [
        { write, side: 'before' as const },
        { write, side: 'after' as const },
      ]);
      for (const point of points.filter((_, at) => (at + index) % stride === 0)) {
        const crashed = await runWith(scenario, point);
        const where = `killed ${point.side} write ${point.write + 1} of ${writes.length}: ${writes[point.write]}`;
        assert.deepEqual(failuresOf(crashed.report), [], where);
      }
    });
  }
});
