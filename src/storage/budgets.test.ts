import assert from 'node:assert/strict';
import { test } from 'node:test';
import { budgetFacts, guardBudget, withdrawalMark } from './budgets.ts';

const selector = { 'longhorn.io/node': 'n' };

test('[DRN-2] a budget of ours is known again as such, and blocks', () => {
  const made = guardBudget('ns', { name: 'guard', node: 'n', selector, owners: [{ name: 'default', uid: 'p' }] });
  const stored = { ...made, metadata: { ...made.metadata, uid: 'u', resourceVersion: '3' } };
  assert.deepEqual(budgetFacts(stored), {
    name: 'guard',
    uid: 'u',
    resourceVersion: '3',
    ours: true,
    node: 'n',
    withdrawing: false,
    deleting: false,
    blocks: true,
    owners: ['p'],
    selector: { matchLabels: selector, hasExpressions: false },
  });
  const annotations = { ...stored.metadata.annotations, 'fenceline.dev/withdrawing': 'true' };
  assert.equal(budgetFacts({ ...stored, metadata: { ...stored.metadata, annotations } }).withdrawing, true);
});

test('one of somebody else is not ours, and one without a selector selects nobody', () => {
  const foreign = budgetFacts({ metadata: { name: 'x' }, spec: { minAvailable: '50%', selector: {} } });
  assert.equal(foreign.ours, false);
  assert.deepEqual(foreign.owners, []);
  assert.equal(foreign.blocks, false);
  assert.deepEqual(foreign.selector, { matchLabels: {}, hasExpressions: false });
  assert.equal(budgetFacts({ metadata: { name: 'x' } }).selector, undefined);
});

test('its owners are the policies of this version, and nothing else', () => {
  const ownerReferences = ['fenceline.dev/v1alpha1', 'fenceline.dev/v1', 'example.com/v1alpha1'].flatMap((apiVersion) =>
    ['DrainPolicy', 'RemedyPolicy'].map((kind) => ({ apiVersion, kind, name: 'x', uid: `${apiVersion} ${kind}` })),
  );
  const { owners } = budgetFacts({ metadata: { name: 'x', ownerReferences } });
  assert.deepEqual(owners, ['fenceline.dev/v1alpha1 DrainPolicy']);
});

test('the mark of a withdrawal goes on and off', () => {
  const path = '/metadata/annotations/fenceline.dev~1withdrawing';
  assert.deepEqual(withdrawalMark(true), [{ op: 'add', path, value: 'true' }]);
  assert.deepEqual(withdrawalMark(false), [{ op: 'remove', path }]);
});
