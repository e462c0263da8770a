/**
 * Conditions that stand in no list: what is asked beside something else (`&&`, `||`), an early end, a filter, an order, a limit.
 * One mutant for each in the files below, which leaves it out or turns it round. What gives it away is a unit test, and not the
 * story of a whole run: most of these only matter in a moment that few runs come to.
 */
import type { Mutant } from './mutant.ts';
import type { Source, Span } from './source.ts';
import { edited, endOf, homeOf, matchesIn, sourceOf, textOf } from './source.ts';

/** The least that is found in each: fewer, and the house has changed in a way that this file does not see. */
export const covered: Readonly<Record<string, number>> = {
  'src/api/beside.ts': 20,
  'src/api/facts.ts': 40,
  'src/api/learnt.ts': 8,
  'src/api/life.ts': 20,
  'src/api/quarantine.ts': 25,
  'src/api/unseen.ts': 4,
  'src/decide/boot-of.ts': 15,
  'src/decide/brake-of.ts': 20,
  'src/decide/fence-of.ts': 80,
  'src/decide/harmless.ts': 15,
  'src/decide/known-by-others.ts': 10,
  'src/decide/never-off.ts': 10,
  'src/decide/silence.ts': 15,
  'src/fence/at-rest.ts': 6,
  'src/fence/automaton.ts': 110,
  'src/fence/belief.ts': 40,
  'src/fence/booting.ts': 20,
  'src/fence/config.ts': 40,
  'src/fence/decide-fence.ts': 40,
  'src/fence/memory.ts': 45,
  'src/fence/place.ts': 5,
  'src/fence/places.ts': 8,
  'src/fence/planned.ts': 6,
  'src/fence/recovering.ts': 20,
  'src/fence/state.ts': 10,
  'src/fence/stored.ts': 7,
  'src/fence/switched.ts': 30,
  'src/fence/switching.ts': 40,
  'src/fence/told.ts': 15,
  'src/judge/cohort.ts': 3,
  'src/judge/judge-node.ts': 15,
  'src/judge/standpoint.ts': 8,
  'src/judge/storm.ts': 45,
  'src/release/budgets.ts': 10,
  'src/release/by-assertion.ts': 36,
  'src/release/by-kernel-crash.ts': 12,
  'src/release/by-policy.ts': 15,
  'src/release/by-power.ts': 15,
  'src/release/by-remedy.ts': 12,
  'src/release/by-safe-detach.ts': 20,
  'src/release/by-storage-fence.ts': 12,
  'src/release/checks.ts': 20,
  'src/release/device-question.ts': 20,
  'src/release/end-of-eviction.ts': 14,
  'src/release/gain.ts': 8,
  'src/release/hold.ts': 16,
  'src/release/kept.ts': 15,
  'src/release/latecomers.ts': 18,
  'src/release/patience.ts': 55,
  'src/release/plan.ts': 55,
  'src/release/records.ts': 40,
  'src/release/rate.ts': 9,
  'src/remedy/ladder.ts': 40,
  'src/return/connected.ts': 17,
  'src/return/return-node.ts': 42,
  'src/return/soak.ts': 8,
};

/** What is asked for the sake of a type alone, or cannot be otherwise where it stands: by id, with why it makes no difference. */
export const idle: Readonly<Record<string, string>> = {
  'src/fence/decide-fence.ts decideFence without before !== undefined':
    'where there is none, and none is wanted, it has ended',
  "src/fence/decide-fence.ts isHeldBack without free.kind === 'state'": 'a brake cancels nothing',
  'src/fence/decide-fence.ts stored without before.stepStartedAt === timeOf(state.phaseStartedAtMs)':
    'no fence comes back to its phase within one look',
  'src/judge/judge-node.ts evidenceOf without if (condition === undefined) return leaseEvidence(view, limits);':
    'a node without that condition was judged before',
  "src/release/by-power.ts poweredOff without stored.phase !== 'off'": 'nothing is confirmed of any other phase',
  'src/release/by-storage-fence.ts allVolumesThere without !isKnown(volume)': 'one that is not known has no driver',
  'src/remedy/ladder.ts climb without facts.offRung !== undefined': 'what is not there is above no rung',
  'src/remedy/ladder.ts nextDueMs without condition !== undefined': 'no condition is of the type of none',
  'src/remedy/ladder.ts nextDueMs without facts.leaseSilentMs !== undefined': 'what is not there is due at no time',
  'src/remedy/ladder.ts thresholdMet without facts.leaseSilentMs !== undefined': 'what is not there is no silence',
};

interface Change extends Span {
  instead: string;
  /** What becomes of it, in a word. */
  what: string;
}

