import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doubtByReady, heardBefore } from '../../test/support/doubt.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import type { ConfigResult, Level, Method, WrittenPlaces } from '../api/fence-config.ts';
import type { DeviceAction, DeviceAnswer } from '../devices/device.ts';
import type { NodeCheck } from '../api/node-check.ts';
import type { CheckOptions } from './device-check.ts';
import { checkNode } from './device-check.ts';
import { DeviceRounds } from './device-rounds.ts';

const method = (name: string, action: Method['action'] = 'off', driver = name): Method => ({
  name,
  action,
  driver,
  parameters: {},
  secrets: [],
});
const level = (...off: string[]): Level => ({ off: off.map((name) => method(name)), on: [] });
const config = (powerManagement: Level[], rest: object = {}): ConfigResult => ({
  ok: true,
  config: { source: 'fence-config-node-1', isolation: [], powerManagement, recovery: [], ...rest },
});

type Answers = Record<string, (DeviceAnswer | 'throws')[]>;

/** Devices by the name of their driver; the last answer is given again and again. */
function devices(answers: Answers): DeviceProvider & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    device: async (_, { driver }) => {
      const queue = answers[driver];
      if (queue === undefined) return { ok: false, problem: `there is no ${driver}` };
      const ask = async (action: DeviceAction): Promise<DeviceAnswer> => {
        asked.push(`${driver} ${action}`);
        const answer = queue.length > 1 ? queue.shift() : queue[0];
        if (answer === 'throws' || answer === undefined) throw new Error('broken');
        return answer;
      };
      return { ok: true, device: { name: `device ${driver}`, ask } };
    },
  };
}

const on: DeviceAnswer = { kind: 'status', power: 'on' };
const off: DeviceAnswer = { kind: 'status', power: 'off' };
const silent: DeviceAnswer = { kind: 'unknown', message: 'timed out' };

const places: WrittenPlaces = {
  of: ({ name }, key) => `fence-method-${name}: ${key}`,
  pin: ({ name }, says) => ({ line: `identity=${says}`, into: `fence-method-${name}` }),
};

async function check(answers: Answers, result: ConfigResult, node = aNode()): Promise<string> {
  const { problem } = await checkNode(node, result, {
    provider: devices(answers),
    clock: manualClock(),
    doubt: doubtByReady,
    hear: heardBefore,
    places,
  });
  const may = problem?.mayPass === true ? ', which may pass' : '';
  return problem === undefined ? 'fenceable' : `${problem.reason}: ${problem.message}${may}`;
}

test('[EXP-3] a device that answers, whatever it says of the power of a node that is down', async () => {
  assert.equal(await check({ ipmi: [on] }, config([level('ipmi')])), 'fenceable');
  assert.equal(await check({ ipmi: [off] }, config([level('ipmi')])), 'fenceable');
});

test('[EXP-3] nothing but status is asked, and of a device that switches off and on only once', async () => {
  const provider = devices({ ipmi: [on] });
  const both = { off: [method('ipmi-off', 'off', 'ipmi')], on: [method('ipmi-on', 'on', 'ipmi')] };
  await checkNode(aNode(), config([both]), {
    provider,
    clock: manualClock(),
    doubt: doubtByReady,
    hear: heardBefore,
    places,
  });
  assert.deepEqual(provider.asked, ['ipmi status']);
});

test('[EXP-3] one that refuses, is silent twice, throws, or is not there', async () => {
  const power = config([level('ipmi')]);
  assert.match(
    await check({ ipmi: [{ kind: 'refused', message: 'no rights' }] }, power),
    /^DeviceRefused: ipmi: .*no rights/,
  );
  assert.match(await check({ ipmi: [silent] }, power), /^DeviceSilent: ipmi: device ipmi: timed out/);
  assert.equal(await check({ ipmi: [silent, on] }, power), 'fenceable', 'one lost packet');
  assert.match(await check({ ipmi: ['throws'] }, power), /^DeviceSilent: ipmi: broken/);
  assert.match(await check({}, power), /^NoDevice: ipmi: there is no ipmi/);
  assert.match(await check({ ipmi: [{ kind: 'accepted' }] }, power), /^DeviceSilent/);
});

