/**
 * [S20] The operator is killed at every write of every path, once right before the write leaves and once when the server
 * has carried it out but the answer has not arrived, and started again five seconds later. Whatever it was in the middle
 * of is finished by its successor: as expected, with no invariant broken, nothing released twice, nothing left behind.
 *
 * `FENCELINE_EXHAUSTIVE=1` takes every crash point (`make soak`), otherwise every third, beginning with another one in
 * each path.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { StoredFence } from '../../src/scenario/cluster-state.ts';
import type { World } from '../../src/world/world.ts';
import type { CrashPoint, Killed } from './killed.ts';
import { crashPointsOf, killedAtWrite, whereOf } from './killed.ts';
import type { Path } from './paths.ts';
import { paths } from './paths.ts';
import { failuresOf } from './run-file.ts';
import { trouble } from './trouble.ts';

const stride = process.env['FENCELINE_EXHAUSTIVE'] === '1' ? 1 : 3;
/** How much longer a path takes when its operator has to be replaced, election included. */
const runFor = '3m30s';

function pathRun({ name, trouble: what }: Path, point?: CrashPoint): Promise<Killed> {
  return killedAtWrite(trouble(name, { ...what, runFor }), point);
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
      const { writes, seen } = await pathRun(path);
      assert.deepEqual([...failuresOf(seen.report), ...leftoversOf(seen.world)], [], 'without a crash');
      const points = crashPointsOf(writes.length);
      count.points += points.length;
      for (const point of points.filter((_, at) => (at + index) % stride === 0)) {
        const crashed = await pathRun(path, point);
        const where = whereOf(point, writes);
        assert.equal(crashed.crashes, 1, where);
        assert.deepEqual([...failuresOf(crashed.seen.report), ...leftoversOf(crashed.seen.world)], [], where);
        count.run += 1;
      }
    });
  }

  after(() => console.log(`crash points: ${count.run} of ${count.points} run, ${paths.length} paths`));
});
