import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parsedByFenceline, shellWords } from '../../test/support/typed.ts';
import type { Advice, Names } from './advice.ts';
import { ALARM_ADVICE, commandsOf, COMMANDS, FENCED_ADVICE, filledSentence, HELD_ADVICE } from './advice.ts';
import { UNFENCEABLE_ADVICE, WRONG_ADVICE } from './advice-of-devices.ts';
import { RELEASED_ADVICE, STUCK_ADVICE } from './advice-of-pods.ts';
import { REQUESTED_ADVICE } from './advice-of-requests.ts';
import { structuralSchemaOf } from './crds.ts';
import { KINDS } from './kinds.ts';
import type { ReasonGroup } from './reasons.ts';
import {
  ALARM,
  FENCED,
  HELD,
  REASON_GROUPS,
  REHEARSED,
  RELEASED,
  REQUESTED,
  STUCK,
  UNFENCEABLE,
  WRONG,
} from './reasons.ts';

/**
 * What is reported about a node or its devices, with what is advised. Policies have conditions that say themselves what to write,
 * and what was rehearsed waits for nothing: that it was only rehearsed is a hold.
 */
const advised: [ReasonGroup, { readonly [reason: string]: Advice }][] = [
  [FENCED, FENCED_ADVICE],
  [RELEASED, RELEASED_ADVICE],
  [STUCK, STUCK_ADVICE],
  [HELD, HELD_ADVICE],
  [REQUESTED, REQUESTED_ADVICE],
  [ALARM, ALARM_ADVICE],
  [WRONG, WRONG_ADVICE],
  [UNFENCEABLE, UNFENCEABLE_ADVICE],
];

const names: Names = {
  node: 'worker-1',
  policy: 'workers',
  namespace: 'fenceline',
  incident: 'worker-1-2026',
  pod: 'web-0',
  podNamespace: 'shop',
  later: '2026-01-01T02:00:00Z',
  other: 'worker-2',
};
const all = advised.flatMap(([group, advice]) =>
  Object.keys(group.reason).map((reason) => ({ of: `${group.of} ${reason}`, advice: advice[reason] })),
);

describe('advice', () => {
  test('[EXP-1, STM-6] every reason that is given of a node or its devices says what ends it and what to type', () => {
    const groups = new Set(advised.map(([group]) => group));
    const left = REASON_GROUPS.filter(({ kind }) => kind === 'NodeFence' || kind === 'FenceDevice');
    assert.deepEqual(
      left.filter((group) => group !== REHEARSED && !groups.has(group)).map(({ of }) => of),
      [],
    );
    for (const { of, advice } of all) {
      assert.ok(advice !== undefined && advice.ends.length > 10, `${of} ends somehow`);
      assert.ok(commandsOf(advice, names).length > 0, `${of} has a command`);
      assert.doesNotMatch(filledSentence(advice.ends, names), /[{}]/, of);
      assert.doesNotMatch(advice.ends, /\.$/, `${of}: it goes on after "ends when"`);
    }
  });

  test('[EXP-1] every command can be typed as it is: its own parser takes it', async () => {
    const commands = [...all.flatMap(({ advice }) => advice?.can ?? []), ...Object.values(COMMANDS)];
    for (const { to, command } of commandsOf({ ends: '', can: commands as unknown as Advice['can'] }, names)) {
      assert.doesNotMatch(`${to} ${command}`, /\{\{/);
      const [program = ''] = shellWords(command);
      if (program === 'kubectl') continue;
      await parsedByFenceline(command);
    }
  });

  test('[EXP-1] what is to be edited is a field of a policy, and takes the value that is named', () => {
    const [policy] = KINDS.filter(({ kind }) => kind === 'RemedyPolicy').map(structuralSchemaOf);
    const texts = all.flatMap(({ advice }) => [advice?.ends ?? '', ...(advice?.can ?? []).map(({ to }) => to)]);
    const named = texts.flatMap((text) => [
      ...text.matchAll(/\b(?<part>storm|release|fence|return)\.(?<field>[a-z]\w+)(?:: (?<value>\w+))?/gi),
    ]);
    assert.ok(named.length > 5);
    for (const { 0: text, groups = {} } of named) {
      const { part = '', field = '', value } = groups;
      const schema = policy?.properties?.['spec']?.properties?.[part]?.properties?.[field];
      assert.ok(schema, text);
      assert.ok(value === undefined || schema.enum?.includes(value), text);
    }
  });

  test('what cannot be typed is noticed', async () => {
    await assert.rejects(parsedByFenceline('fenceline resume'), /missing required argument/);
    await assert.rejects(parsedByFenceline('fenceline approve worker-1 --incidents x'), /unknown option/);
    await assert.rejects(parsedByFenceline('fenceline mend worker-1'), /no such command/);
    await assert.rejects(parsedByFenceline('fenceline status > $HOME/x'), /not plain/);
  });

  test('a command without its name is left out; a sentence speaks in general', () => {
    const { policy: _, ...nameless } = names;
    assert.deepEqual(
      commandsOf(HELD_ADVICE.StormLimit, nameless).map(({ command }) => command),
      ['fenceline status', 'fenceline pause --for 2h -n fenceline'],
    );
    assert.match(filledSentence(HELD_ADVICE.DryRun.ends, nameless), /^the mode of policy \(none is known\) is/);
  });

  test('[STM-6] what ends a hold fits into its field, whatever the policy is called', () => {
    for (const [reason, { ends }] of Object.entries(HELD_ADVICE)) {
      assert.ok(filledSentence(ends, { node: 'x', policy: 'p'.repeat(253) }).length <= 512, reason);
    }
  });

  test('[STM-6] what a hold keeps on record needs no more than node, policy, namespace and incident', () => {
    const { node, policy, namespace, incident } = names;
    for (const [reason, advice] of Object.entries(HELD_ADVICE)) {
      const [first] = commandsOf(advice, { node, policy, namespace, incident });
      assert.equal(first?.to, commandsOf(advice, names)[0]?.to, reason);
    }
  });
});
