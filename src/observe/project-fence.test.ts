import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFence } from './project-fence.ts';

const kept = (status: object): (string | undefined)[] => {
  const object = { metadata: { name: 'node-fence-node-1' }, spec: { node: 'node-1' }, status };
  const { phase, alarm, problems } = projectFence(object);
  return [phase, alarm, problems];
};
const raised = (reason: string, status = 'True'): object => ({ type: 'Alarm', status, reason });

test('[ADM-3] a record says where its fence stands and which alarm is raised; what is over or of nobody is not counted', () => {
  const fence = (phase: string): object => ({ phase, stepStartedAt: '2026-01-01T00:00:00Z' });
  assert.deepEqual(kept({ fence: fence('failed'), conditions: [raised('FenceInError')] }), [
    'failed',
    'FenceInError',
    'none',
  ]);
  assert.deepEqual(kept({ fence: fence('finished'), conditions: [raised('NoAlarm', 'False')] }), [
    undefined,
    undefined,
    'none',
  ]);
  assert.deepEqual(kept({ conditions: [raised('RepeatedTrouble')], problems: [{}] }), [
    undefined,
    'RepeatedTrouble',
    'alarmed',
  ]);
  assert.deepEqual(kept({ fence: fence('nowhere'), conditions: [raised('toString')], problems: [{}] }), [
    undefined,
    undefined,
    'counted',
  ]);
});

test('[STM-1, STM-6] a record says of which storm its node is in, and whether that is what holds it', () => {
  const since = '2026-01-01T00:00:00Z';
  const sign = (status: object): (boolean | undefined)[] => {
    const object = { metadata: { name: 'node-fence-node-1' }, spec: { node: 'node-1' }, status };
    const { storm } = projectFence(object);
    return [storm?.endedMs === undefined, storm?.isTold];
  };
  const open = { incident: {}, storm: { since } };
  assert.deepEqual(sign({ ...open, hold: { reason: 'StormLimit' } }), [true, true]);
  assert.deepEqual(sign({ ...open, hold: { reason: 'ZoneStormLimit' } }), [true, true]);
  assert.deepEqual(sign({ ...open, hold: { reason: 'Maintenance' } }), [true, undefined]);
  assert.deepEqual(sign(open), [true, undefined], 'found off, nothing holds it');
  assert.deepEqual(sign({ storm: { since } }), [false, undefined], 'nobody attends to it any more');
});
