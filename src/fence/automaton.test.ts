import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceFacts, FenceLimits, FenceState, Transition } from './automaton.ts';
import { FENCE_PHASES as PHASES } from '../api/node-fence.ts';
import { beginFence, transition } from './automaton.ts';
import type { FenceConfig, Level, Method } from '../api/fence-config.ts';
import type { TaskOutcome } from '../api/release-view.ts';

function method(name: string, action: 'off' | 'on'): Method {
  return { name, action, driver: 'agent:fence_test', parameters: {}, secrets: [] };
}

function level(...names: string[]): Level {
  const methods = names.map((name) => method(name, name.endsWith('on') ? 'on' : 'off'));
  return { off: methods.filter(({ action }) => action === 'off'), on: methods.filter(({ action }) => action === 'on') };
}

const full: FenceConfig = {
  isolation: [level('fc-off')],
  powerManagement: [level('a-off', 'b-off', 'a-on'), level('pdu-off', 'pdu-on')],
  recovery: [level('fc-on')],
};
const configs: Record<string, FenceConfig> = {
  full,
  'power alone': { isolation: [], powerManagement: [level('ipmi-off', 'ipmi-on')], recovery: [] },
  'isolation alone': {
    isolation: [level('fc-off'), level('net-off')],
    powerManagement: [],
    recovery: [level('fc-on')],
  },
  'never on again': { isolation: [], powerManagement: [level('ipmi-off')], recovery: [] },
};
const limits: FenceLimits = {
  isolateAfterMs: 10,
  powerManagementAfterMs: 20,
  bootTimeoutMs: 30,
  retries: 1,
  restarts: 1,
};

const quiet: FenceFacts = {
  nowMs: 0,
  isBack: false,
  bootId: 'b1',
  isReleased: false,
  isBraked: false,
  isStopped: false,
};

function next(state: FenceState, facts: Partial<FenceFacts>, config: FenceConfig = full): Transition {
  return transition(state, { facts: { ...quiet, ...facts }, config, limits });
}

function stateOf(moved: Transition): FenceState {
  assert.equal(moved.kind, 'state');
  return moved.kind === 'state' ? moved.state : assert.fail();
}

/** Follows a story of facts; `done` and `bad` are answers of whatever method runs. */
function play(story: readonly (Partial<FenceFacts> | 'done' | 'bad')[], config: FenceConfig = full): FenceState {
  let state = beginFence(0, 'b1');
  let nowMs = 0;
  for (const one of story) {
    const facts =
      one === 'done' || one === 'bad'
        ? { task: { outcome: one === 'done' ? ('succeeded' as const) : ('failed' as const) } }
        : one;
    nowMs = Math.max(nowMs, facts.nowMs ?? 0);
    state = stateOf(next(state, { ...facts, nowMs }, config));
    // What follows at once from what is stored is not worth a line of the story.
    for (let more = stateOf(next(state, { ...without(facts), nowMs }, config)); more !== state;) {
      state = more;
      more = stateOf(next(state, { ...without(facts), nowMs }, config));
    }
  }
  return state;
}

function without(facts: Partial<FenceFacts>): Partial<FenceFacts> {
  const rest = { ...facts };
  delete rest.task;
  return rest;
}

