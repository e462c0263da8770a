/** As in ../mutants.ts, about what a fence rests on, how it begins and how it ends. */
import type { Sabotage } from '../mutant.ts';
import type { MutantCase } from '../mutants.ts';
import { scenarioOf } from '../run-file.ts';
import { connectedAtOnce } from '../sabotages.ts';
import { calmMutantCases } from './calm-mutants.ts';
import { watchMutantCases } from './watch-mutants.ts';
import { fenced, place } from './fenced.ts';

const cutOff = scenarioOf('holes/record-deleted-while-cut-off');
const apart: (typeof cutOff.events)[number] = {
  atMs: 0,
  act: { do: 'storagePartition', node: { node: 'node-3' } },
  where: 'test',
};

/** What went from a machine that another one was cut for; two machines that write are what it comes to. */
function wrongOutlet(
  hole: string,
  mistake: string,
  sabotage: Sabotage,
  beside: readonly string[] = ['S2', 'S6', 'S23'],
): MutantCase {
  const says = /^kubernetes.io\/csi\/\S+ on node-\d was freed on the basis PowerOff although its machine is on$/;
  const scenario = { ...scenarioOf(hole), expectations: [] };
  return { invariant: 'S4', mistake, sabotage, scenario, beside, says };
}

export const factMutantCases: readonly MutantCase[] = [
  {
    invariant: 'S39',
    mistake: 'cuts a node that is back, because it was going to',
    sabotage: {
      file: 'src/fence/automaton.ts',
      line: 'if (facts.isBack) return backAfter(state, facts, sent);',
      instead: '',
    },
    also: [
      {
        file: 'src/decide/decide-node.ts',
        line: 'return isOff(run) && (fence === undefined || requestOf(fence) === undefined);',
        instead: "return run.key === '' && fence === undefined;",
      },
    ],
    scenario: scenarioOf('holes/back-before-any-command'),
    says: /^operator-1 told the device of node-\d off although its trouble was over$/,
  },
  {
    invariant: 'S40',
    mistake: 'takes what it was going to tell a device for what that device has said',
    sabotage: {
      file: 'src/fence/switched.ts',
      line: 'return entryFor(switched, step, method)?.confirmedAtMs !== undefined;',
      instead: 'return entryFor(switched, step, method) !== undefined;',
    },
    scenario: fenced('unconfirmed', {
      events: [
        { at: '0s', device: { node: place, fault: 'ignores' } },
        { at: '0s', partition: place },
      ],
      runFor: '1m',
    }),
    says: /^the record of node-\d says that the machine is off \(.*\), and no device has said so$/,
  },
  {
    invariant: 'S40',
    mistake: 'puts on record what a device has said, and not what it has said last',
    sabotage: {
      file: 'src/act/device-memory.ts',
      line: "return last?.power === 'on' ? last.message : undefined;",
      instead: "return last?.power === 'unknown' ? last.message : undefined;",
    },
    scenario: { ...scenarioOf('holes/told-then-on-while-stopped'), expectations: [] },
    says: /^the record of node-\d says that power-off is off \(.*\), and no device has said so$/,
  },
  {
    invariant: 'S33',
    mistake: 'connects a node as soon as it is back',
    sabotage: connectedAtOnce,
    // It cannot write all the same, so that two machines do not at the same time, which has a checker of its own.
    scenario: {
      ...cutOff,
      events: [...cutOff.events.filter(({ act }) => act.do !== 'delete'), apart],
    },
    says: /^operator-1 connected node-3, and default\/web-0, which was let go, still runs there$/,
  },
  wrongOutlet('holes/outlets-swapped', 'takes an outlet for that of the node, although another one fell silent by it', {
    file: 'src/api/beside.ts',
    line: 'if (beside === undefined) return undefined;',
    instead: 'if (beside !== null) return undefined;',
  }),
  wrongOutlet('holes/outlets-swapped-without-policy', 'waits after a cut only for nodes whose devices it remembers', {
    file: 'src/operator/shared-facts.ts',
    line: 'const others = roll.filter((one) => one.name !== name && nowMs - (one.renewedAtMs ?? -Infinity) >= sinceMs);',
    instead:
      'const others = roll.filter((one) => one.name !== name && [...memory.records.ofNode(one.name)].length > 0 && nowMs - (one.renewedAtMs ?? -Infinity) >= sinceMs);',
  }),
  wrongOutlet('holes/outlets-swapped-struck-one-deleted', 'takes a node for accounted for when its Node is deleted', {
    file: 'src/api/beside.ts',
    line: 'if (present >= count) return undefined;',
    instead: 'if (present >= 0) return undefined;',
  }),
  wrongOutlet(
    'holes/outlet-said-off-before',
    'takes a node for off because its outlet said so long before',
    {
      file: 'src/act/device-memory.ts',
      line: "return power === 'off' && wrong === undefined && offAtMs > sinceMs;",
      instead: "return power === 'off' && wrong === undefined && offAtMs !== sinceMs;",
    },
    ['S2', 'S6'],
  ),
  wrongOutlet('holes/outlets-swapped-failover', 'forgets with the process whom it waits for after a cut', {
    file: 'src/operator/shared-facts.ts',
    line: 'const others = roll.filter((one) => one.name !== name && nowMs - (one.renewedAtMs ?? -Infinity) >= sinceMs);',
    instead:
      'const others = roll.filter((one) => one.name !== name && (one.lease === undefined || one.lease.unchangedForMs >= 60_000));',
  }),
  {
    invariant: 'S38',
    mistake: 'takes a request for one that stands, although the fence that was asked for is over',
    sabotage: {
      file: 'src/api/fence-request.ts',
      line: 'const isOver = answer.endedAt !== undefined || hasEnded(record);',
      instead: 'const isOver = hasEnded(record);',
    },
    // A new boot ends it as well, as long as nothing was begun for it.
    also: [
      {
        file: 'src/decide/request.ts',
        line: 'if (bootId !== undefined && bootId !== node.bootId) {',
        instead: "if (bootId === '' && bootId !== node.bootId) {",
      },
      {
        file: 'src/decide/request.ts',
        line: 'if (isReadySince(nodeCase, asked)) {',
        instead: "if (bootId === '' && isReadySince(nodeCase, asked)) {",
      },
    ],
    scenario: { ...scenarioOf('holes/request-spent'), expectations: [] },
    says: /^node-1 is cut before node-2, node-3, node-4 could be heard of, and the request on record was spent before$/,
  },
  ...calmMutantCases,
  ...watchMutantCases,
  {
    invariant: 'S29',
    mistake: 'tells a device to switch off that answers for another machine',
    sabotage: {
      file: 'src/act/power.ts',
      line: "if (before.identity === 'other' || answered.kind === 'refused') return",
      instead: "if (answered.kind === 'refused') return",
    },
    also: [
      {
        file: 'src/fence/belief.ts',
        line: "if (identity === 'other') return known(message);",
        instead: '',
      },
      {
        file: 'src/fence/memory.ts',
        line: "if (said.identity === 'other') return { reason: 'AnotherMachine', message: said.message };",
        instead: '',
      },
    ],
    scenario: fenced('another-machine', {
      events: [
        { at: '0s', device: { node: place, fault: 'wrongMachine' } },
        { at: '0s', partition: place },
      ],
      runFor: '25s',
    }),
    says: /^operator-1 told the device of node-\d off, and it is the machine node-\d that goes off$/,
  },
  {
    invariant: 'S29',
    mistake: 'uses an outlet again by which another node went dark',
    sabotage: {
      file: 'src/fence/belief.ts',
      line: 'if (wrong !== undefined) return known(`${message}, and it is known to be wrong: ${wrong}`);',
      instead: "if (wrong === '') return known(message);",
    },
    scenario: {
      ...scenarioOf('holes/outlets-swapped'),
      events: [
        ...scenarioOf('holes/outlets-swapped').events,
        { atMs: 15 * 60_000, act: { do: 'partition', node: { node: 'node-4' } }, where: 'test' },
      ],
      expectations: [],
      runForMs: 16 * 60_000,
    },
    says: /^operator-1 told the device of node-4 off, and it is the machine node-1 that goes off$/,
  },
];
