import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceFacts, FenceLimits, FenceState, TaskNews, Transition } from './state.ts';
import { beginFence } from './state.ts';
import { FENCE_PHASES as PHASES } from '../api/node-fence.ts';
import { transition } from './automaton.ts';
import type { FenceConfig, Level, Method } from '../api/fence-config.ts';

function method(name: string, action: 'off' | 'on'): Method {
  return { name, action, driver: 'agent:fence_test', parameters: { plug: name.replace(/-.*/, '') }, secrets: [] };
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
  'isolation and power': { ...full, powerManagement: [level('a-off', 'a-on')] },
  'two levels': { isolation: [], powerManagement: [level('a-off', 'a-on'), level('pdu-off', 'pdu-on')], recovery: [] },
  'power alone': { isolation: [], powerManagement: [level('ipmi-off', 'ipmi-on')], recovery: [] },
  'isolation alone': {
    isolation: [level('fc-off', 'net-off')],
    powerManagement: [],
    recovery: [level('fc-on')],
  },
  'undone by itself': {
    isolation: [level('fc-off')],
    powerManagement: [],
    recovery: [],
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
  isHarmless: true,
  bootId: 'b1',
  isReleased: false,
  isWorthIt: true,
  isBraked: false,
  isStopped: false,
  isPaused: false,
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
        ? { task: { outcome: one === 'done' ? ('succeeded' as const) : ('failed' as const), told: true } }
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
    const uncut = { ...forGood, switched: [] };
    assert.deepEqual(stateOf(next(uncut, { isBack: true })), uncut, 'back without a reboot proves nothing');
    assert.equal(stateOf(next(uncut, { isBack: true, bootId: 'b2' })).phase, 'recovering');
  });

  test('what is switched off by a level is switched on by the same one', () => {
    const off = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'bad', 'bad', 'done']);
    assert.deepEqual([off.phase, off.level], ['off', 1]);
    const on = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'bad', 'bad', 'done', { isReleased: true }]);
    const moved = next(on, { nowMs: 20, isReleased: true });
    assert.equal(moved.kind === 'state' && moved.run?.name, 'pdu-on');
  });

  test('[SAF-19, SAF-12] what it has switched off it tries to switch on for as long as it takes, whatever holds cuts back', () => {
    const on = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'done', 'done', { isReleased: true }]);
    const isKnown = ({ switched }: FenceState): boolean =>
      switched.some(
        ({ step, sentAtMs, confirmedAtMs }) => step !== 'isolation' && sentAtMs !== undefined && !confirmedAtMs,
      );
    assert.ok(isKnown(on), 'that it was off is void, and that we did it is not');
    let state = on;
    for (const [tries, nowMs] of [20, 10_020, 70_020, 130_020, 190_020].entries()) {
      for (const held of [{ isBraked: true }, { isPaused: true }, {}]) {
        const again = next(state, { nowMs, ...held });
        assert.equal(again.kind === 'state' && again.run?.name, 'a-on', `${tries} tries have failed`);
      }
      state = stateOf(
        next(state, { nowMs, isBraked: true, task: { outcome: 'failed', message: 'refused', told: true } }),
      );
      assert.deepEqual([state.phase, state.message, isKnown(state)], ['poweringOn', 'refused', true]);
      assert.equal(state.isForGood, tries < 2 ? undefined : true, 'a ladder goes on when all tries are used up');
    }
    state = stateOf(next(state, { nowMs: 250_020, task: { outcome: 'succeeded', told: true } }));
    state = stateOf(next(state, { nowMs: 250_020 }));
    assert.deepEqual([state.phase, state.isForGood, isKnown(state)], ['booting', undefined, false]);
    assert.equal(stateOf(next(on, { nowMs: 20, isBack: true, bootId: 'b2' })).phase, 'recovering', 'on by hand');
  });

  test('[SAF-19, SAF-12] one that begins anew remembers that it may have switched the machine off', () => {
    const config = configs['power alone'] ?? full;
    const again = play([{ nowMs: 20 }, 'bad', { nowMs: 20_000 }, 'bad'], config);
    assert.deepEqual([again.phase, again.restarts, again.wasTold, again.switched], ['waiting', 1, true, []]);
    assert.equal(stateOf(next(again, { nowMs: 20_000, isPaused: true }, config)).phase, 'poweringOn');
    let off = stateOf(next({ ...again, phase: 'poweringOff' }, { nowMs: 21_000 }, config));
    off = stateOf(next(off, { nowMs: 21_000, task: { outcome: 'succeeded', told: false } }, config));
    off = stateOf(next(off, { nowMs: 21_000 }, config));
    assert.equal(off.phase, 'off', 'found off');
    const on = next(off, { nowMs: 21_000, isReleased: true, staysOff: 'it was found off' }, config);
    assert.equal(stateOf(on).phase, 'poweringOn');
    const isolated = { ...again, phase: 'isolated' as const };
    assert.equal(stateOf(next(isolated, { nowMs: 20_000, isPaused: true }, config)).phase, 'poweringOn');
  });

  test('[FEN-14] a level is known by what it has switched, wherever an edit has put it', () => {
    const config = configs['power alone'] ?? full;
    const off = play([{ nowMs: 20 }, 'done'], config);
    const edited = { ...config, powerManagement: [level('pdu-off'), ...config.powerManagement] };
    const seen = stateOf(next(off, { nowMs: 20 }, edited));
    assert.deepEqual([off.level, seen.phase, seen.level], [0, 'off', 1]);
    const on = stateOf(next(seen, { nowMs: 20, isReleased: true }, edited));
    assert.deepEqual([on.phase, on.level], ['poweringOn', 1]);
    const told = stateOf(next(on, { nowMs: 20 }, edited));
    const back = stateOf(next(told, { nowMs: 20 }, config));
    assert.deepEqual([back.phase, back.level], ['poweringOn', 0]);
  });

  test('[FEN-5] power without isolation where its time comes first', () => {
    const hasty = { ...limits, powerManagementAfterMs: 5 };
    const moved = transition(beginFence(0, 'b1'), { facts: { ...quiet, nowMs: 5 }, config: full, limits: hasty });
    assert.equal(stateOf(moved).phase, 'poweringOff');
  });

  test('[FEN-13] stopped, nothing moves and nothing runs', () => {
    for (const phase of PHASES) {
      const state = { ...beginFence(0, 'b1'), phase };
      const moved = next(state, { nowMs: 1e9, isBack: true, bootId: 'b2', isReleased: true, isStopped: true });
      assert.deepEqual(moved, { kind: 'state', state });
    }
  });
});

