import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ScenarioError } from '../scenario/reader.ts';
import { convertCommand } from './convert.ts';
import type { Manifest } from './convert/result.ts';
import { convertAll } from './convert/all.ts';
import { parseSelector } from './convert/selector.ts';

const example = join(import.meta.dirname, '../../test/support/remedy-configuration.yaml');
const text = readFileSync(example, 'utf8');

async function run(...args: string[]): Promise<{ out: string; notes: string }> {
  const written = { out: '', notes: '' };
  const streams = {
    out: (part: string) => void (written.out += part),
    notes: (part: string) => void (written.notes += part),
  };
  await convertCommand(streams).exitOverride().parseAsync(args, { from: 'user' });
  return written;
}

/** The example with one text in it replaced. */
function changed(from: string, to: string): string {
  assert.ok(text.includes(from), from);
  return text.replace(from, to);
}

function convert(configuration: string): Manifest[] {
  return convertAll([{ name: 'c.yaml', text: configuration }], { namespace: 'fenceline' }).manifests;
}

function problemsOf(configuration: string): readonly string[] {
  try {
    convert(configuration);
  } catch (error) {
    if (error instanceof ScenarioError) return error.problems;
    throw error;
  }
  return [];
}

const policyOf = (configuration: string): { metadata: { name: string }; spec: Record<string, unknown> } =>
  convert(configuration)[0] as never;

test('[REM-7] the document of the proposal, verbatim, becomes a RemedyPolicy', async () => {
  const { out, notes } = await run(example);
  const container = (name: string, command: string): object => ({
    name,
    image: 'IMAGE:VERSION',
    command: ['binary', command],
  });
  assert.deepEqual(parse(out), {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'RemedyPolicy',
    metadata: { name: 'compute' },
    spec: {
      selector: { matchLabels: { type: 'compute' } },
      mode: 'DryRun',
      thresholds: [
        {
          condition: { type: 'Ready', status: 'NotTrue', for: '5s' },
          remedies: [
            { name: 'repair', period: '3m' },
            { name: 'terminate', cleanResources: true },
          ],
          recovery: [{ name: 'recovery' }],
        },
        {
          condition: { type: 'DiskPressure', status: 'True', for: '10m' },
          remedies: [{ name: 'storage-fence', cleanResources: true }],
          recovery: [{ name: 'recovery' }],
        },
      ],
      remedies: [
        {
          name: 'repair',
          podTemplate: {
            spec: {
              containers: [
                {
                  ...container('repair', 'clean node command'),
                  envFrom: [{ secretRef: { name: 'secret-key' } }, { configMapRef: { name: 'fence-method-config' } }],
                },
              ],
              restartPolicy: 'Never',
            },
          },
        },
        {
          name: 'terminate',
          podTemplate: {
            spec: { containers: [container('terminate', 'terminate node command')], restartPolicy: 'Never' },
          },
        },
        { name: 'recovery', uncordon: {} },
        { name: 'storage-fence', fence: {} },
      ],
    },
  });
  assert.match(notes, /yaml:5: thresholdConfigs\[0\]: Ready false became NotTrue/);
  assert.match(notes, /recovery is not defined in the document: it takes our own cordon away/);
  assert.match(notes, /storage-fence is not defined in the document/);
  assert.match(notes, /terminate cleans resources: its success counts as your word/);
  assert.deepEqual(JSON.parse((await run(example, '-o', 'json')).out), parse(out));
});

test('[REM-7] what was written for another operator arms nothing before somebody says so; a policy of ours stays as it is', async () => {
  const { out, notes } = await run(example);
  assert.match(out, /^ {2}mode: DryRun$/m);
  assert.match(
    notes,
    /yaml:1: became mode: DryRun, which only says what it would do; .* convert with --mode Enforce$/m,
  );
  const armed = await run(example, '--mode', 'Enforce');
  assert.match(armed.out, /^ {2}mode: Enforce$/m);
  assert.doesNotMatch(armed.notes, /DryRun/);
  const ours =
    'apiVersion: fenceline.dev/v1alpha1\nkind: RemedyPolicy\nmetadata: {name: all}\nspec: {allNodes: true}\n';
  assert.equal(policyOf(ours).spec['mode'], undefined);
});

test('[REM-7] the right spelling of clean-resource, and false, which a fence has to be told', () => {
  const policy = policyOf(changed('clean-resourece: true', 'clean-resource: false'));
  const [first] = policy.spec['thresholds'] as { remedies: object[] }[];
  assert.deepEqual(first?.remedies, [
    { name: 'repair', period: '3m' },
    { name: 'terminate', cleanResources: false },
  ]);
});

test('[REM-7] a fence of which the document does not say that it cleans resources keeps them', () => {
  const [, second] = policyOf(changed('storage-fence\n   - clean-resourece: true', 'storage-fence')).spec[
    'thresholds'
  ] as {
    remedies: object[];
  }[];
  assert.deepEqual(second?.remedies, [{ name: 'storage-fence', cleanResources: false }]);
});

test('[REM-7] rungs are taken by their number, however many and wherever they stand', () => {
  const more = ['remedy10', 'remedy3'].map((key) => `  ${key}: [{name: terminate}, {period: 1m}]\n`).join('');
  const policy = policyOf(changed('  remedy2: \n', `${more}  remedy2: \n`));
  const [first] = policy.spec['thresholds'] as { remedies: { name: string; period?: string }[] }[];
  assert.deepEqual(
    first?.remedies.map(({ name, period }) => `${name} ${period}`),
    ['repair 3m', 'terminate undefined', 'terminate 1m', 'terminate 1m'],
  );
});

