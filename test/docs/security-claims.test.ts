/**
 * What SECURITY.md and docs/security.md say of rights, flags, fields, policies and plans is so of this version, as far as a machine
 * can tell. Each check is seen to notice a sentence that is not.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import { commands } from '../../src/cli/commands.ts';

interface Rule {
  /** Absent for rights on paths. */
  resources?: string[];
  verbs: string[];
}
interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: Rule[];
}

const read = (name: string): string => readFileSync(name, 'utf8');
const manifestsOf = (name: string): Manifest[] =>
  parseAllDocuments(read(name)).map((document) => document.toJS() as Manifest);

const pages = { security: read('SECURITY.md'), threats: read('docs/security.md') };
type Pages = typeof pages;
type Check = (said: Pages) => string[];

/** From a heading to the next one of the same kind. */
function section(text: string, title: string): string {
  const from = text.indexOf(`\n## ${title}\n`);
  assert.notEqual(from, -1, `there is no section ${title}`);
  return text.slice(from, text.indexOf('\n## ', from + 1));
}

/** What the page says that a file of rights allows: clauses, between semicolons. */
function clausesOn(file: string, { security }: Pages): string[] {
  const items = section(security, 'What the operator may do').split(/\n(?=- |\n)/);
  const item = items.find((one) => one.startsWith(`- [deploy/${file}]`));
  return item?.replaceAll(/\s+/g, ' ').split(/; |: /) ?? [];
}

const roles = ['role.yaml', 'drain-role.yaml', 'metrics-role.yaml'];
const rulesOf = (file: string): (Required<Rule> & { namespace: string | undefined })[] =>
  manifestsOf(`deploy/${file}`).flatMap(({ rules = [], metadata: { namespace } }) =>
    rules.map(({ resources = [], verbs }) => ({ resources, verbs, namespace })),
  );

/** Whatever may be written is named, and as deleted where it may be deleted. */
const rightsUnsaid: Check = (said) =>
  roles.flatMap((file) => {
    const clauses = clausesOn(file, said);
    const named = (resource: string, word: RegExp): boolean =>
      clauses.some((clause) => new RegExp(`\\b${resource}\\b`, 'i').test(clause) && word.test(clause));
    return rulesOf(file).flatMap(({ resources, verbs }) => {
      const writes = verbs.filter((verb) => !['get', 'list', 'watch'].includes(verb));
      return resources.flatMap((whole) => {
        const [resource = ''] = whole.split('/');
        const isSaid = writes.length === 0 || named(resource, /./);
        const isDeletedSaid = !writes.includes('delete') || named(resource, /delete/);
        return isSaid && isDeletedSaid ? [] : [`${file}: ${writes.join(', ')} ${whole}`];
      });
    });
  });

