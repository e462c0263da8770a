import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { maxPolicyLength, wishOf } from './rehearsal-wish.ts';

const refused = (body: Record<string, unknown>): string => {
  const parsed = wishOf(body);
  return parsed.ok ? 'accepted' : parsed.text;
};

describe('[EXP-2, SEC-5] what a page asks to be rehearsed', () => {
  test('a node, a zone, a switch, a lying BMC', () => {
    const failure = (what: string): unknown => {
      const parsed = wishOf({ what, which: 'x', endsAfter: '5m', runFor: '20m' });
      return parsed.ok ? { ...parsed.wish.failure, ms: parsed.wish.runForMs } : parsed;
    };
    const rest = { switches: [], events: [], endsAfter: '5m', ms: 1_200_000 };
    assert.deepEqual(failure('node'), { nodes: ['x'], zones: [], ...rest });
    assert.deepEqual(failure('zone'), { nodes: [], zones: ['x'], ...rest });
    assert.deepEqual(failure('switch'), { nodes: [], zones: ['x'], how: 'partition', ...rest });
    assert.deepEqual(failure('bmc'), { nodes: ['x'], zones: [], how: 'partition', bmc: 'ignores', ...rest });
  });

  test('an hour, unless it is said', () => {
    const parsed = wishOf({ what: 'node', which: 'x' });
    assert.ok(parsed.ok);
    assert.deepEqual(
      [parsed.wish.runFor, parsed.wish.failure.endsAfter, parsed.wish.policy],
      ['1h', undefined, undefined],
    );
  });

  test('everything else is refused, with what to write', () => {
    const fine = { what: 'node', which: 'x' };
    assert.match(refused({}), /^what is to fail\? There are node, zone, switch, bmc/);
    assert.match(refused({ ...fine, what: 'toString' }), /^what is to fail/);
    for (const which of [undefined, '', 7, 'x'.repeat(254), ['x']])
      assert.match(refused({ ...fine, which }), /^which one/);
    for (const runFor of ['', '0s', '25h', '-5m', 5, 'x', '999999h'])
      assert.match(refused({ ...fine, runFor }), /^runFor: /);
    for (const ends of ['', 5, 'never', null]) assert.match(refused({ ...fine, endsAfter: ends }), /^endsAfter: /);
    for (const policy of [7, {}, 'x'.repeat(maxPolicyLength + 1)])
      assert.match(refused({ ...fine, policy }), /^policy: /);
    assert.equal(refused({ ...fine, runFor: '24h', policy: 'x'.repeat(maxPolicyLength) }), 'accepted');
  });
});
