/**
 * Machines that lose their power, one run after the other on a cluster of their own, and when each stage of the way back was reached.
 * Cuts are spread over the ten seconds between two renewals of a Lease: how long ago the last one was is most of what there is to wait.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { OUT_OF_SERVICE_KEY, QUARANTINE_KEY } from '../../src/api/release-view.ts';
import type { JsonPatchOperation, KubeObject } from '../../src/kube/client.ts';
import type { ObjectRef, Resource } from '../../src/kube/resources.ts';
import { nodes, pods } from '../../src/kube/resources.ts';
import { statefulSets } from '../../src/world/controllers/resources.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import { isReady } from '../../test/release/row.ts';
import { namespace, PowerWorld, type Management } from '../../test/support/power-world.ts';
import type { Stage, Stages, Subject } from './power-loss-report.ts';
import { say } from './report.ts';

export interface Measured {
  /** Milliseconds since the power was cut; absent: it was not reached, or nobody can tell. */
  stages: Stages;
  /** Until the DaemonSet's pod of the dead machine was no endpoint any more. */
  endpointMs?: number;
  /** Until storage that fences by the out-of-service taint had done so. */
  fencedMs?: number;
}

export interface Plan extends Subject {
  management?: Management;
  /** What the policy says of the fence; absent: nobody operates the cluster. */
  fence?: object;
  atOnce?: number;
  /** What somebody does once the power is gone. */
  byHand?: (world: PowerWorld, pod: Pod) => Promise<unknown>;
  /** Until the endpoint is gone, too. */
  isTold?: boolean;
  /** Given up after the time that was given for it: it may never come to an end. */
  isBounded?: boolean;
  /** So many are enough: it waits for most of its time, and for the same each time. Such subjects run beside the others. */
  atMost?: number;
}

const stays = { powerOnFoundOff: false };

export const subjects: readonly Plan[] = [
  { name: 'floor', title: 'the cut is known at once (the floor)', byHand: atOnce },
  { name: 'watch', title: 'Fenceline, power watch every second, Redfish', fence: { powerWatch: { every: '1s' } } },
  { name: 'redfish', title: 'Fenceline, `fence: {}`, Redfish over TLS', fence: {} },
  { name: 'ipmi', title: 'Fenceline, `fence: {}`, IPMI by its agent', fence: {}, management: 'ipmi' },
  { name: 'two', title: 'Fenceline, two machines at once, Redfish', fence: {}, atOnce: 2 },
  { name: 'person', title: 'a person: out-of-service taint once NotReady', byHand: byPerson, atMost: 6 },
  { name: 'alone', title: 'Kubernetes alone', byHand: async () => {}, isBounded: true, atMost: 1 },
  { name: 'told', title: 'Fenceline, machine stays off', fence: stays, isTold: true, atMost: 6 },
  {
    name: 'untold',
    title: 'the same, `markOutOfService: false`',
    fence: { ...stays, markOutOfService: false },
    isTold: true,
    atMost: 6,
  },
];

/** So many that hardly one fails twice: whoever fails again soaks for longer, and the next run would wait for it. */
const machinesFor = ({ atOnce = 1 }: Plan): number => 24 * atOnce;
const agent = 'agent';
const renewalMs = 10_000;
const services: Resource = { group: '', version: 'v1', plural: 'services', kind: 'Service', namespaced: true };
const endpointSlices: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
};

interface EndpointSlice extends KubeObject {
  endpoints?: { nodeName?: string; conditions?: { ready?: boolean } }[];
}

export async function measureSubject(plan: Plan, runs: number, aloneMinutes: number): Promise<Measured[]> {
  const names = Array.from({ length: machinesFor(plan) }, (_, at) => ({ name: `node-${at + 1}` }));
  await using world = await PowerWorld.start('power-loss', names, { management: plan.management ?? 'redfish' });
  if (plan.isTold === true) await serve(world, machinesFor(plan));
  if (plan.fence !== undefined) {
    await world.policy(plan.fence);
    await world.runOperator();
    // Until every device was asked once, and what it said is known.
    await delay(renewalMs);
  }
  const measured: Measured[] = [];
  const count = Math.min(runs, plan.atMost ?? runs);
  for (let run = 0; run < count; run += 1) {
    const timeoutMs = plan.isBounded === true ? aloneMinutes * 60_000 : 180_000;
    const ofRun = await measureRun(world, plan, { run, lateMs: (run * renewalMs) / count, timeoutMs });
    for (const one of ofRun) {
      say(`${plan.name} ${run + 1}/${count}: ${JSON.stringify(rounded(one))}`);
      measured.push(one);
    }
  }
  return measured;
}

