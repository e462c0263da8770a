/** [SAF-1] When a kubelet that lives says that a device was wrong to say off, and when it does not. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import { isDrilled, learn, learnCut, learnNeverOff, learnSwapped, withMemory } from '../fence/memory.ts';
import { DeviceMemory } from './device-memory.ts';

describe('[SAF-1] a device that said off is', () => {
  const method: Method = { name: 'pdu', action: 'off', driver: 'agent:fence_apc', parameters: {}, secrets: [] };
  let cluster: ActCluster;
  let memory: DeviceMemory;
  let bootId: string;
  let renewedAtMs: number;
  /** How long before it was seen a renewal was made. */
  let lateMs: number;

  beforeEach(async () => {
    cluster = await ActCluster.create();
    const { client, clock } = cluster;
    [bootId, renewedAtMs, lateMs] = ['first', clock.monotonic(), 0];
    memory = new DeviceMemory({
      client,
      clock,
      namespace: 'fenceline',
      isLeading: () => false,
      onProblem: () => {},
      learn,
      learnCut,
      learnSwapped,
      learnNeverOff,
      recall: withMemory,
      isDrilled,
      rivalOf: () => undefined,
      lifeOf: () => {
        const unchangedForMs = clock.monotonic() - renewedAtMs;
        const lease = { renewTime: '', unchangedForMs, renewed: true, renewedSinceNotReady: false };
        return { bootId, lease, provenForMs: unchangedForMs + lateMs };
      },
    });
    says('on');
    pass(5000);
  });

  const pass = (ms: number): void => cluster.clock.advance(ms);
  const renews = (): void => {
    renewedAtMs = cluster.clock.monotonic();
    memory.renewed('a');
  };
  const says = (power: 'on' | 'off', what: 'power' | 'storage' = 'power'): void => {
    const said = { device: 'pdu', power, identity: 'none', message: '' } as const;
    memory.hear(aNode({ name: 'a' }), { method, what }, { said, by: 'check' });
  };
  const wrong = (): string | undefined => memory.records.named('a.pdu')?.status.wrong?.reason;

  test('wrong when the kubelet renews after it, and that is found out without its being asked again', () => {
    says('off');
    pass(3000);
    renews();
    assert.equal(wrong(), undefined, 'it may have been booted, and says so in a moment');
    pass(3000);
    assert.equal(wrong(), 'OffWhileAlive');
  });

  test('not wrong by a renewal that was on its way when the power went', () => {
    says('off');
    pass(2000);
    renews();
    pass(60_000);
    assert.equal(wrong(), undefined);
    says('off');
    assert.equal(wrong(), undefined);
  });

  test('not wrong by a renewal from before that is seen late, as when the API server was away', () => {
    says('off');
    pass(9000);
    lateMs = 8000;
    renews();
    pass(60_000);
    assert.equal(wrong(), undefined);
    lateMs = 6000;
    renews();
    pass(3000);
    assert.equal(wrong(), 'OffWhileAlive', 'the next one is from after it');
  });

  test('not wrong when the machine was booted, which it tells a moment after its first renewal', () => {
    says('off');
    pass(60_000);
    renews();
    pass(2500);
    bootId = 'second';
    pass(500);
    assert.equal(wrong(), undefined);
    says('off');
    assert.equal(wrong(), undefined, 'it was not asked since, and may have gone off again');
  });

  test('not wrong by what was renewed before it said so again, after it had said on', () => {
    says('off');
    says('on');
    pass(10_000);
    renews();
    pass(10_000);
    says('off');
    assert.equal(wrong(), undefined);
  });

  test('not wrong where it cuts the way to the storage: such a node lives on', () => {
    says('off', 'storage');
    pass(10_000);
    renews();
    pass(10_000);
    says('off', 'storage');
    assert.equal(wrong(), undefined);
  });
});
