import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryLeaseServer } from '../../test/support/memory-lease-server.ts';
import { ProcessWorld, WorldProcess } from '../../test/support/process-world.ts';
import { KubeClient } from './client.ts';
import type { LeaderProblem } from './leader.ts';
import { LeaderElector } from './leader.ts';
import { microTime } from './micro-time.ts';
import type { Term } from './term.ts';

const lease = { namespace: 'fenceline', name: 'operator' };

interface Candidate {
  identity: string;
  process: WorldProcess;
  elector: LeaderElector;
  terms: Term[];
  problems: LeaderProblem[];
  shutdown: AbortController;
  ended: Promise<void>;
}

class Election {
  readonly world = new ProcessWorld();
  readonly server = new MemoryLeaseServer();
  readonly candidates: Candidate[] = [];

  join(
    identity: string,
    options: { rate?: number; wallOffsetMs?: number; work?: (term: Term) => Promise<void> | void } = {},
  ): Candidate {
    const { rate = 1, wallOffsetMs = 0 } = options;
    const process = new WorldProcess(this.world, ({ method, path, body }) => this.server.handle(method, path, body), {
      rate,
      wallOffsetMs,
    });
    const { clock, transport } = process;
    const problems: LeaderProblem[] = [];
    const elector = new LeaderElector({
      client: new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' }),
      clock,
      random: () => 0.5,
      lease,
      identity,
      onProblem: (problem) => problems.push(problem),
    });
    const terms: Term[] = [];
    const shutdown = new AbortController();
    const ended = elector.run(shutdown.signal, (term) => {
      terms.push(term);
      return options.work?.(term);
    });
    ended.catch(() => {});
    const candidate = { identity, process, elector, terms, problems, shutdown, ended };
    this.candidates.push(candidate);
    return candidate;
  }

  /** Who could act now. */
  leaders(): string[] {
    return this.candidates
      .filter(({ process, elector }) => !process.stopped && elector.isLeading())
      .map(({ identity }) => identity);
  }

  spec(): Record<string, unknown> {
    return this.server.lease(lease.namespace, lease.name)?.spec ?? {};
  }
}

test('the record of a first leader is what client-go would write', async () => {
  const election = new Election();
  const a = election.join('host-a_1');
  await election.world.advance(10);
  assert.deepEqual(election.spec(), {
    holderIdentity: 'host-a_1',
    leaseDurationSeconds: 15,
    acquireTime: '2023-11-14T22:13:20.002000Z',
    renewTime: '2023-11-14T22:13:20.002000Z',
    leaseTransitions: 0,
  });
  assert.equal(a.terms.length, 1);
  assert.equal(a.terms[0]?.epoch, 0);
  await election.world.advance(4010);
  assert.equal(election.spec()['acquireTime'], '2023-11-14T22:13:20.002000Z');
  assert.equal(election.spec()['renewTime'], '2023-11-14T22:13:24.006000Z');
  assert.deepEqual(a.problems, []);
});

test('a second candidate takes over when it has seen no renewal for the lease duration, not before', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(100);
  // Its clock is an hour ahead: by the times in the record the Lease ran out long ago.
  const b = election.join('b', { wallOffsetMs: 3_600_000 });
  await election.world.advance(60_000);
  assert.deepEqual(election.leaders(), ['a']);
  a.process.stop();
  await election.world.advance(14_000);
  assert.deepEqual(election.leaders(), []);
  await election.world.advance(6000);
  assert.deepEqual(election.leaders(), ['b']);
  assert.equal(b.terms[0]?.epoch, 1);
  assert.equal(election.spec()['leaseTransitions'], 1);
});

test('[S19] a leader that was stopped past its deadline wakes up deposed, before anything else happens', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1000);
  const [term] = a.terms;
  assert.ok(term);
  a.process.stop();
  await election.world.advance(10_000);
  const sentBefore = a.process.sent.length;
  let duringWake: boolean | undefined;
  election.world.afterEach = () => {
    if (!a.process.stopped) duringWake ??= term.isLeading();
  };
  await a.process.resume('answer');
  assert.equal(duringWake, false);
  assert.equal(term.signal.aborted, true);
  assert.deepEqual(
    a.process.sent.slice(sentBefore).map(({ method }) => method),
    ['GET'],
    'it starts as a candidate and looks, instead of renewing',
  );
  assert.deepEqual(a.problems, [{ kind: 'lost', epoch: 0, reason: 'deadline' }]);
});

