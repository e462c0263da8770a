/**
 * Checkers fed by hand, for what neither the product nor an operator that breaks its word can be brought to do in a run, or only in
 * hours of it. Each of these was let pass once.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CheckContext, Checker, Invariant, WireEvent, Write } from '../../src/scenario/checkers/checker.ts';
import { recordsOf } from '../../src/scenario/checkers/release.ts';
import { s10 } from '../../src/scenario/checkers/s10-mirrors-and-tolerations.ts';
import { s18 } from '../../src/scenario/checkers/s18-one-holder.ts';
import { s22 } from '../../src/scenario/checkers/s22-quorum.ts';
import { s23 } from '../../src/scenario/checkers/s23-cancelled.ts';
import { s27 } from '../../src/scenario/checkers/s27-no-delay.ts';
import { s29 } from '../../src/scenario/checkers/s29-own-device.ts';
import { s30 } from '../../src/scenario/checkers/s30-mixed-storage.ts';
import { s40 } from '../../src/scenario/checkers/s40-facts.ts';
import { s42 } from '../../src/scenario/checkers/s42-no-act-without-end.ts';
import { s44 } from '../../src/scenario/checkers/s44-only-the-configured.ts';
import { outOfService, s5 } from '../../src/scenario/checkers/s5-not-while-restarting.ts';
import { s6 } from '../../src/scenario/checkers/s6-no-execute.ts';
import { s7 } from '../../src/scenario/checkers/s7-taints-in-order.ts';
import type { StoredFence } from '../../src/scenario/cluster-state.ts';
import { ClusterState } from '../../src/scenario/cluster-state.ts';
import type { Act } from '../../src/scenario/format.ts';
import type { Machine } from '../../src/world/machines/machine.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';

interface Alone {
  checker: Checker;
  state: ClusterState;
  violations: string[];
  exemptions: string[];
  at: (ms: number) => void;
}

function alone(invariant: Invariant, over: Partial<CheckContext> = {}): Alone {
  const [violations, exemptions]: [string[], string[]] = [[], []];
  const state = new ClusterState();
  let nowMs = 0;
  const checker = invariant.check({
    state,
    recordsOf: (_, name) => recordsOf(state, name),
    machineOf: () => ({ power: 'on', bootId: 'one' }) as Machine,
    nowMs: () => nowMs,
    wallMs: () => nowMs,
    pulseOf: () => undefined,
    feedsOff: () => [],
    deviceOf: () => undefined,
    homeOf: () => undefined,
    isPortClosed: () => false,
    saysPort: () => 'on',
    isPortShut: () => false,
    saysPortOpen: () => true,
    portLies: () => false,
    isActive: () => true,
    volumes: () => [],
    violated: (detail) => violations.push(detail),
    exempt: (exemption) => exemptions.push(exemption),
    ...over,
  });
  return { checker, state, violations, exemptions, at: (ms) => (nowMs = ms) };
}

function write(change: Partial<Write>): Write {
  return {
    user: 'operator-1',
    verb: 'patch',
    resource: 'nodes',
    subresource: undefined,
    namespace: undefined,
    name: 'node-1',
    contentType: '',
    body: undefined,
    status: 200,
    before: undefined,
    after: undefined,
    ...change,
  };
}

function node(ready: boolean, taints: string[] = []): Node {
  return {
    kind: 'Node',
    metadata: { name: 'node-1', uid: 'n' },
    spec: { taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }], nodeInfo: { bootID: 'one' } },
  } as Node;
}

const pod = { kind: 'Pod', metadata: { name: 'web-0', namespace: 'default', uid: 'p' }, spec: { nodeName: 'node-1' } };
const cutOff = { type: 'port', operator: 1, node: 'node-1', action: 'off' } as const;
const quarantine = 'fenceline.dev/quarantine';

function fenceWith(status: NonNullable<StoredFence['status']>): StoredFence {
  return { kind: 'NodeFence', metadata: { name: 'node-fence-node-1' }, spec: { node: 'node-1' }, status };
}

function stored(state: ClusterState, ...objects: object[]): void {
  for (const object of objects) state.apply({ type: 'ADDED', object: object as Node, previous: undefined });
}

describe('checkers fed by hand', () => {
  test('S7: a taint that says that nothing runs there goes before what power let go is detached', () => {
    const { checker, state, violations } = alone(s7, { machineOf: () => ({ power: 'off' }) as Machine });
    const release = { basis: 'PowerOff', nodeUid: 'n', recordedAt: '', attachments: ['csi-1'] };
    const attachment = { spec: { nodeName: 'node-1', source: { persistentVolumeName: 'pv-0' } } };
    stored(state, fenceWith({ releases: [release] }), {
      kind: 'VolumeAttachment',
      metadata: { name: 'csi-1' },
      ...attachment,
    });
    const before = node(false, ['node.kubernetes.io/out-of-service']);
    checker.onWrite?.(write({ before, after: node(false) }));
    assert.deepEqual(violations, [
      'node-1 lost its taint node.kubernetes.io/out-of-service while released volume pv-0 is still attached',
    ]);
  });

  test('S5: a taint that somebody else has set in place of ours is not ours, and one that nobody has touched is', () => {
    for (const isTheirs of [true, false]) {
      const machine = { power: 'off', alive: false };
      const machineOf = () => machine as Machine;
      const { checker, state, violations } = alone(s5, { machineOf });
      const marked = (value?: string): Node => {
        const one = node(false);
        const taint = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute', ...(value && { value }) };
        return { ...one, spec: { ...one.spec, taints: [taint] } };
      };
      const [ours, after] = [marked('fenceline'), isTheirs ? marked() : marked('fenceline')];
      stored(state, node(false));
      checker.onWrite?.(write({ before: node(false), after: ours }));
      stored(state, after);
      checker.onStored?.({ type: 'MODIFIED', object: after, previous: ours }, 'somebody');
      checker.onWire?.({ type: 'device', operator: 1, node: 'node-1', action: 'on' });
      machine.power = 'on';
      checker.onMachine?.({ type: 'booting' }, 'node-1');
      assert.equal(violations.length, isTheirs ? 0 : 1, violations.join());
    }
  });

  test('S5: beside a taint of ours somebody puts their own of the same key, and ours goes', () => {
    const machine = { power: 'off', alive: false };
    const machineOf = () => machine as Machine;
    const { checker, state, violations } = alone(s5, { machineOf });
    const key = 'node.kubernetes.io/out-of-service';
    const marked = (...effects: string[]): Node => ({
      ...node(false),
      spec: {
        taints: effects.map((effect) => ({ key, effect, ...(effect === 'NoSchedule' && { value: 'fenceline' }) })),
      },
    });
    checker.onWrite?.(write({ before: node(false), after: marked('NoSchedule') }));
    const both = marked('NoSchedule', 'NoExecute');
    checker.onStored?.({ type: 'MODIFIED', object: both, previous: marked('NoSchedule') }, 'somebody');
    stored(state, marked('NoExecute'));
    checker.onWrite?.(write({ before: both, after: marked('NoExecute') }));
    checker.onWire?.({ type: 'device', operator: 1, node: 'node-1', action: 'on' });
    machine.power = 'on';
    checker.onMachine?.({ type: 'booting' }, 'node-1');
    assert.deepEqual(violations, []);
  });

  test('S40: a machine is on record as off, and its device had said on before the record was sent, or only after', () => {
    for (const isBefore of [true, false]) {
      const { checker, violations } = alone(s40);
      const path = '/apis/fenceline.dev/v1alpha1/nodefences/node-fence-node-1/status';
      const answer = (power: 'on' | 'off'): void =>
        checker.onWire?.({ type: 'answered', operator: 1, node: 'node-1', power });
      answer('off');
      if (isBefore) answer('on');
      checker.onWire?.({ type: 'sent', operator: 1, path });
      if (!isBefore) answer('on');
      const object = fenceWith({ fence: { phase: 'off', startedAt: 'x' } });
      checker.onStored?.(
        { type: 'MODIFIED', object, previous: fenceWith({ fence: { startedAt: 'x' } }) },
        'operator-1',
      );
      const said = 'the record of node-1 says that the machine is off (x), and no device has said so';
      assert.deepEqual(violations, isBefore ? [said] : []);
    }
  });

  test('S5: a taint of ours that is seen on a node in its new boot goes soon, also where somebody has stopped its fence', () => {
    for (const stop of [false, true]) {
      const machineOf = () => ({ power: 'on', alive: true, bootId: 'one' }) as Machine;
      const { checker, state, violations, exemptions, at } = alone(s5, { machineOf });
      stored(state, { ...fenceWith({}), spec: { node: 'node-1', stop } });
      checker.onWrite?.(write({ before: node(false), after: node(false, [outOfService]) }));
      const read = { type: 'read', operator: 1, path: '/api/v1/nodes/node-1', live: true, askedAtMs: 0 } as const;
      for (const seconds of [0, 20, 40]) {
        at(seconds * 1000);
        checker.onWire?.({ ...read, node: node(true, [outOfService]) });
      }
      const told = [`node-1 keeps the taint ${outOfService}, which is ours, in its new boot`];
      assert.deepEqual([violations, exemptions], [told, []]);
    }
  });

  test('S6: a node is said not to be Ready, or is marked out of service, and its machine is on', () => {
    const power: { power: 'on' | 'off' } = { power: 'on' };
    const off = (): Alone => alone(s6, { machineOf: () => ({ ...power, processes: new Map() }) as unknown as Machine });
    const notReady = write({ before: node(true), after: node(false) });
    const marked = write({ before: node(false), after: node(false, [outOfService]) });
    const read = { type: 'read', operator: 1, path: '/api/v1/nodes/node-1', live: true, askedAtMs: 0 } as const;
    for (const one of [notReady, marked]) {
      power.power = 'on';
      const { checker, violations } = off();
      checker.onWire?.(read);
      checker.onWrite?.(one);
      assert.match(violations.join(), /^node-1 .* while its machine is on/);
      // Somebody has switched it on between the answer and the act.
      const late = off();
      power.power = 'off';
      late.checker.onWire?.({ type: 'answered', operator: 1, node: 'node-1', power: 'off' });
      power.power = 'on';
      late.checker.onWire?.(read);
      late.checker.onWrite?.(one);
      assert.deepEqual([late.violations, late.exemptions], [[], ['PersonsAct']]);
    }
  });

  test('S7: an out-of-service taint goes early, and what has happened is no reason for that', () => {
    const early = (
      power: 'on' | 'off',
      happens: (checker: Checker) => void,
    ): Pick<Alone, 'violations' | 'exemptions'> => {
      const fed = alone(s7, { machineOf: () => ({ power }) as Machine });
      const marked = node(false, [outOfService]);
      stored(
        fed.state,
        marked,
        fenceWith({ releases: [{ basis: 'PowerOff', nodeUid: 'n', recordedAt: '', pods: [terminating] }] }),
        {
          ...pod,
          metadata: { ...pod.metadata, deletionTimestamp: 'now' },
        },
      );
      fed.checker.onStored?.({ type: 'MODIFIED', object: marked, previous: node(false) }, 'operator-1');
      happens(fed.checker);
      fed.checker.onWrite?.(write({ before: marked, after: node(false) }));
      return { violations: fed.violations, exemptions: fed.exemptions };
    };
    const terminating = { namespace: 'default', name: 'web-0', uid: 'p' };
    const edit: Act = { do: 'delete', kind: 'RemedyPolicy', name: 'workers' };
    const on = { type: 'device', operator: 1, node: 'node-1', action: 'on' } as const;
    assert.equal(
      early('off', ({ onAct }) => onAct?.({ do: 'hang', node: { node: 'node-2' } }, 'node-2')).violations.length,
      1,
    );
    assert.deepEqual(early('off', ({ onAct }) => onAct?.(edit, undefined)).exemptions, ['PersonsAct']);
    assert.deepEqual(early('on', () => undefined).exemptions, ['PersonsAct']);
    assert.equal(early('on', ({ onWire }) => onWire?.(on)).violations.length, 1);
  });

  test('S10: of a mirror pod nothing is said but that it is not ready, and only where its machine is off', () => {
    const mirror = (status: string | undefined): Pod =>
      ({
        ...pod,
        metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.mirror': 'x' } },
        status: { conditions: status === undefined ? [] : [{ type: 'Ready', status }] },
      }) as unknown as Pod;
    const said = (power: 'on' | 'off', after: string | undefined): string => {
      const { checker, violations } = alone(s10, { machineOf: () => ({ power }) as Machine });
      checker.onWrite?.(
        write({ resource: 'pods', subresource: 'status', before: mirror('True'), after: mirror(after) }),
      );
      return violations.join();
    };
    assert.equal(said('off', 'False'), '');
    assert.match(said('on', 'False'), /was said not to be ready on a machine that is on$/);
    for (const after of [undefined, 'Unknown', 'True']) assert.match(said('off', after), /was touched$/);
  });

  test('S22: one of the control plane is cut beside one that has just lost its power, and whether anybody could know', () => {
    const cp = (name: string): Node => ({
      ...node(true),
      metadata: { name, uid: name, labels: { 'node-role.kubernetes.io/control-plane': '' } },
    });
    const machineOf = (name: string) => ({ power: name === 'cp-3' ? 'off' : 'on' }) as Machine;
    const cut = { type: 'device', operator: 1, node: 'cp-1', action: 'off' } as const;
    const beside = (...events: WireEvent[]): Alone => {
      const fed = alone(s22, { machineOf });
      stored(fed.state, cp('cp-1'), cp('cp-2'), cp('cp-3'));
      for (const event of [...events, cut]) fed.checker.onWire?.(event);
      return fed;
    };
    assert.deepEqual(beside().exemptions, ['JustLost']);
    const told = 'cp-1 was cut, and 1 of 3 nodes of control-plane are left of the 2 that it needs';
    assert.deepEqual(beside({ ...cut, node: 'cp-3' }).violations, [told]);
    const answer = { type: 'answered', operator: 1, node: 'cp-3', power: 'off' } as const;
    assert.deepEqual(beside(answer).violations, [told]);
  });

  test('S18, S44: a port is closed for a node that has no record, or one that nobody holds', () => {
    const unrecorded = alone(s44);
    unrecorded.checker.onWire?.(cutOff);
    assert.match(unrecorded.violations.join(), /^the port of node-1 was told to switch off, and no fence/);
    const { checker, state, violations } = alone(s18);
    const switched = [{ step: 'isolation', method: 'm', commandSentAt: 'x' }];
    stored(state, fenceWith({ fence: { switched } }));
    checker.onWire?.(cutOff);
    assert.match(violations.join(), /although nobody holds its record$/);
  });

  test('S23: a pod goes from a node that is Ready, and from which others went before it was back in service', () => {
    const { checker, state, violations } = alone(s23);
    const read = (ready: boolean): void => {
      const path = '/api/v1/nodes/node-1';
      checker.onWire?.({ type: 'read', operator: 1, path, live: true, askedAtMs: 0, node: node(ready) });
    };
    const go = (): void =>
      checker.onWrite?.(write({ verb: 'delete', resource: 'pods', body: { gracePeriodSeconds: 0 }, before: pod }));
    stored(state, node(false));
    read(false);
    go();
    read(true);
    go();
    assert.deepEqual(violations, [], 'what was begun may end');
    const previous = node(true, [quarantine]);
    checker.onStored?.({ type: 'MODIFIED', object: node(true), previous }, 'operator-1');
    go();
    assert.match(violations.join(), /although the node was read to be Ready$/);
  });

  test('S29: a device that can say whose power it is was plugged in elsewhere a minute ago, and nobody has asked it', () => {
    const device = { hasIdentity: true, strikes: 'node-2' };
    for (const [sinceMs, found] of [
      [60_000, { violated: 1, exempted: 0 }],
      [1000, { violated: 0, exempted: 1 }],
    ] as const) {
      const { checker, violations, exemptions, at } = alone(s29, { deviceOf: () => device });
      checker.onAct?.({ do: 'swapDevices', nodes: [{ node: 'node-1' }, { node: 'node-2' }] }, undefined);
      at(sinceMs);
      checker.onWire?.({ ...cutOff, type: 'device' });
      assert.deepEqual({ violated: violations.length, exempted: exemptions.length }, found);
    }
  });

  test('S30: a record says that the node is cut off from its storage, and its port is open', () => {
    for (const isClosed of [false, true]) {
      const { checker, state, violations } = alone(s30, { isPortClosed: () => isClosed });
      const switched = [{ step: 'isolation', method: 'm', storage: ['d'], confirmedAt: 'x' }];
      const pods = [{ namespace: 'default', name: 'web-0', uid: 'p' }];
      const release = { basis: 'StorageFenced', nodeUid: 'n', recordedAt: '', pods };
      const claimRef = { namespace: 'default', name: 'data' };
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
      stored(state, fenceWith({ fence: { phase: 'isolated', switched }, releases: [release] }), {
        kind: 'PersistentVolume',
        metadata: { name: 'pv-0' },
        spec: { csi: { driver: 'd', volumeHandle: 'h' }, claimRef },
      });
      const before = { ...pod, spec: { ...pod.spec, volumes } };
      checker.onWrite?.(write({ verb: 'delete', resource: 'pods', body: { gracePeriodSeconds: 0 }, before }));
      assert.equal(violations.length, isClosed ? 0 : 1, violations.join());
    }
  });

  test('S27: a device that is silent itself is not held up by another, and one that has answered is', () => {
    for (const isSilent of [true, false]) {
      const { checker, violations, at } = alone(s27);
      const asked = (node: string) => ({ type: 'device', operator: 1, node, action: 'status' }) as const;
      const fence = fenceWith({ fence: { phase: 'poweringOff', stepStartedAt: 'then' } });
      const store = (stop: boolean): void => {
        const object = { ...fence, spec: { node: 'node-1', stop } } as unknown as Node;
        checker.onStored?.({ type: 'MODIFIED', object, previous: undefined }, 'somebody');
      };
      store(false);
      checker.onWire?.(asked('node-1'));
      if (!isSilent) checker.onWire?.({ type: 'answered', operator: 1, node: 'node-1', power: 'on' });
      store(true);
      store(false);
      at(30_000);
      checker.onWire?.(asked('node-2'));
      assert.equal(violations.length, isSilent ? 0 : 1, violations.join());
      at(90_000);
      checker.onWire?.(asked('node-2'));
      assert.equal(violations.length, 1, 'nor for ever');
    }
  });

  test('S42: a device is told to cut the same machine again and again', () => {
    const { checker, violations } = alone(s42);
    for (let times = 1; times <= 300; times += 1) checker.onWire?.({ ...cutOff, type: 'device' });
    assert.deepEqual(violations, ['221 acts on node-1, and it goes on']);
  });
});
