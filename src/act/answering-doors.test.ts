import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { ManualClock } from '../../test/support/manual-clock.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import type { Knocked } from '../kube/knock.ts';
import { AnsweringDoors } from './answering-doors.ts';

describe('[EVD-4] ports that answer', () => {
  let clock: ManualClock;
  let found: Knocked;
  let knocks: number;
  let doors: AnsweringDoors;
  const door = { address: '10.0.0.1', port: 10_250 };
  const other = { address: '10.0.0.2', port: 10_250 };

  beforeEach(() => {
    clock = manualClock();
    [found, knocks] = ['open', 0];
    const knock = async (): Promise<Knocked> => {
      knocks += 1;
      return found;
    };
    doors = new AnsweringDoors({ clock, random: () => 0.5, knock });
  });

  const knock = (says: Knocked, at = door): Promise<Knocked> => {
    found = says;
    return doors.knock(at, 500);
  };
  const learn = (says: Knocked): Promise<boolean> => {
    found = says;
    return doors.learn(door);
  };

  for (const answer of ['open', 'refused'] as const) {
    test(`only where somebody has answered, here by ${answer}, does silence say something`, async () => {
      assert.equal(await knock('silent'), 'unknown', 'nobody has ever tried');
      assert.equal(await learn('silent'), false);
      assert.equal(await knock('silent'), 'unknown', 'a firewall');
      clock.advance(200_000);
      assert.equal(await learn(answer), true);
      assert.equal(await knock('silent'), 'silent');
      assert.equal(await knock('silent', other), 'unknown', 'of another one that says nothing');
    });
  }

  test('what answers says so, whoever has asked before; what is not let out says nothing', async () => {
    assert.deepEqual([await knock('open'), await knock('refused')], ['open', 'refused']);
    await learn('open');
    assert.equal(await knock('unknown'), 'unknown');
  });

  test('what is not let out is no answer: silence says nothing after it', async () => {
    assert.equal(await learn('unknown'), false);
    assert.equal(await knock('unknown'), 'unknown');
    assert.equal(await knock('silent'), 'unknown');
  });

  test('an answer counts for five minutes, also one that a decision has got', async () => {
    await learn('open');
    clock.advance(250_000);
    assert.equal(await knock('open'), 'open');
    clock.advance(300_000);
    assert.equal(await knock('silent'), 'silent');
    clock.advance(1);
    assert.equal(await knock('silent'), 'unknown');
  });

  test('it is knocked at every two minutes, however often somebody wants to learn', async () => {
    for (let second = 0; second < 241; second += 1) {
      assert.equal(await learn('open'), true);
      clock.advance(1000);
    }
    assert.equal(knocks, 3);
  });

  test('one that answered and once does not may have lost its power: only the second time is it not heard any more', async () => {
    await learn('open');
    clock.advance(120_000);
    assert.equal(await learn('silent'), true);
    assert.equal(await knock('silent'), 'silent', 'a moment later its device says off');
    assert.equal(await learn('silent'), false, 'its device still says on');
    assert.equal(await knock('silent'), 'unknown');
    const before = knocks;
    await learn('silent');
    assert.equal(knocks, before, 'and it is not knocked at any sooner for that');
    clock.advance(120_000);
    assert.equal(await learn('open'), true);
  });

  test('one that answers in between has missed nothing', async () => {
    await learn('open');
    clock.advance(120_000);
    await learn('silent');
    assert.equal(await learn('open'), true);
    clock.advance(120_000);
    assert.equal(await learn('silent'), true);
  });

  test('forgotten with the watch', async () => {
    await learn('open');
    doors.forget(door);
    assert.equal(await knock('silent'), 'unknown');
    await knock('open');
    assert.equal(await knock('silent'), 'unknown', 'nobody learns of one that is not watched');
  });
});
