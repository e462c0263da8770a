import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Election, lease } from '../../test/support/election.ts';
import { ProcessWorld, WorldProcess } from '../../test/support/process-world.ts';
import { KubeClient } from './client.ts';
import { LeaderElector, UNABLE } from './leader.ts';
import { microTime } from './micro-time.ts';

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

test('S19: a leader that was stopped past its deadline wakes up deposed, before anything else happens', async () => {
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

test('S19: leadership ends when only the wall clock saw the time pass, as after a suspend', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(1000);
  assert.deepEqual(election.leaders(), ['a']);
  a.process.stop(true);
  await election.world.advance(11_000);
  await a.process.resume('timer');
  assert.equal(a.terms[0]?.isLeading(), false);
});

test('S19: a renewal that is answered late counts from when it was asked', async () => {
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

test('S19: so does an election that is answered late', async () => {
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

test('S18: a shutdown does not give away a Lease that somebody else holds by then', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(100);
  // Somebody deletes it, and a candidate that never saw it makes one of its own, before a has noticed.
  election.server.remove(lease.namespace, lease.name);
  election.join('b');
  await election.world.advance(100);
  assert.equal(election.spec()['holderIdentity'], 'b');
  a.shutdown.abort();
  await election.world.advance(1000);
  await a.ended;
  assert.equal(election.spec()['holderIdentity'], 'b');
  assert.deepEqual(election.leaders(), ['b']);
  assert.ok(!election.server.writes.includes('PUT '), 'nothing was released');
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

test('[STM-8] who hands over the lead releases the Lease, and does not stand again while others may take it', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(100);
  election.join('b');
  await election.world.advance(5000);
  a.elector.handOver(30_000);
  await election.world.advance(5000);
  assert.deepEqual(election.leaders(), ['b']);
  assert.deepEqual(a.problems, []);
});

test('[STM-8] where nobody takes it, it leads again, in the very next term', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(100);
  a.elector.handOver(30_000);
  await election.world.advance(29_000);
  assert.deepEqual(election.leaders(), []);
  await election.world.advance(6000);
  assert.deepEqual(election.leaders(), ['a']);
  assert.deepEqual(
    a.terms.map(({ epoch }) => epoch),
    [0, 1],
  );
});

test('[STM-8] that it was handed over is in the Lease: the next one knows, by its own clock, and so does one that starts', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(100);
  // Its clock is an hour ahead: it has seen itself when it was.
  const b = election.join('b', { wallOffsetMs: 3_600_000 });
  await election.world.advance(5000);
  assert.equal(b.elector.handedOverForMs, Infinity);
  a.elector.handOver(30_000);
  assert.equal(a.elector.handedOverForMs, 0);
  await election.world.advance(60_000);
  assert.deepEqual(election.leaders(), ['b']);
  const c = election.join('c');
  const d = election.join('d', { wallOffsetMs: 3_600_000 });
  await election.world.advance(5000);
  for (const { elector } of [a, b, c]) assert.ok(elector.handedOverForMs > 60_000 && elector.handedOverForMs <= 65_000);
  assert.ok(d.elector.handedOverForMs > 3_600_000, 'by the time that the Lease says');
});

test('[STM-8] who can do nothing leaves the lead to others and says why in the Lease; the next leader takes that away', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(100);
  const note = (): string | undefined =>
    election.server.lease(lease.namespace, lease.name)?.metadata.annotations?.[UNABLE];
  a.elector.unable('a may not', 30_000);
  await election.world.advance(20_000);
  assert.deepEqual([election.leaders(), note()], [[], 'a may not']);
  assert.equal(a.elector.handedOverForMs, Infinity, 'it may still hand over the lead for its own node');
  election.join('b');
  await election.world.advance(5000);
  assert.deepEqual([election.leaders(), note()], [['b'], undefined]);
  assert.deepEqual(a.problems, []);
});

test('[STM-8] who can again, stands again at once', async () => {
  const election = new Election();
  const a = election.join('a');
  await election.world.advance(100);
  a.elector.unable('a may not', 600_000);
  await election.world.advance(5000);
  assert.deepEqual(election.leaders(), []);
  a.elector.unable(undefined);
  await election.world.advance(5000);
  assert.deepEqual(election.leaders(), ['a']);
});
