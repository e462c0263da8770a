import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { waitFor } from '../../test/support/wait.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import type { Snapshot } from '../api/snapshot.ts';
import { UserError } from '../cli/user-error.ts';
import type { RehearsalNews } from './picture.ts';
import type { RehearsalOrder } from './rehearsal-lines.ts';
import { snapshotIn } from './rehearsal-lines.ts';
import { wishOf } from './rehearsal-wish.ts';
import type { RehearsalProcess } from './rehearsals.ts';
import { Rehearsals } from './rehearsals.ts';

const node = {
  name: 'node-1',
  uid: '1',
  labels: {},
  taints: [],
  zone: 'z1',
  ready: 'True',
  allocatable: {},
  annotations: {},
  leaseSeconds: 40,
} as unknown as Snapshot['nodes'][number];
const cluster: Snapshot = {
  takenAt: '',
  nodes: [node],
  pods: [],
  sets: [],
  claims: [],
  volumes: [],
  classes: [],
  drivers: [],
  budgets: [],
  policies: [],
  maps: [],
  devices: [],
  replicas: [],
  unread: [],
};

/** A process as the test has it: what it was told, and what it says. */
class Fake implements RehearsalProcess {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly #end = Promise.withResolvers<{ code: number | null; signal: string | null }>();
  readonly ended = this.#end.promise;
  told = '';
  isKilled = false;

  constructor() {
    this.stdin.on('data', (chunk) => (this.told += String(chunk)));
  }

  kill(): void {
    this.isKilled = true;
    void this.end();
  }

  say(news: RehearsalNews): void {
    this.stdout.write(`${JSON.stringify(news)}\n`);
  }

  /** As of a child: only when all that it has said was read. */
  async end(): Promise<void> {
    const read = once(this.stdout, 'end');
    this.stdout.end();
    await read;
    this.#end.resolve({ code: 0, signal: null });
  }
}

const mistakes: RehearsalNews = { state: 'wrong', mistakes: [{ text: 'no', line: 1 }] };

function setUp(read: (signal: AbortSignal) => Promise<Snapshot> = async () => cluster) {
  const clock = manualClock();
  const started: Fake[] = [];
  const start = (): Fake => {
    const fake = new Fake();
    started.push(fake);
    return fake;
  };
  const rehearsals = new Rehearsals({ clock, start, memoryMiB: 512 });
  const ask = (person: object = {}, policy?: string) => {
    const said: RehearsalNews[] = [];
    const left = new AbortController();
    const parsed = wishOf({ what: 'node', which: 'node-1', ...(policy === undefined ? {} : { policy }) });
    assert.ok(parsed.ok);
    const { wish } = parsed;
    const over = rehearsals.run({ person, wish, read, say: (one) => said.push(one), signal: left.signal });
    return { said, left, over, last: () => said.at(-1) };
  };
  const process = (at: number): Promise<Fake> => waitFor(`process ${at}`, () => started[at]);
  return { clock, started, ask, process };
}

