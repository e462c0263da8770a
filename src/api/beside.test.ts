import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aFence, anIncident } from '../../test/support/release-case.ts';
import type { Darkness } from './beside.ts';
import { darkBeside, silentNow } from './beside.ts';
import { MAX_SILENT_BESIDE } from './fence-names.ts';
import type { NodeFenceStatus } from './node-fence.ts';
import type { SilentNode } from './surroundings.ts';

const time = (minutes: number): string => new Date(Date.UTC(2026, 0, 1, 12, minutes)).toISOString();
const [begun, sent, off] = [time(0), time(1), time(2)];
type Fence = NonNullable<NodeFenceStatus['fence']>;

function afterCut(
  silent: readonly Partial<SilentNode>[],
  { switched = {}, startedAt = begun }: { switched?: Partial<Fence['switched'][number]>; startedAt?: string } = {},
): Darkness | undefined {
  const entry = { step: 'power-management' as const, method: 'pdu-off', device: 'x', storage: [] };
  const cut = { ...entry, commandSentAt: sent, confirmedAt: off, silentBeside: [], ...switched };
  const fence: Fence = {
    step: 'power-management',
    status: 'running',
    phase: 'off',
    level: 0,
    index: 0,
    retries: 0,
    restarts: 0,
    startedAt,
    stepStartedAt: startedAt,
    cleanResources: true,
    switched: [cut],
  };
  const named = silent.map((one, index) => ({ name: `node-${index}`, isOff: false, hasDevice: true, ...one }));
  return darkBeside({
    beside: { unheard: 0, names: [], settledAtMs: 0, silent: named },
    fence: aFence({ fence, incident: { ...anIncident(), startedAt: begun } }),
  });
}

const kindOf = (...asked: Parameters<typeof afterCut>): string | undefined => afterCut(...asked)?.kind;

describe('[SAF-17] who is silent after a cut', () => {
  test('and was not when it was told: it may be the one that was cut', () => {
    assert.deepEqual(afterCut([{}]), { kind: 'dark', names: ['node-0'] });
    assert.equal(kindOf([{ unknownSince: off }]), 'dark');
    assert.equal(kindOf([{ hasDevice: false }]), 'dark');
    assert.equal(kindOf([]), undefined);
  });

  test('and was before, as was written down or as Kubernetes says: nobody knows', () => {
    assert.equal(kindOf([{}], { switched: { silentBeside: ['node-0'] } }), 'open');
    assert.equal(kindOf([{ unknownSince: begun }]), 'open');
    const untold = { commandSentAt: undefined, silentBeside: undefined };
    assert.equal(kindOf([{}], { switched: untold }), 'open', 'nothing was told');
  });

  test('nor is anybody blamed where there were more than could be written down', () => {
    const many = Array.from({ length: MAX_SILENT_BESIDE + 6 }, (_, index) => ({ name: `node-${index}` }));
    const silent = many.map((one) => ({ ...one, isOff: false, hasDevice: true }));
    const silentBeside = silentNow({ silent });
    assert.equal(silentBeside.length, MAX_SILENT_BESIDE);
    assert.equal(kindOf(silent, { switched: { silentBeside } }), 'open');
    const missed = silent.map((one) => ({ ...one, unknownSince: begun }));
    assert.deepEqual(silentNow({ silent: missed }), [], 'their Nodes say so');
    assert.equal(kindOf(missed), 'open');
    assert.deepEqual(afterCut([...missed, { name: 'other' }]), { kind: 'dark', names: ['other'] });
  });

  test('is accounted for when its own outlet says off, and it was silent before', () => {
    assert.equal(kindOf([{ isOff: true }], { switched: { silentBeside: ['node-0'] } }), undefined);
    assert.equal(kindOf([{ isOff: true, unknownSince: begun }]), undefined);
    assert.equal(kindOf([{ isOff: true }]), 'dark');
  });

  test('is, without any device, not waited for if it was gone ten minutes before the trouble began', () => {
    const gone = { hasDevice: false, unknownSince: time(-11) };
    assert.equal(kindOf([gone]), undefined);
    assert.equal(kindOf([{ ...gone, hasDevice: true }]), 'open');
    assert.equal(kindOf([{ ...gone, unknownSince: time(-9) }]), 'open');
    assert.equal(kindOf([{ hasDevice: false }], { switched: { silentBeside: ['node-0'] } }), 'open', 'not missed');
    const late = { ...gone, unknownSince: time(-1) };
    assert.equal(kindOf([late], { startedAt: time(30) }), 'open', 'a fence that begins anew is about the same trouble');
    const found = { commandSentAt: undefined };
    assert.equal(kindOf([gone], { switched: found }), 'open', 'what was off already may be its own outlet');
  });
});
