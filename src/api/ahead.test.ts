import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withoutAhead } from './ahead.ts';
import { EMPTY_STATUS } from './empty-status.ts';
import { timeOf } from './facts.ts';

const nowMs = Date.UTC(2026, 0, 1, 12);
const at = (afterMs: number): string => timeOf(nowMs + afterMs);
const yearMs = 31_536_000_000;

const told = (status: object): unknown => withoutAhead({ ...EMPTY_STATUS, ...status }, nowMs);
const mended = (status: object): object => ({ ...EMPTY_STATUS, ...status });

describe('what is on record by a clock that was ahead', () => {
  test('what is not ahead, or by less than clocks may be apart, stays as it is', () => {
    assert.equal(told({}), undefined);
    const fence = { startedAt: at(-60_000), stepStartedAt: at(60_000), until: at(240_000) };
    assert.equal(told({ fence, storm: { since: at(-5), endedAt: at(5) } }), undefined);
  });

  test('[SAF-12] what happened has happened by now, and what is due after it is due so long after now', () => {
    const fence = { startedAt: at(-60_000), stepStartedAt: at(60_001), until: at(yearMs) };
    const switched = { switched: [{ commandSentAt: at(yearMs), method: 'pdu-off' }] };
    assert.deepEqual(
      told({ fence: { ...fence, ...switched }, return: { since: at(yearMs), soakUntil: at(yearMs + 10_000) } }),
      mended({
        fence: {
          startedAt: at(-60_000),
          stepStartedAt: at(0),
          until: at(180_000),
          switched: [{ commandSentAt: at(0), method: 'pdu-off' }],
        },
        return: { since: at(0), soakUntil: at(10_000) },
      }),
    );
  });

  test('[SAF-12] a try is due after three minutes at the latest, a rung after its own period', () => {
    assert.deepEqual(
      told({ fence: { startedAt: at(0), until: at(240_001) } }),
      mended({ fence: { startedAt: at(0), until: at(180_000) } }),
    );
    const ladder = { startedAt: at(yearMs), until: at(yearMs + 90_000) };
    assert.deepEqual(told({ ladders: [ladder] }), mended({ ladders: [{ ...ladder, until: at(90_000) }] }));
    assert.equal(told({ ladders: [{ startedAt: at(-10_000), until: at(3_600_000) }] }), undefined);
  });

  test('what others have written, and what is only told, stays', () => {
    const request = { at: at(yearMs), answeredAt: at(yearMs) };
    assert.equal(told({ request, next: { what: 'x', at: at(yearMs) }, history: [{ at: at(yearMs) }] }), undefined);
  });
});
