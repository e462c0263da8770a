import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LadderThreshold } from '../api/release-view.ts';
import type { LadderState, RemedyOutcome } from './ladder.ts';
import { climbAll } from './ladders.ts';

const kinds: Record<string, string> = {
  shut: 'cordon',
  open: 'uncordon',
  empty: 'drain',
  repair: 'podTemplate',
  fence: 'fence',
};

function threshold(type: string, remedies: string[], recovery: string[] = []): LadderThreshold {
  return {
    key: type,
    condition: { type, status: 'True', forMs: 0 },
    remedies: remedies.map((name) => ({ name, periodMs: 60_000, cleanResources: true })),
    recovery,
  };
}

interface Seen {
  thresholds: LadderThreshold[];
  /** Conditions that are True. */
  sick: string[];
  states?: LadderState[];
  outcomes?: Record<string, RemedyOutcome>;
  isFenced?: boolean;
  isFoundOff?: boolean;
  nowMs?: number;
}

function look({ thresholds, sick, states = [], outcomes = {}, isFenced = false, isFoundOff = false, nowMs = 0 }: Seen) {
  const conditions = thresholds.map(({ key }) => ({
    type: key,
    status: sick.includes(key) ? ('True' as const) : ('False' as const),
    forMs: 0,
  }));
  return climbAll(
    states,
    thresholds,
    { conditions, nowMs },
    {
      outcomeOf: ({ threshold: of }) => outcomes[of] ?? 'revocable',
      kindOf: (name) => kinds[name],
      isFenced,
      isFoundOff,
    },
  );
}

const state = (of: string, remedy: string, phase: LadderState['phase'] = 'running'): LadderState => ({
  threshold: of,
  position: 0,
  remedy,
  phase,
  startedAt: '1970-01-01T00:00:00.000Z',
  ...(phase === 'waiting' ? { until: '1970-01-01T00:01:00.000Z' } : {}),
});
const brief = ({ ladders, on }: ReturnType<typeof climbAll>): string =>
  `${ladders.map(({ threshold: of, phase }) => `${of} ${phase}`).join(', ')}; ${on?.threshold ?? 'none'} ${on?.remedy ?? ''}`.trim();

describe('[SAF-11] all ladders of a node', () => {
  const disk = threshold('Disk', ['shut'], ['open']);
  const kernel = threshold('Kernel', ['repair', 'fence']);
  const power = threshold('Power', ['fence']);

  test('of several that are due, the harshest begins; the others wait, and are not forgotten', () => {
    const thresholds = [disk, kernel, power];
    assert.equal(brief(look({ thresholds, sick: ['Disk', 'Kernel', 'Power'] })), 'Power running; Power fence');
    assert.equal(brief(look({ thresholds, sick: ['Disk', 'Kernel'] })), 'Kernel running; Kernel repair');
  });

  test('one that is open or exhausted hides none', () => {
    const thresholds = [disk, power];
    for (const phase of ['waiting', 'exhausted'] as const) {
      const states = [state('Disk', 'shut', phase)];
      assert.equal(
        brief(look({ thresholds, sick: ['Disk', 'Power'], states })),
        `Disk ${phase}, Power running; Power fence`,
      );
    }
  });

  test('what has begun is let end; what has not yields to something harsher', () => {
    const thresholds = [kernel, power];
    const states = [state('Kernel', 'repair')];
    const sick = ['Kernel', 'Power'];
    assert.equal(
      brief(look({ thresholds, sick, states, outcomes: { Kernel: 'running' } })),
      'Kernel running; Kernel repair',
    );
    assert.equal(brief(look({ thresholds, sick, states })), 'Kernel running, Power running; Power fence');
    const ended = look({ thresholds, sick, states, outcomes: { Kernel: 'failed' } });
    assert.equal(brief(ended), 'Kernel waiting, Power running; Power fence');
  });

  test('ladders that call for a fence share the one there is, and end with it', () => {
    const thresholds = [power, threshold('Ready', ['fence'])];
    const sick = ['Power', 'Ready'];
    const joined = look({ thresholds, sick, states: [state('Power', 'fence')], outcomes: { Power: 'running' } });
    assert.equal(brief(joined), 'Power running, Ready running; Power fence');
    const outcomes = { Power: 'failed', Ready: 'failed' } as const;
    const ended = look({ thresholds, sick, states: [...joined.ladders], outcomes });
    assert.equal(brief(ended), 'Power waiting, Ready waiting; none');
  });

  test('while a fence is under way nothing else begins, also where its ladder is no more', () => {
    assert.equal(brief(look({ thresholds: [kernel], sick: ['Kernel'], isFenced: true })), '; none');
    assert.equal(brief(look({ thresholds: [power], sick: ['Power'], isFenced: true })), 'Power running; Power fence');
  });

  test('[EVD-2] a machine that is off has its fence at once, past all that is milder, until nobody says so any more', () => {
    const silence = { ...threshold('lease', ['repair', 'fence']), condition: undefined, lease: { staleForMs: 60_000 } };
    const thresholds = [silence, power];
    const off = look({ thresholds, sick: [], isFoundOff: true });
    assert.equal(brief(off), 'lease running; lease fence', 'a fence that is not for silence is not meant');
    assert.equal(brief(look({ thresholds, sick: [], states: [...off.ladders] })), '; none');
    const begun = look({ thresholds, sick: [], states: [...off.ladders], outcomes: { lease: 'running' } });
    assert.equal(brief(begun), 'lease running; lease fence', 'what was begun is brought to its end');
    const repairing = [state('lease', 'repair')];
    const both = { thresholds, sick: [], states: repairing, isFoundOff: true };
    assert.equal(brief(look(both)), 'lease running; lease fence');
    assert.equal(brief(look({ ...both, outcomes: { lease: 'running' } })), 'lease running; lease repair');
  });

  test('the next rung of one that has just ended is not lost when another one goes first', () => {
    const thresholds = [{ ...kernel, remedies: kernel.remedies.map((rung) => ({ ...rung, periodMs: 0 })) }, power];
    const quick = threshold('Quick', ['empty', 'shut']);
    const states = [state('Quick', 'empty')];
    const soon = { ...quick, remedies: quick.remedies.map((rung) => ({ ...rung, periodMs: 0 })) };
    const decided = look({
      thresholds: [soon, ...thresholds],
      sick: ['Quick', 'Kernel'],
      states,
      outcomes: { Quick: 'succeeded' },
    });
    assert.equal(brief(decided), 'Quick running, Kernel running; Kernel repair');
    assert.deepEqual([decided.ladders[0]?.position, decided.ladders[0]?.remedy], [1, 'shut']);
  });

  test('what brings the node back waits while there is other trouble, and then comes', () => {
    const thresholds = [disk, power];
    const states = [state('Disk', 'shut', 'waiting'), state('Power', 'fence', 'exhausted')];
    assert.equal(brief(look({ thresholds, sick: ['Power'], states })), 'Disk waiting, Power exhausted; none');
    assert.equal(brief(look({ thresholds, sick: [], states })), 'Disk recovering; Disk open');
  });
});
