import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { manualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { PowerAnswer, PowerFacts } from '../api/power.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import type { WatchTarget } from './power-watch.ts';
import { PowerWatch } from './power-watch.ts';

const bmc: Method = { name: 'bmc', action: 'off', driver: 'agent:fence_redfish', parameters: {}, secrets: [] };
const on: PowerAnswer = { device: 'bmc', power: 'on', identity: 'same', message: 'it says on', wasSeenOn: true };
const kubelet = { address: '10.0.0.1', port: 10_250 };
const target = (name: string, everyMs = 1000): WatchTarget => ({
  node: aNode({ name, kubelet }),
  methods: [bmc],
  everyMs,
});

describe('[EVD-4] a power watch', () => {
  let clock: ManualClock;
  let asked: string[];
  let told: string[];
  let facts: PowerFacts;
  let tookMs: number;
  let busy: Set<string>;
  let isCheap: boolean | undefined;
  let others: Record<string, boolean | undefined>;
  let open: (() => void)[];
  let knocked: number[];
  let forgotten: number[];
  let answers: boolean;
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
          return facts.answers;
        },
      },
      doors: {
        learn: async ({ port }) => {
          knocked.push(port);
          return answers;
        },
        forget: ({ port }) => forgotten.push(port),
      },
      isCheap: async (_, { name }) => (name in others ? others[name] : isCheap),
      isBusy: (name) => busy.has(name),
      onState: ({ name }, _, state) => told.push(`${name} ${state}`),
      concurrency,
    });
  const pass = async (ms: number): Promise<number> => {
    const before = asked.length;
    for (let at = 0; at < ms; at += 100) {
      clock.advance(100);
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    }
    return asked.length - before;
  };

  beforeEach(() => {
    clock = manualClock();
    [asked, told, open, tookMs, busy, isCheap, hangs] = [[], [], [], 0, new Set(), true, false];
    others = {};
    [knocked, forgotten, answers] = [[], [], true];
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

  test('looks again what it costs while that cannot be told, less and less often', async () => {
    isCheap = undefined;
    const watch = watchOf();
    watch.update([target('a')]);
    assert.equal(await pass(60_000), 0);
    assert.equal(watch.isWatched('a'), false);
    assert.deepEqual([...new Set(told)], ['a Blind'], 'not that it would cost too much');
    assert.ok(told.length <= 7, 'not once a second');
    isCheap = true;
    assert.ok((await pass(120_000)) > 0);
    assert.deepEqual([watch.isWatched('a'), told.at(-1)], [true, 'a Watched']);
  });

  test('is given up by one device that costs too much, whatever is known of the others', async () => {
    others = { pdu: false };
    isCheap = undefined;
    const watch = watchOf();
    watch.update([{ ...target('a'), methods: [bmc, { ...bmc, name: 'pdu' }] }]);
    assert.equal(await pass(60_000), 0);
    assert.deepEqual([...new Set(told)], ['a TooCostly']);
    others = { pdu: undefined };
    isCheap = true;
    watch.update([{ ...target('b'), methods: [bmc, { ...bmc, name: 'pdu' }] }]);
    assert.equal(await pass(60_000), 0);
    assert.equal(told.at(-1), 'b Blind', 'one that is not known');
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

  test('goes on at one pace when it is changed while a device is asked', async () => {
    hangs = true;
    const watch = watchOf();
    watch.update([target('a')]);
    assert.equal(await pass(1000), 1);
    watch.update([{ ...target('a'), methods: [{ ...bmc, name: 'pdu' }] }]);
    hangs = false;
    for (const end of open.splice(0)) end();
    await pass(1000);
    assert.equal(await pass(10_000), 10);
  });

  test('finds out anew what it costs when the devices are others', async () => {
    const watch = watchOf();
    watch.update([target('a')]);
    await pass(1000);
    others = { pdu: false };
    watch.update([{ ...target('a'), methods: [{ ...bmc, name: 'pdu' }] }]);
    assert.equal(await pass(5000), 0);
    assert.deepEqual([watch.isWatched('a'), told.at(-1)], [false, 'a TooCostly']);
  });

  describe('the port of a kubelet', () => {
    test('that is another one since is learnt, and the one before is forgotten', async () => {
      const watch = watchOf();
      watch.update([target('a')]);
      await pass(1000);
      watch.update([{ ...target('a'), node: aNode({ name: 'a', kubelet: { ...kubelet, port: 10_350 } }) }]);
      await pass(1000);
      assert.deepEqual([knocked, forgotten], [[10_250, 10_350], [10_250]]);
    });

    test('is learnt with each answer that is not off, and forgotten with the watch', async () => {
      const watch = watchOf();
      watch.update([target('a')]);
      await pass(2000);
      assert.deepEqual(knocked, [10_250, 10_250]);
      facts = { question: 'q', askedForMs: 0, answers: [{ ...on, power: 'off' }] };
      await pass(2000);
      assert.equal(knocked.length, 2, 'one that is off says nothing of the way to it');
      facts = { question: 'q', askedForMs: 0, answers: [{ ...on, power: 'off' }, on] };
      await pass(1000);
      assert.equal(knocked.length, 3);
      assert.deepEqual(forgotten, []);
      watch.update([]);
      assert.deepEqual(forgotten, [10_250]);
    });

    test('where nobody answers, or nobody knows where to knock, that is said', async () => {
      answers = false;
      const watch = watchOf();
      watch.update([target('a'), { ...target('b'), node: aNode({ name: 'b' }) }]);
      await pass(1000);
      assert.deepEqual([...told].sort(), ['a PortSilent', 'b PortSilent']);
      answers = true;
      await pass(1000);
      assert.deepEqual(told.slice(2).sort(), ['a Watched', 'b PortSilent']);
      facts = { question: 'q', askedForMs: 0, answers: [{ ...on, power: 'unknown' }] };
      await pass(10_000);
      assert.equal(told.at(-1)?.split(' ')[1], 'Blind', 'one that does not answer is worse');
    });
  });
});

test('[EVD-4] S26: a device that cannot be asked now is not one that costs too much', async () => {
  const cluster = await ActCluster.create();
  const clock = manualClock();
  const told: unknown[] = [];
  const device = { name: 'puppet', ask: async () => ({ kind: 'status', power: 'on' }) as const };
  let found: Awaited<ReturnType<DeviceProvider['device']>> = { ok: false, problem: 'its Secret cannot be read' };
  const provider: DeviceProvider = { device: async () => found };
  const { watch } = cluster.longActs({ clock, provider, onWatch: (_, __, state) => told.push(state) });
  const pass = async (): Promise<void> => {
    for (let at = 0; at < 300; at += 1) {
      clock.advance(100);
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    }
  };
  watch.update([target('node-1')]);
  await pass();
  assert.deepEqual([...new Set(told)], ['Blind']);
  found = { ok: true, device };
  await pass();
  assert.equal(told.at(-1), 'TooCostly', 'nothing says that it is cheap');
  found = { ok: true, device, isCheap: true };
  watch.update([target('node-2')]);
  await pass();
  assert.ok(watch.isWatched('node-2'));
  watch.close();
});
