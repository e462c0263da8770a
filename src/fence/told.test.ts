import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anIncident } from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { FENCE_PHASES } from '../api/fence-names.ts';
import { FENCED } from '../api/reasons.ts';
import { deedText, fenceNews, isBadNews } from './told.ts';

const fence: NonNullable<NodeFenceStatus['fence']> = {
  step: 'power-management',
  status: 'running',
  phase: 'poweringOff',
  level: 0,
  index: 0,
  retries: 0,
  restarts: 0,
  cleanResources: true,
  startedAt: '2026-01-01T00:00:00Z',
  stepStartedAt: '2026-01-01T00:00:00Z',
  switched: [],
  method: 'ipmi-off',
};

const confirmed = (['isolation', 'power-management'] as const).map((step) => ({
  step,
  method: 'm',
  device: 'd',
  storage: ['csi.example.com'],
  confirmedAt: '2026-01-01T00:00:00Z',
}));

test('[FEN-3] every phase has a word, and only what a device has confirmed counts as harmless', () => {
  const told = FENCE_PHASES.map((phase) => fenceNews({ ...fence, phase, switched: confirmed }));
  assert.equal(new Set(told.map(({ reason }) => reason)).size, FENCE_PHASES.length);
  assert.ok(told.every(({ reason }) => Object.hasOwn(FENCED.reason, reason)));
  assert.deepEqual(
    told.filter(({ status }) => status === 'True').map(({ reason }) => reason),
    ['Isolated', 'PoweredOff'],
  );
  assert.deepEqual(
    told.filter(({ reason }) => isBadNews(reason)).map(({ reason }) => reason),
    ['FenceFailed'],
  );
});

test('[FEN-1] a node that nothing isolates waits for its power to be cut, and is not harmless', () => {
  assert.deepEqual(
    [fenceNews({ ...fence, phase: 'isolated' })].map(({ status, reason }) => `${reason} ${status}`),
    ['WaitingToPowerOff False'],
  );
});

test('[SAF-5] nor is one whose fence begins anew, or was only cordoned: no device has cut it off', () => {
  const at = '2026-01-01T00:00:00Z';
  const cordon = { step: 'isolation' as const, method: 'mark-unschedulable', storage: [], confirmedAt: at };
  const sent = { step: 'isolation' as const, method: 'fc-off', device: 'd', storage: ['csi'], commandSentAt: at };
  for (const switched of [[], [cordon], [sent]]) {
    const { status, reason } = fenceNews({ ...fence, phase: 'isolated', switched });
    assert.deepEqual([status, reason], ['False', 'WaitingToPowerOff']);
  }
  assert.equal(fenceNews({ ...fence, phase: 'off', switched: [cordon] }).status, 'False');
});

test('[FEN-2] failed tries are counted and the last of them quoted', () => {
  assert.equal(fenceNews(fence).message, 'ipmi-off');
  assert.equal(
    fenceNews({ ...fence, retries: 2, message: 'no answer' }).message,
    'ipmi-off: 2 tries failed: no answer',
  );
  // With retries: 1 it was tried twice, and with restarts: 1 twice again.
  const failed = { ...fence, phase: 'failed' as const, retries: 1, message: 'no answer' };
  assert.equal(fenceNews(failed).message, 'ipmi-off: 2 tries failed: no answer');
  assert.equal(
    fenceNews({ ...failed, restarts: 1 }).message,
    'ipmi-off: 2 tries failed since it was begun anew: no answer',
  );
});

test('[SAF-17] outlets that may be swapped are told before anything else, as bad news', () => {
  const swapped = fenceNews({ ...fence, phase: 'failed', swapped: ['node-2'] });
  assert.deepEqual([swapped.status, swapped.reason], ['False', 'OutletsSwapped']);
  assert.match(swapped.message, /node-2/);
  assert.ok(isBadNews(swapped.reason));
  assert.equal(isBadNews('PoweredOff'), false);
});

test('[SAF-5] isolated is who a device has cut off from some storage', () => {
  const [cut, off] = confirmed;
  const { device: _, ...cordon } = cut!;
  for (const switched of [[off!], [{ ...cut!, storage: [] }], [cordon]]) {
    assert.equal(fenceNews({ ...fence, phase: 'isolated', switched }).reason, 'WaitingToPowerOff');
  }
});

test('[FEN-3] what is told fits', () => {
  assert.equal(fenceNews({ ...fence, message: 'x'.repeat(5000) }).message.length, 1024);
});

test('[SAF-1] nor one that was cut off by a port of which nobody knows whose it is', () => {
  const isolated = { ...fence, phase: 'isolated' as const, switched: confirmed };
  const { status, reason } = fenceNews(isolated, { unshownPorts: ['d'] });
  assert.deepEqual([status, reason], ['False', 'WaitingToPowerOff']);
  assert.equal(fenceNews(isolated, { unshownPorts: ['other'] }).status, 'True');
  const unconfirmed = fenceNews({ ...isolated, isUnconfirmed: true });
  assert.deepEqual([unconfirmed.status, unconfirmed.reason], ['False', 'IsolationUnconfirmed']);
  assert.equal(fenceNews({ ...isolated, phase: 'off' }, { unshownPorts: ['d'] }).status, 'True', 'its power is');
});

test('[FEN-3] the method is named once', () => {
  const said = fenceNews({ ...fence, retries: 1, message: 'ipmi-off: it refused' });
  assert.equal(said.message, 'ipmi-off: 1 try failed: it refused');
});

describe('[ADM-1] a step in words', () => {
  const at = '2026-01-01T00:09:00Z';
  type Found = NonNullable<NonNullable<NodeFenceStatus['incident']>['foundOff']>;
  const off = (switched: typeof fence.switched, found?: Partial<Found>): string => {
    const foundOff = found && { at, bootId: 'boot-1', ...found };
    const incident = anIncident(foundOff && { foundOff });
    return deedText('PoweredOff', 'ipmi-off', { fence: { ...fence, phase: 'off', switched }, incident });
  };
  const wasCut = 'it is off, as its device said when it was asked again (ipmi-off)';

  test('tells a machine that was found off from one that was cut', () => {
    const asked = { step: 'power-management' as const, method: 'ipmi-off', storage: [] };
    assert.equal(off([asked], {}), 'it was found off, and its device still says so (ipmi-off)');
    assert.equal(off([{ ...asked, commandSentAt: at }], {}), wasCut);
    assert.equal(off([{ ...asked, commandSentAt: at }, asked], {}), wasCut, 'one command is enough');
    assert.equal(off([], { onAt: at }), wasCut, 'it was on in between');
    assert.equal(off([]), wasCut);
    const begun = { fence, incident: anIncident() };
    assert.equal(deedText('PoweringOff', 'ipmi-off', begun), 'its power is being cut (ipmi-off)');
  });

  test('does not call a cordon a cut', () => {
    const isolating = (method: string): string =>
      deedText('Isolating', method, { fence: { ...fence, phase: 'isolating', method }, incident: anIncident() });
    assert.equal(
      isolating('mark-unschedulable'),
      'it is being cordoned, and not cut off from anything (mark-unschedulable)',
    );
    assert.equal(isolating('port-off'), 'it is being cut off from its storage (port-off)');
  });

  test('says nothing of its own about what is no step, and fits a record', () => {
    assert.equal(deedText('Incident', 'Ready=Unknown', {}), 'Ready=Unknown');
    assert.equal(deedText('Booting', 'x'.repeat(2000), {}).length, 1024);
  });
});