test('[EXP-3] one that answers for another machine, or says off under a living node', async () => {
  const power = config([level('ipmi')]);
  const other: DeviceAnswer = { kind: 'status', power: 'on', identity: { kind: 'name', value: 'node-7' } };
  assert.match(
    await check({ ipmi: [other] }, power),
    /^WrongMachine: .*answers for node-7, and the node is node-1; .*fence-method-ipmi$/,
  );
  const alive = aNode({ ready: 'True' });
  assert.match(
    await check({ ipmi: [off] }, power, alive),
    /^WrongMachine: .*says off, and the node is Ready, which may pass$/,
  );
  const isolated = config([level('ipmi')], { isolation: [level('switch')] });
  assert.doesNotMatch(
    await check({ ipmi: [on], switch: [off] }, isolated, alive),
    /WrongMachine/,
    'a port is not the power',
  );
});

test('[SAF-4] a node in service that is cut off from its storage is told; what a fence has cut is in quarantine', async () => {
  const isolated = config([level('ipmi')], { isolation: [level('switch')] });
  const devices = (): Record<string, DeviceAnswer[]> => ({ ipmi: [on], switch: [off] });
  const alive = aNode({ ready: 'True' });
  assert.match(await check(devices(), isolated, alive), /^CutOff: switch: .*look what runs there, then switch it on$/);
  const taints = [{ key: 'fenceline.dev/quarantine', effect: 'NoSchedule', timeAdded: '' }];
  assert.equal(await check(devices(), isolated, { ...alive, taints }), 'fenceable');
  assert.equal(await check(devices(), isolated, aNode({ ready: 'Unknown' })), 'fenceable');
});

test('[SAF-2] a controller with a GUID of its own: the line to paste makes it the device of the node', async () => {
  const guid = '4c4c4544-0042-3510-8052-b4c04f4b3932';
  const answer: DeviceAnswer = { kind: 'status', power: 'on', identity: { kind: 'systemUUID', value: guid } };
  const node = aNode({ systemUuid: '11111111-2222-3333-4444-555555555555' });
  const told = await check({ ipmi: [answer] }, config([level('ipmi')]), node);
  assert.match(
    told,
    new RegExp(`^WrongMachine: .*answers for ${guid}.*write identity=${guid} into fence-method-ipmi$`),
  );
  const pinned = (identity: string): ConfigResult =>
    config([{ off: [{ ...method('ipmi', 'off', 'ipmi'), identity }], on: [] }]);
  assert.equal(await check({ ipmi: [answer] }, pinned(guid.toUpperCase()), node), 'fenceable');
  assert.equal(await check({ ipmi: [answer] }, pinned('unchecked'), node), 'fenceable');
  assert.match(await check({ ipmi: [answer] }, pinned('11111111-2222-3333-4444-555555555555'), node), /^WrongMachine/);
  const unread = aNode({ systemUuid: 'Not Specified' });
  assert.equal(
    await check({ ipmi: [answer] }, config([level('ipmi')]), unread),
    'fenceable',
    'no identity, not another one',
  );
});

test('[EXP-3, FEN-14] a level that works is enough; every step needs one', async () => {
  const levels = config([level('ipmi', 'pdu'), level('cloud')]);
  assert.equal(await check({ ipmi: [on], pdu: [on] }, levels), 'fenceable');
  assert.equal(await check({ ipmi: [on], pdu: [silent], cloud: [on] }, levels), 'fenceable');
  assert.match(await check({ ipmi: [on], pdu: [silent] }, levels), /^DeviceSilent: pdu: .*; cloud: there is no cloud/);
  const steps = config([level('ipmi')], { isolation: [level('switch')] });
  assert.match(await check({ ipmi: [on] }, steps), /^NoDevice: switch/);
});

test('[EXP-3] no configuration, or a wrong one', async () => {
  const bare: ConfigResult = {
    ok: true,
    config: { isolation: [], powerManagement: [level('built-in')], recovery: [] },
  };
  assert.match(await check({}, bare), /^NoConfiguration: built-in: there is no built-in/);
  const problems = [{ file: 'fence-config-node-1', key: 'config.properties', reason: 'there is no method x' }];
  assert.match(await check({}, { ok: false, problems }), /^ConfigurationInvalid: ConfigMap fence-config-node-1, /);
});

interface Stage {
  rounds: DeviceRounds;
  clock: ReturnType<typeof manualClock>;
  asked: string[];
  answer: (node: string, problem?: NodeCheck['problem']) => Promise<void>;
  busy: Set<string>;
  fenced: Set<string>;
  failed: Set<string>;
  changes: () => number;
}

