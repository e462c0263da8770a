/**
 * The list-watch on a real API server, under every fault that a network and a server can have. Beside it runs a
 * list-watch as it is usually written first, through the same fault: it must break, else the fault proves nothing.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { Protocol } from '../../src/kube/dial.ts';
import type { ListWatchTimings } from '../../src/kube/list-watch.ts';
import { ListWatch } from '../../src/kube/list-watch.ts';
import { configMaps } from '../../src/kube/resources.ts';
import { clientFor } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { NaiveListWatch, type Seen } from '../support/naive-list-watch.ts';
import { waitFor } from '../support/wait.ts';
import {
  assertConverged,
  assertExact,
  dishonestyMs,
  isConverged,
  isExact,
  seen,
  Writer,
} from '../support/watched-history.ts';

/** Both list-watches behind one faulty network, watching one namespace. */
class Trial implements AsyncDisposable {
  readonly log: Seen[] = [];
  readonly problems: string[] = [];
  readonly naive = new NaiveListWatch();
  readonly proxy: FaultProxy;
  readonly subject: ListWatch<unknown>;
  readonly #stop = new AbortController();
  readonly #clients: KubeClient[];
  readonly #running: Promise<unknown>;

  constructor(
    controlPlane: ControlPlane,
    proxy: FaultProxy,
    namespace: string,
    how: { protocol?: Protocol; timings?: Partial<ListWatchTimings> } = {},
  ) {
    this.proxy = proxy;
    const { port } = proxy;
    const client = clientFor(controlPlane, { port, ...(how.protocol && { protocols: [how.protocol] }) });
    // It reads everything in one go, which may take a while on a busy machine.
    const naiveClient = clientFor(controlPlane, { port, protocols: ['http/1.1'], timeoutMs: 120_000 });
    this.#clients = [client, naiveClient];
    this.subject = new ListWatch<unknown>({
      client,
      clock: realClock,
      random: Math.random,
      resource: configMaps,
      namespace,
      project: () => undefined,
      onChange: (change) => this.log.push(seen(change)),
      onProblem: (problem) => this.problems.push(problem.message),
      timings: { probeEveryMs: 200, ...how.timings },
    });
    this.#running = Promise.all([
      this.subject.run(this.#stop.signal),
      this.naive.run(naiveClient, configMaps, namespace, this.#stop.signal),
    ]);
  }

