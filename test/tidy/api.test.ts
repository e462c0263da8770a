/**
 * The API promises nothing that is not there: whatever a user may write is read by somebody, and every word that
 * programs could wait for is said somewhere. An alert on a word that nothing produces is one that never fires.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { structuralSchemaOf, type StructuralSchema } from '../../src/api/crds.ts';
import { FENCE_PHASES } from '../../src/api/fence-names.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { BASES, LADDER_PHASES, RETURN_STAGES } from '../../src/api/node-fence.ts';
import { APPLIED_KINDS, EVIDENCE_SOURCES, JOB_OUTCOMES } from '../../src/api/node-fence-parts.ts';
import { REMEDY_ACTIONS } from '../../src/api/policy-defaults.ts';
import { drainPolicyFacts, policyFacts } from '../../src/api/policy-facts.ts';
import * as reasons from '../../src/api/reasons.ts';
import { VERDICT_REASONS, VERDICTS } from '../../src/api/view.ts';
import { risksOf } from '../../src/report/policy-risks.ts';

function schemaOf(kind: string): StructuralSchema {
  const found = KINDS.find((one) => one.kind === kind);
  assert.ok(found);
  return structuralSchemaOf(found);
}

/** Whether the API server refuses the object as soon as the field is there. */
function isRefused(parent: StructuralSchema, name: string): boolean {
  return parent['x-kubernetes-validations']?.some(({ rule }) => rule === `!has(self.${name})`) ?? false;
}

/** A list or map of texts is read as a whole. */
function isPlain(schema: StructuralSchema): boolean {
  return schema.properties === undefined && schema.items === undefined && schema.type !== 'object';
}

/** Every field below that holds no others, but for those that are refused. What is taken whole has none of its own. */
function leaves(schema: StructuralSchema, path: string): string[] {
  const element = schema.items ?? schema.additionalProperties;
  if (element !== undefined) return isPlain(element) ? [path] : leaves(element, `${path}[]`);
  const inside = Object.entries(schema.properties ?? {});
  const isWhole = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (inside.length === 0 || isWhole) return [path];
  return inside.flatMap(([name, value]) => (isRefused(schema, name) ? [] : leaves(value, `${path}.${name}`)));
}

/** One of everything that the schema knows. */
function anExample(schema: StructuralSchema): unknown {
  if (schema.items !== undefined) return [anExample(schema.items)];
  if (schema.additionalProperties !== undefined) return { a: 'b' };
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).filter(([name]) => !isRefused(schema, name));
    return Object.fromEntries(fields.map(([name, value]) => [name, anExample(value)]));
  }
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'object') return {};
  if (schema.type === 'boolean') return true;
  return schema.type === 'integer' || schema.type === 'number' ? 1 : '1m';
}

/** Writes down every path that is read. */
function watched<T extends object>(object: T, path: string, read: Set<string>): T {
  return new Proxy(object, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof key === 'symbol' || (Array.isArray(target) && !/^\d+$/.test(key))) return value;
      const at = Array.isArray(target) ? `${path}[]` : `${path}.${key}`;
      read.add(at);
      return typeof value === 'object' && value !== null ? watched(value, at, read) : value;
    },
  });
}

function unread(kind: string, readers: readonly ((spec: object) => unknown)[], variants: readonly object[]): string[] {
  const { spec } = schemaOf(kind).properties ?? {};
  assert.ok(spec);
  const read = new Set<string>();
  for (const variant of variants) {
    const example = { ...(anExample(spec) as object), ...variant };
    for (const reader of readers) reader(watched(example, 'spec', read));
  }
  return leaves(spec, 'spec').filter((leaf) => !read.has(leaf));
}

