import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import { machineKey } from '../api/machine.ts';
import type { PowerAnswer, Said } from '../api/power.ts';
import { deviceHash, outletLevels } from '../api/power.ts';
import type { LiveNode } from '../api/release-view.ts';
import { plugOf } from '../api/plug.ts';
import { isDrilled, learn, learnCut, learnNeverOff, learnSwapped, withMemory } from '../fence/memory.ts';
import type { DeviceMemoryOptions } from './device-memory.ts';
import { DeviceMemory } from './device-memory.ts';

test('[SAF-1] two nodes whose Secrets have the same address and plug are wrong both; one that is gone counts no more', async () => {
  const there = new Set(['a', 'b']);
  const memory = await remembering((node) => there.has(node));
  const method = (secret: string): Method => ({
    name: 'pdu',
    action: 'off',
    driver: 'agent:fence_apc',
    parameters: {},
    secrets: [secret],
  });
  const hear = (node: string, parameters: Record<string, string>): string | undefined => {
    const plug = plugOf('agent:fence_apc', parameters);
    const answer = { device: 'pdu', power: 'on', identity: 'none', message: '', ...(plug && { plug }) } as const;
    return memory.hear(
      aNode({ name: node }),
      { method: method(`pdu-${node}`), what: 'power' },
      { said: answer, by: 'check' },
    ).wrong;
  };
  const same = { ip: '10.0.0.1', plug: '3' };
  assert.equal(hear('a', same), undefined, 'the first has nobody to share with');
  assert.equal(hear('b', { ipaddr: '10.0.0.1', port: '3' }), 'node a is configured with the same device and plug');
  assert.equal(hear('a', same), 'node b is configured with the same device and plug');
  assert.equal(hear('a', {}), 'node b is configured with the same device and plug', 'its Secret cannot be read');
  assert.equal(hear('b', { ip: '10.0.0.1', plug: '4' }), undefined, 'mended');
  assert.equal(hear('a', same), undefined);
  assert.ok(hear('b', same) !== undefined);
  there.delete('a');
  assert.equal(hear('b', same), undefined);
});

test('[SAF-1, SAF-17] an outlet that somebody has written into the Secret since is another one, and so is one that the port of a node was', async () => {
  const memory = await remembering(() => true);
  const method: Method = {
    name: 'pdu-off',
    action: 'off',
    driver: 'agent:fence_apc',
    parameters: { ip: '10.0.0.1' },
    secrets: ['pdu'],
  };
  const hear = (plug: string | undefined, power: 'on' | 'off' | 'unknown'): PowerAnswer => {
    const where = plug === undefined ? undefined : plugOf(method.driver, { ...method.parameters, plug });
    const said = { device: 'pdu', power, identity: 'none', message: '', ...(where && { plug: where }) } as const;
    return memory.hear(aNode({ name: 'a' }), { method, what: 'power' }, { said, by: 'check' });
  };
  assert.equal(hear('3', 'on').wasSeenOn, true);
  assert.equal(hear('3', 'off').wasSeenOn, true);
  assert.equal(hear(undefined, 'unknown').wasSeenOn, true, 'its Secret could not be read');
  assert.equal(hear('8', 'off').wasSeenOn, false);
  assert.equal(hear('3', 'off').wasSeenOn, false, 'nobody knows what was plugged in meanwhile');
});

