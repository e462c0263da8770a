import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aNode, aPod } from '../../../test/support/release-case.ts';
import type { Snapshot, SnapshotNode, SnapshotPod } from '../../api/snapshot.ts';
import { partOf } from './part.ts';

function node(name: string, zone: string, change: Partial<SnapshotNode> = {}): SnapshotNode {
  return { ...aNode({ name, uid: name, ready: 'True' }), zone, allocatable: {}, annotations: {}, ...change };
}

function pod(name: string, on: string | undefined, change: Partial<SnapshotPod> = {}): SnapshotPod {
  const { deletionAtMs: _, owner: __, ...plain } = aPod({ name, uid: name, claims: [] });
  const spec = { containers: [] };
  const object: SnapshotPod['object'] = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
  return { ...plain, ...(on === undefined ? {} : { node: on }), isReady: true, object, ...change };
}

function snapshotOf(nodes: readonly SnapshotNode[], pods: readonly SnapshotPod[] = []): Snapshot {
  const nothing = { sets: [], claims: [], volumes: [], classes: [], drivers: [], budgets: [], policies: [] };
  return { takenAt: '', nodes, pods, ...nothing, maps: [], devices: [], replicas: [], unread: [] };
}

const zoneOf = (zone: string, count: number): SnapshotNode[] =>
  Array.from({ length: count }, (_, at) => node(`${zone}${at}`, zone));
const namesOf = (all: readonly { name: string }[]): string[] => all.map(({ name }) => name);

describe('[EXP-2] the part of a cluster that is simulated', () => {
  test('has every pod that runs, and tells which others it leaves behind, and why', () => {
    const owned = (kind: string): Partial<SnapshotPod> => ({ owner: { group: 'x', kind, name: 'x', uid: 'x' } });
    const pods = [
      pod('runs', 'a'),
      pod('terminating', 'a', { deletionAtMs: 1 }),
      pod('over', 'a', { phase: 'Succeeded' }),
      pod('nowhere', undefined),
      pod('static', 'a', { mirror: true }),
      pod('daemon', 'a', owned('DaemonSet')),
      pod('job', 'a', owned('Job')),
      pod('claims', 'a', { claims: [{ volume: 'data', claim: 'missing' }] }),
    ];
    const { pods: taken, notes, others } = partOf(snapshotOf([node('a', 'x')], pods), new Set(['a']));
    assert.deepEqual([namesOf(taken), others], [['runs'], []]);
    assert.deepEqual(
      notes.map((note) => note.replace('1 pods are not simulated, because they ', '')),
      [
        'are being deleted',
        'have ended',
        'are on no node yet',
        'are static, and stay with their nodes',
        'belong to DaemonSets, and stay with their nodes',
        'belong to Jobs',
        'use a claim that is not there',
      ],
    );
  });

  test('has room elsewhere for a whole zone that fails', () => {
    const [x, y] = [zoneOf('x', 100), zoneOf('y', 100)];
    const { nodes, others } = partOf(snapshotOf([...x, ...y]), new Set(namesOf(x)));
    assert.equal(nodes.filter(({ zone }) => zone === 'x').length, 100);
    assert.equal(nodes.filter(({ zone }) => zone === 'y').length, 60);
    assert.deepEqual(others, [{ zone: 'y', count: 40 }]);
  });

  test('has room near by and elsewhere for one of a zone, on nodes that can take pods first', () => {
    const down = node('y-down', 'y', { ready: 'Unknown' });
    const cordoned = node('y-cordoned', 'y', { isCordoned: true });
    const all = [down, cordoned, ...zoneOf('y', 100), ...zoneOf('x', 20)];
    const { nodes } = partOf(snapshotOf(all), new Set(['x7']));
    const of = (zone: string): number => nodes.filter((one) => one.zone === zone).length;
    assert.deepEqual([of('x'), of('y')], [20, 41]);
    assert.ok(!nodes.includes(down) && !nodes.includes(cordoned));
  });

  test('has half of that room elsewhere, however large the zone is', () => {
    const { nodes } = partOf(snapshotOf([...zoneOf('x', 100), ...zoneOf('y', 100)]), new Set(['x7']));
    const of = (zone: string): number => nodes.filter((one) => one.zone === zone).length;
    assert.deepEqual([of('x'), of('y')], [31, 30]);
  });

  test('has of a large cluster the pods of what fails, and those that belong to the same sets', () => {
    const web = { owner: { group: 'apps', kind: 'StatefulSet', name: 'web', uid: 'web' } };
    const db = { owner: { group: 'apps', kind: 'StatefulSet', name: 'db', uid: 'db' } };
    const pods = [pod('web-0', 'x0', web), pod('web-1', 'y99', web), pod('db-0', 'y98', db), pod('plain', 'y97')];
    const {
      pods: taken,
      nodes,
      notes,
    } = partOf(snapshotOf([...zoneOf('x', 100), ...zoneOf('y', 100)], pods), new Set(['x0']));
    assert.deepEqual(namesOf(taken), ['web-0', 'web-1']);
    assert.ok(namesOf(nodes).includes('y99'), 'it comes back nowhere else');
    assert.match(notes.join(), /^of 200 nodes and 4 pods, 6\d nodes and 2 pods are simulated; the rest is counted$/);
  });
});
