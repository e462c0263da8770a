import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { parseObject } from '../../api/parse.ts';
import { DrainPolicySchema } from '../../api/drain-policy.ts';
import { CONFIG_PREFIX } from '../../api/fence-names.ts';
import { RemedyPolicySchema } from '../../api/remedy-policy.ts';
import { configOf } from '../../fence/config.ts';
import { changed, convert, fileOf, fixture, fixtures, problemsOf } from '../../../test/support/convert-fixtures.ts';
import { convertCommand } from '../convert.ts';
import type { ConfigMap, Settings } from './result.ts';

async function run(...args: string[]): Promise<{ out: string; notes: string }> {
  const written = { out: '', notes: '' };
  const streams = {
    out: (part: string) => void (written.out += part),
    notes: (part: string) => void (written.notes += part),
  };
  await convertCommand(streams).exitOverride().parseAsync(args, { from: 'user' });
  return written;
}

const objectsIn = (text: string, version: '1.1' | '1.2' = '1.2'): unknown[] =>
  parseAllDocuments(text, { version }).map((document) => document.toJS() as unknown);

/** What is said to be different, one expression for each note. */
const said: Readonly<Record<string, readonly RegExp[]>> = {
  'node-health-check': [
    /:36: spec\.template\.spec\.sharedSecretName: create the Secret bmc-login in namespace fenceline; its keys/,
    /:10: spec\.minHealthy: storm\.maxUnresponsive: 40% counts every node of the cluster/,
    /became mode: DryRun/,
    /:2: delete this NodeHealthCheck before the policy may act/,
  ],
  'by-role': [
    /items\[0\]\..*sharedSecretName: create the Secret redfish-shared in/,
    /nodeSecretNames: create the Secret redfish-w1, redfish-w2 in/,
    /maxUnhealthy: storm\.maxUnresponsive: 2/,
    /became mode: DryRun/,
    /delete this NodeHealthCheck/,
  ],
  escalating: [
    /bmc-login/,
    /outlet-community/,
    /escalatingRemediations\[1\].*left out: SelfNodeRemediationTemplate has a node reboot itself/,
    /one fence with several levels \(bmc, then outlet\)/,
    /pauseRequests: became mode: Paused/,
    /49% counts/,
    /delete this/,
  ],
  passwords: [
    /sharedparameters: password is written here in plain text and is not repeated: create the Secret rack-credentials in/,
    /nodeparameters: password is written here .* create the Secret rack-n1-credentials in/,
    /25% counts/,
    /became mode: DryRun/,
    /delete this/,
  ],
  cloud: [
    /--skip-race-check: left out/,
    /access_key_id and secret_access_key are written here in plain text and are not repeated/,
  ],
  'machine-openshift': [
    /switched off and on instead of being replaced/,
    /labels of machines became labels of nodes/,
    /a machine that never becomes a node/,
    /30% counts/,
    /became mode: DryRun/,
    /delete this MachineHealthCheck/,
  ],
  'machine-cluster-api-v1beta1': [
    /fenced first, and deleted only if that has not helped/,
    /labels of machines became labels of nodes/,
    /mode: Paused/,
    /3 counts/,
    /delete this/,
    /the cluster whose nodes these are/,
  ],
  'machine-cluster-api-v1beta2': [
    /fenced first/,
    /all machines became allNodes: true/,
    /a machine that never becomes a node/,
    /25% counts/,
    /unhealthyNodeConditions\[1\]: 0s became 1s/,
    /became mode: DryRun/,
    /delete this/,
    /the cluster whose nodes these are/,
  ],
  older: [
    /:13: spec\.nodeSelector: the empty selector became allNodes: true/,
    /:16: spec\.thresholds\[0\]\.remedies\[1\]: cleanResources was false/,
    /:22: spec\.fence\.powerWatch: left out/,
  ],
};

