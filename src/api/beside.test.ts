import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aFence, anIncident } from '../../test/support/release-case.ts';
import type { Darkness } from './beside.ts';
import { darkBeside, silentNow, wereThere, wrongOutlet } from './beside.ts';
import { MAX_SILENT_BESIDE } from './fence-names.ts';
import type { NodeFenceStatus } from './node-fence.ts';
import type { SilentNode } from './surroundings.ts';

const time = (minutes: number): string => new Date(Date.UTC(2026, 0, 1, 12, minutes)).toISOString();
const [begun, sent, off] = [time(0), time(1), time(2)];
type Fence = NonNullable<NodeFenceStatus['fence']>;

interface Told {
  switched?: Partial<Fence['switched'][number]>;
  /** What else the fence has switched, before it in the list. */
  also?: Partial<Fence['switched'][number]>;
  others?: number;
  present?: number;
}

function afterCut(
  silent: readonly Partial<SilentNode>[],
  { switched = {}, also, others, present = 3 }: Told = {},
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
    startedAt: begun,
    stepStartedAt: begun,
    ...(others === undefined ? {} : { others: { count: others, at: begun } }),
    cleanResources: true,
    switched: [...(also === undefined ? [] : [{ ...entry, method: 'other-off', ...also }]), cut],
  };
  const named = silent.map((one, index) => ({ name: `node-${index}`, isOff: false, ...one }));
  return darkBeside({
    beside: { unheard: 0, names: [], settledAtMs: 0, silent: named, present },
    fence: aFence({ fence, incident: { ...anIncident(), startedAt: begun } }),
  });
}

const kindOf = (...asked: Parameters<typeof afterCut>): string | undefined => afterCut(...asked)?.kind;

describe('[SAF-17] who is silent after a cut', () => {
  test('and was not when it was told: it may be the one that was cut', () => {
    assert.deepEqual(afterCut([{}]), { kind: 'dark', names: ['node-0'] });
    assert.equal(kindOf([{ unknownSince: off }]), 'dark');
    assert.equal(kindOf([]), undefined);
  });

  test('and was before, as was written down or as Kubernetes says: nobody knows', () => {
    assert.equal(kindOf([{}], { switched: { silentBeside: ['node-0'] } }), 'open');
    assert.equal(kindOf([{ unknownSince: begun }]), 'open');
    const untold = { commandSentAt: undefined, silentBeside: undefined };
    assert.equal(kindOf([{}], { switched: untold }), 'open', 'nothing was told');
    assert.equal(kindOf([{ unknownSince: sent }]), 'dark', 'in that very moment is not before');
  });

  test('counts from the first command to cut its power, wherever it stands on record', () => {
    assert.equal(kindOf([{}], { also: { confirmedAt: off } }), 'dark', 'what was found off was not told');
    const later = { commandSentAt: off, silentBeside: ['node-0'] };
    assert.equal(kindOf([{}], { also: later }), 'dark', 'the second plug found it silent, and the first did not');
    const earlier = { commandSentAt: begun, silentBeside: ['node-0'] };
    assert.equal(kindOf([{}], { also: earlier }), 'open');
    const isolation = { step: 'isolation' as const, commandSentAt: begun };
    assert.equal(kindOf([{}], { also: isolation }), 'dark', 'a switch of storage takes no power');
  });

  test('is named, the first three of many', () => {
    assert.match(wrongOutlet(['a', 'b', 'c', 'd']), /^a, b, c fell silent/);
  });

  test('nor is anybody blamed where there were more than could be written down', () => {
    const many = Array.from({ length: MAX_SILENT_BESIDE + 6 }, (_, index) => ({ name: `node-${index}` }));
    const silent = many.map((one) => ({ ...one, isOff: false }));
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

  test('is waited for however long ago it was given up', () => {
    assert.equal(kindOf([{ unknownSince: time(-600) }]), 'open');
  });

  test('and has no Node any more is missed: nobody knows, and to delete a Node is not what ends it', () => {
    assert.equal(kindOf([], { others: 3, present: 3 }), undefined);
    assert.equal(kindOf([], { others: 3, present: 4 }), undefined);
    const missed = afterCut([], { others: 3, present: 2 });
    assert.match(missed?.kind === 'open' ? (missed.needs ?? '') : '', /^1 of the 3 other nodes .*do not delete a Node/);
    assert.equal(kindOf([{}], { others: 3, present: 2 }), 'dark');
  });
});

test('[SAF-17] who was there when the others were counted is told by times, or by its UID where they do not tell', () => {
  const at = '2026-01-01T12:00:00.500Z';
  const isSo = (createdAt = '', young?: string[]): boolean =>
    wereThere({ at, young })({ uid: 'u', madeMs: Date.parse(createdAt) });
  assert.deepEqual([isSo('2026-01-01T11:59:59Z'), isSo('2026-01-01T12:00:00Z'), isSo(undefined)], [true, false, false]);
  assert.equal(isSo('2026-01-01T12:15:00Z', ['u']), true, 'made by another clock');
  assert.equal(isSo('2026-01-01T12:15:00Z', ['v']), false, 'made since');
});
