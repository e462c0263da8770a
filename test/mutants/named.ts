/** Mistakes that no list shows, each of which a test was once blind to. Written by hand; a story gives each away as well. */
import type { Mutant } from './mutant.ts';
import { sourceOf } from './source.ts';

interface Named {
  what: string;
  file: string;
  instead: readonly [string, string];
}

const named: readonly Named[] = [
  {
    what: 'fences that are on record take no slot',
    file: 'src/operator/trouble-count.ts',
    instead: ["...cluster.nodesWith('fencing'), ", ''],
  },
  {
    what: 'a node that nobody has judged yet counts as healthy',
    file: 'src/judge/storm.ts',
    instead: [
      'if (judgement === undefined || judgement',
      "if (judgement === undefined) return 'well';\n  if (judgement",
    ],
  },
  {
    what: 'steps of a fence are not told on the node',
    file: 'src/report/pass-reporter.ts',
    instead: ['this.#onNode(pass, event);', ''],
  },
  {
    what: 'steps of a fence are not told on its record',
    file: 'src/report/pass-reporter.ts',
    instead: [
      'this.#options.events.record({ regarding: { apiVersion, kind: nodeFences.kind, name, uid }, ...event });',
      '{}',
    ],
  },
  {
    what: 'steps of a fence are told again and again',
    file: 'src/report/pass-reporter.ts',
    instead: ['.filter((entry) => !old.some((one) => isDeepStrictEqual(one, entry)))', ''],
  },
  {
    what: 'the pod of a remedy may run on the node in trouble',
    file: 'src/remedy/job.ts',
    instead: ['affinity: elsewhere(spec?.affinity, node.name),', ''],
  },
];

export function namedMutants(): Mutant[] {
  return named.map(({ what, file, instead: [before, after] }) => {
    const { text } = sourceOf(file);
    if (text.split(before).length !== 2) throw new Error(`${file} does not have ${before} once`);
    return { id: `${file} ${what}`, kind: 'check', changes: { [file]: text.replace(before, () => after) } };
  });
}
