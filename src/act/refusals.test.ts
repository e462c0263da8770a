import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { Method } from '../api/fence-config.ts';
import type { Act } from '../api/steps.ts';
import type { KubeErrorKind } from '../kube/errors.ts';
import type { ActOutcome } from './act-outcome.ts';
import { Refusals } from './refusals.ts';

const error = (kind: KubeErrorKind) => ({ kind, message: `it is ${kind}`, mayHaveHappened: false });

test('[SAF-10] what is answered no to is known for as long as that is the answer to every try', () => {
  let nowMs = 0;
  const refusals = new Refusals({ monotonic: () => nowMs });
  const triedAt = (ms: number, kind?: KubeErrorKind): object | undefined => {
    nowMs = ms;
    refusals.note('node-1', kind && error(kind));
    return refusals.of('node-1');
  };
  assert.deepEqual(triedAt(0, 'forbidden'), { message: 'it is forbidden', forMs: 0 });
  assert.deepEqual(triedAt(60_000, 'invalid'), { message: 'it is invalid', forMs: 60_000 });
  nowMs = 100_000;
  assert.deepEqual(refusals.of('node-1'), { message: 'it is invalid', forMs: 60_000 }, 'nobody has tried since');
  assert.deepEqual(triedAt(120_001, 'forbidden'), { message: 'it is forbidden', forMs: 0 }, 'nor for long');
  assert.equal(triedAt(120_002), undefined);
  assert.equal(refusals.of('node-2'), undefined);
});

const soft = ['unreachable', 'serverError', 'timeout', 'tooManyRequests', 'conflict'] as const;

test('[SAF-10, SAF-19] what fails in every try is told after some seconds, whatever the reason; only what goes ends that', () => {
  for (const kind of soft) {
    let nowMs = 0;
    const refusals = new Refusals({ monotonic: () => nowMs });
    const triedAt = (ms: number, again?: KubeErrorKind): object | undefined => {
      nowMs = ms;
      refusals.note('node-1', again && error(again));
      return refusals.of('node-1');
    };
    assert.equal(triedAt(0, kind), undefined, 'it may go the next time');
    assert.equal(triedAt(4999, kind), undefined);
    assert.deepEqual(triedAt(5000, kind), { message: `it is ${kind}`, forMs: 5000 });
    assert.deepEqual(triedAt(6000, 'malformed'), { message: 'it is malformed', forMs: 6000 }, 'the latest');
    assert.deepEqual(triedAt(7000, 'forbidden'), { message: 'it is forbidden', forMs: 7000 });
    assert.deepEqual(triedAt(8000, kind), { message: 'it is forbidden', forMs: 8000 }, 'an answer stands');
    nowMs = 68_000;
    assert.deepEqual(refusals.of('node-1'), { message: 'it is forbidden', forMs: 8000 });
    nowMs = 68_001;
    assert.equal(refusals.of('node-1'), undefined, 'nobody knows by now');
    assert.equal(triedAt(68_001, kind), undefined, 'another series');
  }
});

test('[STM-2] while the API server is away as a whole, it refuses nothing', () => {
  let nowMs = 0;
  const refusals = new Refusals({ monotonic: () => nowMs });
  const triedAt = (ms: number): number | undefined => {
    nowMs = ms;
    refusals.note('node-1', error('forbidden'));
    return refusals.of('node-1')?.forMs;
  };
  triedAt(0);
  assert.equal(triedAt(10_000), 10_000);
  refusals.away('node-1');
  assert.equal(triedAt(50_000), 10_000, 'nobody knows what would have been answered');
  assert.equal(triedAt(51_000), 11_000);
  refusals.away('node-2');
  assert.equal(refusals.of('node-2'), undefined);
});

test('[SAF-10] the acts of a pass: what has gone ends a series, and what was not tried does not', () => {
  const act: Act = { do: 'forgetCordon' };
  const failed = { kind: 'failed', act, error: error('forbidden') } as const;
  const done = { kind: 'done', act } as const;
  const needless = { kind: 'needless', act } as const;
  const begun = { kind: 'begun', act } as const;
  const changed = { kind: 'changed', what: 'it is another' } as const;
  const unconfirmed = { kind: 'unconfirmed', what: 'no word' } as const;
  const after = (...acts: ActOutcome[]): number | undefined => {
    let nowMs = 0;
    const refusals = new Refusals({ monotonic: () => nowMs });
    for (const at of [0, 10_000]) {
      nowMs = at;
      refusals.noteActs('node-1', [failed]);
    }
    nowMs = 20_000;
    refusals.noteActs('node-1', acts);
    return refusals.of('node-1')?.forMs;
  };
  assert.equal(after(), 10_000);
  assert.equal(after(begun), 10_000);
  assert.equal(after(changed), 10_000, 'decided anew');
  assert.equal(after(needless, unconfirmed), 10_000);
  assert.equal(after(needless, changed), 10_000);
  assert.equal(after(needless, failed), 20_000);
  assert.equal(after(begun, failed), 20_000);
  assert.equal(after({ ...changed, act }), 20_000, 'overtaken once more');
  assert.equal(after(done, failed), 0, 'something has gone: it begins anew');
  for (const gone of [[done], [needless], [begun, needless], [done, unconfirmed]])
    assert.equal(after(...gone), undefined);
});

test('[SAF-10] what a command may not be read to rest on is known apart from what else is refused', async () => {
  const cluster = await ActCluster.create();
  cluster.server.faults.inject({ matches: ({ resource }) => resource === 'configmaps', code: 403, message: 'denied' });
  const ask = async () => ({ kind: 'status', power: 'on' }) as const;
  const acts = cluster.longActs({ provider: { device: async () => ({ ok: true, device: { name: 'puppet', ask } }) } });
  const known = (): (string | undefined)[] => {
    const { refused, refusedGrounds } = acts.of('node-1');
    return [refused?.message, refusedGrounds?.message.replace(/^.*(?=denied)/, '')];
  };
  const method: Method = { name: 'pdu-off', action: 'off', driver: 'puppet', parameters: {}, secrets: [] };
  const grounds = { ...(await cluster.grounds()), basis: 'Remedy' } as const;
  await acts.begin(await cluster.node(), { do: 'switch', key: 'k', what: 'power', method }, grounds);
  await waitFor('its try is dropped', () => acts.of('node-1').task?.outcome === 'dropped');
  assert.deepEqual(known(), [undefined, 'denied (HTTP 403)']);
  acts.refusals.note('node-1', error('forbidden'));
  assert.deepEqual(known(), ['it is forbidden', 'denied (HTTP 403)']);
  acts.away('node-1');
  assert.deepEqual(known(), ['it is forbidden', 'denied (HTTP 403)'], 'that says nothing of it');
  acts.forget('node-1');
  assert.deepEqual(known(), [undefined, undefined]);
});