test('[REM-7] every status of a condition, quoted or not', () => {
  for (const [written, status] of [
    ['Unknown', 'Unknown'],
    ['"False"', 'NotTrue'],
    ['false', 'NotTrue'],
  ]) {
    const [first] = policyOf(changed('Status: false', `Status: ${written}`)).spec['thresholds'] as {
      condition: { status: string };
    }[];
    assert.equal(first?.condition.status, status, written);
  }
  const [, second] = policyOf(changed('Status: true', 'Status: false')).spec['thresholds'] as {
    condition: { status: string };
  }[];
  assert.equal(second?.condition.status, 'False');
});

test('[REM-7] variables that are written out stay; a name of a Secret beside them becomes a reference', () => {
  const env = 'env: [{name: MODE, value: soft}, "secret-key"]';
  const [repair] = policyOf(changed('env: ["secret-key"]', env)).spec['remedies'] as {
    podTemplate: { spec: { containers: { env: object[]; envFrom: object[] }[] } };
  }[];
  const [container] = repair?.podTemplate.spec.containers ?? [];
  assert.deepEqual(container?.env, [{ name: 'MODE', value: 'soft' }]);
  assert.equal(container?.envFrom.length, 2);
});

test('[REM-7] several documents are several policies, and must not have one name', () => {
  const other = changed('type=compute', 'type=storage');
  assert.deepEqual(
    convert(`${text}---\n${other}`).map(({ metadata }) => metadata.name),
    ['compute', 'storage'],
  );
  assert.match(
    problemsOf(`${text}---\n${text}`)[0] ?? '',
    /^c\.yaml:\d+: .*both become RemedyPolicy compute: write metadata/,
  );
  assert.equal(policyOf(changed('nodeSelector: type=compute\n', '')).metadata.name, 'all-nodes');
  assert.equal(policyOf(changed('nodeSelector: type=compute\n', '')).spec['allNodes'], true);
});

test('[REM-7] what it cannot express is refused, with the line and what to write', () => {
  const cases: [from: string, to: string, problem: RegExp][] = [
    [
      'name: terminate\n   - clean',
      'name: reimage\n   - clean',
      /^c\.yaml:12: .*no remedy reimage: add it to remedyConfigs/,
    ],
    ['  remedy1: \n', '  remedy: \n', /^c\.yaml:8: unknown key "remedy".*did you mean "remedy1"/],
    ['- period: 3m', '- period: 3 minutes', /^c\.yaml:10: .*expected a duration such as 90s/],
    ['- period: 3m', '- name: repair', /^c\.yaml:10: .*name is there twice/],
    ['- period: 3m', '- wait: 3m', /^c\.yaml:10: unknown key "wait"/],
    ['Status: false', 'Status: maybe', /^c\.yaml:6: .*write true, false or unknown/],
    ['nodeConditionPeriod: 5s', 'nodeConditionPeriod: 0s', /^c\.yaml:5: spec\.thresholds\[0\]\.condition\.for/],
    ['type=compute', 'type~compute,', /^c\.yaml:3: .*write label=value/],
    ['kind: Configuration', 'kind: Settings', /^c\.yaml:2: kind: Settings cannot be converted/],
    ['node-remedy/v1alpha', 'v1', /^c\.yaml:1: apiVersion: write node-remedy\/v1alpha/],
    ['configmaps:', 'configmap:', /^c\.yaml:\d+: .*did you mean "configmaps"/],
    [
      'restartPolicy: Never',
      'restartPolicy: Always',
      /^c\.yaml:26: spec\.remedies\[0\]\.podTemplate\.spec\.restartPolicy/,
    ],
    ['   - name: recovery', '   - name: storage-fence', /^c\.yaml:15: .*storage-fence is a fence/],
    ['   - name: recovery', '   - period: 1m', /^c\.yaml:15: .*remove period/],
    ['nodeConditionType: DiskPressure', 'nodeConditionType: Ready', /Ready with status True is a healthy node/],
    ['- name: repair\n  podTemplate', '- name: Repair\n  podTemplate', /no remedy repair/],
    ['remedyConfigs:', 'remedies:', /unknown key "remedies"/],
    ['kind: Configuration', 'kind: [', /^c\.yaml:\d+: /],
  ];
  for (const [from, to, expected] of cases) {
    const problems = problemsOf(changed(from, to));
    assert.ok(
      problems.some((one) => expected.test(one)),
      `${to}: ${JSON.stringify(problems)}`,
    );
  }
  assert.deepEqual(problemsOf(''), ['c.yaml: there is no document: write apiVersion and kind, and what follows']);
});

test('selectors as kubectl reads them', () => {
  const selected = (selector: string): unknown => {
    const result = parseSelector(selector);
    return result.ok ? result.selector : result.problem;
  };
  assert.deepEqual(selected('a=b, c==d'), { matchLabels: { a: 'b', c: 'd' } });
  assert.deepEqual(selected('a!=b,c,!d'), {
    matchExpressions: [
      { key: 'a', operator: 'NotIn', values: ['b'] },
      { key: 'c', operator: 'Exists' },
      { key: 'd', operator: 'DoesNotExist' },
    ],
  });
  assert.deepEqual(selected('a in (x, y),b notin (z)'), {
    matchExpressions: [
      { key: 'a', operator: 'In', values: ['x', 'y'] },
      { key: 'b', operator: 'NotIn', values: ['z'] },
    ],
  });
  assert.match(String(selected('a=b=c')), /no part of a selector/);
});
