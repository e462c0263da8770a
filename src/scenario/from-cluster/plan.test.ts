import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aNode } from '../../../test/support/release-case.ts';
import type { Snapshot, SnapshotNode } from '../../api/snapshot.ts';
import type { Plan, Wish } from './plan.ts';
import { planFor } from './plan.ts';

function node(name: string, ready: SnapshotNode['ready']): SnapshotNode {
  return { ...aNode({ name, uid: name, ready }), zone: '', allocatable: {}, annotations: {}, leaseSeconds: 40 };
}

function policy(name: string, refused?: string): Snapshot['policies'][number] {
  const object = { apiVersion: 'fenceline.dev/v1alpha1', kind: 'RemedyPolicy', metadata: { name } };
  return { ...object, spec: { allNodes: true, mode: 'Enforce' }, ...(refused === undefined ? {} : { refused }) };
}

function plan(policies: Snapshot['policies'], proposed?: Wish['proposed']): Plan {
  const nothing = { pods: [], sets: [], claims: [], volumes: [], classes: [], drivers: [], budgets: [] };
  const nodes = [node('a', 'True'), node('b', 'Unknown'), node('c', 'False')];
  const rest = { takenAt: '', maps: [], devices: [], replicas: [], unread: [] };
  const failure = { nodes: ['a'], zones: [], switches: [], events: [] };
  const wish: Wish = { failure, ...(proposed === undefined ? {} : { proposed }) };
  return planFor({ nodes, ...nothing, policies, ...rest }, wish);
}

const modesOf = ({ documents }: Plan): unknown[] =>
  documents.map(({ policies, document }) => [
    policies,
    ...document.spec.objects
      .filter(({ kind }) => kind === 'RemedyPolicy')
      .map(({ metadata, spec }) => `${metadata.name} ${(spec as { mode: string }).mode}`),
  ]);
const refusals = ({ notes }: Plan): string[] => notes.filter((note) => /policy|proposed/.test(note));

describe('[EXP-2] what is rehearsed', () => {
  test('tells what is to fail from what is not well in the cluster itself', () => {
    const { struck, unwell } = plan([]);
    assert.deepEqual([[...struck], [...unwell]], [['a'], ['b', 'c']]);
  });

  test('by a policy that is refused nothing is done, and that is said', () => {
    const refused = plan([policy('one'), policy('two', 'it uses what is forbidden')]);
    assert.deepEqual(modesOf(refused), [['in force', 'one Enforce', 'two Paused']]);
    const told = 'policy two is taken as one that does nothing: it uses what is forbidden';
    assert.deepEqual(refusals(refused), [told]);
    assert.deepEqual(refusals(plan([policy('one')])), []);
  });

  test('whether what is proposed would be refused is not known, where anything is', () => {
    const proposed = [policy('two')];
    const told = 'policy two is taken as one that does nothing: why';
    const open = 'whether what is proposed would be refused as well is not known';
    const both = plan([policy('one'), policy('two', 'why')], proposed);
    assert.deepEqual(refusals(both), [told, open]);
    assert.deepEqual(modesOf(both), [
      ['in force', 'one Enforce', 'two Paused'],
      ['proposed', 'one Enforce', 'two Enforce'],
    ]);
    assert.deepEqual(refusals(plan([policy('one')], proposed)), []);
  });
});