function stage(): Stage {
  const clock = manualClock();
  const asked: string[] = [];
  const open = new Map<string, (check: NodeCheck) => void>();
  const busy = new Set<string>();
  const fenced = new Set<string>();
  const failed = new Set<string>();
  let changes = 0;
  const rounds = new DeviceRounds({
    clock,
    everyMs: 600_000,
    concurrency: 2,
    isBusy: (name) => busy.has(name),
    isFenced: (name) => fenced.has(name),
    hasFailed: (name) => failed.has(name),
    onChange: () => (changes += 1),
    check: ({ node }) => {
      asked.push(node.name);
      return new Promise((resolve) => open.set(node.name, resolve));
    },
  });
  const answer: Stage['answer'] = async (node, problem) => {
    open.get(node)?.(problem === undefined ? { node } : { node, problem });
    // The answer is taken in a microtask or two.
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return { rounds, clock, asked, answer, busy, fenced, failed, changes: () => changes };
}

const target = (name: string, source = 'a'): { node: ReturnType<typeof aNode>; config: ConfigResult } => ({
  node: aNode({ name, uid: name }),
  config: config([level('ipmi')], { source }),
});
const broken = { reason: 'DeviceSilent' as const, message: 'silent' };

test('[EXP-3] whose fence has failed is asked at once, and once: the answer of before does not say how its device is', async () => {
  const { rounds, asked, answer, failed } = stage();
  rounds.update([target('a'), target('b')]);
  await answer('a');
  await answer('b');
  failed.add('a');
  rounds.recheck();
  rounds.recheck();
  assert.deepEqual(asked, ['a', 'b', 'a']);
  await answer('a', broken);
  assert.deepEqual(rounds.results[0], { node: 'a', problem: broken });
  rounds.recheck();
  failed.delete('a');
  rounds.recheck();
  failed.add('a');
  rounds.recheck();
  assert.deepEqual(asked, ['a', 'b', 'a', 'a'], 'another fence of it has failed');
});

test('[EXP-3] asked anew while it is asked, it is asked once more, and from then on once in its time', async () => {
  const { rounds, clock, asked, answer, failed } = stage();
  rounds.update([target('a')]);
  failed.add('a');
  rounds.recheck();
  assert.deepEqual(asked, ['a'], 'never twice at a time');
  await answer('a');
  assert.deepEqual(asked, ['a', 'a']);
  clock.advance(100_000);
  await answer('a');
  clock.advance(599_999);
  assert.equal(asked.length, 2, 'the first answer has no timer of its own');
  clock.advance(1);
  assert.equal(asked.length, 3);
  await answer('a');
  clock.advance(600_000);
  assert.equal(asked.length, 4);
  await answer('a');
  assert.equal(asked.length, 4);
});

test('[EXP-3] a few at a time, and again when the answer is old', async () => {
  const { rounds, clock, asked, answer, changes } = stage();
  rounds.update([target('a'), target('b'), target('c')]);
  assert.deepEqual(asked, ['a', 'b']);
  await answer('a');
  assert.deepEqual(asked, ['a', 'b', 'c']);
  await answer('b', broken);
  await answer('c');
  assert.deepEqual(rounds.results, [{ node: 'a' }, { node: 'b', problem: broken }, { node: 'c' }]);
  assert.equal(changes(), 3);
  clock.advance(60_000);
  assert.deepEqual(asked.slice(3), ['b'], 'what went wrong is looked at sooner');
  await answer('b', broken);
  assert.equal(changes(), 3, 'the same is no news');
  clock.advance(540_000);
  assert.deepEqual(asked.slice(4).sort(), ['a', 'b', 'c'].slice(0, 2));
});

test('[EXP-3] a device that says off under a living node is asked once more before that is said: its machine may just have lost its power', async () => {
  const { rounds, clock, asked, answer, changes, busy } = stage();
  const lost = { reason: 'WrongMachine' as const, message: 'it says off', mayPass: true as const };
  rounds.update([target('a')]);
  await answer('a', lost);
  assert.deepEqual([rounds.results, changes()], [[], 0]);
  clock.advance(15_000);
  assert.deepEqual(asked, ['a', 'a']);
  await answer('a');
  assert.deepEqual(rounds.results, [{ node: 'a' }]);
  clock.advance(600_000);
  await answer('a', lost);
  assert.deepEqual(rounds.results, [{ node: 'a' }], 'nor is it of another time');
  clock.advance(15_000);
  await answer('a', lost);
  assert.deepEqual(rounds.results, [{ node: 'a', problem: lost }]);
  clock.advance(60_000);
  await answer('a', lost);
  assert.deepEqual(asked.length, 5, 'it stands until it says otherwise');
  clock.advance(60_000);
  await answer('a');
  clock.advance(600_000);
  await answer('a', lost);
  busy.add('a');
  clock.advance(15_000);
  busy.clear();
  clock.advance(60_000);
  await answer('a', lost);
  assert.deepEqual(rounds.results, [{ node: 'a' }], 'what was before its fence is not counted');
});

test('[EXP-3] another configuration is asked for at once; who is gone is forgotten', async () => {
  const { rounds, clock, asked, answer } = stage();
  rounds.update([target('a'), target('b')]);
  await answer('a');
  await answer('b');
  rounds.update([target('a'), target('b', 'other')]);
  assert.deepEqual(asked, ['a', 'b', 'b']);
  rounds.update([target('a')]);
  await answer('b');
  assert.deepEqual(rounds.results, [{ node: 'a' }]);
  rounds.close();
  clock.advance(10_000_000);
  assert.deepEqual(asked, ['a', 'b', 'b'], 'nothing is asked any more');
});

test('[EXP-3] a node that is being fenced is left alone, and what its device said meanwhile does not count', async () => {
  const { rounds, clock, asked, answer, busy } = stage();
  busy.add('a');
  rounds.update([target('a')]);
  assert.deepEqual(asked, []);
  busy.clear();
  clock.advance(60_000);
  assert.deepEqual(asked, ['a']);
  busy.add('a');
  await answer('a', broken);
  assert.deepEqual(rounds.results, []);
});

test('[SAF-17] a node that its fence keeps off is asked whether it still is, and that is no finding', async () => {
  const { rounds, clock, asked, answer, fenced } = stage();
  fenced.add('a');
  rounds.update([target('a')]);
  assert.deepEqual(asked, ['a']);
  await answer('a', broken);
  assert.deepEqual(rounds.results, []);
  clock.advance(60_000);
  assert.deepEqual(asked, ['a', 'a']);
});

test('[SAF-1, EXP-3] a port that nobody has shown is enough only where the power is cut as well', async () => {
  const isolation = [level('fc')];
  const unshown: CheckOptions['hear'] = (node, { method: asked, what }, said) => ({
    ...heardBefore(node, { method: asked, what }, said),
    ...(what === 'storage' ? { isUnshown: true } : {}),
  });
  const told = async (power: Level[]): Promise<string | undefined> => {
    const options = { provider: devices({ fc: [on], ipmi: [on] }), clock: manualClock(), doubt: doubtByReady, places };
    return (await checkNode(aNode(), config(power, { isolation }), { ...options, hear: unshown })).problem?.message;
  };
  assert.equal(await told([level('ipmi')]), undefined);
  assert.match((await told([])) ?? '', /^fc cannot say whose port it is, .* fenceline check --shown node-1$/);
});

test('[SAF-17, EXP-3] several outlets that no drill has shown are not enough, but to be drilled', async () => {
  const hear: CheckOptions['hear'] = (node, asked, said) => ({
    ...heardBefore(node, asked, said),
    needsDrill: 'node-1',
  });
  const told = async (isForNow: boolean): Promise<string | undefined> => {
    const options = { provider: devices({ a: [on], b: [on] }), clock: manualClock(), doubt: doubtByReady, places };
    const checked = await checkNode(aNode({ ready: 'True' }), config([level('a', 'b')]), {
      ...options,
      hear,
      isForNow,
    });
    return checked.problem?.reason;
  };
  assert.deepEqual([await told(false), await told(true)], ['NotProven', undefined]);
});

test('[EXP-3, FEN-14] a device of two levels is weighed in each: what one of several may say, the only one may not', async () => {
  const weighed: (boolean | undefined)[] = [];
  await checkNode(aNode(), config([level('a', 'b'), level('a')]), {
    provider: devices({ a: [off], b: [on] }),
    clock: manualClock(),
    doubt: (_, { device }, { isPart }) => {
      if (device === 'a') weighed.push(isPart);
      return undefined;
    },
    hear: (node, asked, said) => ({ ...heardBefore(node, asked, said), device: asked.method.name }),
    places,
  });
  assert.deepEqual(new Set(weighed), new Set([false, true]));
  assert.equal(weighed.length, 2);
});
