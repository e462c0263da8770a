import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Outcome } from '../scenario/from-cluster/outcome.ts';
import { unmade } from '../scenario/from-cluster/outcome.ts';
import { rehearsalPicture } from './rehearsal-picture.ts';

const outcome: Outcome = {
  nodes: [
    {
      node: 'node-3',
      struck: true,
      suspectedAt: 12_000,
      fencedAt: 12_500,
      confirmedAt: 13_000,
      releases: [{ basis: 'PowerOff', at: 13_000, pods: 1 }],
      holds: [{ reason: 'LookingAround', message: 'others are asked', at: 12_000, until: 12_500 }],
      backAt: 90_000,
    },
    { node: 'node-4', struck: true, releases: [], holds: [{ reason: 'StormLimit', message: 'too many', at: 9000 }] },
    { node: 'node-5', struck: true, fencedAt: 1, releases: [], holds: [], fence: { phase: 'Failed', message: 'no' } },
  ],
  pods: [
    { pod: 'default/db-0', node: 'node-3', becomes: 'runs elsewhere', goneAt: 13_500, runningAt: 14_500, on: 'node-1' },
    { pod: 'default/web-0', node: 'node-4', becomes: 'stuck', why: 'it waits' },
    { pod: 'default/log-0', node: 'node-4', becomes: 'waits for a node', goneAt: 9, why: unmade },
    { pod: 'default/calm-0', node: 'node-4', becomes: 'stays' },
  ],
  violations: [],
  exemptions: [],
  virtualMs: 600_000,
  wallMs: 900,
};
const made = (outcomes: Outcome[]): ReturnType<typeof rehearsalPicture> =>
  rehearsalPicture({
    rehearsals: outcomes.map((one, at) => ({ policies: at === 0 ? 'in force' : 'proposed', outcome: one })),
    struck: new Set(['node-3', 'node-4', 'node-5']),
    unwell: new Set(),
    warnings: ['first'],
    notes: ['a note'],
  });

/** `kind from-to label` of each mark of a lane. */
function marks(of: ReturnType<typeof made>, lane: string, run = 0): string[] {
  return (of.runs[run]?.marks ?? [])
    .filter((mark) => mark.lane === lane)
    .map(({ kind, fromMs, toMs, open, label }) => `${kind} ${fromMs}-${toMs ?? (open === true ? '…' : '')} ${label}`);
}

describe('[EXP-2] a rehearsal as a picture', () => {
  test('a node: how long it is silent, what holds it, what is done, and when it is back', () => {
    assert.deepEqual(marks(made([outcome]), 'node/node-3'), [
      'silent 0-12000 silent',
      'waits 12000-12500 held: looking around',
      'said 12000- suspected',
      'act 12500- fenced',
      'off 13000- confirmed off',
      'freed 13000- frees 1 pod',
      'alive 90000- back in service',
    ]);
  });

  test('a node about which nothing is done, and one whose fence ends badly', () => {
    const picture = made([outcome]);
    assert.deepEqual(marks(picture, 'node/node-4'), ['silent 0-… nothing is done', 'waits 9000-… held: storm limit']);
    assert.deepEqual(marks(picture, 'node/node-5').slice(1), ['act 1- fenced', 'bad 600000- ends as Failed']);
  });

  test('pods: away until they run again, stuck, or gone for good; what stays has no line', () => {
    const picture = made([outcome]);
    assert.deepEqual(marks(picture, 'pod/default/db-0'), [
      'silent 0-14500 away',
      'freed 13500- ',
      'alive 14500-… on node-1',
    ]);
    assert.deepEqual(marks(picture, 'pod/default/web-0'), ['bad 0-… stuck']);
    assert.deepEqual(marks(picture, 'pod/default/log-0'), ['freed 9- gone']);
    assert.ok(picture.lanes.every(({ name }) => name !== 'calm-0'));
    assert.ok(
      picture.pods.some(([pod]) => pod === 'default/calm-0'),
      'the table has it',
    );
  });

  test('both runs have the same lanes in the same order, also for what only one of them touches', () => {
    const other: Outcome = { ...outcome, nodes: outcome.nodes.slice(0, 1), pods: [] };
    const picture = made([other, outcome]);
    assert.deepEqual(
      picture.lanes.map(({ name }) => name),
      ['node-3', 'node-4', 'node-5', 'db-0', 'web-0', 'log-0'],
    );
    assert.deepEqual(marks(picture, 'pod/default/db-0', 0), []);
    assert.equal(marks(picture, 'pod/default/db-0', 1).length, 3);
    assert.deepEqual(picture.nodes[0], ['NODE', 'IN FORCE', 'PROPOSED']);
    assert.deepEqual([picture.warnings[0], picture.notes, picture.wallMs], ['first', ['a note'], 1800]);
  });

  test('of a whole zone the first are drawn, and the rest is counted', () => {
    const [node] = outcome.nodes;
    const [pod] = outcome.pods;
    assert.ok(node !== undefined && pod !== undefined);
    const nodes = Array.from({ length: 400 }, (_, at) => ({ ...node, node: `node-${at}` }));
    const pods = Array.from({ length: 400 }, (_, at) => ({ ...pod, pod: `default/db-${at}` }));
    const picture = made([{ ...outcome, nodes, pods }]);
    assert.deepEqual([picture.lanes.length, picture.unpictured], [24, 776]);
    assert.deepEqual([picture.nodes.length, picture.pods.length, picture.untold], [301, 301, 200]);
    assert.ok(picture.runs[0]?.marks.every(({ lane }) => picture.lanes.some(({ key }) => key === lane)));
  });
});
