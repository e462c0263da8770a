/** What the chart renders, by helm itself: without a cluster. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { dashboard } from '../../build/dashboard.ts';
import { plainManifests } from '../../build/manifests.ts';
import { FEATURE_GATES } from '../../src/api/feature-gates.ts';
import { runCommand } from '../../src/cli/run.ts';
import { alerts, type Alert } from '../support/alerts.ts';
import { grantedBy } from '../support/operator-rights.ts';
import { helm, helmHome, manifestsIn, specOf, type Manifest } from './helm.ts';

const env = helmHome();
const read = (name: string): Manifest[] => manifestsIn(readFileSync(name, 'utf8'));

interface Container {
  image: string;
  args: string[];
  ports: { name: string; containerPort: number; hostPort?: number; protocol: string }[];
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
}
interface PodSpec {
  containers: [Container];
  tolerations: { key: string }[];
  affinity?: { nodeAffinity: Record<string, unknown> };
  [field: string]: unknown;
}

async function render(values: object = {}, namespace = 'fenceline'): Promise<Manifest[]> {
  const { code, stdout, stderr } = await helm(['template', 'fenceline', 'chart', '-n', namespace], env, values);
  assert.equal(code, 0, stderr);
  return manifestsIn(stdout);
}

async function refused(values: object, namespace = 'fenceline'): Promise<string> {
  const { code, stderr } = await helm(['template', 'fenceline', 'chart', '-n', namespace], env, values);
  assert.notEqual(code, 0, `${JSON.stringify(values)} was not refused`);
  return stderr;
}

const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
const kindsOf = (manifests: readonly Manifest[]): Set<string> => new Set(manifests.map(({ kind }) => kind));

/** Labels and helm's own annotations say where an object came from, and nothing of what it does. */
function bare({ metadata: { labels: _labels, annotations: _annotations, ...metadata }, ...rest }: Manifest): Manifest {
  return { ...rest, metadata };
}

function podOf(manifests: readonly Manifest[]): PodSpec {
  return specOf<{ template: { spec: PodSpec } }>(manifests, 'Deployment').template.spec;
}

function byName(manifests: readonly Manifest[]): Manifest[] {
  return manifests.map(bare).toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)));
}