const tasks: (TaskNews | undefined)[] = [
  undefined,
  { outcome: 'running' },
  { outcome: 'succeeded', told: true },
  { outcome: 'succeeded', told: false },
  { outcome: 'failed', told: true },
  { outcome: 'failed', told: false },
  { outcome: 'unknown' },
  { outcome: 'dropped', told: false },
];

/** Every input that can make a difference in this state, some of them senseless on purpose. */
function* inputs(state: FenceState): Generator<FenceFacts> {
  const { phase, startedAtMs, phaseStartedAtMs } = state;
  const moments = [startedAtMs, startedAtMs + 20, phaseStartedAtMs + 1e6].filter((at) => at >= phaseStartedAtMs);
  const flags = [false, true];
  const released = phase === 'off' ? flags : [false];
  const harmless = phase === 'recovering' || phase === 'failed' ? flags : [true];
  for (const nowMs of new Set(moments)) {
    for (const bootId of ['b1', 'b2', '']) {
      for (const [isBack, isReleased, isHarmless] of flags.flatMap((back) =>
        released.flatMap((free) => harmless.map((clean) => [back, free, clean] as const)),
      )) {
        for (const task of tasks) {
          const facts = { ...quiet, nowMs, isBack, bootId, isReleased, isHarmless, ...(task && { task }) };
          yield facts;
          if (task !== undefined && task.outcome !== 'succeeded') continue;
          yield { ...facts, isBraked: true };
          yield { ...facts, isPaused: true };
          if (phase === 'off') yield { ...facts, onAgain: 'on' };
        }
      }
    }
  }
}

