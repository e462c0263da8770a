import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chosenNotes } from './chosen.ts';
import type { ScenarioDocument } from './document.ts';

function document(...policies: [name: string, spec: object][]): ScenarioDocument {
  const apiVersion = 'fenceline.dev/v1alpha1';
  const objects = policies.map(([name, spec]) => ({ apiVersion, kind: 'RemedyPolicy', metadata: { name }, spec }));
  const nodes = [
    { name: 'node-1', labels: { pool: 'a' } },
    { name: 'node-2', labels: { pool: 'b' } },
  ];
  const spec = { cluster: { nodes }, objects, events: [], runFor: '1h' };
  return { apiVersion, kind: 'Scenario', metadata: { name: 'x' }, spec };
}

const all = { allNodes: true };
const pool = (name: string): object => ({ selector: { matchLabels: { pool: name } } });

describe('[EXP-2] whether a proposed policy is in force for what fails', () => {
  const failing = new Set(['node-1']);

  test('one that is says nothing', () => {
    assert.deepEqual(chosenNotes(document(['old', all], ['new', pool('a')]), failing, ['new']), []);
  });

  test('one that selects none of the nodes, and one that another one comes before', () => {
    assert.deepEqual(chosenNotes(document(['new', pool('b')]), failing, ['new']), [
      'proposed: policy new is in force for no node that fails: it selects none of them',
    ]);
    assert.deepEqual(chosenNotes(document(['old', pool('a')], ['new', all]), failing, ['new']), [
      'proposed: policy new is in force for no node that fails: policy old comes before it there',
    ]);
  });

  test('two that select the same nodes equally: which is older is not known here', () => {
    const [told] = chosenNotes(document(['a', all], ['b', all]), failing, ['a']);
    assert.equal(told, 'policies a and b select the same nodes equally; in the cluster the older one is in force');
    assert.deepEqual(chosenNotes(document(['a', pool('b')], ['b', pool('b')]), failing, []), [], 'of others nothing');
  });
});