interface Run {
  run: number;
  lateMs: number;
  timeoutMs: number;
}

async function measureRun(world: PowerWorld, plan: Plan, { run, lateMs, timeoutMs }: Run): Promise<Measured[]> {
  await world.allInService(machinesFor(plan) - 2 * (plan.atOnce ?? 1));
  const sets = Array.from({ length: plan.atOnce ?? 1 }, (_, at) => `db-${run}-${at}`);
  const olds: Pod[] = [];
  for (const set of sets) olds.push(await elsewhere(world, set, olds));
  await delay(lateMs);
  const cutMs = performance.now();
  for (const { spec } of olds) world.fleet.machine(spec.nodeName ?? '').powerOff();
  try {
    return await Promise.all(
      olds.map(async (old) => {
        const { app: set = '' } = old.metadata.labels ?? {};
        const askedMs = firstAsked(world, old.spec.nodeName ?? '');
        const goneMs = plan.isTold === true ? endpointGone(world, old.spec.nodeName ?? '') : undefined;
        await plan.byHand?.(world, old);
        await running(world, set, old, timeoutMs);
        const measured = stagesOf(world, { set, old, cutMs, askedMs: askedMs() });
        const endpointMs = await goneMs;
        return { ...measured, ...(endpointMs === undefined ? {} : { endpointMs: endpointMs - cutMs }) };
      }),
    );
  } finally {
    await putRight(world, plan, olds);
  }
}

/** One pod, on a machine that no other one of this run is on. */
async function elsewhere(world: PowerWorld, set: string, others: readonly Pod[]): Promise<Pod> {
  const taken = others.map(({ spec }) => spec.nodeName ?? '');
  const pod = await world.statefulSet(set);
  if (!taken.includes(pod.spec.nodeName ?? '')) return pod;
  await remove(world, { resource: statefulSets, namespace, name: set });
  return elsewhere(world, `${set}x`, others);
}

/** Undefined stages where it does not run within the time. */
async function running(world: PowerWorld, set: string, old: Pod, timeoutMs: number): Promise<void> {
  const isThere = (): boolean => world.podsOf(set).some((pod) => pod.metadata.uid !== old.metadata.uid && isReady(pod));
  await world.until(`${set} to run elsewhere`, isThere, timeoutMs).catch(() => undefined);
}

interface Traces {
  set: string;
  old: Pod;
  cutMs: number;
  askedMs: number | undefined;
}

function stagesOf(world: PowerWorld, { set, old, cutMs, askedMs }: Traces): Measured {
  const node = old.spec.nodeName ?? '';
  const { history } = world;
  const isNew = (pod: Pod): boolean => pod.metadata.labels?.['app'] === set && pod.metadata.uid !== old.metadata.uid;
  const fences = history.of('nodeFences', ({ spec }) => spec.node === node).filter(({ atMs }) => atMs >= cutMs);
  const ofOld = history.of('pods', ({ metadata }) => metadata.uid === old.metadata.uid);
  const ofNew = history.of('pods', isNew);
  const at: Partial<Record<Stage, number | undefined>> = {
    seen: world.saidOf(node).find(({ msg, atMs, fields }) => {
      return msg === 'verdict' && atMs >= cutMs && fields['verdict'] !== 'healthy';
    })?.atMs,
    asked: askedMs,
    confirmed: fences.find(({ object }) => object.status.fence?.phase === 'off')?.atMs,
    recorded: fences.find(({ object }) => object.status.releases.some((one) => !one.endedAt))?.atMs,
    deleted: ofOld.find(({ type }) => type === 'deleted')?.atMs,
    scheduled: ofNew.find(({ object }) => object.spec.nodeName !== undefined)?.atMs,
    running: ofNew.find(({ object }) => isReady(object))?.atMs,
  };
  const stages: Stages = {};
  for (const [stage, ms] of Object.entries(at)) if (ms !== undefined) stages[stage as Stage] = ms - cutMs;
  const fenced = world.detached.find((detach) => detach.node === node && detach.atMs >= cutMs && detach.isFenced);
  return { stages, ...(fenced === undefined ? {} : { fencedMs: fenced.atMs - cutMs }) };
}