test('[SAF-5] the last word of a device is known, by whatever method it was asked', async () => {
  const memory = await remembering(() => true);
  const method = (name: string, plug = '1'): Method => {
    return {
      name,
      action: name === 'pdu-on' ? 'on' : 'off',
      driver: 'agent:fence_apc',
      parameters: { plug },
      secrets: [],
    };
  };
  const say = (name: string, power: Said['power'], node = 'a'): void => {
    const said = { device: 'pdu', power, identity: 'none', message: `${name}: it says ${power}` } as const;
    memory.hear(aNode({ name: node }), { method: method(name), what: 'power' }, { said, by: 'check' });
  };
  const saysOn = (): string | undefined => memory.saysOn('a', method('pdu-off'));
  assert.equal(saysOn(), undefined);
  say('pdu-on', 'on');
  assert.equal(saysOn(), 'pdu-on: it says on');
  say('pdu-off', 'unknown');
  assert.equal(saysOn(), 'pdu-on: it says on', 'whoever does not say says nothing else');
  say('pdu-off', 'off');
  say('pdu-off', 'on', 'b');
  assert.equal(saysOn(), undefined);
  say('pdu-off', 'on');
  assert.equal(memory.saysOn('a', method('pdu-off', '2')), undefined, 'another outlet');
  memory.clear();
  assert.equal(saysOn(), undefined);
});

test('[SAF-17] a node is off by the outlets that it is configured with now, by all of them, and only if they said so since', async () => {
  const memory = await remembering(() => true);
  const say = (plug: string, power: 'on' | 'off'): string => {
    const method: Method = { name: plug, action: 'off', driver: 'agent:fence_apc', parameters: { plug }, secrets: [] };
    const said = { device: 'pdu', power, identity: 'none', message: '' } as const;
    memory.hear(aNode({ name: 'a' }), { method, what: 'power' }, { said, by: 'check' });
    return deviceHash(method) ?? '';
  };
  let withinMs = 60_000;
  const isOff = (...configured: string[]): boolean => {
    memory.configure(
      new Map(configured.length === 0 ? [] : [['a', [configured.map((device) => ({ device, outlets: 1 }))]]]),
    );
    return memory.isOutletOff('a', withinMs);
  };
  assert.equal(isOff(), false, 'nothing is known of it');
  const fresh = say('new', 'off');
  assert.equal(isOff(), true);
  withinMs = 0;
  assert.equal(isOff(), false, 'it said so before');
  withinMs = 60_000;
  const old = say('old', 'on');
  assert.deepEqual([isOff(), isOff(fresh), isOff(old), isOff(fresh, old)], [false, true, false, false]);
  assert.equal(isOff(fresh, 'never asked'), false);
  memory.records.notice(
    {
      metadata: { name: 'a.stored', resourceVersion: '1' },
      spec: { node: 'a' },
      status: { configuration: 'stored', power: 'off' },
    },
    'added',
  );
  assert.equal(isOff('stored'), false, 'what another process was told is not known to be so still');
  memory.records.notice(
    {
      metadata: { name: 'a.bmc', resourceVersion: '1' },
      spec: { node: 'a' },
      status: { configuration: 'bmc', power: 'off', identity: 'a' },
    },
    'added',
  );
  assert.deepEqual([isOff(fresh, 'bmc'), isOff('bmc')], [true, false]);
  memory.suspect('a', ['b']);
  assert.equal(isOff(fresh), false, 'one that is known to be wrong says nothing');
});

test('[SAF-17] how a node was configured that is gone is not how one of its name is, that is made again', async () => {
  const there = new Set(['a', 'b']);
  const memory = await remembering((node) => there.has(node));
  const method: Method = { name: 'pdu', action: 'off', driver: 'agent:fence_apc', parameters: {}, secrets: [] };
  const levels = [[{ device: deviceHash(method) ?? '', outlets: 2 }]];
  memory.configure(
    new Map([
      ['a', levels],
      ['b', levels],
    ]),
  );
  const needsDrill = (): (string | undefined)[] =>
    ['a', 'b'].map((name) => {
      const said = { device: 'pdu', power: 'on', identity: 'none', message: '' } as const;
      return memory.hear(aNode({ name }), { method, what: 'power' }, { said, by: 'check' }).needsDrill;
    });
  assert.deepEqual(needsDrill(), ['a', 'b']);
  there.delete('a');
  memory.configure(new Map());
  there.add('a');
  memory.configure(new Map());
  assert.deepEqual(needsDrill(), [undefined, 'b'], 'nobody knows yet how the new one is');
});