describe('what people have', () => {
  assert.deepEqual(Object.keys(said).sort(), [...fixtures].sort());

  for (const name of fixtures) {
    test(`[REM-7] ${name}: converted, and everything that is different is said`, async () => {
      const { out, notes } = await run(fileOf(name));
      assert.deepEqual(objectsIn(out), objectsIn(fixture(`${name}.out`)));
      const lines = notes.trimEnd().split('\n');
      const expected = said[name] ?? [];
      assert.equal(lines.length, expected.length, notes);
      for (const [index, line] of lines.entries()) assert.match(line, expected[index] ?? /nothing/);
    });

    test(`[USE-3] ${name}: a reader of YAML 1.1 reads the same, and finds no anchors`, async () => {
      const { out } = await run(fileOf(name));
      assert.deepEqual(objectsIn(out, '1.1'), objectsIn(out, '1.2'));
      assert.doesNotMatch(out, /[&*]a\d/);
      const json = parse((await run(fileOf(name), '-o', 'json')).out) as { items?: unknown[] };
      assert.deepEqual(json.items ?? [json], objectsIn(out));
    });
  }

  test('[REM-7] the schemas accept every policy that is printed', () => {
    for (const name of fixtures) {
      for (const manifest of convert([fixture(name)]).manifests.filter(({ kind }) => kind !== 'ConfigMap')) {
        const parsed = parseObject(manifest.kind === 'RemedyPolicy' ? RemedyPolicySchema : DrainPolicySchema, manifest);
        assert.ok(parsed.ok, `${name}: ${parsed.ok ? '' : parsed.problems.join('\n')}`);
      }
    }
  });

  test('[REM-7, FEN-6] every node that a template names has a fence configuration that can be carried out', () => {
    const nodes: [name: string, node: string, labels: Record<string, string>, parameters: object][] = [
      [
        'node-health-check',
        'storage-2',
        { pool: 'storage' },
        { lanplus: '1', username: 'fencer', ip: '192.0.2.12', ipport: '6230' },
      ],
      ['by-role', 'w1', {}, { systems_uri: '/redfish/v1/Systems/w1', ssl_insecure: '1', ip: 'w1.bmc.example' }],
      ['escalating', 'db-1', { pool: 'database' }, { ip: '192.0.2.21' }],
      ['passwords', 'n1', { rack: 'a' }, { username: 'fencer', ip: 'n1.bmc.example' }],
      ['passwords', 'n2', { rack: 'a' }, { username: 'fencer', ip: 'n2.bmc.example', ipport: '6230' }],
      ['passwords', 'n3', { rack: 'a' }, { username: 'fencer', ip: 'n3.bmc.example' }],
      ['cloud', 'n2', {}, { region: 'eu-central-1', instance: 'i-0002' }],
    ];
    for (const [name, node, labels, parameters] of nodes) {
      const maps = (convert([fixture(name)]).manifests as ConfigMap[])
        .filter(({ kind }) => kind === 'ConfigMap')
        .map(({ metadata, data }) => ({ name: metadata.name, data }));
      const result = configOf({ name: node, labels }, { maps });
      assert.ok(result.ok, `${name} ${node}: ${JSON.stringify(result)}`);
      assert.ok(result.config.source?.startsWith(CONFIG_PREFIX));
      assert.deepEqual(result.config.powerManagement[0]?.off[0]?.parameters, parameters, `${name} ${node}`);
    }
  });

  test('[REM-7] a password in plain text is in no output, no note and no error', async () => {
    for (const name of ['passwords', 'cloud']) {
      const { out, notes } = await run(fileOf(name));
      assert.doesNotMatch(`${out}${notes}`, /hunter2|EXAMPLEID/);
    }
    const broken = [
      changed('passwords', '--username: fencer', '--verbose: ""'),
      changed('passwords', '{n1: hunter2-n1}', 'hunter2-n1'),
      changed('passwords', '--username: fencer', '--ip: [hunter2]'),
      changed('passwords', '--password: hunter2-shared', '-p: hunter2-shared'),
      changed('passwords', 'minHealthy: 75%', 'minHealthy: 3'),
      changed('cloud', '--secret-key: hunter2', '--password: hunter2'),
    ];
    for (const text of broken) {
      const problems = problemsOf(text).join('\n');
      assert.notEqual(problems, '', text);
      assert.doesNotMatch(problems, /hunter2/);
    }
  });
});

describe('documents that belong together', () => {
  const [check = '', template = ''] = fixture('node-health-check').split('---\n');

  test('[REM-7] may be in several files, in any order', () => {
    assert.deepEqual(convert([template, check]).manifests, convert([fixture('node-health-check')]).manifests);
  });

  test('[REM-7] a template that is not there is asked for', () => {
    const [problem = ''] = problemsOf(check);
    assert.match(problem, /^a\.yaml:17: spec\.remediationTemplate: .* bmc is not among the documents: give its file/);
  });

  test('[REM-7] two health checks may share a template', () => {
    const other = check.replace('name: storage-nodes', 'name: more').replace('pool: storage', 'pool: more');
    const names = convert([check, other, template]).manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.deepEqual(names, [
      'ConfigMap fence-method-template-bmc',
      'ConfigMap fence-config-storage-nodes',
      'RemedyPolicy storage-nodes',
      'ConfigMap fence-config-more',
      'RemedyPolicy more',
    ]);
  });

  test('[REM-7] a node with a Secret of its own has a configuration of its own, also where a label tells the nodes apart', () => {
    const labelled = 'matchLabels: {pool: workers}';
    const text = changed(
      'by-role',
      'matchExpressions: [{key: node-role.kubernetes.io/worker, operator: Exists}]',
      labelled,
    );
    const configsOf = (from: string): string[] =>
      convert([from]).manifests.flatMap(({ metadata: { name } }) => (name.startsWith(CONFIG_PREFIX) ? [name] : []));
    assert.deepEqual(configsOf(text), ['fence-config-w1', 'fence-config-w2']);
    const secret = 'nodeSecretNames: {w1: redfish-w1, w2: redfish-w2}';
    assert.ok(text.includes(secret));
    assert.deepEqual(configsOf(text.replace(secret, 'retrycount: 5')), ['fence-config-workers']);
  });

  test('[REM-7] what stays as it is, is not printed', () => {
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: bmc-login}\nstringData: {--password: hunter2}\n';
    const { manifests, notes } = convert([fixture('node-health-check'), secret]);
    assert.equal(manifests.length, 3);
    assert.ok(notes.includes('b.yaml:1: Secret bmc-login is not printed: it stays as it is'));
    assert.doesNotMatch(JSON.stringify(manifests) + notes.join('\n'), /hunter2/);
  });

  test('[REM-7] flags: the namespace, the mode, and the nodes where the document speaks of machines', async () => {
    const { out } = await run(fileOf('node-health-check'), '-n', 'ops', '--mode', 'DryRun');
    assert.match(out, /namespace: ops/);
    assert.match(out, /mode: DryRun/);
    const text = changed('machine-openshift', 'machine-role: worker', 'machineset: blue');
    const selected = (settings: Partial<Settings>): unknown => {
      const [policy] = convert([text], settings).manifests;
      const { selector, allNodes } = (policy as unknown as { spec: Record<string, unknown> }).spec;
      return selector ?? allNodes;
    };
    assert.deepEqual(selected({ nodes: { selector: { matchLabels: { pool: 'blue' } } } }), {
      matchLabels: { pool: 'blue' },
    });
    assert.equal(selected({ nodes: { allNodes: true } }), true);
  });
});