describe('[EXP-2, SEC-5] rehearsals that people ask for', () => {
  test('the process is told what to rehearse, then the cluster, which comes out as it was; what it says is said on', async () => {
    const { ask, process } = setUp();
    const { said, over } = ask({}, 'kind: x');
    const first = await process(0);
    await waitFor('the cluster', () => first.stdin.writableFinished);
    const [order = '', ...lines] = first.told.trim().split('\n');
    const { policy, failure, runForMs } = JSON.parse(order) as RehearsalOrder;
    assert.deepEqual([policy, failure.nodes, runForMs], ['kind: x', ['node-1'], 3_600_000]);
    assert.deepEqual(await snapshotIn(Readable.from(lines)), cluster);
    first.say({ state: 'runs', policies: 'in force', ms: 1, ofMs: 2 });
    first.say(mistakes);
    await first.end();
    await over;
    assert.deepEqual(
      said.map(({ state }) => state),
      ['reads', 'runs', 'wrong'],
    );
  });

  test('a policy with mistakes does not wait until a large cluster has been read', async () => {
    let isRead = false;
    const { ask, process } = setUp(async (signal) => {
      await once(signal, 'abort');
      isRead = true;
      return cluster;
    });
    const { over, last } = ask({}, 'kind: x');
    const first = await process(0);
    first.say(mistakes);
    await first.end();
    await over;
    assert.deepEqual(last(), mistakes);
    await waitFor('the end of the reading', () => isRead);
  });

  test('one at a time, the others in line, and whoever leaves is not waited for', async () => {
    const { ask, process, started } = setUp();
    const all = [ask(), ask(), ask()];
    await waitFor('the line', () => all[2]?.last()?.state === 'waits');
    assert.deepEqual(all[2]?.last(), { state: 'waits', before: 2 });
    assert.equal(started.length, 1);
    all[1]?.left.abort();
    await all[1]?.over;
    await waitFor('its place', () => all[2]?.said.some((one) => one.state === 'waits' && one.before === 1));
    all[0]?.left.abort();
    await all[0]?.over;
    assert.equal((await process(0)).isKilled, true);
    const second = await process(1);
    second.say(mistakes);
    await second.end();
    await all[2]?.over;
    assert.deepEqual([all[2]?.last(), started.length], [mistakes, 2]);
  });

  test('too many that wait are sent away', async () => {
    const { ask } = setUp();
    const all = Array.from({ length: 12 }, () => ask());
    const away = await waitFor('the last', () => all[11]?.last());
    assert.deepEqual(away, { state: 'failed', text: 'too many rehearsals wait already; try again in a minute' });
    for (const { left } of all) left.abort();
    await Promise.all(all.map(({ over }) => over));
  });

  test('a new one of the same person takes the place of the one before', async () => {
    const { ask, process } = setUp();
    const person = {};
    const one = ask(person);
    const first = await process(0);
    const other = ask(person);
    await one.over;
    assert.ok(first.isKilled);
    assert.match(JSON.stringify(one.last()), /you have begun another rehearsal/);
    const second = await process(1);
    second.say(mistakes);
    await second.end();
    await other.over;
    assert.deepEqual(other.last(), mistakes);
  });

  test('what takes too long is ended, and told with what to do', async () => {
    const { ask, clock, process } = setUp();
    const { over, last } = ask();
    const first = await process(0);
    await waitFor('the cluster', () => first.stdin.writableFinished);
    clock.advance(300_000);
    await over;
    assert.ok(first.isKilled);
    assert.match(JSON.stringify(last()), /it took longer than 5 min, and was ended: let less fail/);
  });

  test('what takes too much memory, ends by itself, or says too much', async () => {
    const { ask, process } = setUp();
    const ends: [wrote: string, told: RegExp][] = [
      [
        'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
        /more than 512 MiB of memory/,
      ],
      ['Error: of ours\n at there', /has ended by itself: Error: of ours"/],
      ['', /has ended by itself"/],
    ];
    for (const [at, [wrote, told]] of ends.entries()) {
      const { over, last } = ask();
      const fake = await process(at);
      fake.stderr.write(wrote);
      fake.stdout.write('{"state":"done","pic');
      await fake.end();
      await over;
      assert.match(JSON.stringify(last()), told);
    }
    const { over, said } = ask();
    const fake = await process(ends.length);
    fake.stdout.write('x'.repeat(9 * 1024 * 1024));
    await over;
    assert.ok(fake.isKilled && JSON.stringify(said).length < 500);
  });

  test('who may not read what is needed is told which right is missing', async () => {
    const forbidden = 'pods is forbidden: User "jane" cannot list resource "pods"';
    const reads: [() => Promise<Snapshot>, RegExp][] = [
      [() => Promise.reject(new UserError(forbidden)), /User \\"jane\\" cannot list resource \\"pods\\"/],
      [
        async () => ({ ...cluster, unread: [{ what: 'remedypolicies.fenceline.dev', why: 'you may not read them' }] }),
        /which policies are in force is not known: remedypolicies\.fenceline\.dev: you may not read them .*rights-of-people/,
      ],
    ];
    for (const [read, told] of reads) {
      const { ask, process } = setUp(read);
      const { over, last } = ask();
      await over;
      assert.match(JSON.stringify(last()), told);
      assert.ok((await process(0)).isKilled);
    }
  });

  test('a mistake of ours is not hidden', async () => {
    const { ask } = setUp(() => Promise.reject(new TypeError('ours')));
    await assert.rejects(ask().over, /ours/);
  });
});