test('[SAF-1] of a node that lived on all devices are wrong that had said off, and no others', async () => {
  const memory = await remembering(() => true);
  const method = (name: string): Method => ({ name, action: 'off', driver: name, parameters: {}, secrets: [] });
  const said = { device: 'd', power: 'on', identity: 'same', says: 'a', message: 'on' } as const;
  const [first, second] = [method('first'), method('second')];
  for (const one of [first, second])
    memory.hear(aNode({ name: 'a' }), { method: one, what: 'power' }, { said, by: 'check' });
  memory.disprove('a', { methods: [first], at: '2026-01-01T00:00:00.000Z', message: 'it lived on' });
  const reasons = memory.records.all.map(({ status }) => status.wrong?.reason);
  assert.deepEqual(reasons, ['NeverOff', undefined]);
});

test('[SAF-17] of nodes that went dark together all devices are suspected that cannot say whose power they are, and no others', async () => {
  const memory = await remembering(() => true);
  const names = ['a.pdu', 'a.bmc', 'b.pdu', 'c.pdu', 'a.unasked'];
  for (const name of names) {
    const status = name === 'a.unasked' ? {} : { configuration: name, ...(name === 'a.bmc' && { identity: 'x' }) };
    memory.records.notice({ metadata: { name, resourceVersion: '1' }, spec: { node: name[0] ?? '' }, status }, 'added');
  }
  memory.suspect('a', ['b']);
  const wrong = names.filter((name) => memory.records.named(name)?.status.wrong !== undefined);
  assert.deepEqual(wrong, ['a.pdu', 'b.pdu']);
});

test('[SAF-1] one that said on before anybody knew whether its node lives was seen on if the node renews in time', async () => {
  const life = { renewTime: '', unchangedForMs: 0, renewed: false, renewedSinceNotReady: false };
  for (const [afterMs, isSeen] of [
    [9000, true],
    [60_000, false],
  ] as const) {
    const { cluster, memory } = await remembered(() => ({ bootId: 'x', lease: life }));
    const method: Method = { name: 'pdu', action: 'off', driver: 'agent:fence_apc', parameters: {}, secrets: [] };
    const said = { device: 'pdu', power: 'on', identity: 'none', message: '' } as const;
    life.renewed = false;
    memory.hear(aNode({ name: 'a' }), { method, what: 'power' }, { said, by: 'check' });
    const seenOn = (): string | undefined => memory.records.named('a.pdu')?.status.seenOn;
    assert.equal(seenOn(), undefined);
    cluster.clock.advance(afterMs);
    life.renewed = true;
    memory.renewed('a');
    assert.equal(seenOn() !== undefined, isSeen, `after ${afterMs} ms`);
  }
});

test('[SAF-2, SEC-2] a device that names the machine of another node is that one’s, also where its own node cannot be compared', async () => {
  const uuid = '00112233-4455-6677-8899-aabbccddeeff';
  const { memory } = await remembered(
    () => ({ bootId: 'x' }),
    (_, key) => (key === machineKey(uuid) ? 'b' : undefined),
  );
  const heard = (node: Partial<LiveNode>, identity?: string): PowerAnswer => {
    const method: Method = { name: 'm', action: 'off', driver: 'agent:fence_ipmilan', parameters: {}, secrets: [] };
    const of = identity === undefined ? method : { ...method, identity };
    const said: Said = { device: 'bmc', power: 'on', identity: 'none', says: uuid.toUpperCase(), message: '' };
    return memory.hear(aNode({ name: 'a', ...node }), { method: of, what: 'power' }, { said, by: 'check' });
  };
  const answers = (...asked: Parameters<typeof heard>): string => heard(...asked).identity;
  const { power, wrong } = heard({ systemUuid: uuid });
  assert.deepEqual([power, wrong], ['unknown', undefined], 'asked before the other one said so: proof for neither');
  assert.equal(answers({}), 'other');
  assert.equal(answers({}, uuid), 'other', 'also where a person has pinned it');
  assert.equal(answers({}, 'unchecked'), 'none');
  assert.equal(answers({ disputed: { systemUuid: 'b' } }), 'none', 'what both say of themselves is no identity');
});