describe('what users may write', () => {
  const metadata = { name: 'x' };
  const either = [{ selector: undefined }, { allNodes: undefined }];

  test('[SAF-15] every field of a RemedyPolicy is read', () => {
    const readers = [(spec: object) => policyFacts({ metadata, spec }), (spec: object) => risksOf(spec, 3)];
    const remedies = REMEDY_ACTIONS.map((action) => ({ name: action, [action]: {} }));
    assert.deepEqual(unread('RemedyPolicy', readers, [...either, { selector: undefined, remedies }]), []);
  });

  test('[SAF-15] every field of a DrainPolicy is read', () => {
    assert.deepEqual(unread('DrainPolicy', [(spec) => drainPolicyFacts({ metadata, spec })], either), []);
  });

  test('the check sees a field that nobody reads', () => {
    const blind = (spec: object): unknown => {
      const { mode: _, ...rest } = spec as { mode?: unknown };
      return rest;
    };
    assert.ok(unread('RemedyPolicy', [blind], either).includes('spec.storm.maxConcurrent'));
  });

  test('[SAF-15] every field of a NodeFence that people write is read outside of the API', () => {
    const { spec } = schemaOf('NodeFence').properties ?? {};
    assert.ok(spec);
    const places: Record<string, RegExp> = {
      'spec.node': /spec\?\.node\b/,
      'spec.policy': /fence\.value\?\.spec\.policy\b/,
      'spec.stop': /fence\?\.spec\.stop === true/,
      'spec.stoppedBy': /fence\?\.spec\.stoppedBy\b/,
      'spec.requested.by': /\brequest\.by\b/,
      'spec.requested.at': /requested\.at\b/,
      'spec.requested.about.nodeUid': /asked\.about\?\.nodeUid\b/,
      'spec.requested.about.bootId': /asked\.about\?\.bootId\b/,
      'spec.requested.about.readySince': /asked\.about\.readySince\b/,
      'spec.requested.withoutPolicy': /asked\.withoutPolicy === true/,
    };
    assert.deepEqual(Object.keys(places).sort(), leaves(spec, 'spec').sort());
    const text = [...sources, 'src/api/fence-request.ts', 'src/cli/status.ts', 'src/cli/fence.ts']
      .map(codeOf)
      .join('\n');
    const missing = Object.entries(places).flatMap(([path, place]) => (place.test(text) ? [] : [path]));
    assert.deepEqual(missing, []);
  });
});

const sources = globSync('src/*/**/*.ts').filter(
  (file) => !/^src\/(api|world|scenario|console|cli)\/|\.test\.ts$/.test(file),
);

/** Without comments: what is talked about is not said. */
function codeOf(file: string): string {
  return readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '');
}

type Form = (word: string) => string;

/** Handed to the function that makes the finding. */
const given =
  (name: string): Form =>
  (word) =>
    `\\b${name}\\(\\s*(?:[\\w.]+, )?'${word}'`;
/** The value of a field, alone or as one of two; a type that lists what it may be is not meant. */
const value =
  (name: string): Form =>
  (word) =>
    `\\b${name}: (?:[^,;\\n]* [?:]{1,2} )?'${word}'(?!\\s*\\|)`;
/** By its constant; comparing with it is not saying it. */
const constant =
  (name: string): Form =>
  (word) =>
    `(?<!== |[.\\w])${name}\\.${word}\\b`;

