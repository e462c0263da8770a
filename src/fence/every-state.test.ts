import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configs, limits, quiet } from '../../test/support/fence-steps.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { FENCE_PHASES as PHASES } from '../api/fence-names.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceLimits, FenceState, TaskNews, Transition } from './state.ts';
import { retryAfterMs } from './switching.ts';
import { beginFence, hasFailedForGood } from './state.ts';
import { commandTakesMs } from './switched.ts';

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

const none: FenceConfig = { isolation: [], powerManagement: [], recovery: [] };
const beforeOff: ReadonlySet<string> = new Set(['waiting', 'isolating', 'isolated', 'poweringOff']);

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
          yield { ...facts, isCalledFor: false };
          if (beforeOff.has(phase) || phase === 'failed' || phase === 'booting')
            yield { ...facts, isBraked: true, isFoundOff: true };
          yield { ...facts, isPaused: true };
          if (phase === 'off') yield { ...facts, onAgain: 'on' };
          if (phase === 'off') yield { ...facts, isAliveSince: true };
          if (phase !== 'off') continue;
          for (const isDisbelieved of flags) {
            for (const forMs of [0, 120_000, 600_000]) {
              yield { ...facts, unconfirmed: { message: 'no route', isDisbelieved, forMs } };
            }
          }
          for (const isReliedOn of flags) yield { ...facts, refused: { message: 'denied', isReliedOn, forMs: 60_000 } };
        }
      }
    }
  }
}

/**
 * Time only matters as a distance: what differs in nothing else is the same state. What was cut before is looked at elsewhere
 * (booting.test.ts): it would be four times as many.
 */
function keyOf(state: FenceState): string {
  const {
    startedAtMs,
    phaseStartedAtMs,
    message: _,
    switched,
    told,
    missed,
    wasCut: __,
    offAgain: ___,
    ...rest
  } = state;
  const entries = switched
    .map(({ step, method: name, sentAtMs, confirmedAtMs }) =>
      [step, name, sentAtMs !== undefined, confirmedAtMs !== undefined].join(),
    )
    .sort();
  const { notBeforeMs } = rest;
  const waits = notBeforeMs === undefined ? {} : { notBeforeMs: 1 };
  const devices = [told?.toSorted(), missed?.toSorted()];
  // When it began is looked at for as long as it is not off.
  const isEarly = beforeOff.has(rest.phase) || rest.phase === 'failed';
  const elapsed = isEarly ? Math.min(30, phaseStartedAtMs - startedAtMs) : 0;
  return JSON.stringify({ ...rest, ...waits, entries, devices, elapsed });
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
      if (moved.kind === 'state' && moved.state === state) continue;
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
    // What was found off under a node that lives was never off, and nobody has told it anything.
    const left = from.switched.filter(({ sentAtMs }) => !facts.isAliveSince || sentAtMs !== undefined);
    assert.deepEqual(left, [], 'S23: what was switched is never just dropped');
    assert.ok(facts.isBack || facts.isAliveSince);
    return;
  }
  const { state, run } = moved;
  if (run !== undefined) {
    assert.ok(state === from, 'a method runs only in a state that is stored as it is');
    const isSent = from.switched.some(({ method: name, sentAtMs }) => name === run.name && sentAtMs !== undefined);
    if (run.action === 'off')
      assert.ok(isSent || moved.isQuestion === true, `${from.phase} runs ${run.name} unrecorded`);
    if (run.action === 'off' && (facts.isBraked || !facts.isCalledFor) && facts.task === undefined) {
      const isFresh = from.switched.some(({ sentAtMs = -Infinity }) => facts.nowMs < sentAtMs + retryAfterMs);
      assert.ok(isFresh || moved.isQuestion === true, `${from.phase} tells ${run.name} again, and nobody may`);
    }
    if (run.action === 'off') assert.ok(!facts.isBack && !facts.isPaused, 'S39: nothing is switched off any more');
  }
  const confirmed = state.switched.filter(
    ({ step, confirmedAtMs }) => step === 'power-management' && confirmedAtMs !== undefined,
  );
  if (state.phase === 'off') {
    if (from.phase !== 'off') assert.equal(from.phase, 'poweringOff');
    assert.ok(
      confirmed.some(({ device }) => device !== undefined),
      'S40: no machine is off without a device that said so',
    );
  }
  if (state.phase === 'off' && from.phase !== 'off') {
    const wanted = (config.powerManagement[state.level]?.off ?? []).map(({ name }) => name);
    assert.ok(
      wanted.every((name) => confirmed.some((one) => one.method === name)),
      'every method of the level',
    );
  }
  const before = new Set(
    from.switched.filter(({ confirmedAtMs }) => confirmedAtMs !== undefined).map((one) => one.method),
  );
  const isNews = state.switched.some((one) => one.confirmedAtMs !== undefined && !before.has(one.method));
  if (isNews) assert.equal(facts.task?.outcome, 'succeeded', 'SAF-5: a fact is stored on its evidence alone');
}