async function remembering(isThere: (node: string) => boolean): Promise<DeviceMemory> {
  const lease = { renewTime: '', unchangedForMs: 0, renewed: true, renewedSinceNotReady: false };
  const { memory } = await remembered((node) => (isThere(node) ? { bootId: 'x', lease } : { bootId: '' }));
  return memory;
}

test('[SAF-17] of several outlets none is believed on trust, however they are written, until they were drilled together', async () => {
  const memory = await remembering(() => true);
  const outlet = (name: string, plug: string): Method => ({
    name,
    action: 'off',
    driver: 'agent:fence_apc',
    parameters: { ip: name, plug },
    secrets: [],
  });
  const hear = (method: Method, plug?: string): string | undefined => {
    const said = { device: 'pdu', power: 'on', identity: 'none', message: '', ...(plug && { plug }) } as const;
    return memory.hear(aNode({ name: 'a' }), { method, what: 'power' }, { said, by: 'check' }).needsDrill;
  };
  const configure = (...off: Method[]): void => {
    const config = { isolation: [], powerManagement: [{ off, on: [] }], recovery: [] };
    memory.configureNode('a', outletLevels({ ok: true, config }));
  };
  const [one, other, list] = [outlet('x', '1'), outlet('y', '2'), outlet('z', '1,2')];
  assert.equal(hear(one), undefined);
  configure(one);
  assert.deepEqual([hear(one), memory.isOnTrust('a', one)], [undefined, true]);
  configure(one, other);
  assert.deepEqual([hear(one), hear(other), memory.isOnTrust('a', one)], ['a', 'a', false]);
  configure(list);
  assert.deepEqual([hear(list), memory.isOnTrust('a', list)], ['a', false], 'two outlets of one device');
  configure(one);
  assert.equal(hear(one, 'p1,p2'), 'a', 'as its Secret says');
});

test('[SAF-17] a cut has shown something at the first word of the last device of the level, and not before', async () => {
  const life = { renewTime: '', unchangedForMs: 0, renewed: true, renewedSinceNotReady: false };
  const { memory } = await remembered(() => ({ bootId: 'x', lease: life }));
  const method = (name: string): Method => ({ name, action: 'off', driver: name, parameters: {}, secrets: [] });
  const isShown = (...off: string[]): (boolean | undefined)[] => {
    const config = { isolation: [], powerManagement: [{ off: off.map(method), on: [] }], recovery: [] };
    memory.configureNode('a', outletLevels({ ok: true, config }));
    life.unchangedForMs = 0;
    for (const name of off) memory.cut(aNode({ name: 'a' }), method(name));
    life.unchangedForMs = 60_000;
    const said = { device: 'pdu', power: 'off', identity: 'none', message: '' } as const;
    return off.map((name) => {
      memory.hear(aNode({ name: 'a' }), { method: method(name), what: 'power' }, { said, by: 'fence' });
      return memory.records.named(`a.${name}`)?.status.cut?.isSilent;
    });
  };
  assert.deepEqual(isShown('only'), [true]);
  assert.deepEqual(isShown('first', 'second', 'third'), [undefined, undefined, true]);
});

async function remembered(
  lifeOf: DeviceMemoryOptions['lifeOf'],
  rivalOf: DeviceMemoryOptions['rivalOf'] = () => undefined,
): Promise<{ cluster: ActCluster; memory: DeviceMemory }> {
  const cluster = await ActCluster.create();
  const { client, clock } = cluster;
  const rules = { learn, learnCut, learnSwapped, learnNeverOff, recall: withMemory, isDrilled };
  const base = { client, clock, namespace: 'fenceline', isLeading: () => false, onProblem: () => {} };
  return { cluster, memory: new DeviceMemory({ ...base, lifeOf, rivalOf, ...rules }) };
}
