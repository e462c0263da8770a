import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyJsonPatch, PatchConflict } from '../../test/support/json-patch.ts';
import { ProcessWorld, WorldProcess } from '../../test/support/process-world.ts';
import type { JsonPatchOperation } from './client.ts';
import { KubeClient } from './client.ts';
import type { EventObject } from './event-object.ts';
import { cutToBytes } from './event-object.ts';
import type { EventInput, EventLimits, EventProblem } from './events.ts';
import { EventRecorder } from './events.ts';
import type { HttpRequest } from './transport.ts';

const happened: EventInput = {
  regarding: { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'uid-of-node-1' },
  type: 'Warning',
  reason: 'NotAnswering',
  action: 'Watching',
  note: 'no lease renewal for 12 s',
};

class Stage {
  readonly world = new ProcessWorld();
  readonly stored = new Map<string, EventObject>();
  readonly requests: string[] = [];
  readonly problems: EventProblem[] = [];
  readonly process: WorldProcess;
  readonly recorder: EventRecorder;
  /** Answers instead of the server, as long as it has answers. */
  refusals: { status: number; afterDoingIt?: boolean }[] = [];

  constructor(limits: Partial<EventLimits> = {}) {
    this.process = new WorldProcess(this.world, (request) => this.#serve(request), { rate: 1, wallOffsetMs: 0 });
    const { clock, transport } = this.process;
    this.recorder = new EventRecorder({
      client: new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' }),
      clock,
      random: () => 0.5,
      reportingController: 'fenceline.dev/operator',
      reportingInstance: 'host_1',
      onProblem: (problem) => this.problems.push(problem),
      limits,
    });
  }

  events(): EventObject[] {
    return [...this.stored.values()];
  }

  #serve(request: HttpRequest): { status: number; body: string } {
    this.requests.push(request.method);
    const refusal = this.refusals.shift();
    if (refusal !== undefined && !refusal.afterDoingIt) return { status: refusal.status, body: '{}' };
    const answer = this.#do(request);
    return refusal === undefined ? answer : { status: refusal.status, body: '{}' };
  }

  #do({ method, path, body }: HttpRequest): { status: number; body: string } {
    const [collection = ''] = path.split('?');
    if (method === 'POST') {
      const event = JSON.parse(body ?? '') as EventObject;
      const key = `${collection}/${event.metadata.name}`;
      if (this.stored.has(key)) return { status: 409, body: '{"reason":"AlreadyExists"}' };
      const stored = { ...event, metadata: { ...event.metadata, uid: `uid-${this.requests.length}` } };
      this.stored.set(key, stored);
      return { status: 201, body: JSON.stringify(stored) };
    }
    const known = this.stored.get(collection);
    if (known === undefined) return { status: 404, body: '{"reason":"NotFound"}' };
    if (method === 'GET') return { status: 200, body: JSON.stringify(known) };
    try {
      const patched = applyJsonPatch(known, JSON.parse(body ?? '') as JsonPatchOperation[]);
      this.stored.set(collection, patched);
      return { status: 200, body: JSON.stringify(patched) };
    } catch (error) {
      assert.ok(error instanceof PatchConflict);
      return { status: 422, body: JSON.stringify({ message: error.message }) };
    }
  }
}

test('an event is written as the API server wants it, in namespace default for a node', async () => {
  const stage = new Stage();
  stage.recorder.record(happened);
  assert.deepEqual(stage.requests, [], 'not in the turn of the caller');
  await stage.world.advance(10);
  const [event] = stage.events();
  assert.ok(event);
  const { metadata, ...rest } = event;
  assert.match(metadata.name, /^node-1\.[0-9a-f]{16}$/);
  assert.equal(metadata.namespace, 'default');
  assert.deepEqual(rest, {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    eventTime: '2023-11-14T22:13:20.000000Z',
    reportingController: 'fenceline.dev/operator',
    reportingInstance: 'host_1',
    ...happened,
  });
  assert.deepEqual(stage.recorder.counters, { written: 1, failed: 0, dropped: 0 });
});

