/** Of whom nothing is stored, because enough others say the same: nobody about whom there is anything else to say. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aStored } from '../../test/support/fenced-case.ts';
import {
  aCase,
  aCount,
  aFence,
  anIncident,
  aNode,
  aRecord,
  aRemedy,
  inForce,
} from '../../test/support/release-case.ts';
import { clockTime } from '../api/facts.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Step } from '../api/steps.ts';
import { decideNode } from './decide-node.ts';
import { isKnownByOthers } from './known-by-others.ts';

const remedy = aRemedy({
  thresholds: [
    {
      key: 'lease',
      lease: { staleForMs: 12_000 },
      remedies: [{ name: 'fence', periodMs: 60_000, cleanResources: true }],
      recovery: [],
    },
  ],
  kinds: { fence: 'fence' },
  storm: { maxUnresponsive: '40%', maxConcurrent: 1, cooldownMs: 0 },
});
const labels = { ...aNode().labels, 'topology.kubernetes.io/zone': 'b' };
const witnesses = { nodes: 64, zones: { a: 56, b: 8 } };
const count = aCount({ nodes: 1000, troubled: 500, witnesses });

/** One of five hundred of a thousand that are silent, 64 of which have it on record. */
function oneOfMany(change: Partial<NodeCase> = {}): NodeCase {
  return aCase({
    isUnread: true,
    pods: [],
    attachments: [],
    node: aNode({ volumesInUse: [], labels }),
    policy: inForce({ podDeletion: 'do-nothing', remedy }),
    trouble: { conditions: [{ type: 'Ready', status: 'Unknown', forMs: 60_000 }], leaseSilentMs: 60_000 },
    count,
    ...change,
  });
}

/** Or more is asked for first. */
const isStored = (change: Partial<NodeCase>): boolean => {
  const { record, storm, wants } = decideNode(oneOfMany(change));
  assert.equal(record === undefined && !wants.includes('pods'), storm !== undefined);
  return storm === undefined;
};

describe('[STM-1, STM-6] a node that is known to be in a storm by the records of others', () => {
  test('is held as they are, and nothing is stored of it', () => {
    const { record, storm, findings, steps, claims } = decideNode(oneOfMany());
    assert.equal(record, undefined);
    assert.deepEqual(storm, { since: clockTime(oneOfMany().serverNowMs), nodes: 1000, troubled: 500 });
    assert.equal(findings?.hold?.reason, 'StormLimit');
    assert.deepEqual([steps, claims], [[], { fence: false, remedy: false, pods: 0 }]);
  });

  test('one that others are in already is the same', () => {
    const { serverNowMs } = oneOfMany();
    const sinceMs = serverNowMs - 90_000;
    const ongoing = { ...count, storm: { sinceMs, nodes: 1000, zones: {} } };
    assert.equal(decideNode(oneOfMany({ count: ongoing })).storm?.since, clockTime(sinceMs));
  });

  test('is one of those with a record while there are not enough of them, in all and of its zone', () => {
    const fewer = (change: object): Partial<NodeCase> => ({
      count: { ...count, witnesses: { ...witnesses, ...change } },
    });
    assert.ok(isStored({ count: aCount({ nodes: 1000, troubled: 500 }) }));
    assert.ok(isStored(fewer({ nodes: 63 })));
    assert.ok(isStored(fewer({ zones: { a: 57, b: 7 } })));
    assert.ok(isStored(fewer({ zones: { a: 64 } })));
    assert.ok(!isStored(fewer({})));
    const unzoned = aNode({ volumesInUse: [] });
    assert.ok(isStored({ node: unzoned }));
    assert.ok(!isStored({ node: unzoned, ...fewer({ zones: { '': 8 } }) }));
  });

  test('is one whose pods nobody has read, that nothing else holds', () => {
    const { isUnread: _, ...read } = oneOfMany();
    assert.notEqual(decideNode(read).record, undefined);
    assert.ok(isStored({ count: aCount({ nodes: 1000, troubled: 1, witnesses, fencing: ['other'] }) }), 'a turn');
  });

  test('has nothing open, and nobody asks for anything', () => {
    const old = aFence({ releases: [{ ...aRecord(), endedAt: '2026-01-01T00:00:00Z' }] });
    assert.ok(!isStored({ fence: old }), 'what was long ago is over');
    assert.ok(isStored({ fence: aFence({ incident: anIncident() }) }));
  });

  test('also where somebody has asked for what is refused, or something is left of a fence, or would be done', () => {
    const nodeCase = oneOfMany();
    const { findings } = decideNode(nodeCase);
    assert.ok(findings);
    const { remedy: found, hold } = findings;
    const known = (change: Partial<NodeCase>, of = found, steps: Step[] = []): boolean =>
      isKnownByOthers({ ...nodeCase, ...change }, { steps, hold }, of);
    assert.ok(known({}));
    assert.ok(known({ fence: aFence({}) }));
    const requested = { at: '2026-01-01T00:00:00Z', by: 'somebody' };
    assert.ok(!known({ fence: aFence({}, { requested }) }));
    assert.ok(!known({ fence: aFence({ fence: aStored('poweringOff') }) }));
    assert.ok(known({ fence: aFence({ fence: aStored('finished') }) }));
    assert.ok(!known({}, found, [{ begins: { do: 'cordon' } } as unknown as Step]));
    const rehearsed = inForce({ podDeletion: 'do-nothing', remedy, mode: 'DryRun' });
    assert.ok(!known({ policy: rehearsed }), 'which pods would go is told of a rehearsal');
  });
});