  async settled(): Promise<this> {
    await waitFor('both to have listed', () => this.subject.synced && this.subject.statistics.watches > 0);
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.proxy[Symbol.asyncDispose]();
    for (const client of this.#clients) client.close();
    await this.#running;
  }
}

describe('list-watch on the real API server', () => {
  let controlPlane: ControlPlane;
  let direct: KubeClient;
  let count = 0;

  before(async () => {
    controlPlane = await startControlPlane({ name: 'list-watch' });
    direct = clientFor(controlPlane);
  });
  after(async () => {
    direct?.close();
    await controlPlane?.stop();
  });

  async function stage(
    how: ConstructorParameters<typeof Trial>[3] & { payloadBytes?: number } = {},
  ): Promise<{ trial: Trial; writer: Writer; namespace: string }> {
    const namespace = `stage-${(count += 1)}`;
    const writer = await new Writer(direct, namespace, how.payloadBytes).begin();
    const proxy = await FaultProxy.start(controlPlane.port);
    const trial = await new Trial(controlPlane, proxy, namespace, how).settled();
    await writer.bustle('before', 2);
    await bothCaughtUp(trial, writer);
    return { trial, writer, namespace };
  }

  /** What the naive one has not heard of before a fault, it cannot be wrong about afterwards. */
  async function bothCaughtUp(trial: Trial, writer: Writer): Promise<void> {
    await caughtUp(trial, writer);
    await waitFor('the naive one to keep up while all is well', () => isExact(trial.naive.log, writer.history));
  }

  function caughtUp(trial: Trial, writer: Writer, timeoutMs = 30_000): Promise<unknown> {
    return waitFor('the list-watch to catch up', () => isExact(trial.log, writer.history), { timeoutMs }).catch(() =>
      assertExact(trial.log, writer.history),
    );
  }

  for (const protocol of ['h2', 'http/1.1'] as const) {
    test(`connections reset in the middle of traffic (${protocol}): no event lost, none twice, order kept`, async () => {
      const { trial, writer } = await stage({ protocol });
      await using _ = trial;
      for (let turn = 0; turn < 5; turn += 1) {
        const writing = writer.bustle(`turn-${turn}`, 5);
        trial.proxy.reset();
        await writing;
      }
      await caughtUp(trial, writer);
      assert.equal(trial.subject.statistics.lists, 1, 'resumed, not listed again');
      assert.ok(!isExact(trial.naive.log, writer.history), 'the naive one reports twice what it lists again');
    });

    test(`a connection cut silently (${protocol}) is noticed and reopened, and nothing is lost`, async () => {
      // HTTP/2 notices by its ping after ten seconds; without it, the probe shows that the watch does not move.
      const timings = protocol === 'h2' ? {} : { reopenAfterMs: 3000 };
      const { trial, writer } = await stage({ protocol, timings });
      await using _ = trial;
      trial.proxy.blackhole();
      await writer.bustle('unheard', 3);
      const missing = writer.history.length - trial.log.length;
      assert.ok(missing > 0, 'the cut holds');
      await waitFor(
        'the cut to be healed',
        () => {
          assert.equal(
            dishonestyMs(trial.subject.ageMs, trial.log, writer.history),
            0,
            'its age admits what it misses',
          );
          return isExact(trial.log, writer.history);
        },
        { timeoutMs: 40_000 },
      );
      assert.equal(trial.subject.statistics.lists, 1, 'resumed, not listed again');
      assert.ok(!isExact(trial.naive.log, writer.history), 'the naive one waits for ever');
    });
  }

  test('the server is killed and restarted: no event lost, none twice, order kept', async () => {
    const { trial, writer } = await stage();
    await using _ = trial;
    await controlPlane.restart('kube-apiserver');
    await writer.bustle('after', 3);
    await caughtUp(trial, writer);
    assert.ok(!isExact(trial.naive.log, writer.history), 'the naive one reports twice what it lists again');
  });

  test('history is compacted under a running watch: nothing is missed', async () => {
    const { trial, writer } = await stage();
    await using _ = trial;
    await writer.bustle('one', 3);
    await controlPlane.compact();
    trial.proxy.reset();
    await writer.bustle('two', 3);
    await caughtUp(trial, writer);
  });

  test('410: away for so long that the server has forgotten: deletions and recreations are not missed', async () => {
    const { trial, writer } = await stage();
    await using _ = trial;
    await writer.create('deleted-meanwhile');
    await writer.create('recreated-meanwhile');
    await bothCaughtUp(trial, writer);
    trial.proxy.down();
    await writer.remove('deleted-meanwhile');
    await writer.remove('recreated-meanwhile');
    await writer.create('recreated-meanwhile');
    await writer.bustle('meanwhile', 3);
    await controlPlane.restart('kube-apiserver');
    await controlPlane.compact();
    trial.proxy.up();
    await waitFor('convergence', () => isConverged(trial.log, writer.history)).catch(() => {
      assertConverged(trial.log, writer.history);
    });
    assert.equal(trial.subject.statistics.lists, 2, `one new list; problems: ${trial.problems.join('\n')}`);
    assert.ok(
      trial.problems.some((problem) => problem.includes('(HTTP 410)')),
      'the server did answer 410',
    );
    const reborn = trial.log.filter((one) => one.name === 'recreated-meanwhile').map((one) => one.type);
    assert.deepEqual(reborn, ['added', 'deleted', 'added'], 'a recreated object is a delete and an add');
    await waitFor('the naive one to be back', () => trial.naive.log.some((one) => one.name === 'meanwhile-stays'));
    assert.ok(!isConverged(trial.naive.log, writer.history), 'the naive one never hears of the deletions');
  });

  test('an object recreated while the watch was down is a delete and an add', async () => {
    const { trial, writer } = await stage();
    await using _ = trial;
    await writer.create('phoenix');
    await bothCaughtUp(trial, writer);
    trial.proxy.down();
    await writer.remove('phoenix');
    await writer.create('phoenix');
    trial.proxy.up();
    await caughtUp(trial, writer);
    const naive = await waitFor('the naive one to hear', () => {
      const types = trial.naive.log.filter((one) => one.name === 'phoenix').map((one) => one.type);
      return types.length > 1 && types;
    });
    assert.deepEqual(naive, ['added', 'updated'], 'the naive one takes the new one for the old one');
  });

  test('a slow reader: nothing is lost, and its age admits how far it is behind while the naive one claims to be current', async () => {
    const { trial, writer } = await stage({ payloadBytes: 30_000 });
    await using _ = trial;
    await writer.create('large');
    await caughtUp(trial, writer);
    trial.proxy.throttle(200_000);
    let behindMs = 0;
    let naiveDishonestyMs = 0;
    for (let turn = 0; turn < 400; turn += 1) {
      await writer.update('large');
      const dishonest = dishonestyMs(trial.subject.ageMs, trial.log, writer.history);
      assert.equal(dishonest, 0, `write ${turn}: age ${trial.subject.ageMs} hides ${dishonest} ms`);
      naiveDishonestyMs = Math.max(naiveDishonestyMs, dishonestyMs(trial.naive.ageMs, trial.naive.log, writer.history));
      behindMs = Math.max(behindMs, trial.subject.ageMs);
    }
    trial.proxy.throttle(Infinity);
    await caughtUp(trial, writer, 60_000);
    assert.ok(behindMs > 1000, `the reader was slow: ${behindMs} ms`);
    assert.ok(naiveDishonestyMs > 1000, `the naive one was wrong by ${naiveDishonestyMs} ms`);
  });

  test('50,000 objects, listed in pages while they change: no event lost, none twice', async () => {
    const namespace = 'crowd';
    const writer = await new Writer(direct, namespace).begin();
    const born = new Date().toISOString().replace(/\.\d+Z/, 'Z');
    await controlPlane.etcdPut(
      Array.from({ length: 50_000 }, (_, index) => {
        const name = `one-${String(index).padStart(5, '0')}`;
        const uid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
        const metadata = { name, namespace, uid, creationTimestamp: born };
        const value = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { index: String(index) } });
        return { key: `/registry/configmaps/${namespace}/${name}`, value };
      }),
    );
    const proxy = await FaultProxy.start(controlPlane.port);
    await using trial = new Trial(controlPlane, proxy, namespace);
    await waitFor('the first pages', () => trial.subject.statistics.lists === 1 && proxy.accepted > 0);
    await writer.bustle('zz-meanwhile', 5);
    await waitFor('the list', () => trial.subject.synced, { timeoutMs: 150_000 });
    // On a busy machine the server gives up on 50,000 objects in one answer before the naive one has them.
    const naiveManaged = trial.naive.log.length >= 50_000;
    proxy.reset();
    await writer.bustle('zz-afterwards', 5);
    await waitFor('the last event', () =>
      trial.log.some((one) => one.name === 'zz-afterwards-comes-and-goes' && one.type === 'deleted'),
    );
    await waitFor('the last state', () => trial.subject.entries.size === 50_002, { timeoutMs: 30_000 });
    const crowd = trial.log.filter((one) => one.name.startsWith('one-'));
    assert.equal(crowd.length, 50_000, 'each once');
    assert.equal(new Set(crowd.map((one) => one.uid)).size, 50_000);
    assertConverged(
      trial.log.filter((one) => one.name.startsWith('zz-')),
      writer.history,
    );
    if (!naiveManaged) return;
    await waitFor('the naive one to report all twice', () => trial.naive.log.length >= 100_000, { timeoutMs: 150_000 });
  });
});
