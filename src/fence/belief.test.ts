import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aNode } from '../../test/support/release-case.ts';
import type { ConfigResult, Method } from '../api/fence-config.ts';
import type { Circumstances, PowerAnswer, PowerFacts } from '../api/power.ts';
import { questionOf } from '../api/power.ts';
import type { LeaseSign } from '../api/release-view.ts';
import { doubtAbout, powerSays, watchSays } from './belief.ts';

const method = (name: string): Method => ({ name, action: 'off', driver: name, parameters: {}, secrets: [] });
const [ipmi, pdu] = [method('ipmi'), method('pdu')];
const configOf = (...off: Method[]): ConfigResult => ({
  ok: true,
  config: { isolation: [], powerManagement: [{ off, on: [] }], recovery: [] },
});
const config = configOf(ipmi, pdu);
const question = questionOf([ipmi, pdu]);
const answer = (change: Partial<PowerAnswer> = {}): PowerAnswer => ({
  device: 'ipmi',
  power: 'off',
  identity: 'same',
  message: 'ipmi: it says off',
  wasSeenOn: true,
  ...change,
});
const silent: LeaseSign = { renewTime: 't', unchangedForMs: 60_000, renewedSinceNotReady: false, renewed: true };
const fresh: LeaseSign = { ...silent, unchangedForMs: 3000 };

describe('a power that is watched', () => {
  const view = { name: 'node-1', ageMs: 0, silentMs: 0, lease: { ...fresh, confirmed: false } };
  const says = (power: Partial<PowerFacts>, unchangedForMs = 3000): string | undefined => {
    const facts: PowerFacts = { question, askedForMs: 1000, answers: [answer(), answer()], port: 'silent', ...power };
    return watchSays({ view: { ...view, lease: { ...view.lease, unchangedForMs } }, power: facts })?.says;
  };

  test('[EVD-4] is off when every device says so and knows whose it is, and nobody answers', () => {
    assert.equal(says({}), 'off');
    assert.equal(says({ port: 'open' }), undefined);
    assert.equal(says({ port: 'refused' }), undefined, 'its machine answers');
    for (const other of [{ power: 'on' }, { power: 'unknown' }, { identity: 'none' }, { wrong: 'it is' }] as const) {
      assert.equal(says({ answers: [answer(), answer(other)] }), undefined);
    }
    assert.equal(says({ answers: [] }), undefined);
  });

  test('[EVD-4, SAF-3] not by an old answer, nor by one that a renewal came after', () => {
    assert.equal(says({ askedForMs: 15_000 }, 60_000), 'off');
    assert.equal(says({ askedForMs: 15_001 }, 60_000), undefined);
    assert.equal(says({ askedForMs: 3001 }), undefined);
    assert.equal(says({ askedForMs: 3000 }), 'off');
    assert.equal(watchSays({ view }), undefined, 'nobody watches');
  });
});

