/** What an operator that breaks its word does, for the tests of the checkers, and what they say of it. */
import assert from 'node:assert/strict';
import type { KubeObject } from '../../src/kube/client.ts';
import type { Scenario } from '../../src/scenario/format.ts';
import type { Report } from '../../src/scenario/report.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import { definition as machineDefinition } from '../mutants/stories/machines.ts';
import type { Rogue } from './rogue-operator.ts';
import { rogueOperator } from './rogue-operator.ts';
import { run, variation } from './run-file.ts';

export const pod = '/api/v1/namespaces/default/pods/web-0';
export const fences = '/apis/fenceline.dev/v1alpha1/nodefences';
/** The operator starts half a minute before time 0, and the node is dead or cut off from then on. */
const afterMs = 10 * 60_000;

export async function runRogue(scenario: Scenario, act: (rogue: Rogue) => Promise<void>): Promise<Report> {
  let outcome: { error?: unknown } | undefined;
  const program = rogueOperator(afterMs, act, (error) => (outcome ??= { error }));
  const report = await run(scenario, { program });
  assert.ok(outcome, 'the deed was done');
  if (outcome.error !== undefined) throw outcome.error;
  return report;
}

export function violatedBy(report: Report): string[] {
  return [...new Set(report.violations.map(({ invariant }) => invariant))];
}

export function exemptedBy(report: Report): string[] {
  return [...new Set(report.exemptions.map(({ invariant, exemption }) => `${invariant} ${exemption}`))];
}

export const off = variation('stuck-pod', {
  events: [{ at: '0s', powerOff: { nodeOf: 'default/web-0' } }],
  runFor: '15m',
});
export const cutOff = variation('stuck-pod', {
  events: [{ at: '0s', partition: { nodeOf: 'default/web-0' } }],
  runFor: '15m',
});

export async function nodeOfPod(rogue: Rogue): Promise<{ pod: Pod; node: Node }> {
  const found = await rogue.get<Pod>(pod);
  return { pod: found, node: await rogue.get<Node>(`/api/v1/nodes/${found.spec.nodeName}`) };
}

export async function recordBasis(rogue: Rogue, basis: string, change: object = {}, nodeName?: string): Promise<void> {
  const found = await nodeOfPod(rogue);
  const node = nodeName === undefined ? found.node : await rogue.get<Node>(`/api/v1/nodes/${nodeName}`);
  const { pod } = found;
  const name = `node-fence-${node.metadata.name}`;
  await rogue.ask('POST', fences, {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name },
    spec: { node: node.metadata.name },
  });
  const release = {
    basis,
    nodeUid: node.metadata.uid,
    bootId: node.status?.nodeInfo?.bootID,
    epoch: 1,
    recordedAt: '2026-01-01T00:00:00Z',
    pods: [{ namespace: 'default', name: 'web-0', uid: pod.metadata.uid }],
    attachments: [],
    volumes: [],
    ...change,
  };
  const stored = await rogue.get<KubeObject>(`${fences}/${name}`);
  await rogue.ask('PUT', `${fences}/${name}/status`, { ...stored, status: { releases: [release] } });
}

/** So that it is only what the test is about that is missing. */
export async function readLive(rogue: Rogue, node: string): Promise<void> {
  await rogue.get(`/api/v1/nodes/${node}`);
  await rogue.get(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`);
}

export async function forceDelete(rogue: Rogue): Promise<void> {
  const { metadata, spec } = await rogue.get<Pod>(pod);
  const { uid } = metadata;
  await readLive(rogue, spec.nodeName ?? '');
  await rogue.ask('DELETE', pod, { gracePeriodSeconds: 0, preconditions: { uid } });
}

/** So that attach-detach lets go of the volume. */
export async function clearVolumesInUse(rogue: Rogue): Promise<void> {
  const { node } = await nodeOfPod(rogue);
  await readLive(rogue, node.metadata.name);
  await rogue.ask(
    'PATCH',
    `/api/v1/nodes/${node.metadata.name}/status`,
    [
      { op: 'test', path: '/metadata/uid', value: node.metadata.uid },
      { op: 'replace', path: '/status/volumesInUse', value: [] },
    ],
    'application/json-patch+json',
  );
}

export async function recordIncident(rogue: Rogue, node: string, isOfEarlier: boolean): Promise<void> {
  const { metadata } = await rogue.get<Node>(`/api/v1/nodes/${node}`);
  const name = `node-fence-${node}`;
  const spec = { node };
  await rogue.ask('POST', fences, {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name },
    spec,
  });
  const stored = await rogue.get<KubeObject>(`${fences}/${name}`);
  const nodeUid = isOfEarlier ? 'an-earlier-one' : metadata.uid;
  const incident = { id: 'i', startedAt: '2026-01-01T00:00:00Z', trouble: 'Ready=Unknown', nodeUid };
  await rogue.ask('PUT', `${fences}/${name}/status`, { ...stored, status: { incident } });
}

export async function evict(rogue: Rogue, uid: string | undefined, { looks = true } = {}): Promise<void> {
  if (looks) await readLive(rogue, (await rogue.get<Pod>(pod)).spec.nodeName ?? '');
  const metadata = { name: 'web-0', namespace: 'default' };
  const deleteOptions = { preconditions: { uid } };
  await rogue.ask('POST', `${pod}/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions });
}

export async function makeJob(rogue: Rogue, node: string, uid?: string): Promise<void> {
  const annotations = { 'fenceline.dev/node': node, ...(uid === undefined ? {} : { 'fenceline.dev/node-uid': uid }) };
  const template = {
    metadata: { annotations },
    spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] },
  };
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'remedy' }, spec: { template } };
  await rogue.ask('POST', '/apis/batch/v1/namespaces/fenceline-remedies/jobs', job);
}

export async function removeMachine(rogue: Rogue, uid: string | undefined, { looks = true } = {}): Promise<void> {
  const path = '/apis/cluster.x-k8s.io/v1beta1/namespaces/default/machines';
  const machine = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine', metadata: { name: 'm-1' } };
  const status = { nodeRef: { name: 'node-1', ...(uid === undefined ? {} : { uid }) } };
  const made = await rogue.ask('POST', path, { ...machine, status });
  if (looks) await readLive(rogue, 'node-1');
  await rogue.ask('DELETE', `${path}/m-1`, { preconditions: { uid: made.metadata.uid } });
}

export const withMachines = variation('stuck-pod', {
  objects: [machineDefinition],
  events: [{ at: '0s', powerOff: 'node-1' }],
  runFor: '15m',
});
