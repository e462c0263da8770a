/**
 * Empties a node as `kubectl drain` does: by the Eviction API alone, so that every budget is respected (S24). A kubelet
 * that is silent ends nothing: after a while the drain gives up, and the ladder goes on.
 */
import { belongsToNode, isOver } from '../api/facts.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { controllerOf, isMirror } from '../kube/ownership.ts';
import { pods } from '../kube/resources.ts';
import type { MayAct } from './device-tasks.ts';
import type { TryOutcome } from './power.ts';

export interface DrainCalls {
  client: KubeClient;
  clock: Clock;
  guard: () => boolean;
  timeoutMs: number;
  /** Asked before each round of evictions: why there must be none, or undefined. */
  mayAct: MayAct;
}

interface WirePod extends KubeObject {
  status?: { phase?: string };
}

const againEveryMs = 5000;
const patienceMs = 300_000;

export async function drainNode(node: string, calls: DrainCalls): Promise<TryOutcome> {
  const { client, clock, guard, timeoutMs, mayAct } = calls;
  const untilMs = clock.monotonic() + patienceMs;
  let left = 'its pods could not be listed';
  while (guard() && clock.monotonic() < untilMs) {
    const listed = await client.list<WirePod>(pods, { fieldSelector: `spec.nodeName=${node}` }, { timeoutMs });
    if (listed.ok) {
      const leaving = listed.value.items.filter(hasToLeave);
      if (leaving.length === 0) return { outcome: 'succeeded', message: `${node} is empty` };
      const objection = await mayAct();
      if (objection !== undefined) return { outcome: 'dropped', message: objection };
      const refusals = await Promise.all(
        leaving.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map((pod) => evict(pod, calls)),
      );
      left = refusals.find((refusal) => refusal !== undefined) ?? `${leaving.length} pods are still terminating`;
    }
    await sleep(clock, againEveryMs);
  }
  return { outcome: 'failed', message: `${node} could not be drained: ${left}` };
}

/** What belongs to the node, or has ended, stays. */
function hasToLeave({ metadata, status }: WirePod): boolean {
  if (isOver({ phase: status?.phase ?? '' })) return false;
  return !belongsToNode({ mirror: isMirror(metadata), owner: controllerOf(metadata) });
}

async function evict({ metadata }: WirePod, { client, guard, timeoutMs }: DrainCalls): Promise<string | undefined> {
  const { name, namespace = '', uid = '' } = metadata;
  const done = await client.evict({ resource: pods, namespace, name }, { uid }, { guard, timeoutMs });
  if (done.ok || done.error.kind === 'notFound') return undefined;
  return `${namespace}/${name}: ${done.error.message}`;
}
