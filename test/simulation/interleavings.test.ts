/**
 * [FEV-6] The three scenarios of the source, a kubelet that comes back while its node is being evicted by force, at every
 * order in which the requests of that kubelet and those of the operator can reach the API server. Kubelet and operator
 * are those of every scenario; only who goes next is decided here.
 *
 * `FENCELINE_EXHAUSTIVE=1` goes through all of them (`make soak`); otherwise some are taken by chance, and the first
 * ones of the search.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StoredFence } from '../../src/scenario/cluster-state.ts';
import type { Outcome, Race } from './interleavings.ts';
import { explore, sample } from './interleavings.ts';
import { failuresOf } from './run-file.ts';
import * as t from './trouble.ts';

const exhaustive = process.env['FENCELINE_EXHAUSTIVE'] === '1';
const limit = exhaustive ? Infinity : 25;
const byChance = exhaustive ? 0 : 25;

function race(name: string, fromMs: number, events: object[]): Race {
  const what: t.Trouble = {
    gates: { ForceEviction: true },
    events: [{ at: '0s', powerOff: t.place }, ...events, t.taint('25s', t.forceEvictionKey)],
    runFor: '65s',
    expect: [
      { by: '65s', pod: { label: 'app=web', running: true, ready: true } },
      { by: '65s', node: { name: t.place, ready: true, schedulable: true, taints: [] } },
      t.oneWriter,
    ],
  };
  return { name, what, fromMs, untilMs: 27_500 };
}

/** A boot takes 10 s; the taint comes at 25 s. */
export const races: readonly Race[] = [
  race('1: the node restarts while its pods are being evicted', 25_000, [{ at: '15100ms', powerOn: t.place }]),
  race('2: the kubelet is back, and reaches the API server only later', 24_000, [
    { at: '5s', partition: t.place },
    { at: '10s', powerOn: t.place },
    { at: '24s', heal: t.place },
  ]),
  race('3: the kubelet reports itself just when the operator looks', 25_000, [{ at: '15s', powerOn: t.place }]),
];

function check({ report, world, steps }: Outcome): void {
  const fence = world.server.peek('fenceline.dev', 'nodefences', 'node-fence-node-3') as unknown as StoredFence;
  const open = fence?.status?.incident === undefined ? [] : ['the incident is open'];
  const order = steps.map(({ party, request }) => `${party} ${request.method} ${request.path.split('?', 1)[0]}`);
  assert.deepEqual([...failuresOf(report), ...open], [], `in this order:\n${order.join('\n')}`);
}

describe('interleavings of a kubelet with the operator', () => {
  for (const one of races) {
    test(`[FEV-6] scenario ${one.name}`, async () => {
      await sample(one, byChance, check);
      const { runs, redundant, steps, complete } = await explore(one, limit, check);
      const found = `${runs} orders of up to ${steps} steps${complete ? ', all there are' : ' of the search'}`;
      console.log(`scenario ${one.name}: ${found}, ${redundant} seen before, ${byChance} by chance`);
      assert.ok(complete || !exhaustive);
    });
  }
});
