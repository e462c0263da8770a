/**
 * Ten minutes in which nothing happens to what is watched, while the rest of the cluster goes on. They are spent in
 * real time: the server's bookmarks, its compaction of history and the end of a watch's life all have their own clocks.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { realClock } from '../../src/clock.ts';
import { ListWatch } from '../../src/kube/list-watch.ts';
import { configMaps } from '../../src/kube/resources.ts';
import { clientFor } from '../support/client.ts';
import { startControlPlane } from '../support/control-plane.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { NaiveListWatch, type Seen } from '../support/naive-list-watch.ts';
import { waitFor } from '../support/wait.ts';
import { assertExact, isExact, seen, Writer } from '../support/watched-history.ts';

const silenceMs = 10 * 60_000;

test('ten minutes of silence: the watch stays, its age stays honest and bounded, and the next event is not missed', async () => {
  await using controlPlane = await startControlPlane({ name: 'silence' });
  const direct = clientFor(controlPlane);
  const writer = await new Writer(direct, 'silent').begin();
  const elsewhere = await new Writer(direct, 'elsewhere').begin();
  await elsewhere.create('busy');
  await using proxy = await FaultProxy.start(controlPlane.port);
  const client = clientFor(controlPlane, { port: proxy.port });
  const naiveClient = clientFor(controlPlane, { port: proxy.port, protocols: ['http/1.1'] });
  const log: Seen[] = [];
  const problems: string[] = [];
  const subject = new ListWatch({
    client,
    clock: realClock,
    random: Math.random,
    resource: configMaps,
    namespace: 'silent',
    project: () => undefined,
    onChange: (change) => log.push(seen(change)),
    onProblem: (problem) => problems.push(problem.message),
    // What is listed anew from time to time is not in the way: this is about the watch.
    timings: { trustPageMs: 2 * silenceMs },
  });
  const naive = new NaiveListWatch();
  const stop = new AbortController();
  const running = Promise.all([subject.run(stop.signal), naive.run(naiveClient, configMaps, 'silent', stop.signal)]);
  try {
    await waitFor('the first list', () => subject.synced);
    await writer.bustle('before', 3);
    await waitFor('the last event before the silence', () => isExact(log, writer.history));

    let oldestMs = 0;
    const until = performance.now() + silenceMs;
    while (performance.now() < until) {
      await elsewhere.update('busy');
      oldestMs = Math.max(oldestMs, subject.ageMs);
      await delay(1000);
    }
    assert.deepEqual(problems, [], 'a watch that has nothing to say is not taken for a dead one');
    assert.ok(oldestMs < 90_000, `bookmarks keep the view young; it was ${Math.round(oldestMs / 1000)} s old at worst`);
    assert.ok(naive.ageMs >= silenceMs, 'the naive one does not know whether anything happened');

    // The naive one would have to resume at a version that is ten minutes old and no longer remembered.
    await controlPlane.compact();
    proxy.reset();
    await writer.bustle('after', 3);
    await waitFor('the first events after the silence', () => isExact(log, writer.history)).catch(() => {
      assertExact(log, writer.history);
    });
    assert.equal(subject.statistics.lists, 1, 'resumed, not listed again');
    await waitFor('the naive one to be back', () => naive.log.some((one) => one.name === 'after-stays'));
    assert.ok(!isExact(naive.log, writer.history), 'the naive one reports twice what it lists again');
  } finally {
    stop.abort();
    await running;
    for (const one of [client, naiveClient, direct]) one.close();
  }
});
