import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BAD_OBJECTS } from '../../test/control-plane/bad-objects.ts';
import { badObject, BASES, titleOf } from '../../test/control-plane/bad-objects-base.ts';
import { KINDS } from './kinds.ts';
import { parseObject } from './parse.ts';

function schemaOf(kind: string) {
  const found = KINDS.find((it) => it.kind === kind);
  assert.ok(found, kind);
  return found.schema;
}

test('the objects that the bad ones differ from are accepted', () => {
  for (const base of Object.values(BASES)) {
    const parsed = parseObject(schemaOf(base.kind), base);
    assert.deepEqual(parsed.ok ? [] : parsed.problems, []);
  }
});

for (const bad of BAD_OBJECTS) {
  test(`the parser refuses ${titleOf(bad)}`, () => {
    const parsed = parseObject(schemaOf(BASES[bad.base].kind), badObject(bad));
    assert.ok(!parsed.ok, 'it was accepted');
    const blaming = parsed.problems.filter((it) => it.startsWith(bad.blames));
    assert.notDeepEqual(blaming, [], `nothing blames ${bad.blames}: ${parsed.problems.join('; ')}`);
    if (bad.refusedBy === 'rule')
      assert.ok(
        blaming.some((it) => it.includes(bad.hint)),
        blaming.join('; '),
      );
  });
}

test('a field that nobody knows is dropped, as the API server drops it', () => {
  const parsed = parseObject(schemaOf('DrainPolicy'), {
    ...BASES.drain,
    spec: { ...BASES.drain.spec, enforcment: 'Observe' },
  });
  assert.ok(parsed.ok);
  assert.ok(!JSON.stringify(parsed.value).includes('enforcment'));
});

test('a field with nothing behind it is not written, as for the API server; in a list it is refused', () => {
  const parse = (spec: object) => parseObject(schemaOf('RemedyPolicy'), { ...BASES.policy, spec });
  const empty = parse({ allNodes: true, selector: null, fence: null, release: { podDeletion: null } });
  assert.deepEqual(empty, parse({ allNodes: true }));
  assert.ok(!parse({ allNodes: true, release: { provisioners: [null] } }).ok);
});

test('a problem says where it is in the spelling of the API server', () => {
  const labels = { 'example.com/role': '-' };
  const parsed = parseObject(schemaOf('DrainPolicy'), {
    ...BASES.drain,
    spec: { selector: { matchLabels: labels } },
  });
  assert.ok(!parsed.ok);
  assert.match(parsed.problems.join(), /^spec\.selector\.matchLabels\[example\.com\/role\]: write a label value/);
});

test('what is no object at all is refused without a path', () => {
  const parsed = parseObject(schemaOf('DrainPolicy'), 5);
  assert.ok(!parsed.ok);
  assert.match(parsed.problems.join(), /^object: /);
});
