import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Taint } from './nodes.ts';
import type { Toleration } from './pods.ts';
import { tolerates, untolerated } from './tolerations.ts';

const outOfService: Taint = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' };

test('tolerations match by effect, key and value, each of which may be left open', () => {
  const cases: [Toleration, boolean][] = [
    [{ operator: 'Exists' }, true],
    [{ operator: 'Exists', effect: 'NoSchedule' }, false],
    [{ key: outOfService.key, operator: 'Equal', value: 'nodeshutdown' }, true],
    [{ key: outOfService.key, value: 'nodeshutdown', effect: 'NoExecute' }, true],
    [{ key: outOfService.key, value: 'other' }, false],
    [{ key: outOfService.key }, false],
    [{ key: 'other', operator: 'Exists' }, false],
    [{ key: outOfService.key, operator: 'Matches' }, false],
  ];
  for (const [toleration, expected] of cases) {
    assert.equal(tolerates(toleration, outOfService), expected, JSON.stringify(toleration));
  }
  assert.ok(tolerates({ key: 'k', value: '' }, { key: 'k', effect: 'NoExecute' }), 'no value is the empty value');
});

test('a taint counts unless something tolerates it, and only with the effects asked for', () => {
  const taint = { key: 'k', value: 'v', effect: 'NoExecute' };
  const tolerated = (toleration: object): boolean => untolerated([taint], [toleration], ['NoExecute']) === undefined;
  assert.equal(tolerated({ operator: 'Exists' }), true);
  assert.equal(tolerated({ key: 'k', operator: 'Exists', effect: 'NoSchedule' }), false);
  assert.equal(tolerated({ key: 'k', value: 'v' }), true);
  assert.equal(tolerated({ key: 'k', value: 'w' }), false);
  assert.equal(tolerated({ key: 'other', operator: 'Exists' }), false);
  assert.equal(untolerated([taint], [], ['NoSchedule']), undefined, 'other effects are not asked for');
});