/** Time only matters as a distance: what differs in nothing else is the same state. */
function keyOf(state: FenceState): string {
  const { startedAtMs, phaseStartedAtMs, message: _, switched, ...rest } = state;
  const entries = switched
    .map(({ step, method: name, sentAtMs, confirmedAtMs }) =>
      [step, name, sentAtMs !== undefined, confirmedAtMs !== undefined].join(),
    )
    .sort();
  const { notBeforeMs } = rest;
  const waits = notBeforeMs === undefined ? {} : { notBeforeMs: 1 };
  return JSON.stringify({ ...rest, ...waits, entries, elapsed: Math.min(30, phaseStartedAtMs - startedAtMs) });
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
  // With two steps there are many states: one try of each is enough to come through all of them.
  const hasty = { ...limits, retries: config.isolation.length > 0 ? 0 : 1 };
  const first = beginFence(0, 'b1');
  const states = new Map([[keyOf(first), first]]);
  const edges = new Map<string, Set<string>>();
  let steps = 0;
  for (const [key, state] of states) {
    const targets = new Set<string>();
    edges.set(key, targets);
    for (const facts of inputs(state)) {
      steps += 1;
      const moved = transition(state, { facts, config, limits: hasty });
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

/** No command goes out, and nothing is concluded, without a record of it. */
function checkFacts(from: FenceState, facts: FenceFacts, moved: Transition, config: FenceConfig): void {
  if (moved.kind === 'cancelled') {
    assert.deepEqual(from.switched, [], 'S23: what was switched is never just dropped');
    assert.ok(facts.isBack);
    return;
  }
  const { state, run } = moved;
  if (run !== undefined) {
    assert.ok(state === from, 'a method runs only in a state that is stored as it is');
    const isSent = from.switched.some(({ method: name, sentAtMs }) => name === run.name && sentAtMs !== undefined);
    if (run.action === 'off') assert.ok(isSent, `${from.phase} runs ${run.name} unrecorded`);
    if (run.action === 'off') assert.ok(!facts.isBack && !facts.isPaused, 'S39: nothing is switched off any more');
  }
  const confirmed = (step: string): string[] =>
    state.switched.flatMap((one) => (one.step === step && one.confirmedAtMs !== undefined ? [one.method] : []));
  if (state.phase === 'off') {
    if (from.phase !== 'off') assert.equal(from.phase, 'poweringOff');
    assert.ok(confirmed('power-management').length > 0, 'S40: no machine is off without a device that said so');
  }
  if (state.phase === 'off' && from.phase !== 'off') {
    const wanted = (config.powerManagement[state.level]?.off ?? []).map(({ name }) => name);
    assert.ok(
      wanted.every((name) => confirmed('power-management').includes(name)),
      'every method of the level',
    );
  }
  const before = new Set(
    from.switched.filter(({ confirmedAtMs }) => confirmedAtMs !== undefined).map((one) => one.method),
  );
  const isNews = state.switched.some((one) => one.confirmedAtMs !== undefined && !before.has(one.method));
  if (isNews) assert.equal(facts.task?.outcome, 'succeeded', 'SAF-5: a fact is stored on its evidence alone');
}

/** What is given back, and when. */
function checkReturn(from: FenceState, facts: FenceFacts, moved: Transition): void {
  if (moved.kind === 'cancelled') return;
  const { state, run } = moved;
  if (state.phase === 'poweringOn' && from.phase !== 'poweringOn') {
    const isOurs = from.wasTold === true || from.switched.some(({ sentAtMs }) => sentAtMs !== undefined);
    const isPaused = facts.isPaused && isOurs;
    assert.ok(isPaused || (from.phase === 'off' && facts.isReleased), 'FEN-10: on waits for the release');
  }
  const isCut = from.switched.some(({ step }) => step === 'isolation');
  if (run?.action === 'on' && from.phase === 'recovering' && isCut) {
    assert.ok(facts.isHarmless || (facts.bootId !== '' && facts.bootId !== from.bootId), 'S33: connected too early');
    const found = from.switched.find(({ sentAtMs }) => sentAtMs === undefined);
    if (found?.method === run.name) assert.equal(moved.isQuestion, true, 'SAF-4: a cut that nobody remembers is left');
  }
  if (state.phase === 'finished' && from.phase === 'recovering') assert.deepEqual(state.switched, []);
}

describe('every state and every input', () => {
  for (const [name, config] of Object.entries(configs)) {
    test(`[SAF-4, SAF-5, SAF-8] ${name}: no dead end, no act without a record, no fact without evidence, counts exact`, (t) => {
      const { states, edges, steps } = explore(config, (from, facts, moved) => {
        checkFacts(from, facts, moved, config);
        checkReturn(from, facts, moved);
        if (moved.kind === 'cancelled') return;
        const { state } = moved;
        assert.ok(state.retries <= limits.retries && state.restarts <= limits.restarts);
        if (state.restarts !== from.restarts)
          assert.deepEqual(
            [from.phase !== 'poweringOn' && from.phase, state.restarts],
            [state.phase !== 'poweringOn' && 'failed', from.restarts + 1],
          );
        const sent = (one: FenceState): number => one.switched.filter(({ sentAtMs }) => sentAtMs !== undefined).length;
        const isAnew = state.restarts !== from.restarts && from.phase === 'failed';
        if (facts.isBraked) assert.ok(sent(state) <= sent(from) && !isAnew, 'S21: braked');
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
          (phase !== 'poweringOn' || config.powerManagement.length > 0);
        assert.equal(reached, isPossible, phase);
      }
    });
  }
});
