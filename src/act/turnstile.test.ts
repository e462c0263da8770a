import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turnstile } from './turnstile.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('as many are inside as there are places, first come, first served', async () => {
  const turnstile = new Turnstile(10);
  const inside: string[] = [];
  const leaves = new Map<string, () => void>();
  const visit = (name: string, places: number): void => {
    void turnstile.enter(places).then((leave) => {
      inside.push(name);
      leaves.set(name, leave);
    });
  };
  visit('a', 6);
  visit('b', 6);
  visit('c', 1);
  await turn();
  assert.deepEqual(inside, ['a'], 'c does not overtake b, or b might never come in');
  leaves.get('a')?.();
  await turn();
  assert.deepEqual(inside, ['a', 'b', 'c']);
});

test('who wants more places than there are has the turnstile for itself', async () => {
  const turnstile = new Turnstile(10);
  const leave = await turnstile.enter(110);
  let entered = false;
  const next = turnstile.enter(0).then((out) => {
    entered = true;
    return out;
  });
  await turn();
  assert.equal(entered, false, 'whoever does nothing takes a place as well');
  leave();
  (await next)();
});