/** When the controller of a machine was first asked from now on; nobody can tell where it does not speak Redfish. */
function firstAsked(world: PowerWorld, node: string): () => number | undefined {
  let atMs: number | undefined;
  const bmc = world.bmcs.get(node);
  if (bmc !== undefined)
    bmc.mischief = () => {
      atMs ??= performance.now();
      return false;
    };
  return () => atMs;
}

async function endpointGone(world: PowerWorld, node: string): Promise<number> {
  const options = { namespace, labelSelector: `kubernetes.io/service-name=${agent}` };
  await world.until(`the endpoint of ${node} to go`, async () => {
    const read = await world.client.list<EndpointSlice>(endpointSlices, options);
    const served = read.ok ? read.value.items.flatMap(({ endpoints = [] }) => endpoints) : undefined;
    return served?.every(({ nodeName, conditions }) => nodeName !== node || conditions?.ready !== true);
  });
  return performance.now();
}

/** As the operator would, without a look at anything: no cluster can be faster. */
async function atOnce(world: PowerWorld, { metadata, spec }: Pod): Promise<void> {
  const ref: ObjectRef = { resource: nodes, name: spec.nodeName ?? '' };
  const taint = { key: QUARANTINE_KEY, effect: 'NoSchedule' };
  await patch(world, ref, [{ op: 'add', path: '/spec/taints', value: [taint] }]);
  await patch(world, ref, [{ op: 'add', path: '/status/volumesInUse', value: [] }], 'status');
  const pod: ObjectRef = { resource: pods, namespace, name: metadata.name };
  await world.client.delete(pod, { uid: metadata.uid ?? '' }, { gracePeriodSeconds: 0 });
}

/** Somebody who sits in front of it, and types in the very second in which Kubernetes has noticed. */
async function byPerson(world: PowerWorld, { spec }: Pod): Promise<void> {
  const name = spec.nodeName ?? '';
  await world.until(
    `${name} to be NotReady`,
    () => world.node(name) !== undefined && !isReady(world.node(name) as never),
  );
  await world.controlPlane.kubectl(['taint', 'node', name, `${OUT_OF_SERVICE_KEY}=nodeshutdown:NoExecute`]);
}

async function serve(world: PowerWorld, machines: number): Promise<void> {
  const spec = { selector: { app: agent }, ports: [{ port: 80 }] };
  await world.create(services, { metadata: { name: agent, namespace }, spec });
  await world.daemonSet(agent, machines);
}

/** Everything as before the run, whoever would have to do it. */
async function putRight(world: PowerWorld, plan: Plan, olds: readonly Pod[]): Promise<void> {
  for (const { metadata } of olds)
    await remove(world, { resource: statefulSets, namespace, name: metadata.labels?.['app'] ?? '' });
  const isLeft = plan.fence === undefined || plan.isTold === true;
  if (!isLeft) return;
  for (const { spec } of olds) {
    const name = spec.nodeName ?? '';
    const taints = (world.node(name)?.spec?.taints ?? []).map(({ key }) => key);
    const own = [OUT_OF_SERVICE_KEY, ...(plan.fence === undefined ? [QUARANTINE_KEY] : [])];
    for (const key of own)
      if (taints.includes(key)) await world.controlPlane.kubectl(['taint', 'node', name, `${key}-`]);
    world.fleet.machine(name).powerOn();
  }
}

async function patch(
  world: PowerWorld,
  ref: ObjectRef,
  operations: JsonPatchOperation[],
  subresource?: string,
): Promise<void> {
  const read = await world.client.get<Node>(ref);
  if (!read.ok) throw new Error(read.error.message);
  const only = { uid: read.value.metadata.uid ?? '' };
  const done = await world.client.patch(ref, only, operations, subresource === undefined ? {} : { subresource });
  if (!done.ok) throw new Error(done.error.message);
}

async function remove(world: PowerWorld, ref: ObjectRef): Promise<void> {
  const read = await world.client.get<KubeObject>(ref);
  if (read.ok)
    await world.client.delete(ref, { uid: read.value.metadata.uid ?? '' }, { propagationPolicy: 'Background' });
}

function rounded({ stages, ...rest }: Measured): object {
  const all = { ...stages, ...rest };
  return Object.fromEntries(Object.entries(all).map(([key, ms]) => [key, Math.round(ms)]));
}