describe('the chart', () => {
  test('has nothing that helm lint would mention but a missing icon', async () => {
    const { code, stdout } = await helm(['lint', '--strict', 'chart'], env);
    assert.equal(code, 0, stdout);
    assert.deepEqual(stdout.match(/^\[\w+\].*$/gm), ['[INFO] Chart.yaml: icon is recommended']);
  });

  test('[USE-1] renders the roles and the guard that users read in deploy/, and plain manifests are the rest of it', async () => {
    const rendered = (await render()).filter(({ kind }) => kind !== 'CustomResourceDefinition');
    const plain = ['role', 'guard', 'operator'].flatMap((name) => read(`deploy/${name}.yaml`));
    const helmMakes = plain.filter((one) => nameOf(one) !== 'Namespace /fenceline');
    assert.deepEqual(byName(rendered), byName(helmMakes));
    assert.equal(readFileSync('deploy/operator.yaml', 'utf8'), await plainManifests(), 'run npm run manifests');
  });

  test('[USE-3] renders the CRDs that fenceline crds prints, to be kept when it is uninstalled', async () => {
    const rendered = (await render()).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const crds = read('chart/files/crds.yaml');
    assert.equal(crds.length, 4);
    assert.deepEqual(rendered.map(bare), crds.map(bare));
    for (const { metadata } of rendered) assert.equal(metadata.annotations?.['helm.sh/resource-policy'], 'keep');
    assert.ok(!kindsOf(await render({ crds: { install: false } })).has('CustomResourceDefinition'));
  });

  test('[SEC-4] in another namespace grants the same there, and the guard knows the account by its name', async () => {
    const values = { remedies: { namespace: 'mending' }, drains: { enabled: true, namespace: 'storage' } };
    const there = await render(values, 'kube-fencing');
    const here = await render({ drains: { enabled: true } });
    const places = { fenceline: 'kube-fencing', 'fenceline-remedies': 'mending', 'longhorn-system': 'storage' };
    const moved = Object.entries(places).reduce(
      (lines, [from, to]) => lines.map((line) => line.replace(new RegExp(` in ${from}$`), ` in ${to}`)),
      grantedBy(here as never),
    );
    assert.deepEqual(grantedBy(there as never), moved.toSorted());
    const text = JSON.stringify(there);
    assert.deepEqual(text.match(/system:serviceaccount:(?!kube-fencing:fenceline')/g), null);
    const used = there.flatMap(({ metadata, subjects }) => [
      metadata.namespace,
      ...((subjects ?? []) as { namespace: string }[]).map(({ namespace }) => namespace),
    ]);
    const known = [undefined, 'kube-fencing', 'mending', 'storage', 'kube-node-lease'];
    assert.deepEqual(
      used.filter((namespace) => !known.includes(namespace)),
      [],
    );
  });

  test('[NGS-9] has a value for every feature gate, off by default, and hands it to the operator', async () => {
    const names = Object.keys(FEATURE_GATES);
    const on = await render({ featureGates: Object.fromEntries(names.map((name) => [name, true])) });
    const flag = (manifests: readonly Manifest[]): string[] =>
      podOf(manifests)
        .containers[0].args.find((arg) => arg.startsWith('--feature-gates='))
        ?.slice(16)
        .split(',') ?? [];
    assert.deepEqual(flag(on).toSorted(), names.map((name) => `${name}=true`).toSorted());
    assert.deepEqual(flag(await render()).toSorted(), names.map((name) => `${name}=false`).toSorted());
    assert.match(await refused({ featureGates: { NonGracefulFailure: true } }), /featureGates.*NonGracefulFailure/s);
  });

  test('sets every option of the operator that is not about where its cluster is, and none that does not exist', async () => {
    const everything = {
      forbid: ['AcceptedRisk', 'Jobs'],
      kdump: { enabled: true },
      operator: {
        tracePasses: true,
        allowAgentParameters: ['fence_brocade:identity_file=/k'],
        agentTrust: { configMap: 'bmcs' },
      },
      monitoring: { secure: { enabled: true, tlsSecret: 'certificate' } },
    };
    const { args } = podOf(await render(everything)).containers[0];
    const set = args.slice(1).map((arg) => arg.replace(/=.*$/s, ''));
    const options = runCommand().options.map(({ long }) => long ?? '');
    assert.deepEqual(
      set.filter((name) => !options.includes(name)),
      [],
    );
    const connection = options.slice(0, options.indexOf('--allow-agent-parameters'));
    const left = options.filter((name) => !set.includes(name) && !connection.includes(name));
    // One Lease in the namespace of the pod, and the node by the downward API.
    assert.deepEqual(left, ['--no-leader-elect', '--leader-elect-namespace', '--leader-elect-name', '--node-name']);
    runCommand()
      .exitOverride()
      .parseOptions(args.slice(1).filter((arg) => !arg.startsWith('--agent-trust-file')));
  });

  test('goes where it is told to', async () => {
    const usual = podOf(await render());
    assert.equal(usual.affinity, undefined);
    const required = podOf(await render({ placement: { controlPlane: 'Required', tolerations: [{ key: 'mine' }] } }));
    const there = { matchExpressions: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }] };
    assert.deepEqual(required.affinity?.nodeAffinity, {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [there] },
    });
    assert.deepEqual(required.tolerations.map(({ key }) => key).slice(-2), [
      'node-role.kubernetes.io/control-plane',
      'mine',
    ]);
    const preferred = podOf(await render({ placement: { controlPlane: 'Preferred' } }));
    assert.deepEqual(preferred.affinity?.nodeAffinity, {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: there }],
    });
    const host = podOf(await render({ hostNetwork: true, kdump: { enabled: true, port: 7411 } }));
    assert.deepEqual([host['hostNetwork'], host['dnsPolicy']], [true, 'ClusterFirstWithHostNet']);
    const port = { name: 'kdump', containerPort: 7411, hostPort: 7411, protocol: 'UDP' };
    assert.deepEqual(host.containers[0].ports.at(-1), port);
    assert.ok(host.containers[0].args.includes('--kdump-bind-address=:7411'));
  });

  test('has on its pods what people add to them', async () => {
    const rendered = await render({
      podLabels: { team: 'storage' },
      podAnnotations: { 'example.com/note': 'ours' },
      image: { pullSecrets: ['registry', 'mirror'] },
      placement: { nodeSelector: { pool: 'system' } },
      operator: { agentTrust: { configMap: 'bmcs', key: 'all.pem' }, tracePasses: true },
    });
    const { metadata } = specOf<{ template: { metadata: Manifest['metadata'] } }>(rendered, 'Deployment').template;
    assert.equal(metadata.labels?.['team'], 'storage');
    assert.equal(metadata.annotations?.['example.com/note'], 'ours');
    const pod = podOf(rendered);
    assert.deepEqual(pod['imagePullSecrets'], [{ name: 'registry' }, { name: 'mirror' }]);
    assert.deepEqual(pod['nodeSelector'], { pool: 'system' });
    const { volumeMounts = [], args } = pod.containers[0];
    const mounts = volumeMounts.map(({ name, mountPath, readOnly }) => [name, mountPath, readOnly]);
    assert.deepEqual(mounts.slice(1), [
      ['trust', '/etc/fenceline/trust', true],
      ['passes', '/var/lib/fenceline/passes', undefined],
    ]);
    assert.deepEqual((pod['volumes'] as object[]).slice(1), [
      { name: 'trust', configMap: { name: 'bmcs' } },
      { name: 'passes', emptyDir: { sizeLimit: '128Mi' } },
    ]);
    assert.ok(args.includes('--agent-trust-file=/etc/fenceline/trust/all.pem'));
  });

  test('names the image by version and flavour, or as it is told', async () => {
    const image = async (value: object): Promise<string> => podOf(await render({ image: value })).containers[0].image;
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const chart = read('chart/Chart.yaml')[0];
    assert.deepEqual([chart?.['version'], chart?.['appVersion']], [version, version]);
    assert.equal(await image({}), `fenceline:${version}-agents`);
    assert.equal(
      await image({ agents: false, repository: 'r.example.com:5000/a/fenceline' }),
      `r.example.com:5000/a/fenceline:${version}`,
    );
    assert.equal(await image({ tag: 'mine' }), 'fenceline:mine');
  });

  test('leaves out what is switched off, and makes what is switched on', async () => {
    const less = kindsOf(
      await render({
        guard: { enabled: false },
        podDisruptionBudget: { enabled: false },
        flowSchema: { enabled: false },
        priorityClass: { create: false, name: '' },
        remedies: { createNamespace: false },
      }),
    );
    for (const kind of [
      'ValidatingAdmissionPolicy',
      'PodDisruptionBudget',
      'FlowSchema',
      'PriorityClass',
      'Namespace',
    ]) {
      assert.ok(!less.has(kind), kind);
    }
    const more = await render({
      networkPolicy: { enabled: true, devices: ['192.0.2.0/24'] },
      monitoring: { serviceMonitor: { enabled: true } },
    });
    const policy = specOf<{ ingress: object[]; egress: object[] }>(more, 'NetworkPolicy');
    assert.deepEqual(policy, {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'fenceline' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [
        { ports: [443, 6443, 10250].map((port) => ({ port, protocol: 'TCP' })) },
        { ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })) },
        { to: [{ ipBlock: { cidr: '192.0.2.0/24' } }] },
      ],
    });
    assert.ok(kindsOf(more).has('ServiceMonitor'));
    const scrapers = [{ namespaceSelector: {} }];
    const open = await render({
      networkPolicy: { enabled: true, scrapers, kdumpFrom: ['192.0.2.0/24', '2001:db8::/64'] },
      kdump: { enabled: true },
    });
    const { ingress } = specOf<{ ingress: object[] }>(open, 'NetworkPolicy');
    assert.deepEqual(ingress, [
      { ports: [{ port: 8080, protocol: 'TCP' }], from: scrapers },
      {
        ports: [{ port: 7410, protocol: 'UDP' }],
        from: ['192.0.2.0/24', '2001:db8::/64'].map((cidr) => ({ ipBlock: { cidr } })),
      },
    ]);
  });
});

