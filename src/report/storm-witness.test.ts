/** What is told of a node in a storm that has no record of its own for that. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inForce } from '../../test/support/release-case.ts';
import type { Known } from './explanation.ts';
import { stormWitness } from './storm-witness.ts';

const hold = { reason: 'StormLimit', message: '500 of 1000', since: '2026-01-01T00:00:00Z' };
const match = inForce({});
assert.ok(match.kind === 'one');
const { policy } = match;
const judgement = { verdict: 'suspect', reason: 'LeaseStale', evidence: [] } as unknown as Known['judgement'];
const held = (status: object, of = policy.name): Parameters<typeof stormWitness>[2][number] => ({
  spec: { node: 'other', stop: false, policy: of },
  status: { hold, ...status },
});

describe('[EXP-1, STM-6] a storm that a node is in by the record of another', () => {
  const told = (known: Partial<Known>, records: readonly ReturnType<typeof held>[], zone = 'a'): Known['storm'] =>
    stormWitness({ judgement, policy, ...known }, zone, records).storm;

  test('is told with the node that has it on record', () => {
    assert.deepEqual(told({}, [held({ hold: undefined }), held({})]), { node: 'other', hold });
  });

  test('of its zone, where it is one of a zone', () => {
    const inZone = { hold: { ...hold, reason: 'ZoneStormLimit' }, storm: { since: hold.since, zone: 'a' } };
    assert.equal(told({}, [held(inZone)])?.hold.reason, 'ZoneStormLimit');
    assert.equal(told({}, [held(inZone)], 'b'), undefined);
    assert.equal(told({}, [held(inZone)], ''), undefined);
    // The brake holds whoever is in no zone as well, by those zones that are beyond the limit.
    assert.equal(told({}, [held({ ...inZone, storm: { since: hold.since } })], '')?.hold.reason, 'ZoneStormLimit');
  });

  test('not of another policy, nor by another hold, nor of a node that is well, gone or has a record', () => {
    assert.equal(told({}, [held({}, 'another')]), undefined);
    assert.equal(told({}, [held({ hold: { ...hold, reason: 'Cooldown' } })]), undefined);
    const no = { ...judgement, evidence: [] };
    assert.equal(
      told({ judgement: { ...no, verdict: 'healthy', reason: 'Responding' } as never }, [held({})]),
      undefined,
    );
    assert.equal(told({ judgement: { ...no, verdict: 'down', reason: 'NodeGone' } as never }, [held({})]), undefined);
    const record = { spec: { node: 'node-1', stop: false }, status: { incident: { id: 'x' } } } as never;
    assert.equal(told({ record }, [held({})]), undefined);
    assert.equal(stormWitness({ judgement }, 'a', [held({})]).storm, undefined, 'no policy selects it');
  });
});
