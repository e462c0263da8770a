import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CountedNode } from './storm.ts';
import { loneZone, ownSilence } from './standpoint.ts';

const node = (name: string, life: CountedNode['life'] = 'silent'): CountedNode => ({
  name,
  zone: name.split('-')[0] ?? '',
  life,
  conditions: [],
});
const home = [node('a-1', 'well'), node('a-2')];

describe('the zone of the operator', () => {
  test('[STM-2] is alone where nobody of two others or more is heard of', () => {
    assert.equal(loneZone('a-1', [...home, node('b-1'), node('c-1')]), 'a');
    assert.equal(loneZone('a-2', [...home, node('b-1'), node('c-1')]), 'a', 'whatever its own node does');
    assert.equal(loneZone('a-1', [...home, node('b-1', 'unjudged'), node('c-1')]), 'a', 'nobody knows is not heard');
  });

  test('[STM-2] is not where somebody is heard of elsewhere, or nobody at all', () => {
    assert.equal(loneZone('a-1', [...home, node('b-1'), node('c-1'), node('c-2', 'well')]), undefined);
    assert.equal(loneZone('a-1', [node('a-1'), node('b-1'), node('c-1')]), undefined);
  });

  test('[STM-2] one other zone that is lost says nothing, nor does one without a name, or a node that is not there', () => {
    assert.equal(loneZone('a-1', [...home, node('b-1'), node('b-2')]), undefined);
    assert.equal(loneZone('a-1', home), undefined);
    const nowhere = { ...node('a-1', 'well'), zone: '' };
    assert.equal(loneZone('a-1', [nowhere, node('b-1'), node('c-1')]), undefined);
    assert.equal(loneZone('z-1', [...home, node('b-1'), node('c-1')]), undefined);
    const bare = { ...node('c-1'), zone: '' };
    assert.equal(loneZone('a-1', [...home, node('b-1'), bare]), 'a', 'who is in none is elsewhere');
  });
});

describe('the node of the operator', () => {
  const silent = { node: 'a-1', handOver: 'possible' } as const;
  const asked = { name: 'b-1', nowMs: 1000, untilMs: 5000 };

  test('[STM-2] if it is silent, others that are say as little by that, for a while', () => {
    const found = ownSilence({ standpoint: { silent } }, asked);
    assert.deepEqual(found, {
      reason: 'OwnNodeSilent',
      message: 'a-1 is as silent as this one, and the operator that runs there lives',
      recheckAtMs: 5000,
      untilMs: 5000,
    });
    assert.equal(ownSilence({ standpoint: { silent } }, { ...asked, nowMs: 5000 }), undefined);
  });

  test('[STM-2] says nothing of itself, nor where it is heard of or nobody knows it', () => {
    assert.equal(ownSilence({ standpoint: { silent } }, { ...asked, name: 'a-1' }), undefined);
    assert.equal(ownSilence({ standpoint: { zone: 'a' } }, asked), undefined);
    assert.equal(ownSilence({}, asked), undefined);
  });
});
