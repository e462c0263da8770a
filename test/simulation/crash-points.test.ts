/**
 * [S20] The operator is killed at every write of every path, once right before the write leaves and once when the server
 * has carried it out but the answer has not arrived, and started again five seconds later. Whatever it was in the middle
 * of is finished by its successor: as expected, with no invariant broken, nothing released twice, nothing left behind.
 *
 * `FENCELINE_EXHAUSTIVE=1` takes every crash point (`make soak`), otherwise every third, beginning with another one in
 * each path. Events, which may be lost, and the Lease of the election, whose renewals are part of no path, do not count.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { HttpRequest, Transport } from '../../src/kube/transport.ts';
import { TransportError } from '../../src/kube/transport.ts';
import type { Report } from '../../src/scenario/report.ts';
import type { StoredFence } from '../../src/scenario/cluster-state.ts';
import type { World } from '../../src/world/world.ts';
import type { Path } from './paths.ts';
import { paths } from './paths.ts';
import { failuresOf, run } from './run-file.ts';
import { trouble } from './trouble.ts';

const stride = process.env['FENCELINE_EXHAUSTIVE'] === '1' ? 1 : 3;
/** How much longer a path takes when its operator has to be replaced, election included. */
const runFor = '3m30s';

interface CrashPoint {
  /** Which write, from 0. */
  write: number;
  side: 'before' | 'after';
}

interface Run {
  report: Report;
  writes: string[];
  crashes: number;
  world: World;
}

function isWrite({ method, path }: HttpRequest): boolean {
  return method !== 'GET' && !/\/(leases|events)(\/|\?|$)/.test(path);
}

async function runPath({ name, trouble: what }: Path, point?: CrashPoint): Promise<Run> {
  const writes: string[] = [];
  let crash: (() => void) | undefined;
  let crashes = 0;
  let world: World | undefined;
  const die = (): void => {
    crashes += 1;
    crash?.();
  };
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      if (user !== 'operator-1' || !isWrite(request)) return inner.send(request);
      const isIt = writes.length === point?.write;
      writes.push(`${request.method} ${request.path.split('?', 1)[0]}`);
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
  const report = await run(trouble(name, { ...what, runFor }), {
    wire,
    onOperator: (operator) => (crash = operator.crash),
    onWorld: (built) => (world = built),
  });
  assert.ok(world);
  return { report, writes, crashes, world };
}

/** Everything that is left of the incident in the API, in words. */
function leftoversOf(world: World): string[] {
  return ['node-1', 'node-2', 'node-3'].flatMap((name) => {
    const fence = world.server.peek('fenceline.dev', 'nodefences', `node-fence-${name}`) as unknown as StoredFence;
    const { incident, releases = [] } = fence?.status ?? {};
    return [
      ...(incident === undefined ? [] : [`the incident ${incident.id} is open`]),
      ...releases.filter(({ endedAt }) => endedAt === undefined).map(({ basis }) => `a release by ${basis} is open`),
    ];
  });
}

const count = { points: 0, run: 0 };

describe('crash points', () => {
  for (const [index, path] of paths.entries()) {
    test(`S20: ${path.name}`, async () => {
      const { writes, report, world } = await runPath(path);
      assert.deepEqual([...failuresOf(report), ...leftoversOf(world)], [], 'without a crash');
      const points = writes.flatMap((_, write) => [
        { write, side: 'before' as const },
        { write, side: 'after' as const },
      ]);
      count.points += points.length;
      for (const point of points.filter((_, at) => (at + index) % stride === 0)) {
        const crashed = await runPath(path, point);
        const where = `killed ${point.side} write ${point.write + 1} of ${writes.length}: ${writes[point.write]}`;
        assert.equal(crashed.crashes, 1, where);
        assert.deepEqual([...failuresOf(crashed.report), ...leftoversOf(crashed.world)], [], where);
        count.run += 1;
      }
    });
  }

  after(() => console.log(`crash points: ${count.run} of ${count.points} run, ${paths.length} paths`));
});