describe('fence automaton', () => {
  test('[FEN-1, FEN-10] isolation, power off, release, power on, boot, recovery: in this order', () => {
    assert.equal(play([]).phase, 'waiting');
    assert.equal(play([{ nowMs: 10 }]).phase, 'isolating');
    assert.equal(play([{ nowMs: 10 }, 'done']).phase, 'isolated');
    assert.equal(play([{ nowMs: 10 }, 'done', { nowMs: 20 }]).phase, 'poweringOff');
    const begun = [{ nowMs: 10 }, 'done', { nowMs: 20 }] as const;
    assert.deepEqual([play([...begun, 'done']).phase, play([...begun, 'done']).method], ['poweringOff', 1]);
    assert.equal(play([...begun, 'done', 'done']).phase, 'off', 'both plugs');
    const off = [...begun, 'done', 'done'] as const;
    assert.equal(play([...off, { nowMs: 1000 }]).phase, 'off', 'on waits for the release, however long');
    assert.equal(play([...off, { isReleased: true }]).phase, 'poweringOn');
    assert.equal(play([...off, { isReleased: true }, 'done']).phase, 'booting');
    const booted = [...off, { isReleased: true }, 'done', { isBack: true, bootId: 'b2' }] as const;
    assert.equal(play(booted).phase, 'recovering');
    assert.equal(play([...booted, 'done']).phase, 'finished');
  });

  test('[FEN-4] cancelled before anything is begun; afterwards it goes to recovery', () => {
    assert.equal(next(beginFence(0, 'b1'), { isBack: true }).kind, 'cancelled');
    assert.equal(play([{ nowMs: 10 }, 'done', { isBack: true }]).phase, 'recovering');
    const unisolated = stateOf(next(beginFence(0, 'b1'), { nowMs: 10 }, configs['power alone']));
    assert.equal(next(unisolated, { isBack: true }, configs['power alone']).kind, 'cancelled');
  });

  test('[FEN-2, FEN-14] a step is tried again, then the next level, then it is an error; the whole begins anew so often as it may', () => {
    const begun = [{ nowMs: 10 }, 'done', { nowMs: 20 }] as const;
    const once = play([...begun, 'done', 'bad']);
    assert.deepEqual(
      [once.phase, once.level, once.method, once.retries],
      ['poweringOff', 0, 0, 1],
      'from the first plug on',
    );
    const second = play([...begun, 'bad', 'bad']);
    assert.deepEqual([second.phase, second.level, second.retries], ['poweringOff', 1, 0]);
    const error = stateOf(next(play([...begun, 'bad', 'bad', 'bad']), { nowMs: 20, task: { outcome: 'failed' } }));
    assert.deepEqual([error.phase, error.restarts], ['failed', 0]);
    const again = stateOf(next(error, { nowMs: 30 }));
    assert.deepEqual([again.phase, again.restarts, again.retries, again.startedAtMs], ['waiting', 1, 0, 30]);
    const forGood = { ...error, restarts: 1 };
    assert.deepEqual(stateOf(next(forGood, { nowMs: 1e9 })), forGood);
    assert.deepEqual(stateOf(next(forGood, { isBack: true })), forGood, 'back without a reboot proves nothing');
    assert.equal(stateOf(next(forGood, { isBack: true, bootId: 'b2' })).phase, 'recovering');
  });

  test('what is switched off by a level is switched on by the same one', () => {
    const off = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'bad', 'bad', 'done']);
    assert.deepEqual([off.phase, off.level], ['off', 1]);
    const moved = next(stateOf(next(off, { nowMs: 20, isReleased: true })), { nowMs: 20, isReleased: true });
    assert.equal(moved.kind === 'state' && moved.run?.name, 'pdu-on');
  });

  test('[FEN-5] power without isolation where its time comes first', () => {
    const hasty = { ...limits, powerManagementAfterMs: 5 };
    const moved = transition(beginFence(0, 'b1'), { facts: { ...quiet, nowMs: 5 }, config: full, limits: hasty });
    assert.equal(stateOf(moved).phase, 'poweringOff');
  });

  test('[FEN-13] stopped, nothing moves and nothing runs', () => {
    for (const phase of PHASES) {
      const state = { ...beginFence(0, 'b1'), phase, begun: true };
      const moved = next(state, { nowMs: 1e9, isBack: true, bootId: 'b2', isReleased: true, isStopped: true });
      assert.deepEqual(moved, { kind: 'state', state });
    }
  });
});

const outcomes: (TaskOutcome | undefined)[] = [undefined, 'running', 'succeeded', 'failed', 'unknown'];

/** Every input that can make a difference, some of them senseless on purpose. */
function* inputs(state: FenceState): Generator<FenceFacts> {
  const moments = [state.startedAtMs, state.startedAtMs + 10, state.startedAtMs + 20, state.phaseStartedAtMs + 30];
  for (const nowMs of new Set(moments.filter((at) => at >= state.phaseStartedAtMs))) {
    for (const isBack of [false, true]) {
      for (const bootId of ['b1', 'b2', '']) {
        for (const isReleased of [false, true]) {
          for (const outcome of outcomes) {
            const task = outcome === undefined ? {} : { task: { outcome } };
            const facts = { nowMs, isBack, bootId, isReleased, isStopped: false, ...task };
            yield { ...facts, isBraked: false };
            yield { ...facts, isBraked: true };
            yield { ...facts, isBraked: false, onAgain: 'on' };
          }
        }
      }
    }
  }
}

