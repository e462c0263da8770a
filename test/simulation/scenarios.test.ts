/** Every scenario that comes with the product holds, whatever the seed; and what it says would be noticed if it did not. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import { failuresOf, run, scenarioDirectory, scenarioOf, seedsOf, variation } from './run-file.ts';

const names = globSync(`${scenarioDirectory}/*.yaml`)
  .map((file) => basename(file, '.yaml'))
  .sort();

describe('the scenarios that come along', () => {
  for (const name of names) {
    test(name, async () => {
      const scenario = scenarioOf(name);
      for (const seed of seedsOf(scenario)) {
        assert.deepEqual(failuresOf(await run({ ...scenario, seed })), [], `with seed ${seed}`);
      }
    });
  }
});

describe('a pod on a node without power, and no policy', () => {
  for (const name of ['stuck-pod', 'kubernetes-alone']) {
    test(`${name}: NotReady at 40 s, terminating five minutes later, stuck an hour later`, async () => {
      const report = await run(scenarioOf(name));
      const at = (actor: string, what: string): number | undefined =>
        report.timeline.find((entry) => entry.actor === actor && entry.what === what)?.at;
      assert.equal(at('node-controller', 'Ready is Unknown'), 40_000);
      assert.equal(at('node-controller', 'tainted node.kubernetes.io/unreachable:NoExecute'), 40_000);
      assert.equal(at('taint-eviction-controller', 'terminating'), 340_000);
      const last = report.timeline.at(-1);
      assert.equal(last?.at, 340_000, 'and nothing happens after that');
      assert.equal(report.virtualMs, 3_600_000);
    });
  }

  test('the operator changes nothing: the cluster has the same history with it and without', async () => {
    const history = async (name: string): Promise<string[]> => {
      const { timeline } = await run({ ...scenarioOf(name), seed: 5 });
      return timeline
        .filter(({ actor }) => !actor.startsWith('operator-'))
        .map(({ at, actor, what, object }) => `${at} ${actor} ${what} ${object}`);
    };
    assert.deepEqual(await history('stuck-pod'), await history('kubernetes-alone'));
  });

  test('other grace periods give other times', async () => {
    const slower = variation('stuck-pod', {
      cluster: { kubernetes: { nodeMonitorGracePeriod: '50s' } },
      events: [{ at: '0s', powerOff: { nodeOf: 'default/web-0' } }],
      expect: [
        { by: '1m', node: { name: { nodeOf: 'default/web-0' }, ready: false } },
        { by: '6m', pod: { name: 'web-0', terminating: true } },
      ],
    });
    const report = await run(slower);
    assert.deepEqual(
      report.expectations.map(({ at }) => at),
      [50_000, 350_000],
    );
  });
});

describe('what is not as expected', () => {
  const events = [{ at: '12s', powerOff: { nodeOf: 'default/web-0' } }];

  async function verdicts(expect: object[]): Promise<[boolean, number | null][]> {
    const report = await run(variation('stuck-pod', { events, expect, runFor: '8m' }));
    return report.expectations.map(({ ok, at }) => [ok, at]);
  }

  test('is seen at its moment, not before and not after', async () => {
    // It renews after 10 s, which the node controller sees at 15 s, and calls it Unknown 40 s later.
    const node = { name: { nodeOf: 'default/web-0' }, ready: false };
    assert.deepEqual(
      await verdicts([
        { at: '54999ms', node },
        { at: '55s', node },
        { by: '54999ms', node },
        { by: '1m', node },
        { by: '1m', node: { ...node, ready: true } },
        { never: { node } },
        { always: { node: { ...node, ready: true } } },
        { never: { pod: { name: 'web-0', deleted: true } } },
      ]),
      [
        [false, 54_999],
        [true, 55_000],
        [false, null],
        [true, 55_000],
        [false, null],
        [false, 55_000],
        [false, 55_000],
        [true, null],
      ],
    );
  });

  test('observation begins with the first event', async () => {
    const ready = { node: { name: 'node-1', ready: true } };
    assert.deepEqual(
      await verdicts([
        { by: '5s', ...ready },
        { by: '20s', ...ready },
        { at: '5s', ...ready },
      ]),
      [
        [false, null],
        [true, 12_000],
        [true, 5000],
      ],
    );
  });

  test('what never came about does not hold, and says why', async () => {
    const report = await run(
      variation('stuck-pod', {
        events,
        expect: [
          { by: '2m', fence: { node: 'node-1', status: 'error' } },
          { fences: 1 },
          { event: { reason: 'EvictionAutomatic', count: 1 } },
          { at: '1m', drain: { node: 'node-1', done: true } },
          { at: '1m', budget: { node: 'node-1', blocks: true } },
          { at: '1m', volume: { name: 'v1', robustness: 'healthy' } },
          { at: '1m', replica: { volume: 'v1', node: 'node-1', evictionRequested: true } },
          { at: '1m', storageNode: { name: 'node-1', autoEvicting: true } },
          { ledger: { volume: 'pv-9', writersAtMost: 1 } },
        ],
        runFor: '3m',
      }),
    );
    assert.equal(report.ok, false);
    assert.deepEqual(
      report.expectations.map(({ ok, detail }) => [ok, detail]),
      [
        [false, 'node-1 is not being fenced'],
        [false, '0 ever'],
        [false, 'EvictionAutomatic was reported 0 times'],
        [false, 'no drain of node-1 was begun'],
        [false, 'no budget blocks node-1'],
        [false, 'there is no volume v1 with replicas'],
        [false, 'replica of v1 on node-1: there is none'],
        [false, 'the storage system does not know node-1'],
        [false, 'nobody ever wrote to pv-9'],
      ],
    );
  });
});
