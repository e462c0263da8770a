import assert from 'node:assert/strict';
import { test } from 'node:test';
import { structuralSchemaOf } from './crds.ts';
import { KINDS } from './kinds.ts';
import { unknownFields } from './unknown-fields.ts';

test('[EXP-2] a field that is misspelt is told with the one that was meant, at any depth', () => {
  const kind = KINDS.find((one) => one.kind === 'RemedyPolicy');
  assert.ok(kind !== undefined);
  const { spec: schema = {} } = structuralSchemaOf(kind).properties ?? {};
  const found = (spec: object): string[] => unknownFields(schema, spec, 'spec');
  assert.deepEqual(
    found({
      selector: { matchLabels: { 'any/label': 'x' } },
      thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] }],
      remedies: [{ name: 'job', podTemplate: { spec: { containers: [{ name: 'main', anything: {} }] } } }],
      storm: { maxUnresponsive: '40%' },
    }),
    [],
  );
  assert.deepEqual(
    found({ treshholds: [], thresholds: [{ leas: {}, remedies: [{ nam: 'fence' }] }], fence: { isolateafter: '1s' } }),
    [
      'spec.treshholds: there is no such field; did you mean thresholds?',
      'spec.thresholds[0].leas: there is no such field; did you mean lease?',
      'spec.thresholds[0].remedies[0].nam: there is no such field; did you mean name?',
      'spec.fence.isolateafter: there is no such field; did you mean isolateAfter?',
    ],
  );
  assert.deepEqual(found({ constructor: {} }).length, 1);
});
