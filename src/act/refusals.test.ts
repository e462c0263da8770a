import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { Method } from '../api/fence-config.ts';
import type { KubeErrorKind } from '../kube/errors.ts';
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
  for (const kind of ['unreachable', 'serverError', 'timeout', 'tooManyRequests'] as const) {
    triedAt(130_000, 'unauthorized');
    assert.equal(triedAt(130_001, kind), undefined, `${kind} is no answer`);
  }
  assert.equal(refusals.of('node-2'), undefined);
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
  acts.forget('node-1');
  assert.deepEqual(known(), [undefined, undefined]);
});
