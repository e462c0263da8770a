import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { EXAMPLES } from '../api/examples.ts';
import { parseObject } from '../api/parse.ts';
import { RemedyPolicySchema } from '../api/remedy-policy.ts';
import type { StoredPolicy } from './cluster-watch.ts';
import { demoObjects } from './demo-objects.ts';
import { policyText, rehearsePage } from './rehearse-page.ts';

const written = [
  ...EXAMPLES.filter(({ kind }) => kind === 'RemedyPolicy').map(({ yaml }) => parse(yaml) as object),
  ...demoObjects.filter(({ resource }) => resource.kind === 'RemedyPolicy').map(({ object }) => object),
  { metadata: { name: 'watched' }, spec: { allNodes: true, fence: { powerWatch: { every: '5s' } } } },
].map((one) => ({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'RemedyPolicy', ...one }));

/** As the API server stores it: with everything that it fills in. */
function stored(policy: object): StoredPolicy & object {
  const parsed = parseObject(RemedyPolicySchema, policy);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return { ...parsed.value, status: { nodes: 1 } } as unknown as StoredPolicy;
}

describe('[EXP-2] the policies that a rehearsal begins with', () => {
  test('what the API server has filled in is left out, and what is left means the same', () => {
    assert.ok(written.length > 5);
    for (const policy of written) {
      const whole = stored(policy);
      const text = policyText(whole);
      const again = stored(parse(text) as object);
      assert.deepEqual(again.spec, whole.spec, text);
      assert.ok(text.length <= JSON.stringify(whole).length, text);
      assert.doesNotMatch(text, /maxConcurrent: 1\b|podDeletion: do-nothing|mode: Enforce|^status:|\[\]/m);
    }
  });

  test('those of the reference are beside them, each with its name', () => {
    const { inForce, examples } = rehearsePage({ remedyPolicies: written.slice(0, 2).map((one) => stored(one)) });
    assert.equal(inForce.length, 2);
    assert.deepEqual(
      examples.map(({ name }) => name),
      ['bmc', 'cloud', 'no-device'],
    );
  });
});