describe('the word of a device', () => {
  const believes = (said: Partial<PowerAnswer>, about: Partial<Circumstances> = {}): boolean =>
    doubtAbout(answer(said), { what: 'power', ready: 'Unknown', lease: silent, ...about }) === undefined;

  test('[SAF-17, FEN-7] several outlets that no cut has shown: only of a node that lives, which the cut will show', () => {
    const undrilled = { identity: 'none', needsDrill: 'node-1' } as const;
    assert.equal(believes({ ...undrilled, power: 'on' }), false);
    assert.equal(believes(undrilled), false);
    assert.equal(believes({ ...undrilled, power: 'on' }, { lease: fresh }), true);
    assert.equal(believes({ ...undrilled, power: 'on' }, { lease: { ...fresh, renewed: false } }), false, 'or did');
    assert.equal(believes({ ...undrilled, power: 'on' }, { lease: fresh, isForLater: true }), false, 'in a check');
    assert.equal(believes({ ...undrilled, power: 'on' }, { lease: undefined, ready: 'True' }), true);
    assert.equal(believes({ ...undrilled, power: 'on' }, { lease: undefined }), false);
    assert.equal(believes({ ...undrilled, power: 'unknown' }), true, 'it has said nothing');
    const doubt = doubtAbout(answer({ ...undrilled, power: 'on' }), { what: 'power', ready: 'Unknown', lease: silent });
    assert.equal(doubt?.reason, 'NotProven');
    assert.match(doubt.message, /: fenceline drill node-1$/);
  });

  test('[SAF-1] nothing is let go by a port of which nobody knows whose it is; it may be closed all the same', () => {
    const port = { identity: 'none', isUnshown: true } as const;
    assert.equal(believes(port, { what: 'storage' }), true);
    assert.equal(believes(port, { what: 'storage', isBasis: true }), false);
    assert.equal(believes({ identity: 'none' }, { what: 'storage', isBasis: true }), true);
  });

  test('[SAF-1] S34: of another machine it is worth nothing, whatever it says', () => {
    for (const power of ['on', 'off', 'unknown'] as const) {
      for (const what of ['power', 'storage'] as const) assert.ok(!believes({ identity: 'other', power }, { what }));
    }
  });

  test('[EVD-4] a Lease need not be overdue where nobody answers at the port of the kubelet, and the device knows whose power it is', () => {
    assert.ok(believes({ identity: 'same' }, { lease: fresh, isMissed: true }));
    assert.ok(!believes({ identity: 'same' }, { lease: fresh, isMissed: false }));
    assert.ok(!believes({ identity: 'none' }, { lease: fresh, isMissed: true }));
    assert.ok(!believes({ identity: 'same', wrong: 'it said off before' }, { lease: fresh, isMissed: true }));
  });

  test('[SAF-1, FEN-14] a kubelet that renews contradicts the last of several devices, and no other', () => {
    const about = { what: 'power', ready: 'True', lease: fresh } as const;
    assert.notEqual(doubtAbout(answer(), about), undefined);
    assert.equal(doubtAbout(answer(), { ...about, isPart: true }), undefined);
    assert.notEqual(doubtAbout(answer({ identity: 'other' }), { ...about, isPart: true }), undefined);
  });

  test('[SAF-1] S34: of one that is known to be wrong, too, until it is cleared', () => {
    for (const identity of ['same', 'none'] as const) assert.ok(!believes({ identity, wrong: 'OutletsSwapped' }));
  });

  test('[SAF-1] S34: what cannot say whose power it is has to have been seen on; what can has not', () => {
    assert.ok(!believes({ identity: 'none', wasSeenOn: false }));
    assert.ok(!believes({ identity: 'none', wasSeenOn: false, power: 'on' }));
    assert.ok(believes({ identity: 'same', wasSeenOn: false }));
    assert.ok(believes({ identity: 'none', wasSeenOn: false, power: 'unknown' }), 'it has said nothing');
  });

  test('[SAF-1] S34: off is believed of a node that is silent, and of none whose Lease may be renewed yet', () => {
    for (const identity of ['same', 'none'] as const) {
      assert.ok(believes({ identity }));
      assert.ok(!believes({ identity }, { lease: fresh }));
      const { renewed: _, ...firstSight } = fresh;
      assert.ok(
        !believes({ identity }, { lease: firstSight }),
        'the first sight of a Lease does not say how old it is',
      );
      assert.ok(believes({ identity, power: 'on' }, { lease: fresh }));
    }
  });

  test('[SAF-1] what a device knows by name is believed at once when we told it so, until the kubelet renews', () => {
    assert.ok(believes({}, { lease: fresh, offForMs: 0 }));
    assert.ok(believes({}, { lease: fresh, offForMs: 4000 }), 'sent before the power went');
    assert.ok(!believes({}, { lease: fresh, offForMs: 30_000 }));
    assert.ok(believes({}, { lease: fresh, offForMs: 5000 }), 'as late as one may be that was under way');
    assert.ok(!believes({}, { lease: fresh, offForMs: 5001 }));
    const { renewed: _, ...firstSight } = fresh;
    assert.ok(believes({}, { lease: firstSight, offForMs: 30_000 }), 'seen for the first time is not renewed');
    assert.ok(!believes({ identity: 'none' }, { lease: fresh, offForMs: 0 }), 'an outlet waits for the silence');
  });

  test('[SAF-1] without a Lease Ready has to do; a way to the storage is cut under a living node', () => {
    assert.ok(believes({}, { lease: undefined }));
    assert.ok(!believes({}, { lease: undefined, ready: 'True' }));
    assert.ok(believes({}, { lease: undefined, ready: 'True', offForMs: 0 }));
    assert.ok(believes({ identity: 'none' }, { what: 'storage', lease: fresh, ready: 'True' }));
  });
});