/** Whatever follows from one look comes to an end. */
function checkEnd(from: FenceState, facts: FenceFacts, context: { config: FenceConfig; limits: FenceLimits }): void {
  const { task: _, ...seen } = facts;
  let state = from;
  for (let moves = 0; moves < 20; moves += 1) {
    const moved = transition(state, { ...context, facts: seen });
    if (moved.kind === 'cancelled' || moved.state === state) return;
    ({ state } = moved);
  }
  assert.fail(`it goes round in circles from ${from.phase} to ${state.phase}`);
}

/** Nor without end under a Node object that was made anew, whatever has become of the configuration meanwhile. */
function checkAnew(from: FenceState, config: FenceConfig): void {
  const flags = [false, true];
  for (const [isBack, isHarmless] of flags.flatMap((back) => flags.map((clean) => [back, clean] as const))) {
    for (const bootId of ['b1', 'b2']) {
      const facts = { ...quiet, nowMs: from.phaseStartedAtMs + 1e6, isBack, isHarmless, bootId, isOfPredecessor: true };
      for (const now of [config, none]) checkEnd(from, facts, { config: now, limits });
    }
  }
}

/** What is given back, and when. */
function checkReturn(from: FenceState, facts: FenceFacts, moved: Transition, config: FenceConfig): void {
  if (moved.kind === 'cancelled') return;
  const { state, run } = moved;
  if (state.phase === 'poweringOn' && from.phase !== 'poweringOn') {
    const isKnown = from.told !== undefined || from.wasCut !== undefined;
    const isOurs = isKnown || from.switched.some(({ sentAtMs }) => sentAtMs !== undefined);
    const isPaused = facts.isPaused && isOurs;
    const isOffAgain = facts.isFoundOff && (from.phase === 'booting' || from.phase === 'failed');
    // Nothing goes by a fence that has failed for good: what it has cut is switched on, once its command has had its time, once.
    const isOver = facts.nowMs >= from.phaseStartedAtMs + commandTakesMs && from.offAgain === undefined;
    const isForGood = hasFailedForGood(from, limits) && from.phase === 'failed' && isOurs && isOver;
    assert.ok(
      isPaused || isOffAgain || isForGood || (from.phase === 'off' && (facts.isReleased || facts.isAliveSince)),
      'FEN-10: on waits for the release',
    );
  }
  // Its power may go on at once: it is what can write that has to wait.
  const isPower = config.powerManagement.some(({ on }) => on.some(({ name }) => name === run?.name));
  const isCut = from.switched.some(({ step }) => step === 'isolation');
  if (run?.action === 'on' && from.phase === 'recovering' && isCut && !isPower) {
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
        checkReturn(from, facts, moved, config);
        if (facts.task === undefined) checkEnd(from, facts, { config, limits });
        if (moved.kind === 'cancelled') return;
        const { state } = moved;
        assert.ok(state.retries <= limits.retries && state.restarts <= limits.restarts + 1);
        // What had failed for good and was found off counts once more when that is confirmed.
        const isFound = from.phase === 'poweringOff' && from.isForGood === true && state.phase === 'off';
        if (state.restarts !== from.restarts && !isFound)
          assert.deepEqual(
            [from.phase !== 'poweringOn' && from.phase, state.restarts],
            [state.phase !== 'poweringOn' && 'failed', from.restarts + 1],
          );
        const sent = (one: FenceState): number => one.switched.filter(({ sentAtMs }) => sentAtMs !== undefined).length;
        const isAnew = state.restarts !== from.restarts && from.phase === 'failed';
        if (facts.isBraked) assert.ok(sent(state) <= sent(from) && !isAnew, 'S21: braked');
      });
      for (const state of states.values()) checkAnew(state, config);
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