/** Time only matters as a distance: what differs in nothing else is the same state. */
function keyOf(state: FenceState): string {
  const { startedAtMs, phaseStartedAtMs, message: _, ...rest } = state;
  return JSON.stringify({ ...rest, elapsed: Math.min(30, phaseStartedAtMs - startedAtMs) });
}

interface Explored {
  states: Map<string, FenceState>;
  edges: Map<string, Set<string>>;
  steps: number;
}

function explore(
  config: FenceConfig,
  check: (from: FenceState, facts: FenceFacts, moved: Transition) => void,
): Explored {
  const first = beginFence(0, 'b1');
  const states = new Map([[keyOf(first), first]]);
  const edges = new Map<string, Set<string>>();
  let steps = 0;
  for (const [key, state] of states) {
    const targets = new Set<string>();
    edges.set(key, targets);
    for (const facts of inputs(state)) {
      steps += 1;
      const moved = transition(state, { facts, config, limits });
      check(state, facts, moved);
      const target = moved.kind === 'cancelled' ? 'cancelled' : keyOf(moved.state);
      targets.add(target);
      if (moved.kind === 'state' && !states.has(target)) states.set(target, moved.state);
    }
  }
  return { states, edges, steps };
}

function canReach(edges: Map<string, Set<string>>, goals: ReadonlySet<string>): Set<string> {
  const reaching = new Set(goals);
  for (let grew = true; grew;) {
    grew = false;
    for (const [from, targets] of edges) {
      if (!reaching.has(from) && [...targets].some((target) => reaching.has(target))) {
        reaching.add(from);
        grew = true;
      }
    }
  }
  return reaching;
}

describe('every state and every input', () => {
  for (const [name, config] of Object.entries(configs)) {
    test(`${name}: no dead end, no act without a record, nothing switched on before the release, counts exact`, (t) => {
      const { states, edges, steps } = explore(config, (from, facts, moved) => {
        if (moved.kind === 'cancelled') {
          assert.ok(!from.begun, 'S23: what was begun is never just dropped');
          assert.ok(facts.isBack);
          return;
        }
        const { state, run } = moved;
        // A method runs only in a state that is stored as it is, and says that something has begun.
        if (run !== undefined) assert.ok(state === from && from.begun, `${from.phase} runs ${run.name} unrecorded`);
        if (state.phase === 'off' && from.phase !== 'off') {
          const offs = config.powerManagement[from.level]?.off ?? [];
          assert.equal(from.phase, 'poweringOff');
          assert.equal(from.method, offs.length, 'every method of the level was confirmed');
        }
        if (state.phase === 'poweringOn' && from.phase !== 'poweringOn') {
          assert.ok(from.phase === 'off' && facts.isReleased, 'FEN-10: on waits for the release');
        }
        assert.ok(state.retries <= limits.retries && state.restarts <= limits.restarts);
        if (state.restarts !== from.restarts)
          assert.deepEqual([from.phase, state.restarts], ['failed', from.restarts + 1]);
        if (facts.task?.outcome === 'unknown' || facts.task?.outcome === 'failed') {
          assert.ok(
            state.method <= from.method || state.phase !== from.phase,
            'S26: what is not known to be done is not',
          );
        }
        assert.ok(state.begun || !from.begun, 'begun is never forgotten');
        if (facts.isBraked) assert.ok(state.begun === from.begun && state.restarts === from.restarts, 'S21: braked');
      });
      t.diagnostic(`${states.size} states, ${steps} steps`);
      const ends = [...states].filter(([, { phase }]) => phase === 'finished').map(([key]) => key);
      const reaching = canReach(edges, new Set([...ends, 'cancelled']));
      const stuck = [...states].filter(([key]) => !reaching.has(key)).map(([, state]) => state);
      assert.deepEqual(stuck, []);
      for (const phase of PHASES) {
        const reached = [...states.values()].some((state) => state.phase === phase);
        const isPossible =
          (phase !== 'isolating' || config.isolation.length > 0) &&
          (config.powerManagement.length > 0 || !['poweringOff', 'off', 'poweringOn', 'booting'].includes(phase)) &&
          (phase !== 'poweringOn' || config.powerManagement.some(({ on }) => on.length > 0));
        assert.equal(reached, isPossible, phase);
      }
    });
  }
});
