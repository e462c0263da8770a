import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Entry, Fence } from '../../test/support/fenced-case.ts';
import { aStored, config, entryOf, fenced, ipmi, minutesAgo } from '../../test/support/fenced-case.ts';
import { level } from '../../test/support/fence-steps.ts';
import { renewedLease } from '../../test/support/release-case.ts';
import type { Level } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import type { LeaseSign, NodeCase } from '../api/release-view.ts';
import { doorOf, powerFacts, powerQuestion, storageFacts, storageQuestion } from './device-question.ts';

const kubelet = { address: '10.0.0.1', port: 10_250 };
const confirmedAt = minutesAgo(7);
const [off] = ipmi.off;
const [fc] = config.isolation.flatMap((one) => one.off);

function caseOf(phase: Fence['phase'], switched: Entry[], powerManagement = config.powerManagement): NodeCase {
  const changed = { ok: true, config: { ...config, powerManagement } } as const;
  return fenced(aStored(phase, { switched }), { config: changed, lease: renewedLease, node: { kubelet } });
}

const isOff = entryOf('power-management', { confirmedAt });
const isCut = entryOf('isolation', { confirmedAt, storage: ['csi.example.com'] });

function without<K extends keyof Entry>(entry: Entry, key: K): Entry {
  const { [key]: _, ...rest } = entry;
  return rest as Entry;
}

describe('[SAF-5] what devices have confirmed', () => {
  const names = (facts: Entry[]): string[] => facts.map(({ method }) => method);

  test('of the power of a machine: each its own step, and none that is no device or has not said so', () => {
    assert.deepEqual(names(powerFacts(caseOf('off', [isOff, isCut]))), ['ipmi-off']);
    assert.deepEqual(names(powerFacts(caseOf('finished', [isOff]))), ['ipmi-off']);
    assert.deepEqual(powerFacts(caseOf('poweringOff', [isOff])), []);
    for (const key of ['device', 'confirmedAt'] as const) {
      assert.deepEqual(powerFacts(caseOf('off', [without(isOff, key)])), [], key);
    }
  });

  test('[FEN-11] of its way to the storage: what cuts it off from some, while it is isolated', () => {
    assert.deepEqual(names(storageFacts(caseOf('isolated', [isCut, isOff]))), ['fc-off']);
    assert.deepEqual(storageFacts(caseOf('isolated', [{ ...isCut, storage: [] }])), []);
    assert.deepEqual(storageFacts(caseOf('recovering', [isCut])), []);
  });
});

describe('[SAF-5] who has to say so again', () => {
  const other = level('other-off').off;
  const others = other.map((method) =>
    entryOf('power-management', { method: method.name, device: deviceHash(method) ?? '', confirmedAt: minutesAgo(3) }),
  );

  test('is each device that has, as the configuration reaches it, or nobody', () => {
    const both = [{ off: [...ipmi.off, ...other], on: [] }];
    const asked = (switched: Entry[], levels: Level[] = both): unknown =>
      powerQuestion(caseOf('off', switched, levels)).methods;
    assert.deepEqual(asked([isOff, ...others]), both[0]?.off);
    assert.deepEqual(asked([isOff]), [off], 'and no other one');
    assert.deepEqual(asked([isOff, ...others], [ipmi]), [], 'one of them cannot be reached any more');
    assert.deepEqual(asked([{ ...isOff, device: 'another' }]), [], 'another device by the same name');
    assert.deepEqual(asked([{ ...isOff, method: 'another' }]), [], 'the same device in another method');
    assert.deepEqual(storageQuestion(caseOf('isolated', [isCut])), { what: 'storage', methods: [fc] });
  });

  test('[SAF-1] says since when: where all of them were told, the longest time that one has been off', () => {
    const { offForMs, door } = powerQuestion(caseOf('off', [isOff, ...others]));
    assert.deepEqual([offForMs, door], [7 * 60_000, undefined]);
  });

  test('[EVD-4] what was found off, if only by one of them, is off only while its kubelet does not answer', () => {
    for (const switched of [[without(isOff, 'commandSentAt'), ...others], []]) {
      const { offForMs, door } = powerQuestion(caseOf('off', switched));
      assert.deepEqual([offForMs, door], [undefined, kubelet]);
    }
  });

  test('[EVD-4] and nobody knocks where the Lease is overdue, or nothing is known of the door', () => {
    const behind = (lease: LeaseSign | undefined, node: object = { kubelet }): object => {
      const { lease: _, ...unheard } = fenced(aStored('off'), { node });
      return doorOf(lease === undefined ? unheard : { ...unheard, lease });
    };
    assert.deepEqual(behind(renewedLease), { door: kubelet });
    assert.deepEqual(behind({ ...renewedLease, unchangedForMs: 60_000 }), {});
    assert.deepEqual(behind(undefined), {});
    assert.deepEqual(behind(renewedLease, {}), {});
  });
});
