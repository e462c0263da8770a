import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, convert, fixture, problemsOf } from '../../../test/support/convert-fixtures.ts';
import type { ConfigMap } from './result.ts';

const ipmi = '        --lanplus: ""';

test('[REM-7] what cannot be expressed is refused: file and line, path, and what to write', () => {
  const cases: [name: string, from: string, to: string, problem: RegExp][] = [
    [
      'node-health-check',
      'minHealthy: 60%',
      'minHealthy: 2',
      /^a\.yaml:10: spec\.minHealthy: .*write maxUnhealthy, the number of nodes less 2/,
    ],
    [
      'node-health-check',
      'minHealthy: 60%',
      'minHealthy: 60%\n  maxUnhealthy: 2',
      /^a\.yaml:\d+: spec: .*remove one of them/,
    ],
    [
      'node-health-check',
      'minHealthy: 60%',
      'minHealthy: half',
      /^a\.yaml:10: spec\.minHealthy: write a number of nodes/,
    ],
    ['node-health-check', 'healthyDelay: 1m30s', 'healthyDelay: -1s', /^a\.yaml:11: spec\.healthyDelay: .*remove it/],
    [
      'node-health-check',
      'healthyDelay',
      'healthyDelays',
      /^a\.yaml:11: unknown key "healthyDelays" in spec; did you mean "healthyDelay"/,
    ],
    [
      'node-health-check',
      'duration: 90s',
      'duration: 90',
      /^a\.yaml:13: spec\.unhealthyConditions\[0\]\.duration: expected a duration such as 90s/,
    ],
    ['node-health-check', 'duration: 90s', 'duration: -90s', /^a\.yaml:13: .*expected a duration such as 90s/],
    ['node-health-check', 'status: Unknown', 'status: Maybe', /^a\.yaml:14: .*"Maybe" is not known/],
    [
      'node-health-check',
      'type: KernelDeadlock, status: "True"',
      'type: Ready, status: "True"',
      /^a\.yaml:2: spec\.thresholds\[1\].*Ready with status True is a healthy node/,
    ],
    [
      'node-health-check',
      'kind: FenceAgentsRemediationTemplate\n    name',
      'kind: SelfNodeRemediationTemplate\n    name',
      /^a\.yaml:17: spec\.remediationTemplate: SelfNodeRemediationTemplate has a node reboot itself.*name a FenceAgentsRemediationTemplate/,
    ],
    [
      'node-health-check',
      'kind: FenceAgentsRemediationTemplate\n    name',
      'kind: OwnTemplate\n    name',
      /OwnTemplate is not something that Fenceline can do/,
    ],
    ['node-health-check', 'remediationTemplate:', 'escalatingRemediations: []\n  x:', /unknown key "x" in spec/],
    [
      'node-health-check',
      'agent: fence_ipmilan',
      'agent: fence_scsi',
      /^a\.yaml:31: spec\.template\.spec\.agent: fence_scsi is not run: it has to run on the nodes/,
    ],
    [
      'node-health-check',
      ipmi,
      '        --method: cycle',
      /^a\.yaml:39: .*--method: a machine is always switched off.*remove it/,
    ],
    [
      'node-health-check',
      ipmi,
      '        --password-script: /bin/x',
      /--password-script: .*put the credential itself into a Secret/,
    ],
    ['node-health-check', ipmi, '        -a: 192.0.2.1', /write the long name of the parameter, such as --ip/],
    ['node-health-check', ipmi, '        --ip: "{{.Namespace}}"', /only {{\.NodeName}} can be expressed/],
    ['node-health-check', ipmi, '        --ip: "a\\nb"', /--ip: a parameter is one line/],
    [
      'node-health-check',
      'storage-1: 192.0.2.11',
      'storage-1: "{{.NodeName}}"',
      /--ip\.storage-1: {{ would be a placeholder/,
    ],
    ['node-health-check', '--action: reboot', '--action: diag', /--action: write reboot or off/],
    ['node-health-check', 'retrycount: 3', 'retrycount: 0', /retrycount: expected a whole number of at least 1/],
    ['node-health-check', 'sharedSecretName', 'remediationSecretName', /unknown key "remediationSecretName"/],
    [
      'node-health-check',
      'kind: NodeHealthCheck',
      'kind: NodeHealthCheque',
      /^a\.yaml:3: kind: NodeHealthCheque cannot be converted; did you mean NodeHealthCheck\?/,
    ],
    [
      'node-health-check',
      'remediation.medik8s.io/v1alpha1\nkind: NodeHealthCheck',
      'remediation.medik8s.io/v9\nkind: NodeHealthCheck',
      /^a\.yaml:2: apiVersion: write remediation\.medik8s\.io\/v1alpha1/,
    ],
    [
      'by-role',
      '--ip: {w1: w1.bmc.example, w2: w2.bmc.example}',
      '--action: {w1: reboot}',
      /it is off for some nodes and reboot for others/,
    ],
    [
      'cloud',
      '--region: eu-central-1',
      '--filter-by: x',
      /--filter-by: driver=aws, which takes the place of the agent, has no such parameter/,
    ],
    [
      'machine-openshift',
      'machine-role: worker',
      'machineset: blue',
      /^a\.yaml:6: spec\.selector: nodes do not have the label machine\.openshift\.io\/cluster-api-machineset .*--selector or --all-nodes/,
    ],
    [
      'machine-openshift',
      'unhealthyConditions:',
      'unhealthyMachineConditions:',
      /spec\.unhealthyMachineConditions: Fenceline looks at nodes, not at Machines/,
    ],
    [
      'machine-openshift',
      'timeout: 300s}\n  - {type: Ready, status: "False", timeout: 300s}',
      'timeout: 5 min}',
      /timeout: expected a duration/,
    ],
    [
      'machine-cluster-api-v1beta1',
      '[0-3]',
      '[2-3]',
      /^a\.yaml:9: spec\.unhealthyRange: there is no least number .* write \[0-3\]/,
    ],
    ['machine-cluster-api-v1beta1', '[0-3]', '0-3', /unhealthyRange: write a range such as \[0-5\]/],
    [
      'machine-cluster-api-v1beta2',
      'unhealthyNodeConditions',
      'unhealthyExpressions',
      /spec\.checks\.unhealthyExpressions: Fenceline looks at nodes/,
    ],
    [
      'older',
      'nodeSelector: {}',
      'nodeSelector: {type: compute}',
      /^a\.yaml:13: spec\.nodeSelector\.type: type was never read, so that the policy was about every node: write selector/,
    ],
    [
      'older',
      'nodeSelector: {}',
      'nodeSelector: {}\n  allNodes: true',
      /nodeSelector is the older name of selector: remove one/,
    ],
    ['older', 'staleFor: 12s', 'staleFor: 12', /^a\.yaml:15: spec\.thresholds\[0\]\.lease\.staleFor/],
    ['older', 'policy: block-for-eviction', 'policy: never', /^a\.yaml:33: spec\.policy/],
  ];
  for (const [name, from, to, expected] of cases) {
    const problems = problemsOf(changed(name, from, to));
    assert.ok(
      problems.some((problem) => expected.test(problem)),
      `${name}: ${to}: ${JSON.stringify(problems)}`,
    );
  }
});

test('[REM-7] where no label tells the nodes apart and none is named, that is said', () => {
  const text = changed('by-role', 'nodeSecretNames: {w1: redfish-w1, w2: redfish-w2}', 'retrycount: 1').replace(
    '--ip: {w1: w1.bmc.example, w2: w2.bmc.example}',
    '{}',
  );
  assert.match(
    problemsOf(text)[0] ?? '',
    /selector: a fence configuration selects nodes by label=value, .* write matchLabels/,
  );
  const alone = fixture('cloud').replace('nodeparameters: {--plug: {n1: i-0001, n2: i-0002}}', 'retrycount: 1');
  assert.match(problemsOf(alone)[0] ?? '', /nothing says which nodes this is for: give the NodeHealthCheck/);
  const { manifests } = convert([alone], { nodes: { selector: { matchLabels: { cloud: 'ec2' } } } });
  assert.match((manifests[1] as ConfigMap).data['config.properties'] ?? '', /^selector=cloud=ec2$/m);
});
