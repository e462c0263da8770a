/**
 * What of the manifests no cluster of the tests would miss: they run the operator as a process of their own, and a guard that stands
 * open lets everybody through without a word.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec: unknown;
}

interface Container {
  env?: { name: string; valueFrom?: { fieldRef?: { fieldPath?: string } } }[];
  securityContext?: object;
}

interface PodSpec {
  securityContext?: object;
  hostNetwork?: boolean;
  hostPID?: boolean;
  containers: Container[];
}

interface Guard {
  failurePolicy?: string;
  matchConstraints: { resourceRules: { resources: string[]; operations: string[] }[] };
}

interface Binding {
  policyName: string;
  validationActions: string[];
}

function manifestsOf<Spec>(file: string, kind: string): { name: string; spec: Spec }[] {
  return parseAllDocuments(readFileSync(`deploy/${file}`, 'utf8'))
    .map((document) => document.toJS() as Manifest)
    .filter((one) => one.kind === kind)
    .map(({ metadata: { name }, spec }) => ({ name, spec: spec as Spec }));
}

describe('the pods of the operator', () => {
  const [operator] = manifestsOf<{ template: { spec: PodSpec } }>('operator.yaml', 'Deployment');
  const spec = operator?.spec.template.spec ?? assert.fail('there is no Deployment');
  const [container] = spec.containers;

  test('[STM-8] know on which node they run: it is the last to be cut, and by another', () => {
    const own = container?.env?.find(({ name }) => name === 'FENCELINE_NODE_NAME');
    assert.equal(own?.valueFrom?.fieldRef?.fieldPath, 'spec.nodeName');
  });

  test('[SEC-6] are not root, may become nothing more, and write nowhere but to what is theirs', () => {
    assert.deepEqual(spec.securityContext, {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      fsGroup: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    assert.deepEqual(container?.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    assert.deepEqual([spec.hostNetwork, spec.hostPID, spec.containers.length], [undefined, undefined, 1]);
  });
});

describe('the guard', () => {
  const policies = manifestsOf<Guard>('guard.yaml', 'ValidatingAdmissionPolicy');
  const bindings = manifestsOf<Binding>('guard.yaml', 'ValidatingAdmissionPolicyBinding');

  test('[SEC-4] refuses what it cannot judge, and does not only warn', () => {
    assert.ok(policies.length >= 5);
    for (const { name, spec } of policies) assert.equal(spec.failurePolicy, 'Fail', name);
    const bound = Object.fromEntries(bindings.map(({ spec }) => [spec.policyName, spec.validationActions]));
    assert.deepEqual(bound, Object.fromEntries(policies.map(({ name }) => [name, ['Deny']])));
  });

  /** The status of an object cannot be made with it, so that it is only ever updated. */
  test('[SEC-4] looks at what is made as it looks at what is changed', () => {
    for (const { name, spec } of policies) {
      for (const { resources, operations } of spec.matchConstraints.resourceRules) {
        const isOfStatus = resources.every((one) => one.endsWith('/status'));
        assert.deepEqual(operations, isOfStatus ? ['UPDATE'] : ['CREATE', 'UPDATE'], name);
      }
    }
  });
});
