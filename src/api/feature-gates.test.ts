import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FEATURE_GATES, featureGates, parseFeatureGates } from './feature-gates.ts';

describe('feature gates', () => {
  test('[NGS-9, FEV-9] both are off by default', () => {
    assert.deepEqual(featureGates(), { NonGracefulFailover: false, ForceEviction: false });
    assert.deepEqual(parseFeatureGates(''), featureGates());
  });

  test('[NGS-9, FEV-9] are written as in Kubernetes', () => {
    assert.deepEqual(
      parseFeatureGates('ForceEviction=true,NonGracefulFailover=false'),
      featureGates({ ForceEviction: true }),
    );
    assert.deepEqual(parseFeatureGates(' NonGracefulFailover = true , '), featureGates({ NonGracefulFailover: true }));
    assert.deepEqual(
      parseFeatureGates('ForceEviction=true,ForceEviction=false'),
      featureGates(),
      'the last one counts',
    );
  });

  for (const [text, message] of [
    ['ForceEvictions=true', /no feature gate "ForceEvictions": write one of NonGracefulFailover, ForceEviction/],
    ['ForceEviction', /"ForceEviction" is no feature gate: write ForceEviction=true or =false/],
    ['ForceEviction=yes', /write ForceEviction=true or =false/],
    ['=true', /there is no feature gate ""/],
    ['constructor=true', /no feature gate "constructor"/],
  ] as const) {
    test(`${text} is refused with what to write instead`, () => assert.throws(() => parseFeatureGates(text), message));
  }

  test('each says what it lets go', () => {
    for (const gate of Object.values(FEATURE_GATES)) assert.ok(gate.description.endsWith('.'));
  });
});
