import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CheckContext } from '../checkers/checker.ts';
import type { StoredFence } from '../cluster-state.ts';
import type { Report } from '../report.ts';
import type { NodeOutcome } from './outcome.ts';
import { OutcomeWatch } from './outcome.ts';

/** One node fails, and its record is written again and again, a second later each time. */
function outcomeOf(...statuses: object[]): NodeOutcome {
  let nowMs = 0;
  const state = { pods: new Map(), fences: new Map() };
  const watch = new OutcomeWatch(new Set(['a']));
  const checker = watch.invariant.check({ state, nowMs: () => nowMs } as unknown as CheckContext);
  watch.begin();
  let previous: StoredFence | undefined;
  for (const status of statuses) {
    nowMs += 1000;
    const object: StoredFence = {
      kind: 'NodeFence',
      metadata: { name: 'node-fence-a' },
      spec: { node: 'a' },
      status,
    };
    checker.onStored?.({ type: previous === undefined ? 'ADDED' : 'MODIFIED', object, previous }, 'operator');
    previous = object;
  }
  const report = { timeline: [], violations: [], exemptions: [], virtualMs: nowMs, wallMs: 0 } as unknown as Report;
  const [node = assert.fail()] = watch.outcome(report, (text) => text).nodes;
  return node;
}

describe('[EXP-2] what a run came to', () => {
  test('each release counts, also by a basis that one before had, and once, however many pods join it', () => {
    const release = (recordedAt: string, count: number): object => ({
      basis: 'PowerOff',
      recordedAt,
      pods: Array.from({ length: count }, (_, at) => ({ name: `${at}` })),
    });
    const { releases } = outcomeOf(
      { releases: [release('1', 1)] },
      { releases: [release('1', 3)] },
      { releases: [release('1', 2), release('2', 1)] },
    );
    assert.deepEqual(releases, [
      { basis: 'PowerOff', at: 1000, pods: 3 },
      { basis: 'PowerOff', at: 3000, pods: 1 },
    ]);
  });

  test('what kept it is told until when, with what was last said of it', () => {
    const held = (reason: string, message = 'why'): object => ({ hold: { reason, message } });
    const { holds } = outcomeOf(held('A'), held('A', 'still'), held('B'), {}, held('A'));
    assert.deepEqual(holds, [
      { reason: 'A', message: 'still', at: 1000, until: 3000 },
      { reason: 'B', message: 'why', at: 3000, until: 4000 },
      { reason: 'A', message: 'why', at: 5000 },
    ]);
  });

  test('how its fence stands is told, unless it has none any more', () => {
    const fence = { phase: 'poweringOff', message: 'why' };
    assert.deepEqual(outcomeOf({ fence }).fence, fence);
    assert.ok(!('fence' in outcomeOf({ fence }, {})));
  });

  test('when a device said off is told by what it had been told', () => {
    const said = { step: 'power-management', device: 'ipmi', confirmedAt: '1' };
    const moments = (switched: object): unknown => {
      const { foundOffAt, confirmedAt, isolatedAt } = outcomeOf({}, { fence: { phase: 'x', switched: [switched] } });
      return [foundOffAt, confirmedAt, isolatedAt];
    };
    assert.deepEqual(moments(said), [2000, undefined, undefined]);
    assert.deepEqual(moments({ ...said, commandSentAt: '1' }), [undefined, 2000, undefined]);
    assert.deepEqual(moments({ ...said, step: 'isolation' }), [undefined, undefined, 2000]);
  });
});