const vocabulary: [what: string, words: Iterable<string>, forms: Form[]][] = [
  ['Ready', names(reasons.READY), [constant('reason'), constant('VALID\\.reason')]],
  ['Valid', names(reasons.VALID), [constant('reason'), constant('VALID\\.reason')]],
  ['Fenceable', names(reasons.FENCEABLE), [constant('reason')]],
  ['not fenceable', names(reasons.UNFENCEABLE), [given('problem'), value('reason')]],
  ['wrong', names(reasons.WRONG), [value('reason')]],
  ['Risky', names(reasons.RISKY), [constant('RISKY\\.reason'), (word) => `\\['${word}', \\w+\\]`]],
  ['Fenced', names(reasons.FENCED), [constant('FENCED\\.reason'), value('\\w+'), (word) => `\\? '${word}' :`]],
  ['Released', names(reasons.RELEASED), [constant('RELEASED\\.reason')]],
  ['stuck', names(reasons.STUCK), [given('objection')]],
  ['Held', names(reasons.HELD), [value('reason')]],
  ['what came of a request', names(reasons.REQUESTED), [value('reason')]],
  ['rehearsals', names(reasons.REHEARSED), [value('reason'), given('once')]],
  ['Alarm', names(reasons.ALARM), [constant('ALARM\\.reason')]],
  ['Ready of a DrainPolicy', names(reasons.DRAIN_READY), [value('guarding'), value('reason')]],
  ['Guarding', names(reasons.GUARDING), [value('guarding'), value('reason')]],
  ['draining', names(reasons.DRAINING), [given('block'), value('reason')]],
  ['events of drains', names(reasons.EVENTS), [value('event')]],
  ['events of releases', names(reasons.RELEASE_EVENTS), [constant('reason'), constant('RELEASE_EVENTS\\.reason')]],
  ['verdicts', VERDICTS, [given('judgement')]],
  [
    'reasons of verdicts',
    Object.keys(VERDICT_REASONS),
    [(word) => `judgement\\('\\w+', '${word}'`, (word) => `[?:] '${word}'`],
  ],
  ['bases', BASES, [value('basis')]],
  ['stages of return', RETURN_STAGES, [given('waiting'), value('stage')]],
  ['sources of evidence', EVIDENCE_SOURCES, [value('source')]],
  ['phases of a ladder', LADDER_PHASES, [value('phase')]],
  ['phases of a fence', FENCE_PHASES, [given('enter'), value('phase'), value('next')]],
  ['outcomes of Jobs', JOB_OUTCOMES, [value('\\w+')]],
  ['kinds of what was applied', APPLIED_KINDS, [value('kind')]],
];

function names(group: reasons.ReasonGroup): string[] {
  return Object.keys(group.reason);
}

function unsaid(text: string): string[] {
  return vocabulary.flatMap(([what, words, forms]) =>
    [...words]
      .filter((word) => !forms.some((form) => new RegExp(form(word)).test(text)))
      .map((word) => `${what}: ${word}`),
  );
}

describe('what is promised to programs', () => {
  const text = sources.map(codeOf).join('\n');

  test('[SAF-15] every reason, basis, stage and verdict is given somewhere', () => {
    assert.deepEqual(unsaid(text), []);
  });

  test('every group of reasons is looked at', () => {
    const known = vocabulary.flatMap(([, words]) => [...words]);
    assert.deepEqual(
      reasons.REASON_GROUPS.flatMap(names).filter((name) => !known.includes(name)),
      [],
    );
  });

  test('the check sees that a producer is gone', () => {
    const without = (line: RegExp): string[] => {
      assert.match(text, line, 'there is no such producer to be taken out');
      return unsaid(text.replaceAll(new RegExp(line.source, 'g'), ''));
    };
    assert.deepEqual(without(/objection\('NotPoweredOff'/), ['stuck: NotPoweredOff']);
    assert.deepEqual(without(/reason: 'ZoneStormLimit'(?!\s*\|)/), ['Held: ZoneStormLimit']);
    assert.deepEqual(without(/basis: 'KernelCrashed'/), ['bases: KernelCrashed']);
    assert.deepEqual(without(/ALARM\.reason\.NoAlarm/), ['Alarm: NoAlarm']);
    assert.deepEqual(without(/'soaked'/), ['stages of return: soaked']);
  });

  test('every column of kubectl get shows a field that there is', () => {
    for (const kind of KINDS) {
      for (const { name, jsonPath } of kind.columns) {
        const [condition] = /\[\?\(@\.type=="(\w+)"\)\]/.exec(jsonPath)?.slice(1) ?? [];
        const known = reasons.REASON_GROUPS.filter((group) => group.kind === kind.kind).map((group) => group.of);
        if (condition !== undefined) assert.ok(known.includes(condition), `${kind.kind} ${name}`);
        else if (!jsonPath.startsWith('.metadata'))
          assert.ok(hasPath(schemaOf(kind.kind), jsonPath), `${kind.kind} ${name}`);
      }
    }
  });
});

function hasPath(schema: StructuralSchema, jsonPath: string): boolean {
  let at: StructuralSchema | undefined = schema;
  for (const name of jsonPath.split('.').slice(1)) at = at?.properties?.[name];
  return at !== undefined;
}
