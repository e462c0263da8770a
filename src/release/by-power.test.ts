import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, aNode, aPod, aRecord } from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { byPower } from './by-power.ts';
import type { Objection } from './checks.ts';
import { knownVolumes } from './checks.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;

const off: Fence = {
  step: 'power-management',
  status: 'running',
  phase: 'off',
  method: 'a-off b-off',
  level: 0,
  index: 2,
  bootId: 'boot-1',
  cleanResources: true,
  retries: 0,
  restarts: 0,
  startedAt: '2026-01-01T00:00:00Z',
  stepStartedAt: '2026-01-01T00:00:00Z',
  switched: ['a', 'b'].map((device) => ({
    step: 'power-management' as const,
    method: `${device}-off`,
    device,
    storage: [],
    confirmedAt: '2026-01-01T00:00:00Z',
  })),
};

function objects(
  fence: Partial<Fence> | undefined,
  change: Partial<NodeCase> = {},
  pod: Partial<PodFacts> = {},
): string {
  const nodeCase = aCase({ fence: aFence(fence === undefined ? {} : { fence: { ...off, ...fence } }), ...change });
  return objectionIn(nodeCase, aPod(pod))?.reason ?? 'goes';
}

function objectionIn(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  return byPower.checks.map((check) => check(nodeCase, pod)).find((one) => one !== undefined);
}

describe('released by the power supply', () => {
  test('[FEN-11] every pod of a machine that is off, also while Kubernetes calls the node Ready', () => {
    assert.equal(objects({}), 'goes');
    assert.equal(objects({}, { node: aNode({ ready: 'True' }) }), 'goes');
    const { deletionAtMs: _, ...running } = aPod();
    assert.equal(objects({}, {}, { ...running }), 'goes');
  });

  test('[SAF-17, SAF-9] says until when it waits for others only where that is known', () => {
    const fence = aFence({ fence: off });
    const beside = { names: ['node-2'], unheard: 1, settledAtMs: 9000, silent: [], present: 1 };
    const unheard = objectionIn(aCase({ fence, beside }), aPod());
    assert.deepEqual([unheard?.reason, unheard?.untilMs], ['OthersUnheard', 9000]);
    const silent = [{ name: 'node-2', isOff: false }];
    const open = objectionIn(aCase({ fence, beside: { ...beside, silent } }), aPod());
    assert.deepEqual([open?.reason, open?.untilMs], ['OthersUnheard', undefined], 'or the record changes every second');
  });

  test('[SAF-17, REM-1] clears the node of attachments only if the pods may go as well', () => {
    const clears = (fence: Fence, change: Partial<NodeCase> = {}): boolean[] => {
      const nodeCase = aCase({ fence: aFence({ fence }), ...change });
      return [byPower.clearsNode?.(nodeCase) ?? false, byPower.stillStands(nodeCase, aRecord())];
    };
    assert.deepEqual(clears(off), [true, true]);
    const silent = [{ name: 'node-2', isOff: false }];
    const beside = { names: [], unheard: 0, present: 5, settledAtMs: 9000, silent };
    assert.deepEqual(clears(off, { beside }), [false, false], 'another one may have been struck');
    assert.deepEqual(clears({ ...off, cleanResources: false }), [false, false]);
    assert.deepEqual(clears({ ...off, bootId: 'boot-0' }), [false, false]);
    assert.deepEqual(clears({ ...off, phase: 'finished' }), [false, false], 'its fence is over');
    assert.deepEqual(clears({ ...off, switched: [] }), [false, false], 'nobody has confirmed it');
  });

  test('[FEN-10] S4: in no other phase, and not after another boot', () => {
    const others = ['waiting', 'isolating', 'isolated', 'poweringOff', 'poweringOn', 'booting', 'recovering', 'failed'];
    for (const phase of others as Fence['phase'][]) assert.equal(objects({ phase }), 'NotPoweredOff', phase);
    for (const nothing of [undefined, { phase: 'finished' } as const]) assert.equal(objects(nothing), 'NoFence');
    assert.equal(objects({ bootId: 'boot-0' }), 'NotPoweredOff');
    assert.equal(objects({ switched: [] }), 'NotPoweredOff', 'nobody has confirmed it');
  });

  test('[SAF-17] not while it may have been another machine that was cut', () => {
    const told = { commandSentAt: '2026-01-01T00:00:00Z', silentBeside: [] };
    const fence = aFence({ fence: { ...off, switched: off.switched.map((one) => ({ ...one, ...told })) } });
    const silent = [{ name: 'node-2', isOff: true }];
    const beside = { names: [], unheard: 0, present: 1, settledAtMs: 9000, silent };
    const struck = objectionIn(aCase({ fence, beside }), aPod());
    assert.equal(struck?.reason, 'OthersUnheard');
    assert.match(struck?.message ?? '', /^node-2 fell silent when it was cut/);
  });

  test('[REM-1, FEN-11] not without cleanResources; mirror and DaemonSet pods stay', () => {
    assert.equal(objects({ cleanResources: false }), 'NotWanted');
    assert.notEqual(objects({}, {}, { mirror: true }), 'goes');
    assert.notEqual(objects({}, {}, { owner: { group: 'apps', kind: 'DaemonSet', name: 'd', uid: 'u' } }), 'goes');
  });

  test('[EVD-1] who answers for it are the methods that were confirmed, and all its volumes are freed', () => {
    const nodeCase = aCase({ fence: aFence({ fence: off }) });
    assert.equal(byPower.by(nodeCase), 'a-off b-off');
    assert.deepEqual(
      knownVolumes(nodeCase, aPod()).map(({ volume }) => volume),
      ['pv-0'],
    );
  });
});
