import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aStored } from '../../test/support/fenced-case.ts';
import { aCase, aFence, aRecord } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { PowerAnswer, PowerFacts } from '../api/power.ts';
import { questionOf } from '../api/power.ts';
import type { NodeCase } from '../api/release-view.ts';
import { notConnected } from './connected.ts';

const port: Method = { name: 'fc-off', action: 'off', driver: 'agent:fence_brocade', parameters: {}, secrets: [] };
const cordon: Method = { ...port, name: 'cordon', action: 'cordon', driver: 'built-in' };
const config = {
  ok: true,
  config: { isolation: [{ name: 'level-0', off: [cordon, port], on: [] }], powerManagement: [], recovery: [] },
} as unknown as NodeCase['config'];
const broken = { ok: false, problems: [] } as unknown as NodeCase['config'];

function said(power: PowerAnswer['power'], more: Partial<PowerAnswer> = {}): PowerAnswer {
  return { device: 'switch', power, identity: 'none', wasSeenOn: true, message: `fc-off: it says ${power}`, ...more };
}

function asked(answers?: readonly PowerAnswer[], askedForMs = 1000): PowerFacts {
  return { question: questionOf([port]), askedForMs, ...(answers === undefined ? {} : { answers }) };
}

const forgotten = (storage?: PowerFacts): string | undefined =>
  notConnected(aCase({ config, fence: aFence({ releases: [] }), ...(storage === undefined ? {} : { storage }) }));
const remembered = (storage?: PowerFacts): string | undefined =>
  notConnected(
    aCase({ config, fence: aFence({ releases: [aRecord()] }), ...(storage === undefined ? {} : { storage }) }),
  );

describe('whether a node is connected to its storage', () => {
  test('[RET-2, SAF-4] is asked of what could have cut it off, and what is cut is not in service', () => {
    for (const known of [forgotten, remembered]) {
      assert.match(known() ?? '', /is asked first$/);
      assert.match(known(asked()) ?? '', /is asked first$/);
      assert.match(known({ ...asked([said('on')]), question: 'another' }) ?? '', /is asked first$/);
      assert.match(known(asked([said('off')])) ?? '', /^fc-off: it says off: it is cut off from its storage, /);
      assert.equal(known(asked([said('on')])), undefined);
    }
  });

  test('[RET-2] where the record is gone, who does not know does not let it back; where it is not, nobody waits for that', () => {
    const open = [said('unknown'), said('off', { identity: 'other' }), said('off', { wrong: 'it was' })];
    for (const answer of open) {
      assert.match(
        forgotten(asked([answer])) ?? '',
        /^the record .* is gone, .* removes the taint fenceline.dev\/quarantine$/,
      );
      assert.equal(remembered(asked([answer])), undefined);
    }
    assert.match(forgotten(asked(undefined, 10_000)) ?? '', /is asked first$/);
    assert.equal(remembered(asked(undefined, 10_000)), undefined);
    assert.match(forgotten(asked([said('on')], 91_000)) ?? '', /is asked first$/, 'that was long ago');
    assert.equal(remembered(asked([said('on')], 91_000)), undefined);
    assert.match(notConnected(aCase({ config: broken })) ?? '', /its fence configuration cannot be read/);
    assert.equal(notConnected(aCase({ config: broken, fence: aFence({ releases: [aRecord()] }) })), undefined);
    const fenced = aFence({ releases: [], fence: aStored('finished') });
    assert.equal(notConnected(aCase({ config: broken, fence: fenced })), undefined, 'a fence is on record');
  });

  test('where nothing could have cut it off nobody is asked', () => {
    assert.equal(notConnected(aCase()), undefined);
  });
});
