import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Taint } from '../objects/nodes.ts';
import type { Pod, Toleration } from '../objects/pods.ts';
import { mirrorAnnotation } from '../objects/pods.ts';
import { refusalOf } from './admission.ts';

const outOfService: Taint = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' };

function pod(tolerations: Toleration[], annotations: Record<string, string> = {}): Pod {
  return { metadata: { name: 'web-0', annotations }, spec: { containers: [], tolerations } };
}

function node(...taints: Taint[]): Node {
  return { metadata: { name: 'node-1' }, spec: { taints } };
}

test('a pod that does not tolerate a NoExecute taint is refused, in the words of the stock kubelet', () => {
  assert.deepEqual(refusalOf(pod([]), node(outOfService), []), {
    reason: 'TaintToleration',
    message: "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  });
  assert.equal(refusalOf(pod([{ key: outOfService.key, operator: 'Exists' }]), node(outOfService), []), undefined);
});

test('every such taint must be tolerated', () => {
  const other: Taint = { key: 'other', effect: 'NoExecute' };
  const tolerant = pod([{ key: outOfService.key, operator: 'Exists' }]);
  assert.ok(refusalOf(tolerant, node(outOfService, other), []));
});

test('other effects do not concern a kubelet', () => {
  assert.equal(refusalOf(pod([]), node({ ...outOfService, effect: 'NoSchedule' }), []), undefined);
  assert.equal(refusalOf(pod([]), { metadata: { name: 'node-1' } }, []), undefined);
});

test('a pod that asks for more than is left is refused, as is one too many', () => {
  const asking = (cpu: string): Pod => ({
    metadata: { name: 'web-0' },
    spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] },
  });
  const small: Node = { metadata: { name: 'node-1' }, status: { allocatable: { cpu: '2', pods: '2' } } };
  assert.equal(refusalOf(asking('500m'), small, [asking('1500m')]), undefined);
  assert.deepEqual(refusalOf(asking('501m'), small, [asking('1500m')]), {
    reason: 'OutOfcpu',
    message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000",
  });
  assert.equal(refusalOf(asking('0'), small, [asking('0'), asking('0')])?.reason, 'OutOfpods');
});

test('a pod for other nodes is refused', () => {
  const choosy: Pod = { metadata: { name: 'web-0' }, spec: { containers: [], nodeSelector: { disk: 'fast' } } };
  assert.equal(refusalOf(choosy, node(), [])?.reason, 'NodeAffinity');
  assert.equal(refusalOf(choosy, { metadata: { name: 'node-1', labels: { disk: 'fast' } } }, []), undefined);
});

test('pods from files of the node are exempt', () => {
  assert.equal(refusalOf(pod([], { [mirrorAnnotation]: 'hash' }), node(outOfService), []), undefined);
});
