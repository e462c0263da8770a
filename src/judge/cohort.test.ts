import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { anIncident } from '../../test/support/release-case.ts';
import { attendedSign, stormSign } from '../api/storm-sign.ts';
import { hasJoined, isStormFor, stormFacts } from './cohort.ts';

const sinceMs = Date.parse('2026-01-01T00:00:00Z');
const nowMs = sinceMs + 600_000;
const zoneOf = (node: string): string | undefined => ({ a: 'x', b: 'x', c: 'constructor' })[node];

describe('what is on record of storms', () => {
  test('[STM-6] none, or those that have ended: the last end counts', () => {
    assert.deepEqual(stormFacts([], nowMs, zoneOf), {});
    const ended = [
      { node: 'a', sinceMs, endedMs: sinceMs + 2000 },
      { node: 'b', sinceMs, endedMs: sinceMs + 1000 },
    ];
    assert.deepEqual(stormFacts(ended, nowMs, zoneOf), { stormEndedMs: sinceMs + 2000, stormOf: ['a', 'b'] });
    const several = [
      { node: 'z', sinceMs, endedMs: sinceMs + 2000 },
      { node: 'a', sinceMs: sinceMs - 1000, endedMs: sinceMs + 2000 },
      { node: 'just', sinceMs: sinceMs - 9000, endedMs: sinceMs - 1000 },
      { node: 'earlier', sinceMs: sinceMs - 9000, endedMs: sinceMs - 1001 },
    ];
    assert.deepEqual(stormFacts(several, nowMs, zoneOf).stormOf, ['a', 'just', 'z'], 'whose own ended after it began');
  });

  test('[STM-1] one that goes on: since when, and how many there were, whoever of it has been heard of again', () => {
    const facts = stormFacts(
      [
        { node: 'gone', sinceMs: sinceMs - 5000, endedMs: sinceMs, nodes: 90 },
        { node: 'a', sinceMs: sinceMs + 1000, nodes: 10, zoneNodes: 3 },
        { node: 'b', sinceMs, nodes: 9, zoneNodes: 4 },
        { node: 'c', sinceMs, zoneNodes: 5 },
        { node: 'd', sinceMs },
      ],
      nowMs,
      zoneOf,
    );
    assert.equal(facts.stormEndedMs, nowMs);
    assert.deepEqual(facts.storm, { sinceMs, nodes: 10, zones: { x: 4, constructor: 5, '': 0 } });
  });

  test('[STM-1, STM-6] it is one for whoever is under a policy that has called it one, or would have', () => {
    const sign = { node: 'a', sinceMs, policy: 'p', nodes: 10, troubled: 4, zoneNodes: 3, zoneTroubled: 1 };
    const isOne = (
      change: object,
      maxUnresponsive: number | string = '40%',
      policy: string | undefined = 'q',
    ): boolean => isStormFor({ ...sign, ...change }, { policy, maxUnresponsive });
    assert.equal(isOne({}), false, 'what is too many by another policy alone');
    assert.equal(isOne({}, '40%', 'p'), true);
    assert.deepEqual([isOne({ troubled: 5 }), isOne({}, 3), isOne({}, 4)], [true, true, false]);
    assert.deepEqual([isOne({ zoneTroubled: 2 }), isOne({ zoneNodes: 2, zoneTroubled: 2 })], [true, false]);
    assert.deepEqual([isOne({ nodes: undefined }), isOne({ troubled: undefined })], [true, true], 'nobody knows');
    assert.equal(
      isStormFor({ node: 'a', sinceMs, nodes: 10, troubled: 1 }, { policy: undefined, maxUnresponsive: 1 }),
      false,
    );
    assert.equal(
      isStormFor({ node: 'a', sinceMs, nodes: 10, troubled: 1 }, { policy: 'p', maxUnresponsive: 1 }),
      false,
    );
  });

  test('[STM-1] who was made after it began has joined, but for one that was in it', () => {
    const storm = { sinceMs, nodes: 5, zones: {} };
    const at = (seconds: number): string => new Date(sinceMs + seconds * 1000).toISOString();
    const there = new Set(['b']);
    const joined = (createdAt = '', signs: Parameters<typeof hasJoined>[1]['signs'] = []): boolean =>
      hasJoined({ name: 'a', madeMs: Date.parse(createdAt) }, { storm, signs, there });
    assert.deepEqual([joined(at(1)), joined(at(0)), joined(undefined)], [true, false, false]);
    assert.equal(hasJoined({ name: 'a', madeMs: Date.parse(at(1)) }, { storm: undefined, signs: [], there }), false);
    assert.equal(hasJoined({ name: 'b', madeMs: Date.parse(at(1)) }, { storm, signs: [], there }), false, 'made again');
    assert.equal(joined(at(1), [{ node: 'a', sinceMs }]), false);
    assert.equal(joined(at(1), [{ node: 'a', sinceMs: sinceMs - 1 }]), true, 'that was another storm');
    assert.equal(joined(at(1), [{ node: 'b', sinceMs }]), true);
  });

  test('[STM-6] of one whose end nobody is left to notice only when it was counts', () => {
    const storm = { since: '2026-01-01T00:00:00Z', nodes: 5, zoneNodes: 3 };
    const ended = { ...storm, endedAt: '2026-01-01T00:05:00Z' };
    const incident = anIncident({});
    assert.equal(stormSign('a', undefined), undefined);
    assert.deepEqual(stormSign('a', storm), { node: 'a', sinceMs, nodes: 5, zoneNodes: 3 });
    assert.deepEqual(stormSign('a', { since: storm.since }), { node: 'a', sinceMs });
    const worst = { troubled: 4, zoneTroubled: 2 };
    const sign = { node: 'a', sinceMs, nodes: 5, zoneNodes: 3, ...worst, policy: 'p' };
    assert.deepEqual(stormSign('a', { ...storm, ...worst }, 'p'), sign);
    assert.deepEqual(attendedSign('a', { storm: { ...storm, ...worst }, incident }, 'p'), sign);
    assert.equal(attendedSign('a', undefined), undefined);
    assert.equal(attendedSign('a', { storm, incident })?.endedMs, undefined);
    assert.equal(attendedSign('a', { storm })?.endedMs, sinceMs);
    assert.equal(attendedSign('a', { storm: ended })?.endedMs, sinceMs + 300_000);
  });
});