test('[S19] leadership ends when only the wall clock saw the time pass, as after a suspend', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1000);
  assert.deepEqual(election.leaders(), ['a']);
  a.process.stop(true);
  await election.world.advance(11_000);
  await a.process.resume('timer');
  assert.equal(a.terms[0]?.isLeading(), false);
});

test('[S19] a renewal that is answered late counts from when it was asked', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1900);
  const term = a.terms[0];
  assert.ok(term);
  a.process.link = { requestMs: 10, answerMs: 4000, lose: 'nothing' };
  // Asked at about 2.0 s, answered at 6.0 s; nothing gets through after that.
  await election.world.advance(2000);
  a.process.link = { requestMs: 10, answerMs: 10, lose: 'request' };
  await election.world.advance(8050);
  assert.equal(term.isLeading(), true, `at ${election.world.nowMs}`);
  await election.world.advance(100);
  assert.equal(term.isLeading(), false, `at ${election.world.nowMs}`);
});

test('[S19] so does an election that is answered late', async () => {
  const election = new Election();
  const a = election.join('a');
  a.process.link = { requestMs: 10, answerMs: 4000, lose: 'nothing' };
  await election.world.advance(4050);
  assert.equal(a.elector.isLeading(), true);
  a.process.link = { requestMs: 10, answerMs: 10, lose: 'request' };
  await election.world.advance(9990 - 4050);
  assert.equal(a.elector.isLeading(), true);
  await election.world.advance(20);
  assert.equal(a.elector.isLeading(), false);
});

test('a renewal of unknown outcome is no renewal, but no end either', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1000);
  a.process.link = { requestMs: 1, answerMs: 1, lose: 'answer' };
  await election.world.advance(2000);
  assert.match(String(election.spec()['renewTime']), /:22\.\d{6}Z$/, 'the server did take it');
  await election.world.advance(3000);
  a.process.link = { requestMs: 1, answerMs: 1, lose: 'nothing' };
  await election.world.advance(20_000);
  assert.deepEqual(election.leaders(), ['a']);
  assert.equal(a.terms.length, 1, 'still the same term');
  assert.deepEqual(
    a.problems.map((problem) =>
      problem.kind === 'request' ? `${problem.during} ${problem.error.kind}` : problem.kind,
    ),
    ['renew timeout'],
  );
});

test('a leader that reaches nobody stops by itself, and leads again with the epoch of its own record', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1000);
  a.process.link = { requestMs: 1, answerMs: 1, lose: 'request' };
  await election.world.advance(10_000);
  assert.deepEqual(election.leaders(), []);
  assert.equal(a.terms[0]?.signal.aborted, true);
  a.process.link = { requestMs: 1, answerMs: 1, lose: 'nothing' };
  await election.world.advance(10_000);
  assert.deepEqual(election.leaders(), ['a']);
  assert.deepEqual(
    a.terms.map(({ epoch }) => epoch),
    [0, 0],
  );
});

test('the works of two terms never overlap, and a work that does not end is reported', async () => {
  const election = new Election();
  const works: (() => void)[] = [];
  const a = election.join('a', { work: () => new Promise((resolve) => works.push(resolve)) });
  await election.world.advance(1000);
  election.server.edit(lease.namespace, lease.name, (stored) => {
    stored.spec = { ...stored.spec, holderIdentity: '' };
  });
  await election.world.advance(16_000);
  await election.world.advance(3000);
  assert.equal(a.terms.length, 1);
  assert.deepEqual(a.problems, [
    { kind: 'lost', epoch: 0, reason: 'deposed' },
    { kind: 'stillWorking', epoch: 0, forMs: 15_000 },
  ]);
  works[0]?.();
  await election.world.advance(5000);
  assert.deepEqual(
    a.terms.map(({ epoch }) => epoch),
    [0, 1],
  );
});

test('a Lease that vanishes ends the term; those who knew its holder wait for it to run out', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(100);
  const b = election.join('b');
  await election.world.advance(9000);
  a.process.stop();
  const lastRenewal = election.world.nowMs;
  election.server.remove(lease.namespace, lease.name);
  await election.world.advance(12_000);
  assert.deepEqual(election.leaders(), []);
  await election.world.advance(8000);
  assert.deepEqual(election.leaders(), ['b']);
  assert.ok(b.process.sent.filter(({ method }) => method === 'POST').every(({ atMs }) => atMs > lastRenewal + 10_000));
  assert.equal(b.terms[0]?.epoch, 1, 'the epoch goes on from what it remembers');
});

