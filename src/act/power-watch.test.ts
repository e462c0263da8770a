import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { manualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { PowerAnswer, PowerFacts } from '../api/power.ts';
import type { WatchTarget } from './power-watch.ts';
import { PowerWatch } from './power-watch.ts';

const bmc: Method = { name: 'bmc', action: 'off', driver: 'agent:fence_redfish', parameters: {}, secrets: [] };
const on: PowerAnswer = { device: 'bmc', power: 'on', identity: 'same', message: 'it says on', wasSeenOn: true };
const target = (name: string, everyMs = 1000): WatchTarget => ({ node: aNode({ name }), methods: [bmc], everyMs });

describe('[EVD-4] a power watch', () => {
  let clock: ManualClock;
  let asked: string[];
  let told: string[];
  let facts: PowerFacts;
  let tookMs: number;
  let busy: Set<string>;
  let isCheap: boolean;
  let open: (() => void)[];
  let hangs: boolean;

  const watchOf = (concurrency = 64): PowerWatch =>
    new PowerWatch({
      clock,
      random: () => 0.5,
      questions: {
        want: async ({ name }) => {
          asked.push(name);
          if (hangs) await new Promise<void>((resolve) => open.push(resolve));
          if (tookMs > 0) clock.advance(tookMs);
        },
        of: () => facts,
      },
      isCheap: async () => isCheap,
      isBusy: (name) => busy.has(name),
      onState: ({ name }, _, state) => told.push(`${name} ${state}`),
      concurrency,
    });
  const pass = async (ms: number): Promise<number> => {
    const before = asked.length;
    for (let at = 0; at < ms; at += 100) {
      clock.advance(100);
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    }
    return asked.length - before;
  };

  beforeEach(() => {
    clock = manualClock();
    [asked, told, open, tookMs, busy, isCheap, hangs] = [[], [], [], 0, new Set(), true, false];
    facts = { question: 'q', askedForMs: 0, answers: [on] };
  });

  test('asks every second, as long as somebody wants it, and says so once', async () => {
    const watch = watchOf();
    watch.update([target('a')]);
    assert.equal(watch.isWatched('a'), false, 'nobody knows yet what it costs');
    assert.equal(await pass(5000), 5);
    assert.ok(watch.isWatched('a'));
    watch.update([target('a')]);
    assert.equal(await pass(5000), 5, 'the same again changes nothing');
    watch.update([]);
    assert.equal(await pass(5000), 0);
    assert.deepEqual([told.at(0), told.at(-1)], ['a Watched', 'a undefined']);
  });

  test('never asks what costs too much, and says so', async () => {
    isCheap = false;
    const watch = watchOf();
    watch.update([target('a')]);
    assert.equal(await pass(5000), 0);
    assert.equal(watch.isWatched('a'), false);
    assert.deepEqual(told, ['a TooCostly']);
  });

  test('asks less often who is slow, and less and less who does not answer, until it does', async () => {
    const watch = watchOf();
    watch.update([target('a')]);
    await pass(1000);
    facts = { ...facts, answers: [{ ...on, power: 'unknown' }] };
    assert.ok((await pass(60_000)) <= 7);
    assert.ok(told.includes('a Blind'));
    assert.ok((await pass(600_000)) <= 11, 'once a minute, and not less');
    facts = { ...facts, answers: [on] };
    await pass(60_000);
    assert.equal(told.at(-1), 'a Watched');
    tookMs = 2000;
    assert.ok((await pass(8000)) <= 4);
  });

  test('asks so many at a time, each once, and nobody who is being fenced', async () => {
    hangs = true;
    busy.add('c');
    const watch = watchOf(2);
    watch.update(['a', 'b', 'c', 'd', 'e'].map((name) => target(name)));
    assert.equal(await pass(10_000), 2, 'they hang');
    for (const end of open.splice(0)) end();
    assert.equal(await pass(100), 2);
    assert.deepEqual(asked.toSorted(), ['a', 'b', 'd', 'e']);
    watch.close();
    for (const end of open.splice(0)) end();
    assert.equal(await pass(10_000), 0);
  });
});