interface Endpoint {
  port: string;
  [field: string]: unknown;
}

describe('protected metrics', () => {
  const secure = { enabled: true, port: 9443, tlsSecret: 'certificate' };
  const serviceMonitor = { enabled: true };

  test('[SEC-5] have their own port, certificate and rights, and whoever scrapes comes by that port', async () => {
    const networkPolicy = { enabled: true, scrapers: [{ namespaceSelector: {} }] };
    const values = { monitoring: { secure, serviceMonitor }, networkPolicy };
    const rendered = await render(values, 'kube-fencing');
    const pod = podOf(rendered);
    assert.ok(pod.containers[0].args.includes('--metrics-bind-address=:9443'));
    assert.deepEqual(pod.containers[0].ports, [
      { name: 'http', containerPort: 8080, protocol: 'TCP' },
      { name: 'metrics', containerPort: 9443, protocol: 'TCP' },
    ]);
    const mounts = pod.containers[0].volumeMounts?.slice(1);
    assert.deepEqual(mounts, [{ name: 'metrics', mountPath: '/etc/fenceline/metrics', readOnly: true }]);
    assert.deepEqual((pod['volumes'] as object[]).slice(1), [
      { name: 'metrics', secret: { secretName: 'certificate' } },
    ]);
    const { ports } = specOf<{ ports: { name: string }[] }>(rendered, 'Service');
    assert.deepEqual(ports, [
      { name: 'http', port: 8080, targetPort: 'http', protocol: 'TCP' },
      { name: 'metrics', port: 9443, targetPort: 'metrics', protocol: 'TCP' },
    ]);
    const { ingress } = specOf<{ ingress: { ports: object[] }[] }>(rendered, 'NetworkPolicy');
    assert.deepEqual(ingress[0]?.ports, [{ port: 9443, protocol: 'TCP' }]);
    const { endpoints } = specOf<{ endpoints: Endpoint[] }>(rendered, 'ServiceMonitor');
    assert.deepEqual(endpoints, [
      {
        port: 'metrics',
        path: '/metrics',
        interval: '30s',
        scheme: 'https',
        bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
        tlsConfig: {
          ca: { secret: { name: 'certificate', key: 'ca.crt' } },
          serverName: 'fenceline.kube-fencing.svc',
        },
      },
    ]);
    const role = read('deploy/metrics-role.yaml').map(nameOf);
    assert.deepEqual(
      role.filter((name) => !rendered.map(nameOf).includes(name)),
      [],
    );
    assert.match(JSON.stringify(rendered), /fenceline-metrics"\},"subjects":\[\{[^}]*"namespace":"kube-fencing"/);
  });

  test('[SEC-5] without them nothing is granted, and the port is that of the probes', async () => {
    const rendered = await render({ monitoring: { serviceMonitor } });
    assert.doesNotMatch(JSON.stringify(rendered), /tokenreviews|--metrics-/);
    const { endpoints } = specOf<{ endpoints: Endpoint[] }>(rendered, 'ServiceMonitor');
    assert.deepEqual(endpoints, [{ port: 'http', path: '/metrics', interval: '30s' }]);
  });
});

describe('alerts and dashboard', () => {
  const monitoring = {
    prometheusRule: {
      enabled: true,
      labels: { release: 'monitoring' },
      runbooks: 'https://wiki.example.com/fenceline',
    },
    dashboard: { enabled: true },
  };

  test('[ADM-3] are left out unless somebody asks for them', async () => {
    const kinds = kindsOf(await render());
    for (const kind of ['PrometheusRule', 'ServiceMonitor', 'ConfigMap']) assert.ok(!kinds.has(kind), kind);
  });

  test('[ADM-3] the rules are those of deploy/, with the runbooks where they are for this cluster', async () => {
    const rendered = await render({ monitoring }, 'kube-fencing');
    const rule = rendered.find(({ kind }) => kind === 'PrometheusRule');
    assert.equal(rule?.metadata.namespace, 'kube-fencing');
    assert.equal(rule.metadata.labels?.['release'], 'monitoring');
    const { groups } = rule['spec'] as { groups: { rules: Alert[] }[] };
    const known = alerts.map((alert) => {
      const url = `https://wiki.example.com/fenceline#${alert.alert.toLowerCase()}`;
      return { ...alert, annotations: { ...alert.annotations, runbook_url: url } };
    });
    assert.deepEqual(
      groups.flatMap(({ rules }) => rules),
      known,
    );
  });

  test('[ADM-3] the dashboard is there for the sidecar of Grafana', async () => {
    const map = (await render({ monitoring })).find(({ kind }) => kind === 'ConfigMap');
    assert.equal(map?.metadata.labels?.['grafana_dashboard'], '1');
    const { 'fenceline.json': text = '' } = map['data'] as Record<string, string>;
    assert.equal(text.trim(), dashboard().trim());
  });
});

/** What is wrong, where, and for some what to do. */
const mistakes: readonly [object, RegExp][] = [
  [{ replicas: 'two' }, /replicas.*got string, want integer/s],
  [{ replicas: 0 }, /replicas.*minimum/s],
  [{ replica: 2 }, /additional properties 'replica' not allowed/],
  [{ operator: { leaseStaleFor: 12 } }, /operator\/leaseStaleFor.*got number, want string/s],
  [{ operator: { leaseStaleFor: 'soon' } }, /operator\/leaseStaleFor.*does not match pattern/s],
  [{ placement: { controlPlane: 'Maybe' } }, /placement\/controlPlane.*'Any', 'Preferred', 'Required'/s],
  [{ image: { repository: '' } }, /image\/repository/],
  [{ port: 80 }, /port.*minimum: got 80, want 1,?024/s],
  [{ networkPolicy: { devices: ['192.0.2.1'] } }, /networkPolicy\/devices\/0/],
  [{ operator: { allowAgentParameters: ['identity_file'] } }, /operator\/allowAgentParameters\/0/],
  [{ forbid: ['Risks'] }, /forbid\/0/],
  [{ monitoring: { prometheusRule: { runbooks: 'a#b' } } }, /monitoring\/prometheusRule\/runbooks/],
  [{ guard: false }, /guard.*got boolean, want object/s],
  [
    { remedies: { namespace: 'fenceline' } },
    /remedies\.namespace has to be another one than the operator's, fenceline/,
  ],
  [{ console: { enabled: true } }, /console\.enabled needs console\.tlsSecret.*or console\.behindProxy/],
  [{ console: { port: 80 } }, /console\/port.*minimum/s],
  [{ monitoring: { secure: { enabled: true } } }, /monitoring\.secure\.enabled needs monitoring\.secure\.tlsSecret/],
  [
    { monitoring: { secure: { enabled: true, tlsSecret: 'a', port: 8080 } } },
    /monitoring\.secure\.port has to be another one than port/,
  ],
  [{ hostNetwork: true, networkPolicy: { enabled: true } }, /networkPolicy\.enabled has no effect with hostNetwork/],
];

describe('wrong values are refused, and the message says which', () => {
  for (const [values, why] of mistakes) {
    test(JSON.stringify(values), async () => {
      assert.match(await refused(values), why);
    });
  }
});