test('the same again becomes a series; anything else another event', async () => {
  const stage = new Stage();
  stage.recorder.record(happened);
  await stage.world.advance(5000);
  stage.recorder.record(happened);
  await stage.world.advance(10);
  assert.equal(stage.events().length, 1);
  assert.deepEqual(stage.events()[0]?.series, { count: 2, lastObservedTime: '2023-11-14T22:13:25.000000Z' });
  const others: Partial<EventInput>[] = [
    { note: 'other' },
    { reason: 'Other' },
    { action: 'Other' },
    { type: 'Normal' },
    { regarding: { ...happened.regarding, uid: 'newcomer' } },
    { regarding: { ...happened.regarding, namespace: 'shop', kind: 'Pod', uid: 'pod' } },
  ];
  for (const other of others) stage.recorder.record({ ...happened, ...other });
  await stage.world.advance(100);
  assert.equal(stage.events().length, 1 + others.length);
  assert.equal(stage.events().at(-1)?.metadata.namespace, 'shop');
});

test('a series costs one write in half a minute, however often it happens', async () => {
  const stage = new Stage();
  for (let second = 0; second < 100; second += 1) {
    stage.recorder.record(happened);
    await stage.world.advance(1000);
  }
  assert.ok(stage.requests.length <= 6, String(stage.requests.length));
  assert.equal(await settle(stage, stage.recorder.flush(5000)), true);
  assert.equal(stage.events()[0]?.series?.count, 100);
  assert.deepEqual(stage.recorder.counters.dropped, 0);
});

test('what happens again while the first is being written is not lost', async () => {
  const stage = new Stage();
  stage.process.link = { requestMs: 500, answerMs: 500, lose: 'nothing' };
  stage.recorder.record(happened);
  await stage.world.advance(200);
  for (let time = 0; time < 3; time += 1) stage.recorder.record(happened);
  await stage.world.advance(5000);
  assert.equal(stage.events().length, 1);
  assert.equal(stage.events()[0]?.series?.count, 4);
});

test('after a silence longer than the window a new event begins', async () => {
  const stage = new Stage({ windowMs: 60_000 });
  stage.recorder.record(happened);
  await stage.world.advance(59_000);
  stage.recorder.record(happened);
  await stage.world.advance(59_000);
  stage.recorder.record(happened);
  await stage.world.advance(61_000);
  stage.recorder.record(happened);
  await stage.world.advance(1000);
  assert.deepEqual(
    stage.events().map(({ series }) => series?.count),
    [3, undefined],
  );
});

test('an event that the server has forgotten is created anew', async () => {
  const stage = new Stage();
  stage.recorder.record(happened);
  await stage.world.advance(10);
  stage.stored.clear();
  stage.recorder.record(happened);
  await stage.world.advance(10);
  assert.equal(stage.events()[0]?.series?.count, 2);
  assert.deepEqual(stage.requests, ['POST', 'PATCH', 'POST']);
  assert.deepEqual(stage.problems, []);
});

test('what failed is tried again; an attempt that took place all the same makes no second event', async () => {
  const stage = new Stage();
  stage.refusals = [{ status: 503 }, { status: 500, afterDoingIt: true }];
  stage.recorder.record(happened);
  await stage.world.advance(10_000);
  assert.deepEqual(stage.requests, ['POST', 'POST', 'POST', 'GET']);
  assert.equal(stage.events().length, 1);
  assert.deepEqual(stage.recorder.counters, { written: 1, failed: 0, dropped: 0 });
  stage.recorder.record(happened);
  await stage.world.advance(100);
  assert.equal(stage.events()[0]?.series?.count, 2);
});

test('S26: what cannot be written is given up after a few attempts, and said', async () => {
  const stage = new Stage({ attempts: 3 });
  stage.refusals = Array.from({ length: 3 }, () => ({ status: 500 }));
  stage.recorder.record(happened);
  stage.recorder.record({ ...happened, note: 'the next one' });
  await stage.world.advance(30_000);
  assert.deepEqual(
    stage.events().map(({ note }) => note),
    ['the next one'],
  );
  assert.deepEqual(stage.recorder.counters, { written: 1, failed: 1, dropped: 0 });
  const [problem] = stage.problems;
  assert.ok(problem?.kind === 'failed');
  assert.equal(problem.error.kind, 'serverError');
  assert.equal(problem.event.note, happened.note);
  stage.recorder.record(happened);
  await stage.world.advance(1000);
  assert.equal(stage.events().length, 2, 'the next occurrence starts afresh');
});

