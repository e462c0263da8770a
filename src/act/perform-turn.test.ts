/** Devices are asked before anybody waits for its turn, and once more if that took long. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, fenceRef } from '../../test/support/act-cluster.ts';
import { entry } from '../../test/support/release-case.ts';
import type { Grounds, Step } from '../api/steps.ts';
import type { ActOutcome } from './act-outcome.ts';
import type { ActOptions } from './perform.ts';
import { perform } from './perform.ts';
import { Turnstile } from './turnstile.ts';

async function performed(
  cluster: ActCluster,
  change: Pick<ActOptions, 'ask' | 'clock' | 'turnstile'>,
): Promise<ActOutcome[]> {
  const standing: Grounds = {
    ...(await cluster.grounds()),
    taints: [],
    basis: 'PowerOff',
    question: { what: 'power', methods: [] },
  };
  const step: Step = { grounds: standing, acts: [{ do: 'freeVolumes', volumes: [entry] }] };
  const node = await cluster.node();
  return perform(
    [step],
    { name: 'node-1', node },
    {
      client: cluster.client,
      guard: () => true,
      at: '2026-01-01T00:10:00Z',
      timeoutMs: 5000,
      onPod: () => {},
      longActs: cluster.longActs(),
      ...change,
    },
  );
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a step that rests on the word of a device', () => {
  test('S27: keeps nobody from their turn while that is silent', async () => {
    const turnstile = new Turnstile(1);
    const device = Promise.withResolvers<string | undefined>();
    const asked = Promise.withResolvers<void>();
    const ask = (): Promise<string | undefined> => {
      asked.resolve();
      return device.promise;
    };
    const outcomes = performed(await ActCluster.create(), { turnstile, ask, clock: { monotonic: () => 0 } });
    await asked.promise;
    const leave = await turnstile.enter(1);
    leave();
    device.resolve('silent');
    assert.deepEqual(await outcomes, [{ kind: 'unconfirmed', what: 'node-1 is not known to be off: silent' }]);
  });

  test('S4, S15: that a busy server puts off is not taken later on what was read before', async () => {
    const cluster = await ActCluster.create();
    cluster.server.faults.inject({ matches: ({ verb }) => verb === 'patch', code: 429, times: 1 });
    const ask = async (): Promise<undefined> => undefined;
    const outcomes = await performed(cluster, { turnstile: new Turnstile(1), ask, clock: { monotonic: () => 0 } });
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['failed'],
    );
  });

  test('S27: makes room for others when it is done, refused, or fails', async () => {
    const turnstile = new Turnstile(1);
    const clock = { monotonic: () => 0 };
    const ask = async (): Promise<undefined> => undefined;
    const kinds: string[] = [];
    for (const happens of [
      async () => {},
      (cluster: ActCluster) => cluster.patch(fenceRef, '/spec/stop', true),
      async (cluster: ActCluster) =>
        void cluster.server.faults.inject({ matches: ({ verb }) => verb === 'patch', code: 500 }),
    ]) {
      const cluster = await ActCluster.create();
      await happens(cluster);
      const [outcome] = await performed(cluster, { turnstile, ask, clock });
      kinds.push(outcome?.kind ?? 'nothing');
    }
    assert.deepEqual(kinds, ['done', 'changed', 'failed']);
  });

  for (const [waitedMs, kind] of [
    [10_000, 'done'],
    [10_001, 'unconfirmed'],
  ] as const) {
    test(`S15: that has waited for its turn for ${waitedMs} ms: ${kind}, if its machine is on by then`, async () => {
      const turnstile = new Turnstile(1);
      const leave = await turnstile.enter(1);
      let nowMs = 0;
      const answers = [undefined, 'it is on'];
      const asked = Promise.withResolvers<void>();
      const ask = async (): Promise<string | undefined> => {
        asked.resolve();
        return answers.shift();
      };
      const outcomes = performed(await ActCluster.create(), { turnstile, ask, clock: { monotonic: () => nowMs } });
      await asked.promise;
      await turn();
      nowMs = waitedMs;
      leave();
      assert.deepEqual(
        (await outcomes).map((one) => one.kind),
        [kind],
      );
    });
  }
});
