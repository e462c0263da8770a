/** Small scenarios of nodes that are fenced, with the times of trouble.ts, and what their devices and records say afterwards. */
import assert from 'node:assert/strict';
import type { NodeFence, NodeFenceStatus } from '../../../src/api/node-fence.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { parseScenarios } from '../../../src/scenario/parse.ts';
import type { World } from '../../../src/world/world.ts';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import * as t from '../trouble.ts';

export const place = t.place;

export interface Fenced {
  cluster?: object;
  /** Of the one policy, over `byLease`. */
  policy?: object;
  workload?: t.Trouble['workload'];
  objects?: object[];
  events: object[];
  expect?: object[];
  runFor?: string;
  seed?: number;
}

/** No waiting: what is silent for 12 s loses its power at once. */
export const atOnce = { isolateAfter: '0s', powerManagementAfter: '0s', bootTimeout: '60s', retries: 1, restarts: 0 };
/** What comes back within the period is the same incident: it is over 10 s after its end. */
const fence = { name: 'fence', period: '10s' };
export const byLease = [{ lease: { staleFor: '12s' }, remedies: [fence] }];
export const byCondition = [
  {
    condition: { type: 'Ready', status: 'NotTrue', for: '5s' },
    remedies: [fence],
  },
];

export function policyOf(spec: object = {}, name = 'fence'): object {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'RemedyPolicy',
    metadata: { name },
    spec: {
      ...('selector' in spec ? {} : { allNodes: true }),
      thresholds: byLease,
      remedies: [{ name: 'fence', fence: {} }],
      fence: atOnce,
      return: { soak: '10s' },
      ...spec,
    },
  };
}

export function fenced(name: string, what: Fenced): Scenario {
  const { cluster = {}, policy, workload = 'StatefulSet', objects = [], events, expect = [] } = what;
  const { runFor = '3m', seed = 1 } = what;
  const spec = {
    seed,
    cluster: { nodes: 3, kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '10s' }, operators: 1, ...cluster },
    objects: [policyOf(policy), ...objects],
    events,
    runFor,
    expect,
  };
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', metadata: { name }, spec });
  const [scenario] = parseScenarios(name, text);
  if (scenario === undefined) throw new Error('no scenario');
  const { objects: others } = t.trouble(name, { workload, events: [] });
  return { ...scenario, objects: [...others, ...scenario.objects] };
}

/** A pod on every node that could run on any: whatever is cut, something is freed by it. */
export function everywhere(nodes = 3): object {
  const labels = { app: 'everywhere' };
  const apart = [{ labelSelector: { matchLabels: labels }, topologyKey: 'kubernetes.io/hostname' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'everywhere', namespace: 'default' },
    spec: {
      replicas: nodes,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'main', image: 'example/everywhere:1' }],
          affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: apart } },
        },
      },
    },
  };
}

export const elsewhere = (by: string): object => ({ by, pod: { label: 'app=web', running: true, moved: true } });
export const inPlace = { always: { pod: { label: 'app=web', deleted: false } } };
export const fenceIs = (by: string, status: string, step?: string): object => ({
  by,
  fence: { node: place, status, ...(step === undefined ? {} : { step }) },
});
export const wellBy = (by: string): object[] => [
  { by, pod: { label: 'app=web', running: true, ready: true } },
  { by, node: { name: place, ready: true, schedulable: true, taints: [] } },
];

/** What the device of a node was asked for, in order; status left out. */
export function askedOf({ report }: Pick<Observed, 'report'>, node?: string): { at: number; what: string }[] {
  return report.timeline
    .filter(({ actor, what }) => actor === 'device' && what !== 'asked for status')
    .filter(({ object }) => node === undefined || object === `node/${node}`)
    .map(({ at, what }) => ({ at, what: what.replace('asked for ', '') }));
}

export function fenceOf(world: World, node: string): NodeFence | undefined {
  return world.server.peek('fenceline.dev', 'nodefences', `node-fence-${node}`) as unknown as NodeFence | undefined;
}

/** The node where the pod with the volume was: the scheduler's choice depends on the seed alone. */
export function victimOf({ report }: Pick<Observed, 'report'>): string {
  const first = report.timeline.find(({ actor, object }) => actor === 'scenario' && object.startsWith('node/'));
  return first?.object.slice('node/'.length) ?? '';
}

/** How often a machine really lost its power. */
export function cutsOf({ report }: Pick<Observed, 'report'>, node: string): number {
  return report.timeline.filter(({ actor, what }) => actor === node && what === 'off').length;
}

export const partition = [
  { at: '0s', partition: place },
  { at: '60s', heal: place },
];
export const onOff = ['off', 'on'];

export async function asExpected(name: string, what: Fenced): Promise<Observed> {
  const seen = await observe(fenced(name, what));
  assert.deepEqual(failuresOf(seen.report), []);
  return seen;
}

export function commands(seen: Observed): string[] {
  return askedOf(seen, victimOf(seen)).map(({ what }) => what);
}

export type FenceStatus = NonNullable<NodeFenceStatus['fence']>;