test('what the server refuses for good is not repeated', async () => {
  const stage = new Stage();
  stage.refusals = [{ status: 403 }, { status: 422 }];
  stage.recorder.record(happened);
  stage.recorder.record({ ...happened, note: 'b' });
  await stage.world.advance(60_000);
  assert.deepEqual(stage.requests, ['POST', 'POST']);
  assert.equal(stage.recorder.counters.failed, 2);
});

test('memory is bounded: what there is no room for is dropped, counted and reported', async () => {
  const stage = new Stage({ maxQueued: 5, maxKnown: 3 });
  for (let index = 0; index < 8; index += 1) stage.recorder.record({ ...happened, note: `note ${index}` });
  assert.equal(stage.recorder.counters.dropped, 3);
  await stage.world.advance(1000);
  assert.equal(stage.events().length, 5);
  assert.deepEqual(stage.problems, [{ kind: 'dropped', count: 3 }]);
  // The first is no longer remembered, so it is a new event; the last is.
  stage.recorder.record({ ...happened, note: 'note 0' });
  stage.recorder.record({ ...happened, note: 'note 4' });
  await stage.world.advance(1000);
  assert.equal(stage.events().length, 6);
  assert.equal(stage.events().find(({ note }) => note === 'note 4')?.series?.count, 2);
});

test('an event that is pushed out of memory says what it still had to say', async () => {
  const stage = new Stage({ maxKnown: 1 });
  for (let time = 0; time < 5; time += 1) {
    stage.recorder.record(happened);
    await stage.world.advance(100);
  }
  assert.equal(stage.events()[0]?.series?.count, 2);
  stage.recorder.record({ ...happened, note: 'another' });
  await stage.world.advance(100);
  assert.equal(stage.events()[0]?.series?.count, 5);
});

test('a shutdown writes what waits, but does not wait for ever', async () => {
  const stage = new Stage();
  stage.recorder.record(happened);
  await settle(stage, stage.recorder.close(5000));
  assert.equal(stage.events().length, 1);
  stage.recorder.record(happened);
  assert.equal(stage.recorder.counters.dropped, 1);

  const silent = new Stage();
  silent.process.link = { requestMs: 1, answerMs: 1, lose: 'request' };
  silent.recorder.record(happened);
  silent.recorder.record({ ...happened, note: 'b' });
  const startedMs = silent.world.nowMs;
  await settle(silent, silent.recorder.close(3000));
  assert.ok(silent.world.nowMs - startedMs <= 3100, String(silent.world.nowMs - startedMs));
  assert.deepEqual(silent.recorder.counters, { written: 0, failed: 1, dropped: 1 });
  assert.deepEqual(
    silent.problems.map(({ kind }) => kind),
    ['failed', 'dropped'],
  );
});

test('a note is cut to what the server takes, never inside a character', () => {
  assert.equal(cutToBytes('short', 1024), 'short');
  assert.equal(cutToBytes('x'.repeat(1024), 1024).length, 1024);
  for (const character of ['x', 'é', '€', '🖧']) {
    const cut = cutToBytes(character.repeat(1200), 1024);
    assert.ok(Buffer.byteLength(cut) <= 1024 && Buffer.byteLength(cut) > 1018, character);
    assert.match(cut, new RegExp(`^(${character})+…$`, 'u'));
  }
});

test('objects whose names are none for an Event get one all the same', async () => {
  const stage = new Stage();
  for (const name of ['system:node:x', 'n'.repeat(250), 'UPPER']) {
    stage.recorder.record({ ...happened, regarding: { ...happened.regarding, name } });
  }
  await stage.world.advance(100);
  for (const { metadata } of stage.events()) assert.match(metadata.name, /^event\.[0-9a-f]{32}$/);
  assert.equal(stage.events().length, 3);
});

/** Lets virtual time pass until `promise` is settled. */
async function settle<T>(stage: Stage, promise: Promise<T>): Promise<T> {
  const state = { settled: false };
  const done = (): void => {
    state.settled = true;
  };
  promise.then(done, done);
  while (!state.settled) await stage.world.advance(50);
  return promise;
}
