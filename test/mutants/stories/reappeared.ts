/**
 * A kubelet that was taken for dead writes a volume that was released back into its list: it lives, and nothing more is let
 * go from its node, in whatever way the first release was made.
 */
import { nodes, pods } from '../../../src/kube/resources.ts';
import { driver } from '../../simulation/trouble.ts';
import type { Story } from '../story.ts';
import { ballast, disk, entryOf, later, pod } from './cast.ts';
import type { Deed } from './kit.ts';
import { meanwhile, noRecord, victim, watching } from './kit.ts';
import type { Plot, WayOf } from './ways.ts';
import { assert, ways } from './ways.ts';

/** Otherwise the release is over before anybody looks again. */
const hangs = { at: '0s', detach: { driver, fault: 'hangs' } };
/** A pod that could go in the same way, from `seconds` on. */
const latecomer = (seconds: number): Plot => ({
  objects: [...ballast, ...disk('late')],
  also: [{ at: `${seconds}s`, apply: pod({ name: 'late', claimName: 'late' }) }],
});

const scheduled: Deed = (other) =>
  other.patch(
    { resource: pods, namespace: 'default', name: 'late' },
    [{ op: 'add', path: '/status/conditions', value: [{ type: 'PodScheduled', status: 'True' }] }],
    'status',
  );

interface Times {
  /** In seconds. */
  back: number;
  /** When the latecomer looks as if a scheduler had bound it, which has not seen the quarantine. */
  bound?: number;
  runFor: string;
}

function story(name: string, way: WayOf, plot: Plot, { back, bound, runFor }: Times): Story {
  const also = [hangs, ...(plot.also ?? [])];
  const put = [{ op: 'add' as const, path: '/status/volumesInUse', value: [entryOf('pv-0')] }];
  return {
    name: `reappeared, ${name}`,
    scenario: () => way(`reappeared-${name.replaceAll(' ', '-')}`, { ...plot, also, runFor }),
    options: () =>
      watching(
        ['late', 'later-0'].map((late) => noRecord(late)),
        meanwhile({
          [back]: (other) => other.patch({ resource: nodes, name: victim }, put, 'status'),
          ...(bound === undefined ? {} : { [bound]: scheduled }),
        }),
      ),
  };
}

const heir = pod({ name: 'heir', claimName: 'late', node: 'node-1' });
const left = { by: '48s', pod: { label: 'app=web', moved: true } };

export const reappearedStories: readonly Story[] = [
  story('storage fence', ways.storageFence, latecomer(55), { back: 50, bound: 56, runFor: '65s' }),
  story('kernel crash', ways.kernelCrash, latecomer(40), { back: 35, runFor: '50s' }),
  story('remedy', ways.remedy, latecomer(60), { back: 55, runFor: '70s' }),
  story(
    'assertion',
    ways.assertion,
    { ...latecomer(40), also: [assert, ...(latecomer(40).also ?? [])] },
    { back: 35, runFor: '50s' },
  ),
  story(
    'safe detach',
    ways.safeDetach,
    { objects: [...ballast, ...later(30)], expect: [left] },
    { back: 45, runFor: '55s' },
  ),
  story('policy', ways.policy, { objects: [...ballast, ...later(30)], expect: [left] }, { back: 45, runFor: '65s' }),
  story(
    'attachment recovery',
    ways.recovery,
    {
      objects: [...ballast, ...disk('late'), pod({ name: 'late', claimName: 'late' })],
      also: [
        { at: '50s', apply: heir },
        { at: '51s', delete: { kind: 'Pod', name: 'late', namespace: 'default' } },
      ],
    },
    { back: 45, runFor: '65s' },
  ),
];