describe('what the devices of a node come to', () => {
  const says = (power: Partial<PowerFacts> | undefined, change: object = {}): string => {
    const facts = power && { power: { question, askedForMs: 1000, ...power } };
    return powerSays(aCase({ config, node: aNode(), lease: silent, ...facts, ...change })).says;
  };

  test('[EVD-2, SAF-1] off when every one of them says so and is believed', () => {
    assert.equal(says({ answers: [answer(), answer({ identity: 'none' })] }), 'off');
    assert.equal(says({ answers: [answer(), answer({ power: 'unknown' })] }), 'unknown');
    assert.equal(says({ answers: [answer(), answer({ identity: 'other' })] }), 'unknown');
    assert.equal(says({ answers: [answer()] }, { lease: fresh }), 'unknown');
  });

  test('[SAF-1] on when one of them says so, unless it speaks of another machine', () => {
    assert.equal(says({ answers: [answer(), answer({ power: 'on' })] }), 'on');
    assert.equal(says({ answers: [answer({ power: 'on', identity: 'other' }), answer()] }), 'unknown');
  });

  test('[SAF-3] an answer that is older than the last renewal says nothing', () => {
    const renewed = { ...silent, unchangedForMs: 13_000 };
    assert.equal(says({ answers: [answer()], askedForMs: 14_000 }, { lease: renewed }), 'unknown');
    assert.equal(says({ answers: [answer()], askedForMs: 12_000 }, { lease: renewed }), 'off');
    assert.equal(says({ answers: [answer()], askedForMs: 13_000 }, { lease: renewed }), 'off');
    const { renewed: _, ...firstSight } = renewed;
    assert.equal(says({ answers: [answer()], askedForMs: 14_000 }, { lease: firstSight }), 'off', 'it was not renewed');
  });

  test('[SAF-17] an outlet that is off says nothing while somebody else is silent who is not accounted for', () => {
    const beside = { unheard: 0, names: [], settledAtMs: 0, present: 1 };
    const silentOne = { name: 'node-2', isOff: false };
    assert.equal(says({ answers: [answer()] }, { beside: { ...beside, silent: [silentOne] } }), 'unknown');
    assert.equal(
      says({ answers: [answer()] }, { beside: { ...beside, silent: [{ ...silentOne, isOff: true }] } }),
      'off',
    );
  });

  test('S26: not asked, asked otherwise, not answered and answered long ago are no answer', () => {
    assert.equal(says(undefined), 'unasked');
    assert.equal(says({ answers: [answer()] }, { config: configOf() }), 'unknown', 'there is nobody to ask');
    const nobody = { answers: [], question: questionOf([]) };
    assert.equal(says(nobody, { config: configOf() }), 'unknown', 'where nobody can be asked nobody says off');
    assert.equal(says({ answers: [answer()] }, { config: configOf(ipmi) }), 'unasked');
    assert.equal(says({}), 'unasked');
    assert.equal(says({ askedForMs: 10_000 }), 'unknown', 'nobody waits for it for ever');
    assert.equal(says({ answers: [answer()], askedForMs: 16_000 }), 'unknown');
  });
});
