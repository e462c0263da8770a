import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpRequest, Transport } from '../../kube/transport.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import type { Choice, Step } from './step-gate.ts';
import { StepGate } from './step-gate.ts';

function request(path: string): HttpRequest {
  return { method: 'GET', path, purpose: 'call', timeoutMs: 1000 };
}

function scene(choose: (heads: ReadonlyMap<string, Step>, late: string | undefined) => Choice) {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const gate = new StepGate({ clock, choose, isStep: (step) => step.request.path !== '/free' });
  const server = (party: string): Transport => ({
    send: async ({ path }) => {
      seen.push(`${party}${path} at ${clock.monotonic()}`);
      return { status: 200, headers: {}, body: [] as unknown as AsyncIterable<Uint8Array> };
    },
    close: () => {},
  });
  const parties = { a: gate.between('a', server('a')), b: gate.between('b', server('b')) };
  return { clock, gate, seen, ...parties };
}

test('steps go one by one, in the order that is chosen, each party’s own in its own order', async () => {
  const order = ['b', 'a', 'b', 'a'];
  const { clock, gate, seen, a, b } = scene((heads) => {
    assert.equal(heads.size, new Set(order).size, 'everybody has come to rest before a choice is asked for');
    return { go: order.shift() ?? '' };
  });
  gate.close();
  const all = [a.send(request('/1')), a.send(request('/2')), b.send(request('/1')), b.send(request('/2'))];
  await clock.runFor(1);
  await Promise.all(all);
  assert.deepEqual(seen, ['b/1 at 0', 'a/1 at 0', 'b/2 at 0', 'a/2 at 0']);
});

test('what is no step goes straight through, and so does everything while the gate is open', async () => {
  const { gate, seen, a } = scene(() => assert.fail('nothing to choose'));
  await a.send(request('/1'));
  gate.close();
  await a.send(request('/free'));
  const waiting = a.send(request('/2'));
  gate.open();
  await waiting;
  assert.deepEqual(seen, ['a/1 at 0', 'a/free at 0', 'a/2 at 0']);
});

test('a party may be awaited, while time passes, and is told of when it does not come', async () => {
  const lates: (string | undefined)[] = [];
  const { clock, gate, seen, a, b } = scene((heads, late) => {
    lates.push(late);
    if (heads.has('b')) return { go: 'b' };
    return late === undefined ? { await: 'b', forMs: 100 } : { go: 'a' };
  });
  gate.close();
  void a.send(request('/1'));
  clock.after(50, () => void b.send(request('/1')));
  await clock.runFor(1000);
  assert.deepEqual(seen, ['b/1 at 50', 'a/1 at 150']);
  assert.deepEqual(lates, [undefined, undefined, undefined, 'b']);
});