export function conditionMutants(file: string): Mutant[] {
  const source = sourceOf(file);
  const found = kinds.flatMap((changesIn) => changesIn(source)).sort((a, b) => a.start - b.start);
  const texts = new Set<string>();
  const mutants = found.flatMap((change) => {
    const text = edited(source, [change]);
    const same = text.replaceAll(/\s+/g, '');
    if (texts.has(same)) return [];
    texts.add(same);
    const id = `${file} ${homeOf(source, change.start)} ${change.what} ${lineOf(source, change)}`;
    return [{ id, kind: 'check' as const, changes: { [file]: text } }];
  });
  const all = Map.groupBy(mutants, ({ id }) => id);
  return mutants.map((mutant) => {
    const same = all.get(mutant.id) ?? [];
    return same.length === 1 ? mutant : { ...mutant, id: `${mutant.id} (${same.indexOf(mutant) + 1})` };
  });
}

function lineOf(source: Source, span: Span): string {
  return textOf(source, span)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^(?:&&|\|\|) | (?:&&|\|\|)$/g, '')
    .trim();
}

const kinds: readonly ((source: Source) => Change[])[] = [operands, ends, calls, turned];

/** Each side of `&&` and `||`, alone. */
function operands(source: Source): Change[] {
  return matchesIn(source, /&&|\|\|/g).flatMap(({ index, 0: operator }) => {
    const left = { start: beginOf(source, index, operator), end: index };
    const right = { start: index + 2, end: finishOf(source, index + 2, operator) };
    return [
      { start: left.start, end: right.start, instead: '', what: 'without' },
      { start: left.end, end: right.end, instead: '', what: 'without' },
    ];
  });
}

const opening: Record<string, string> = { ')': '(', ']': '[', '}': '{' };

function beginOf({ code }: Source, at: number, operator: string): number {
  let depth = 0;
  for (let one = at - 1; one >= 0; one -= 1) {
    const letter = code[one] ?? '';
    if (opening[letter] !== undefined) depth += 1;
    else if ('([{'.includes(letter)) {
      if (depth === 0) return one + 1;
      depth -= 1;
    } else if (depth === 0 && isEdge(code, one, operator)) return one + 1;
  }
  return 0;
}

function finishOf({ code }: Source, at: number, operator: string): number {
  let depth = 0;
  for (let one = at; one < code.length; one += 1) {
    const letter = code[one] ?? '';
    if ('([{'.includes(letter)) depth += 1;
    else if (opening[letter] !== undefined) {
      if (depth === 0) return one;
      depth -= 1;
    } else if (depth === 0 && isEdge(code, one, operator)) return beforeOperator(code, one);
  }
  return code.length;
}

/** The two characters of an operator, or the words of a statement, end what stands beside them. */
function isEdge(code: string, at: number, operator: string): boolean {
  const two = code.slice(at, at + 2);
  const before = code.slice(at - 1, at + 1);
  const one = code[at] ?? '';
  if (',;:'.includes(one)) return true;
  if (one === '?') return two !== '?.' && two !== '??' && before !== '??';
  if (one === '=') return two === '=>' ? false : !/[=!<>]/.test(code[at - 1] ?? '') && code[at + 1] !== '=';
  if (one === '>') return before === '=>';
  if (before === '&&') return operator === '&&';
  if (before === '||') return true;
  if (one === '&') return two === '&&' && operator === '&&';
  if (one === '|') return two === '||';
  return /\breturn $/.test(code.slice(at - 6, at + 1));
}

function beforeOperator(code: string, at: number): number {
  return code[at - 1] === code[at] && '&|'.includes(code[at] ?? '') ? at - 1 : at;
}

/** `if (…) return …;` goes. */
function ends(source: Source): Change[] {
  return matchesIn(source, /\bif \(/g).flatMap(({ index, 0: head }) => {
    const after = endOf(source, index + head.length - 1);
    const rest = source.code.slice(after);
    const end = /^\s*return\b/.test(rest)
      ? after + rest.indexOf(';') + 1
      : /^ \{\s*return\b/.test(rest)
        ? endOf(source, after + 1)
        : undefined;
    return end === undefined ? [] : [{ start: index, end, instead: '', what: 'without' }];
  });
}

/** Who is left out, and in which order. */
function calls(source: Source): Change[] {
  return matchesIn(source, /\s*\.(?:filter|toSorted|toReversed|slice)\(/g).map(({ index, 0: head }) => ({
    start: index,
    end: endOf(source, index + head.length - 1),
    instead: '',
    what: 'without',
  }));
}

const opposites: Readonly<Record<string, string>> = {
  'Math.max': 'Math.min',
  'Math.min': 'Math.max',
  '.some(': '.every(',
  '.every(': '.some(',
  ' < ': ' <= ',
  ' >= ': ' > ',
};

function turned(source: Source): Change[] {
  return matchesIn(source, /Math\.(?:max|min)|\.(?:some|every)\(| < | >= /g).flatMap(({ index, 0: text }) => {
    const instead = opposites[text];
    return instead === undefined ? [] : [{ start: index, end: index + text.length, instead, what: 'turned round' }];
  });
}