test('a leader notices that its Lease was deleted and starts a new term', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1000);
  election.server.remove(lease.namespace, lease.name);
  await election.world.advance(3000);
  assert.equal(a.terms[0]?.signal.aborted, true);
  assert.deepEqual(
    a.terms.map(({ epoch }) => epoch),
    [0, 1],
  );
  assert.deepEqual(election.leaders(), ['a']);
});

test('an edit of the Lease by somebody else does not end the term', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1000);
  election.server.edit(lease.namespace, lease.name, (stored) => {
    Object.assign(stored.metadata, { labels: { seen: 'yes' } });
  });
  await election.world.advance(30_000);
  assert.equal(a.terms.length, 1);
  assert.deepEqual(a.problems, []);
  assert.deepEqual(election.leaders(), ['a']);
});

test('a shutdown waits for the work and then hands the Lease over', async () => {
  const election = new Election();
  let finish = (): void => {};
  const a = election.join('a', { work: () => new Promise((resolve) => (finish = resolve)) });
  await election.world.advance(100);
  const b = election.join('b');
  await election.world.advance(5000);
  a.shutdown.abort();
  assert.deepEqual(election.leaders(), [], 'no new act once asked to stop');
  await election.world.advance(1000);
  assert.equal(election.spec()['holderIdentity'], 'a', 'held while the work winds down');
  finish();
  await election.world.advance(10);
  await a.ended;
  const { holderIdentity, leaseDurationSeconds, leaseTransitions } = election.spec();
  assert.deepEqual(
    { holderIdentity, leaseDurationSeconds, leaseTransitions },
    {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      leaseTransitions: 0,
    },
  );
  await election.world.advance(3300);
  assert.deepEqual(election.leaders(), ['b']);
  assert.equal(b.terms[0]?.epoch, 1);
});

test('a shutdown after the deadline releases nothing', async () => {
  const election = new Election();
  let finish = (): void => {};
  const a = election.join('a', { work: () => new Promise((resolve) => (finish = resolve)) });
  await election.world.advance(1000);
  a.shutdown.abort();
  await election.world.advance(11_000);
  const writes = [...election.server.writes];
  finish();
  await election.world.advance(1000);
  await a.ended;
  assert.deepEqual(election.server.writes, writes);
});

test('a shutdown in the middle of a renewal still releases, whether or not the renewal took place', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1900);
  a.process.link = { requestMs: 200, answerMs: 200, lose: 'nothing' };
  await election.world.advance(200);
  a.shutdown.abort();
  await election.world.advance(2000);
  await a.ended;
  assert.equal(election.spec()['holderIdentity'], '');
});

test('work that fails ends the term, releases the Lease and comes out of run', async () => {
  const election = new Election();
  const a = election.join('a', { work: () => Promise.reject(new Error('broken invariant')) });
  await election.world.advance(100);
  await assert.rejects(a.ended, /broken invariant/);
  assert.equal(election.spec()['holderIdentity'], '');
  assert.deepEqual(election.leaders(), []);
});

test('a clock set back to the time of the last renewal still makes a new version of the Lease', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1000);
  const before = election.server.lease(lease.namespace, lease.name)?.metadata.resourceVersion;
  a.process.jumpWallClock(-2002);
  await election.world.advance(1100);
  assert.equal(election.spec()['renewTime'], '2023-11-14T22:13:20.002001Z');
  assert.notEqual(election.server.lease(lease.namespace, lease.name)?.metadata.resourceVersion, before);
});

test('timings that cannot be safe are refused', () => {
  const options = (timings: object): ConstructorParameters<typeof LeaderElector>[0] => {
    const { clock, transport } = new WorldProcess(new ProcessWorld(), () => ({ status: 500, body: '' }), {
      rate: 1,
      wallOffsetMs: 0,
    });
    const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
    return { client, clock, random: Math.random, lease, identity: 'a', timings, onProblem: () => {} };
  };
  assert.throws(() => new LeaderElector(options({ leaseDurationMs: 10_000 })), /longer than the renew deadline/);
  assert.throws(() => new LeaderElector(options({ leaseDurationMs: 15_500 })), /whole seconds/);
  assert.throws(() => new LeaderElector(options({ retryPeriodMs: 9000 })), /retry periods/);
  assert.throws(() => new LeaderElector({ ...options({}), identity: '' }), /identity/);
});

test('microTime has six digits', () => {
  assert.equal(microTime(1_700_000_000_123.9), '2023-11-14T22:13:20.123000Z');
});

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

test('[S19] whatever is slow, lost, stopped or askew, two candidates never lead at once', async () => {
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