/** A kind that is named there is one that the file is about. */
const rightsNotHad: Check = (said) =>
  roles.flatMap((file) => {
    const had = new Set(rulesOf(file).flatMap(({ resources }) => resources.map((one) => one.split('/')[0] ?? '')));
    const words = clausesOn(file, said).flatMap((clause) => clause.match(/\b[A-Z][A-Za-z]+s\b(?!')/g) ?? []);
    return words.filter((word) => !had.has(word.toLowerCase())).map((word) => `${file}: ${word}`);
  });

/** What is granted in one namespace alone is said to be so, and nowhere else. */
const placesWrong: Check = (said) => {
  const places: Record<string, [namespace: string, words: string]> = {
    configmaps: ['fenceline', 'of its own namespace and no other'],
    secrets: ['fenceline', 'of its own namespace and no other'],
    jobs: ['fenceline-remedies', 'in `fenceline-remedies`'],
  };
  return rulesOf('role.yaml').flatMap(({ resources, namespace }) =>
    resources.filter((name) => {
      const [place, words = ''] = places[name] ?? [];
      const clause = clausesOn('role.yaml', said).find((one) => new RegExp(`\\b${name}\\b`, 'i').test(one));
      return place !== undefined && (place !== namespace || clause?.includes(words) !== true);
    }),
  );
};

let options = new Set<string>();
const flagsUnknown: Check = (said) =>
  Object.values(said)
    .flatMap((text) => text.match(/--[a-z][a-z-]+/g) ?? [])
    .filter((flag) => !options.has(flag));

const sources = globSync('src/**/*.ts', { exclude: ['src/**/*.test.ts'] }).map(read);
const namesUnknown: Check = (said) =>
  Object.values(said)
    .flatMap((text) => text.match(/fenceline\.dev\/[\w.-]+/g) ?? [])
    .filter((name) => !sources.some((source) => source.includes(name)));

/** `a.b` is a value of the chart or a field of a policy. */
const fieldsUnknown: Check = (said) =>
  Object.values(said)
    .flatMap((text) => [...text.matchAll(/`([a-z]\w+(?:\.[a-z]\w+)+)`/g)].map(([, path = '']) => path))
    .filter((path) => !/\.(json|sum|dev|yaml)$/.test(path) && !isValue(path) && !isField(path));

const values = parse(read('chart/values.yaml')) as object;
const isValue = (path: string): boolean =>
  path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], values) !==
  undefined;

function isField(path: string): boolean {
  const fits = (schema: unknown, [key, ...rest]: string[]): boolean => {
    if (key === undefined) return true;
    const { properties, items } = schema as { properties?: Record<string, unknown>; items?: unknown };
    return (
      (properties?.[key] !== undefined && fits(properties[key], rest)) || (items ? fits(items, [key, ...rest]) : false)
    );
  };
  return customResourceDefinitions().some(({ spec }) =>
    (
      spec as unknown as { versions: { schema: { openAPIV3Schema: { properties: { spec: unknown } } } }[] }
    ).versions.some(({ schema }) => fits(schema.openAPIV3Schema.properties.spec, path.split('.'))),
  );
}

/** Each row has its policy, by name, and each policy its row. */
const guardWrong: Check = ({ security }) => {
  const table = security.slice(security.indexOf('| refused by '));
  const rows = [...table.slice(0, table.indexOf('\n\n')).matchAll(/^\| (?:`([\w-]+)`)?.* \|$/gm)].slice(1);
  const said = rows.map(([, name]) => name ?? 'a row without a policy').toSorted();
  const there = manifestsOf('deploy/guard.yaml')
    .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
    .map(({ metadata }) => metadata.name)
    .toSorted();
  return said.join() === there.join() ? [] : [`said: ${said.join()}; there: ${there.join()}`];
};

const tests = globSync('{src,test,control-plane}/**/*.ts').map(read).join('\n');
const isTested = (number: string): boolean => new RegExp(`['"\`]\\[(?:[A-Z]+-\\d+, )*${number}[,\\]]`).test(tests);

/** What is said to be still to come is named by no test; what no test names is said to be still to come. */
const plansWrong: Check = (said) => {
  const sentences = Object.values(said).flatMap((text) =>
    text
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '')
      .replaceAll('\n', ' ')
      .split(/\. |\.$/),
  );
  const plans = sentences.filter((sentence) => /still to come|not yet met/.test(sentence));
  const numbers = plans.flatMap((sentence) => sentence.match(/\b[A-Z]{3}-\d+\b/g) ?? []);
  const open = ['SEC-1', 'SEC-2', 'SEC-3', 'SEC-4', 'SEC-5', 'SEC-6'].filter((number) => !isTested(number));
  return [...numbers.filter(isTested), ...open.filter((number) => !numbers.includes(number))];
};

const versionWrong: Check = ({ security }) => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  return security.includes(`\n| ${version} `) ? [] : [version];
};

const swap = (page: keyof Pages, from: string | RegExp, to: string): Pages => ({
  ...pages,
  [page]: pages[page].replace(from, to),
});

/** Each with a change of the pages that makes them untrue. */
const checks: readonly [name: string, check: Check, untrue: Pages][] = [
  ['whatever the operator may write has its word', rightsUnsaid, swap('security', 'VolumeAttachments', 'attachments')],
  ['what it may delete is said to be deleted', rightsUnsaid, swap('security', 'deletes Machines', 'sees Machines')],
  [
    'it has the rights that it is said to have',
    rightsNotHad,
    swap('security', 'makes Jobs', 'makes Deployments and Jobs'),
  ],
  [
    'Secrets, ConfigMaps and Jobs are where they are said to be',
    placesWrong,
    swap('security', 'in `fenceline-remedies`', 'anywhere'),
  ],
  ['every flag exists', flagsUnknown, swap('security', '--remedy-namespace', '--remedies-namespace')],
  ['every annotation exists', namesUnknown, swap('security', 'maintenance-until', 'maintained-until')],
  ['every value and field exists', fieldsUnknown, swap('threats', 'networkPolicy.enabled', 'networkPolicy.on')],
  ['every field of a policy exists', fieldsUnknown, swap('security', 'release.assertions', 'release.assertion')],
  [
    'every row of the guard has its policy, and every policy its row',
    guardWrong,
    swap('security', /\| `fenceline-taints`.*\n/, ''),
  ],
  [
    'what is still to come is what no test shows',
    plansWrong,
    swap('threats', '## What is not', 'SEC-1 is still to come. '),
  ],
  ['the version is this one', versionWrong, swap('security', /\n\| \d+\.\d+\.\d+/, '\n| 0.0.9')],
];

describe('SECURITY.md and docs/security.md', () => {
  before(async () => {
    const all = await Promise.all(Object.values(commands).map((load) => load()));
    options = new Set(all.flatMap((command) => command.options.map(({ long }) => long ?? '')));
  });
  for (const [name, check, untrue] of checks) {
    test(`[SEC-6] ${name}`, () => {
      assert.deepEqual(check(pages), []);
      assert.notDeepEqual(untrue, pages, 'nothing was changed');
      assert.notDeepEqual(check(untrue), [], 'it does not notice');
    });
  }
});
