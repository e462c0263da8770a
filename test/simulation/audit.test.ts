/** Whatever the operator does to a cluster or a device is on record before it is done: who, why, on what basis, with what result. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { DeedName } from '../../src/api/deed-names.ts';
import type { NodeFenceStatus } from '../../src/api/node-fence.ts';
import type { Observed, OperatorWrite } from './release/observed.ts';
import { observe } from './release/observed.ts';
import { askedOf, fenced, fenceOf, place, victimOf } from './fencing/fenced.ts';
import { failuresOf, scenarioDirectory, scenarioOf } from './run-file.ts';

type Entry = NonNullable<NodeFenceStatus['deeds']>[number];

/** As which of these a write may be on record; none: it is a note, and does nothing. */
function deedsOf({ what, body }: OperatorWrite): DeedName[] {
  const [verb = '', path = ''] = what.split(' ');
  const [resource = ''] = path.split('/');
  switch (`${verb} ${resource}`) {
    case 'delete pods':
      return ['DeletePod'];
    case 'create pods':
      return ['Drain'];
    case 'patch pods':
      return ['DeletePod', 'FreePod', 'MarkUnready'];
    case 'delete volumeattachments':
      return ['Detach'];
    case 'patch volumeattachments':
      return ['FenceVolume'];
    case 'delete nodes':
      return ['DeleteNode'];
    case 'create jobs':
      return ['RunJob'];
    case 'delete machines':
      return ['DeleteMachine'];
    case 'patch nodes':
      if (body.includes('"/spec/taints')) return ['Quarantine', 'Untaint', 'MarkOutOfService'];
      if (body.includes('"/spec/unschedulable')) return ['Cordon', 'Uncordon', 'Drain'];
      return path.endsWith('/status') ? ['FreeVolumes', 'MarkOutOfService'] : [];
    default:
      return [];
  }
}

/** What was done by then without being on record. */
function unrecorded(seen: Observed): string[] {
  const by = (atMs: number): Set<DeedName> =>
    new Set(
      seen.statuses
        .filter((one) => one.atMs <= atMs)
        .flatMap(({ status }) => (status.deeds ?? []).map((one) => one.deed)),
    );
  const writes = seen.writes.flatMap((write) => {
    const deeds = write.ok ? deedsOf(write) : [];
    const known = by(write.atMs);
    return deeds.length === 0 || deeds.some((deed) => known.has(deed)) ? [] : [`${write.what} at ${write.atMs}`];
  });
  const commands = askedOf(seen).flatMap(({ at, what }) => {
    const known = by(at);
    const isKnown = what === 'on' ? known.has('PowerOn') : known.has('PowerOff');
    return isKnown ? [] : [`device asked for ${what} at ${at}`];
  });
  return [...writes, ...commands];
}

const deedsIn = (seen: Observed): Entry[] => fenceOf(seen.world, victimOf(seen))?.status.deeds ?? [];

const brief = ({ deed, result, by = '-', basis = '-' }: Entry): string => `${deed} ${result} by ${by} on ${basis}`;

const usual = ['fence/power-loss', 'fence/partition', 'holes/cordon-drain-reboot'];
const files =
  process.env['FENCELINE_EXHAUSTIVE'] === undefined
    ? usual
    : globSync('{fence,holes}/*.yaml', { cwd: scenarioDirectory }).map((file) => file.replace('.yaml', ''));

describe('[ADM-1] the record of what was done', () => {
  for (const file of files) {
    test(`has it before it is done: ${file}`, async () => {
      const seen = await observe(scenarioOf(file));
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual(unrecorded(seen), []);
    });
  }

  test('says who, why, on what basis, by what evidence, and what came of it', async () => {
    const events = [
      { at: '0s', partition: place },
      { at: '2m', heal: place },
    ];
    const seen = await observe(fenced('audited', { events, runFor: '5m' }));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(unrecorded(seen), []);
    const deeds = deedsIn(seen);
    assert.deepEqual(deeds.map(brief), [
      'PowerOff Done by policy fence on Remedy',
      'Quarantine Done by policy fence on -',
      'MarkOutOfService Done by policy fence on PowerOff',
      'FreeVolumes Done by policy fence on PowerOff',
      'DeletePod Done by policy fence on PowerOff',
      'Untaint Done by policy fence on Unmark',
      'PowerOn Done by policy fence on Remedy',
      'Untaint Done by policy fence on Return',
    ]);
    const [cut, , , , pod] = deeds;
    assert.match(cut?.evidence ?? '', /Lease: last renewed at .*, confirmed by a live read$/);
    assert.match(cut?.message ?? '', /says off$/);
    assert.equal(cut?.why, 'lease: fence');
    assert.equal(pod?.on, 'default/web-0');
    assert.match(pod?.evidence ?? '', /; PowerOff: power-off$/);
  });

  test('has Jobs and drains with what came of them, each once', async () => {
    const container = { name: 'main', image: 'example/remedy:1' };
    const annotations = { 'simulation.fenceline.dev/exit-code': '1' };
    const ladder = [
      { name: 'repair', period: '30s' },
      { name: 'empty', period: '30s' },
    ];
    const seen = await observe(
      fenced('audited-job', {
        policy: {
          thresholds: [{ condition: { type: 'Broken', status: 'True', for: '5s' }, remedies: ladder }],
          remedies: [
            { name: 'repair', podTemplate: { metadata: { annotations }, spec: { containers: [container] } } },
            { name: 'empty', drain: {} },
          ],
        },
        events: [{ at: '0s', condition: { node: place, type: 'Broken', status: 'True' } }],
        runFor: '4m',
      }),
    );
    assert.deepEqual(unrecorded(seen), []);
    const deeds = deedsIn(seen);
    assert.deepEqual(deeds.map(brief), [
      'RunJob Failed by policy fence on Remedy',
      'Drain Done by policy fence on Remedy',
    ]);
    assert.match(deeds[0]?.on ?? '', /^fenceline-repair-/);
  });
});
