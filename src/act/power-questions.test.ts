import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { ManualClock } from '../../test/support/manual-clock.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { PowerAnswer } from '../api/power.ts';
import type { Knocked } from '../kube/knock.ts';
import { PowerQuestions } from './power-questions.ts';

const method = (name: string): Method => ({ name, action: 'off', driver: name, parameters: {}, secrets: [] });
const off: PowerAnswer = { device: 'ipmi', power: 'off', identity: 'same', message: 'it says off', wasSeenOn: true };

describe('questions about power', () => {
  let clock: ManualClock;
  let asked: string[];
  let told: string[];
  let open: ((answer: PowerAnswer) => void)[];
  let questions: PowerQuestions;
  let watched: Set<string>;
  let port: Knocked;
  const node = aNode();

  beforeEach(() => {
    clock = manualClock();
    [asked, told, open] = [[], [], []];
    [watched, port] = [new Set(), 'silent'];
    questions = new PowerQuestions({
      clock,
      ask: (_, { name }) => {
        asked.push(name);
        return new Promise((resolve) => open.push(resolve));
      },
      isWatched: (name) => watched.has(name),
      knock: async () => port,
      onAnswer: (name) => told.push(name),
    });
  });

  async function answer(said = off): Promise<void> {
    for (const one of open.splice(0)) one(said);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }

  test('S27: nobody waits; what was answered is kept with its age, and told', async () => {
    void questions.want(node, [method('ipmi'), method('pdu')]);
    assert.deepEqual(asked, ['ipmi', 'pdu']);
    clock.advance(2000);
    assert.equal(questions.of('node-1')?.answers, undefined);
    assert.equal(questions.of('node-1')?.askedForMs, 2000);
    await answer();
    assert.deepEqual(told, ['node-1']);
    assert.deepEqual(questions.of('node-1')?.answers, [off, off]);
    assert.equal(questions.of('node-1')?.askedForMs, 2000, 'since it was asked: the device may have looked then');
  });

  test('[STM-1] what was contradicted is not known any more', async () => {
    void questions.want(node, [method('ipmi')]);
    await answer();
    questions.contradict('node-1');
    assert.equal(questions.of('node-1')?.answers, undefined);
    clock.advance(5000);
    void questions.want(node, [method('ipmi')]);
    await answer({ ...off, power: 'on' });
    assert.equal(questions.of('node-1')?.answers?.[0]?.power, 'on');
  });

  test('asked again when the answer is old, not before, and never twice at a time', async () => {
    void questions.want(node, [method('ipmi')]);
    clock.advance(60_000);
    void questions.want(node, [method('ipmi')]);
    assert.equal(asked.length, 1, 'it hangs');
    await answer();
    clock.advance(1000);
    void questions.want(node, [method('ipmi')]);
    await answer();
    const before = asked.length;
    void questions.want(node, [method('ipmi')]);
    assert.equal(asked.length, before, 'it is fresh');
    clock.advance(5000);
    void questions.want(node, [method('ipmi')]);
    assert.equal(asked.length, before + 1);
    assert.deepEqual(questions.of('node-1')?.answers, [off], 'the old one counts, by its age, until there is another');
  });

  test('another configuration is another question', async () => {
    void questions.want(node, [method('ipmi')]);
    await answer();
    const { question } = questions.of('node-1') ?? {};
    void questions.want(node, [method('pdu')]);
    assert.deepEqual(asked, ['ipmi', 'pdu']);
    assert.notEqual(questions.of('node-1')?.question, question);
    assert.equal(questions.of('node-1')?.answers, undefined);
  });

  test('[EVD-4] where it is watched the port of the kubelet is tried too, and only news is told', async () => {
    watched.add('node-1');
    const seen = { ...node, kubelet: { address: '10.0.0.1', port: 10_250 } };
    const ask = async (power: PowerAnswer['power']): Promise<unknown> => {
      clock.advance(1000);
      void questions.want(seen, [method('ipmi')], { olderThanMs: 500, isWatch: true });
      await answer({ ...off, power });
      return questions.of('node-1')?.port;
    };
    assert.equal(await ask('on'), undefined);
    told.length = 0;
    assert.equal(await ask('on'), undefined);
    assert.deepEqual(told, [], 'as before');
    assert.equal(await ask('off'), 'silent');
    port = 'open';
    assert.equal(await ask('off'), 'open');
    assert.equal(told.length, 2);
    assert.equal(await ask('unknown'), undefined);
    assert.equal(told.length, 3);
  });

  test('[EVD-4] what a decision waits for is told, although a watch has asked, and it is as before', async () => {
    const watches = { olderThanMs: 500, isWatch: true };
    const say = async (meanwhile: () => void): Promise<number> => {
      told.length = 0;
      clock.advance(1000);
      void questions.want(node, [method('ipmi')], watches);
      meanwhile();
      await answer({ ...off, power: 'on' });
      return told.length;
    };
    await say(() => {});
    assert.equal(await say(() => void questions.want(node, [method('ipmi')], watches)), 0);
    assert.equal(await say(() => void questions.want(node, [method('ipmi')])), 1);
    assert.equal(await say(() => {}), 0, 'it has its answer');
    assert.equal(asked.length, 4);
  });

  test('[EVD-4] off is told each time it is said, and of several answers any that is another one', async () => {
    const methods = [method('ipmi'), method('pdu')];
    const say = async (...powers: PowerAnswer['power'][]): Promise<number> => {
      told.length = 0;
      clock.advance(1000);
      void questions.want(node, methods, { olderThanMs: 500, isWatch: true });
      const waiting = open.splice(0);
      for (const [at, power] of powers.entries()) waiting[at]?.({ ...off, power });
      await answer();
      return told.length;
    };
    assert.deepEqual([await say('off', 'off'), await say('off', 'off')], [1, 1]);
    assert.deepEqual([await say('on', 'on'), await say('on', 'on')], [1, 0]);
    assert.deepEqual([await say('on', 'unknown'), await say('on', 'unknown')], [1, 0]);
    assert.equal(await say('off', 'unknown'), 1);
  });

  test('S40: what was asked before a command is not kept when it is answered after it', async () => {
    void questions.want(node, [method('ipmi')]);
    questions.forget('node-1');
    clock.advance(1000);
    await answer();
    assert.equal(questions.of('node-1')?.answers, undefined);
    void questions.want(node, [method('ipmi')]);
    assert.equal(asked.length, 2, 'it is asked again at once');
    await answer({ ...off, power: 'on' });
    assert.equal(questions.of('node-1')?.answers?.[0]?.power, 'on');
  });

  test('forgotten with the node; no device is no question', async () => {
    void questions.want(node, []);
    assert.equal(questions.of('node-1'), undefined);
    void questions.want(node, [method('ipmi')]);
    questions.forget('node-1');
    void questions.want(node, [method('ipmi')]);
    assert.equal(asked.length, 1, 'the first one is still under way');
    await answer();
    questions.forget('node-1');
    assert.equal(questions.of('node-1'), undefined);
  });
});
