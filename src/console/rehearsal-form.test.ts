import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askedOf, askOf, choices, commandOf, failureWords, formOf } from './page/rehearsal.ts';
import { hashOf, routeOf } from './page/route.ts';
import type { NodePicture, RehearsePage } from './picture.ts';
import { wishOf } from './rehearsal-wish.ts';

const node = (name: string, zone: string, policy?: string): NodePicture => ({
  name,
  zone,
  mark: 'healthy',
  verdict: 'healthy',
  reason: '',
  ready: 'True',
  cordoned: false,
  schedulable: true,
  pods: 0,
  runs: [],
  ...(policy === undefined ? {} : { policy }),
});
const nodes = [node('node-10', 'z2', 'other'), node('node-2', 'z1', 'demo'), node('node-3', '')];
const page: RehearsePage = {
  kind: 'rehearse',
  inForce: [
    { name: 'demo', text: 'demo text' },
    { name: 'other', text: 'other text' },
  ],
  examples: [{ name: 'bmc', title: 'Machines', text: '# about\nmetadata: {name: bmc}\n' }],
};

describe('[EXP-2, USE-4] what a rehearsal is asked for with', () => {
  test('without a word: the first node loses its power, under the policy that is in force for it', () => {
    const form = formOf({}, page, nodes);
    assert.deepEqual([form.what, form.which, form.from, form.text], ['node', 'node-2', 'in.demo', 'demo text']);
    assert.deepEqual(
      askedOf(form),
      { what: 'node', which: 'node-2', runFor: '20m' },
      'there is nothing to compare it with',
    );
    assert.equal(formOf({ what: 'zone', which: 'z2' }, page, nodes).from, 'in.other');
  });

  test('without any policy it begins with one of the reference', () => {
    const form = formOf({}, { ...page, inForce: [] }, [node('node-1', '')]);
    assert.deepEqual([form.from, form.text], ['ex.bmc', page.examples[0]?.text]);
    assert.equal(askedOf(form).policy, page.examples[0]?.text);
  });

  test('one of the reference takes the place of the one in force', () => {
    const form = formOf({ policy: 'ex.bmc' }, page, nodes);
    assert.equal(form.text, '# about\nmetadata: {name: demo}\n');
    assert.equal(askedOf(form).policy, form.text);
  });

  test('all of it stands in the address, and comes back from it; the server understands it', () => {
    for (const what of ['node', 'zone', 'switch', 'bmc'] as const) {
      const which = choices(what, nodes)[1] ?? '';
      const ask = askOf({
        ...formOf({ what, which }, page, nodes),
        ends: '5m',
        look: '1h',
        text: 'changed: "é & #"\n',
      });
      const back = routeOf(hashOf({ page: 'rehearse', ask }));
      assert.deepEqual(back.ask, ask);
      const form = formOf(back.ask ?? {}, page, nodes);
      assert.deepEqual(
        [form.what, form.which, form.ends, form.look, form.text],
        [what, which, '5m', '1h', ask['text']],
      );
      assert.equal(wishOf({ ...askedOf(form) }).ok, true);
      assert.match(failureWords(form, 2), new RegExp(`${which}.* after 5m it is mended`));
    }
  });

  test('what an address says that nobody offers is as if it were not said, and a name stays', () => {
    const form = formOf({ what: 'moon', which: 'gone', look: '9h', ends: 'x', policy: 'in.gone' }, page, nodes);
    assert.deepEqual([form.what, form.which, form.look, form.ends, form.text], ['node', 'gone', '20m', '', '']);
  });

  test('names in their order, and no zone where there is none', () => {
    assert.deepEqual(choices('bmc', nodes), ['node-2', 'node-3', 'node-10']);
    assert.deepEqual(choices('switch', nodes), ['z1', 'z2']);
    assert.deepEqual(choices('zone', [node('a', '')]), []);
  });

  test('the same on the command line', () => {
    const form = formOf({ what: 'bmc', ends: '5m' }, page, nodes);
    assert.equal(
      commandOf(form),
      'fenceline simulate --from-cluster --node node-2 --how partition --bmc ignores --ends-after 5m --run-for 20m',
    );
    assert.equal(
      commandOf({ ...form, what: 'switch', which: 'z1', ends: '', text: 'changed' }),
      'fenceline simulate --from-cluster --zone z1 --how partition --run-for 20m --policy new-policy.yaml',
    );
  });
});
