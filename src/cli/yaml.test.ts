import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse, parseAllDocuments } from 'yaml';
import { customResourceDefinitions } from '../api/crds.ts';
import { toYaml, toYamlStream } from './yaml.ts';

/** What YAML 1.1 takes for a boolean, a null or a number, in the spellings that turn up in names and values. */
const treacherous = [
  ['off', 'On', 'YES', 'no', 'y', 'N', 'null', '~', '', '012', '0o17', '0x1F', '1:30', '190:20:30.15'],
  ['1_000', '0b101', '.5', '1e3', '.inf', '-.INF', '.NaN', '2001-12-14', '2001-12-14T21:59:43Z', '<<', '08'],
].flat();

test('[USE-3] every text that is printed as YAML is the same text to a reader of YAML 1.1', () => {
  const text = fc.oneof(fc.constantFrom(...treacherous), fc.string());
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('any'), { maxLength: 4 }),
      fc.dictionary(text, tie('any'), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).any;
  fc.assert(
    fc.property(value, (one) => {
      assert.deepEqual(parse(toYaml(one), { version: '1.1', merge: false }), one);
    }),
    { numRuns: 500 },
  );
});

test('[USE-3] the CRDs as they are printed mean the same to a reader of YAML 1.1', () => {
  const crds = customResourceDefinitions();
  const read = parseAllDocuments(toYamlStream(crds), { version: '1.1' });
  assert.deepEqual(
    read.map((document) => document.toJS() as unknown),
    crds,
  );
});
