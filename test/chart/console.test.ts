/** What the chart renders for the console, by helm itself: without a cluster. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { consoleCommand } from '../../src/cli/console.ts';
import { helm, helmHome, manifestsIn, specOf, type Manifest } from './helm.ts';

const env = helmHome();

interface PodSpec {
  containers: [{ args: string[] }];
  [field: string]: unknown;
}

async function render(values: object = {}): Promise<Manifest[]> {
  const { code, stdout, stderr } = await helm(['template', 'fenceline', 'chart', '-n', 'fenceline'], env, values);
  assert.equal(code, 0, stderr);
  return manifestsIn(stdout);
}

function podOf(manifests: readonly Manifest[]): PodSpec {
  return specOf<{ template: { spec: PodSpec } }>(manifests, 'Deployment').template.spec;
}

describe('[SEC-5] the console', () => {
  const values = { console: { enabled: true, tlsSecret: 'certificate', hosts: ['fenceline.example.com'] } };
  const consoleOf = (manifests: readonly Manifest[]): Manifest[] =>
    manifests.filter(({ metadata }) => metadata.name.startsWith('fenceline-console'));

  test('is not there unless it is asked for', async () => {
    assert.deepEqual(consoleOf(await render()), []);
  });

  test('runs with options that exist, by an account that may review tokens and nothing else', async () => {
    const rendered = consoleOf(await render(values));
    const { args } = podOf(rendered).containers[0];
    const options = consoleCommand().options.map(({ long }) => long ?? '');
    assert.equal(args[0], 'console');
    assert.deepEqual(
      args.slice(1).filter((arg) => !options.includes(arg.replace(/=.*$/s, ''))),
      [],
    );
    assert.equal(podOf(rendered)['serviceAccountName'], 'fenceline-console');
    const bindings = rendered.filter(({ kind }) => kind === 'ClusterRoleBinding') as unknown as { roleRef: object }[];
    assert.deepEqual(
      bindings.map(({ roleRef }) => roleRef),
      [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'fenceline-console' }],
    );
    const role = rendered.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'fenceline-console');
    const rules = [{ apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] }];
    assert.deepEqual((role as unknown as { rules: unknown }).rules, rules);
  });

  test('[EXP-2] people have a role for all that a rehearsal reads, beside the one to look; it is bound to nobody', async () => {
    const rendered = consoleOf(await render(values));
    const roles = rendered.filter(({ metadata }) => /-(viewer|rehearser)$/.test(metadata.name)) as unknown as Ruled[];
    const listed = roles.flatMap(({ rules }) => rules).filter(({ verbs }) => verbs.includes('list'));
    const may = listed.flatMap(({ apiGroups, resources }) =>
      apiGroups.flatMap((group) => resources.map((one) => `${one}.${group}`)),
    );
    assert.deepEqual(may.filter((one) => snapshotLists.includes(one)).toSorted(), snapshotLists.toSorted());
    const bound = rendered.filter(({ kind }) => kind.endsWith('Binding')) as unknown as { roleRef: { name: string } }[];
    assert.deepEqual(
      bound.map(({ roleRef }) => roleRef.name),
      ['fenceline-console'],
    );
  });

  test('is never taken for an instance of the operator', async () => {
    const all = await render(values);
    const labelsOf = (name: string): object =>
      (all.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name) as unknown as Selecting).spec
        .selector;
    assert.deepEqual(labelsOf('fenceline'), { matchLabels: { 'app.kubernetes.io/name': 'fenceline' } });
    assert.deepEqual(labelsOf('fenceline-console'), { matchLabels: { 'app.kubernetes.io/name': 'fenceline-console' } });
  });
});

interface Ruled {
  rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
}

/** What `readSnapshot` lists. */
const snapshotLists = [
  'configmaps.',
  'csidrivers.storage.k8s.io',
  'daemonsets.apps',
  'deployments.apps',
  'fencedevices.fenceline.dev',
  'leases.coordination.k8s.io',
  'nodes.',
  'persistentvolumeclaims.',
  'persistentvolumes.',
  'poddisruptionbudgets.policy',
  'pods.',
  'remedypolicies.fenceline.dev',
  'replicas.longhorn.io',
  'replicasets.apps',
  'statefulsets.apps',
  'storageclasses.storage.k8s.io',
];

interface Selecting {
  spec: { selector: object };
}
