/** Mends of holes that somebody found, taken back one by one, each with the run in which it shows. */
import type { MutantCase } from '../mutants.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { scenarioOf, scenariosOf } from '../run-file.ts';
import { fenced, place } from '../fencing/fenced.ts';

const cordonOnly = fenced('only-a-cordon', {
  policy: {
    thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'cordon', period: '10s' }] }],
    remedies: [{ name: 'cordon', cordon: {} }],
  },
  events: [
    { at: '0s', partition: place },
    { at: '60s', heal: place },
  ],
  runFor: '7m',
});

/** Its device never answers again. */
const silentFromOffOn = {
  ...scenarioOf('holes/off-then-silent'),
  events: scenarioOf('holes/off-then-silent').events.slice(0, 3),
  expect: [],
};

function one(file: string, name: string): Scenario {
  const found = scenariosOf(file).find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}

const unanswered: Scenario = { ...one('holes/request-unanswered', 'request-unanswered-healed'), expectations: [] };

export interface MendCase extends MutantCase {
  /** Which of the holes that somebody found is open again. */
  hole: string;
}

export const mendMutantCases: readonly MendCase[] = [
  {
    invariant: 'S2',
    mistake: 'takes the word of a driver that has nothing to detach',
    hole: 'two writers',
    sabotage: {
      file: 'src/release/by-safe-detach.ts',
      line: 'if (driver.attachless === true) {',
      instead: 'if (name === "") {',
    },
    also: [
      {
        file: 'src/act/grounds.ts',
        line: 'return isWord && !isAttachless ?',
        instead: 'return isWord || isAttachless ?',
      },
    ],
    scenario: scenarioOf('holes/safe-detach-without-attach'),
    says: /^volume pv-0 is written from node-\d and node-\d at the same time$/,
  },
  {
    invariant: 'S21',
    mistake: 'lets the deletion of nodes end a storm',
    hole: 'storms',
    sabotage: {
      file: 'src/judge/storm.ts',
      line: 'const gone = Math.max(0, (ongoing.storm?.nodes ?? 0) - old.length);',
      instead: 'const gone = 0;',
    },
    scenario: { ...scenarioOf('holes/deleted-in-a-storm'), expectations: [] },
    says: /^node-\d is cut while 3 of 5 nodes that were there when it fell silent do not respond$/,
  },
  {
    invariant: 'S21',
    mistake: 'lets a storm be over for those whose policy has not seen it',
    hole: 'storms',
    sabotage: {
      file: 'src/judge/cohort.ts',
      line: 'if (troubled > shareOf(maxUnresponsive, nodes)) return true;',
      instead: 'if (troubled < 0) return true;',
    },
    scenario: { ...one('holes/cooldown-of-another-policy', 'cooldown-of-another-policy'), expectations: [] },
    says: /^node-2 is cut right after a storm, in which 3 of 5 nodes of the cluster did not respond$/,
  },
  {
    invariant: 'S21',
    mistake: 'forgets a storm with the records that tell of it',
    hole: 'storms',
    sabotage: {
      file: 'src/operator/storm-memory.ts',
      line: 'return [...this.#known.values()].map(({ sign }) => sign);',
      instead: 'return [];',
    },
    scenario: { ...scenarioOf('holes/storm-forgotten-with-its-records'), expectations: [] },
    says: /^node-3 is cut while 3 of 5 nodes that were there when it fell silent do not respond$/,
  },
  {
    invariant: 'S37',
    mistake: 'takes what is dated ahead for what is asked for today',
    hole: 'storms',
    sabotage: {
      file: 'src/decide/request.ts',
      line: 'if (!isTaken && Date.parse(requested.at) > nowMs + CLOCKS_DIFFER_MS) {',
      instead: 'if (!isTaken && Date.parse(requested.at) > nowMs + 1000 * 86_400 * CLOCKS_DIFFER_MS) {',
    },
    scenario: scenarioOf('holes/requests-from-the-future'),
    // It is told of a node that is well, too.
    beside: ['S39', 'S45'],
    says: /^node-\d+ is well, and switched off for a request that is dated ahead$/,
  },
  {
    invariant: 'S37',
    mistake: 'takes what nobody could answer for what is asked of the node as it is now',
    hole: 'storms',
    sabotage: {
      file: 'src/decide/request.ts',
      line: 'if (isReadySince(nodeCase, asked)) {',
      instead: "if (asked.by === '') {",
    },
    scenario: unanswered,
    beside: ['S39'],
    says: /^node-1 is well, and switched off for a request that was about trouble that has passed$/,
  },
  {
    invariant: 'S37',
    mistake: 'takes a command that it is going to send for one that it has sent',
    hole: 'fences that end wrongly',
    sabotage: {
      file: 'src/decide/request.ts',
      line: 'return told !== undefined || switched.length === 0 || !isUnsent;',
      instead: 'return told !== undefined || switched.length === 0 || isUnsent || !isUnsent;',
    },
    scenario: { ...one('holes/request-behind-a-device', 'request-behind-a-device'), expectations: [] },
    beside: ['S39', 'S45'],
    says: /^node-2 is well, and switched off for a request that was about trouble that has passed$/,
  },
  {
    invariant: 'S25',
    mistake: 'believes that what is on no record was never cut off',
    hole: 'undo',
    sabotage: {
      file: 'src/return/return-node.ts',
      line: 'cut === undefined ? notConnected(nodeCase) :',
      instead: 'cut === undefined ? undefined :',
    },
    scenario: scenarioOf('holes/record-deleted-in-recovery'),
    says: /^node-3 is still cut off from its storage five minutes after the last fault, and nobody says why$/,
  },
  {
    invariant: 'S25',
    mistake: 'forgets what it has cut of a machine with the Node object that it was cut for',
    hole: 'undo',
    sabotage: {
      file: 'src/decide/decide-remedy.ts',
      line: 'if (isRestored || known === undefined || !hasCut(known)) return',
      instead: "if (known?.step !== undefined || known === undefined || fence?.spec.node === '') return",
    },
    scenario: scenarioOf('holes/node-made-again-at-once'),
    says: /^node-4 is still cut off from its storage five minutes after the last fault, and nobody says why$/,
  },
  {
    invariant: 'S25',
    mistake: 'tells nobody what is cut of a machine without a Node object',
    hole: 'undo',
    sabotage: {
      file: 'src/fence/without-node.ts',
      line: 'const isForGood = left.length > 0;',
      instead: "const isForGood = message === '';",
    },
    scenario: scenarioOf('holes/node-deleted-while-cut-off'),
    says: /^node-4 was cut, is cut off from its storage, and has no Node object: nobody is told$/,
  },
  {
    invariant: 'S25',
    mistake: 'leaves its own cordon when all is over',
    hole: 'undo',
    sabotage: {
      file: 'src/decide/decide-remedy.ts',
      line: "return { ...decided, run: { do: 'uncordon', key: `cordon of ${incident.id}` } };",
      instead: 'return decided;',
    },
    scenario: cordonOnly,
    says: /^node-\d still has our cordon five minutes after the last fault, and nobody says why$/,
  },
  {
    invariant: 'S25',
    mistake: 'forgets its own cordon with the record of it',
    hole: 'undo',
    sabotage: {
      file: 'src/observe/project.ts',
      line: '...notes.filter((key) => annotations[key] !== undefined),',
      instead: '',
    },
    scenario: one('holes/cordon-forgotten', 'cordon-forgotten'),
    says: /^node-2 still has our cordon five minutes after the last fault, and nobody says why$/,
  },
  {
    invariant: 'S8',
    mistake: 'takes a cordon for its own wherever it has left a note',
    hole: 'undo',
    sabotage: {
      file: 'src/api/plans.ts',
      line: 'return owners.length === 0 || owners.includes(ourManager);',
      instead: 'return owners.length >= 0;',
    },
    scenario: one('holes/cordon-forgotten', 'cordon-of-a-person-forgotten'),
    says: /^nodes\/node-2 lost its cordon, which is not ours$/,
  },
  {
    invariant: 'S41',
    mistake: 'keeps the slot of a machine that nothing switches on',
    hole: 'fences that never end',
    sabotage: {
      file: 'src/api/facts.ts',
      line: 'if (fence.releasedAt !== undefined || fence.waitsFor !== undefined) return false;',
      instead: '',
    },
    scenario: scenarioOf('holes/off-for-good'),
    says: /^node-\d waits for its turn while nobody works on another node$/,
  },
  {
    invariant: 'S21',
    mistake: 'takes what its device was told for something at rest, because its fence is held',
    hole: 'slots',
    sabotage: {
      file: 'src/api/facts.ts',
      line: "if (kind === 'fence') return fence !== undefined && isCutting(fence);",
      instead: "if (kind === 'fence') return fence !== undefined && isCutting(fence) && hold === undefined;",
    },
    scenario: { ...one('holes/slot-kept-by-a-command', 'slot-kept-while-stopped'), expectations: [] },
    says: /^node-5 is cut as number 2, and 1 may be$/,
  },
  {
    invariant: 'S21',
    mistake: 'gives away the slot of a command whose record is deleted',
    hole: 'slots',
    sabotage: {
      file: 'src/operator/trouble-count.ts',
      line: 'return [...this.#options.longActs.cutting].filter((name) => !recorded.has(name));',
      instead: 'return [...this.#options.longActs.cutting].filter((name) => recorded.has(name));',
    },
    scenario: { ...scenarioOf('holes/slot-forgotten-with-its-record'), expectations: [] },
    says: /^node-5 is cut as number 2, and 1 may be$/,
  },
  {
    invariant: 'S25',
    mistake: 'waits without a word for a device that has said off and is silent since',
    hole: 'slots',
    sabotage: {
      file: 'src/fence/automaton.ts',
      line: 'facts.refused ? refusedOff(state, context) : unconfirmedOff(state, facts);',
      instead: 'stay(state);',
    },
    scenario: silentFromOffOn,
    beside: ['S41'],
    says: /^node-\d was cut minutes ago, is off, and nobody says what it waits for$/,
  },
  {
    invariant: 'S25',
    mistake: 'leaves a machine off that has lost its power before it was back, because nothing is left to free',
    hole: 'undo',
    sabotage: {
      file: 'src/fence/booting.ts',
      line: 'if (!facts.isFoundOff || isAnothers) return undefined;',
      instead: 'if (facts.isFoundOff || !isAnothers) return undefined;',
    },
    scenario: { ...scenarioOf('holes/off-again-while-it-boots'), expectations: [] },
    says: /^node-4 was cut, is off although its device does what it is told, and what is said is no reason \(the node was not Ready/,
  },
  {
    invariant: 'S25',
    mistake: 'takes for found off what its own command has struck after the fence was over',
    hole: 'undo',
    sabotage: {
      file: 'src/fence/switched.ts',
      line: 'return mayBeOurs(cut) || (cut.wasCut !== undefined && heardMs < cut.wasCut.untilMs);',
      instead: 'return mayBeOurs(cut) || heardMs === cut.wasCut?.untilMs;',
    },
    scenario: { ...scenarioOf('holes/late-cut-after-the-fence'), expectations: [] },
    says: /^node-4 is still switched off .* what is said of it is not so \(its machine was found off, and stays so: others have the node cordoned\)$/,
  },
  {
    invariant: 'S41',
    mistake: 'keeps its turn while it asks a silent device whether its machine is still off',
    hole: 'slots',
    sabotage: {
      file: 'src/fence/automaton.ts',
      line: "isForGood: true });\n  return { kind: 'state', state, waitsFor };",
      instead: 'isForGood: true });\n  return stay(state);',
    },
    scenario: silentFromOffOn,
    says: /^node-\d waits for its turn while nobody works on another node$/,
  },
  {
    invariant: 'S2',
    mistake: 'takes what is left of a level for all of it, when somebody takes a device out in mid-fence',
    hole: 'two writers',
    sabotage: {
      file: 'src/fence/planned.ts',
      line: 'if (lost.length === 0) return undefined;',
      instead: 'if (lost.length >= 0) return undefined;',
    },
    scenario: { ...scenarioOf('holes/feed-removed-in-mid-fence'), expectations: [] },
    beside: ['S23', 'S4', 'S40', 'S6'],
    says: /^volume pv-0 is written from node-4 and node-\d at the same time$/,
  },
  {
    invariant: 'S2',
    mistake: 'believes two outlets that no drill has shown to be those of one machine',
    hole: 'two writers',
    sabotage: {
      file: 'src/fence/belief.ts',
      line: 'if (answer.needsDrill !== undefined &&',
      instead: "if (answer.needsDrill === '' &&",
    },
    scenario: { ...scenarioOf('holes/two-outlets-crossed'), expectations: [] },
    beside: ['S23', 'S4', 'S6'],
    says: /^volume pv-0 is written from node-4 and node-1 at the same time$/,
  },
  {
    invariant: 'S2',
    mistake: 'takes the drill of a machine for one of the machine that has its name now',
    hole: 'two writers',
    sabotage: {
      file: 'src/api/learnt.ts',
      line: 'if (machine === undefined || status.machine === machine)',
      instead: 'if (status.configuration !== undefined)',
    },
    scenario: { ...scenarioOf('holes/outlet-drilled-then-replaced'), expectations: [] },
    beside: ['S23', 'S4', 'S6'],
    says: /^volume pv-0 is written from node-4 and node-\d at the same time$/,
  },
  {
    invariant: 'S2',
    mistake: 'lets go by a switch port that nobody has shown to be that of the node',
    hole: 'two writers',
    sabotage: {
      file: 'src/api/ports.ts',
      line: 'return cuts.filter(({ storage }) => storage.every((driver) => !open.has(driver)));',
      instead: 'return cuts.filter(({ storage }) => storage.every((driver) => !open.has(`not ${driver}`)));',
    },
    also: [
      {
        file: 'src/fence/belief.ts',
        line: 'if (about.isBasis === true && answer.isUnshown === true) {',
        instead: 'if (about.isBasis === true && answer.isUnshown === false) {',
      },
    ],
    scenario: { ...scenarioOf('holes/port-of-another-node'), expectations: [] },
    beside: ['S30', 'S40'],
    says: /^volume pv-0 is written from node-4 and node-1 at the same time$/,
  },
  {
    invariant: 'S25',
    mistake: 'leaves a machine off that it has told, because its fence has failed for good',
    hole: 'undo',
    sabotage: {
      file: 'src/fence/booting.ts',
      line: '(offAgain(asTold(state), context) ?? onOnce(state, context))',
      instead: '(offAgain(state, context) ?? stay(state))',
    },
    scenario: { ...scenarioOf('holes/outlet-replaced-while-off'), expectations: [] },
    says: /^node-4 was cut, is off although its device does what it is told, and what is said is no reason/,
  },
  {
    invariant: 'S2',
    mistake: 'lets go by one of two ways to a storage, of a level that has failed',
    hole: 'two writers',
    sabotage: {
      file: 'src/fence/switching.ts',
      line: "const left = step === 'isolation' ? unconfirmed(switched, step) : switched;",
      instead: 'const left = switched;',
    },
    scenario: { ...scenarioOf('holes/part-of-a-failed-level-of-ports'), expectations: [] },
    beside: ['S30', 'S40'],
    says: /^volume pv-0 is written from node-3 and node-1 at the same time$/,
  },
  {
    invariant: 'S25',
    mistake: 'takes a feed that nothing switches on for on, because the other one is',
    hole: 'undo',
    sabotage: {
      file: 'src/fence/switched.ts',
      line: 'if (devices.length === 1)',
      instead: 'if (devices.length > 0)',
    },
    scenario: { ...scenarioOf('holes/feed-without-on-method'), expectations: [] },
    says: /^node-1 runs without its feed b five minutes after the last fault/,
  },
];
