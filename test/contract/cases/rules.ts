/** CEL rules of custom resources. */
import assert from 'node:assert/strict';
import { group, has, types } from '../contract.ts';
import { define, make, refused, thing, things } from '../things.ts';

const merge = { contentType: types.merge };

export const rules = group([
  [
    'rules: one that does not hold, with its message and field',
    'celRules',
    async (api) => {
      const status = await refused(api, { must: 'ab', low: 9 });
      has(status.details.causes, [{ reason: 'FieldValueInvalid', field: 'spec.low' }]);
      assert.match(status.message, /low must not be above high/);
    },
  ],
  [
    'rules: a message that is computed',
    'celRules',
    async (api) => {
      const status = await refused(api, { must: 'ab', pair: ['x'] });
      assert.match(status.message, /spec: Invalid value: pair has one/);
    },
  ],
  [
    'rules: on a value shows the value',
    'celRules',
    async (api) => {
      const status = await refused(api, { must: 'ab', wait: '1s' });
      assert.match(status.message, /spec.wait: Invalid value: "1s": too short/);
    },
  ],
  [
    'rules: on the items of a list',
    'celRules',
    async (api) => {
      const status = await refused(api, {
        must: 'ab',
        parts: [
          { k: 'x', v: 1 },
          { k: 'y', v: -1 },
        ],
      });
      assert.match(status.message, /spec.parts\[1\]: Invalid value: v must not be negative/);
    },
  ],
  [
    'rules: on the name',
    'celRules',
    async (api) => {
      await define(api);
      const status = await api.refused(422, 'POST', things(api), thing({ must: 'ab' }, { name: 'forbidden' }, api));
      assert.match(status.message, /that name is taken/);
    },
  ],
  [
    'rules: a change is compared with what was before',
    'celRules',
    async (api) => {
      await make(api, { must: 'ab', fixed: 'a' });
      const status = await api.refused(422, 'PATCH', things(api, 't'), { spec: { fixed: 'b' } }, merge);
      assert.match(status.message, /fixed cannot change/);
      await api.ok('PATCH', things(api, 't'), { spec: { fixed: 'a', must: 'ac' } }, merge);
    },
  ],
  [
    'rules: are not judged on a broken object, and that is said',
    'celBlocked',
    async (api) => {
      const status = await refused(api, { low: 9 });
      assert.match(status.message, /some validation rules were not checked because the object was invalid/);
      assert.doesNotMatch(status.message, /low must not be above high/);
    },
  ],
]);
