import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Election } from '../../test/support/election.ts';

const delayMs = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 9000 }));
const lose = fc.constantFrom('nothing' as const, 'nothing' as const, 'request' as const, 'answer' as const);
const who = fc.integer({ min: 0, max: 2 });
const first = fc.constantFrom('timer' as const, 'answer' as const);
const link = fc.record({ requestMs: delayMs, answerMs: delayMs, lose });
const step = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 9000 }) }),
  fc.record({ kind: fc.constant('stop' as const), who }),
  fc.record({ kind: fc.constant('resume' as const), who, first }),
  fc.record({ kind: fc.constant('pause' as const), who, first, ms: fc.integer({ min: 1, max: 25_000 }) }),
  fc.record({ kind: fc.constant('link' as const), who, link }),
  fc.record({ kind: fc.constant('clock' as const), who, ms: fc.integer({ min: -30, max: 30 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function perform(election: Election, action: Step, suspends: boolean): Promise<void> {
  if (action.kind === 'wait') {
    await election.world.advance(action.ms);
    return;
  }
  const { process } = election.candidates[action.who]!;
  switch (action.kind) {
    case 'stop':
      process.stop(suspends);
      break;
    case 'resume':
      await process.resume(action.first);
      break;
    case 'pause':
      process.stop(suspends);
      await election.world.advance(action.ms);
      await process.resume(action.first);
      break;
    case 'link':
      process.link = action.link;
      break;
    case 'clock':
      // Nobody can know of a time that the one clock slept through while the other was set back over it.
      process.jumpWallClock(suspends ? Math.abs(action.ms) * 1000 : action.ms * 1000);
      break;
  }
}

test('S19: whatever is slow, lost, stopped or askew, two candidates never lead at once', async () => {
  const clocks = fc.record({ rate: fc.double({ min: 0.9, max: 1.2, noNaN: true }), offset: fc.integer() });
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(clocks, clocks, clocks),
      fc.boolean(),
      fc.array(step, { minLength: 5, maxLength: 60 }),
      async (clocks, suspends, steps) => {
        const election = new Election();
        const { world } = election;
        const overlaps: string[] = [];
        world.afterEach = () => {
          const leaders = election.leaders();
          if (leaders.length > 1) overlaps.push(`${leaders.join(' and ')} at ${world.nowMs}`);
        };
        for (const [index, { rate, offset }] of clocks.entries()) {
          election.join(`candidate-${index}`, { rate, wallOffsetMs: offset % 86_400_000 });
          await world.advance(700);
        }
        for (const action of steps) await perform(election, action, suspends);
        assert.deepEqual(overlaps, []);
      },
    ),
    { numRuns: Number(process.env['FENCELINE_RUNS'] ?? 300) },
  );
});
