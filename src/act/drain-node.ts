/**
 * Empties a node as `kubectl drain` does: cordoned first, or the scheduler fills it as fast as it is emptied, and then by the
 * Eviction API alone, so that every budget is respected (S24). A kubelet that is silent ends nothing: after a while the drain gives
 * up, and the ladder goes on.
 */
import { belongsToNode, isOver } from '../api/facts.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { controllerOf, isMirror } from '../kube/ownership.ts';
import { pods } from '../kube/resources.ts';
import type { MayAct } from './device-tasks.ts';
import type { TryOutcome } from './power.ts';
import { setScheduling } from './scheduling.ts';

export interface DrainCalls {
  client: KubeClient;
  clock: Clock;
  guard: () => boolean;
  timeoutMs: number;
  /** Asked before each round of evictions: why there must be none, or undefined. */
  mayAct: MayAct;
  /** The same for every try of one drain. */
  leavers: Leavers;
}

interface WirePod extends KubeObject {
  status?: { phase?: string };
}

const againEveryMs = 5000;
const patienceMs = 300_000;

/** What comes first, and is waited for: the next decision has to see it (S17). Answers how the drain has ended, if it has by that. */
export async function cordonFirst(node: LiveNode, calls: DrainCalls): Promise<TryOutcome | undefined> {
  const refused = await refusal(calls);
  if (refused !== undefined) return refused;
  const { outcome, message } = await setScheduling(node, 'cordon', calls);
  if (outcome === 'succeeded') return undefined;
  return {
    outcome: 'failed',
    message: `${node.name} could not be drained, because it could not be cordoned: ${message}`,
  };
}

export async function drainNode(name: string, calls: DrainCalls): Promise<TryOutcome> {
  const { client, clock, guard, timeoutMs, leavers } = calls;
  const untilMs = clock.monotonic() + patienceMs;
  let left = 'its pods could not be listed';
  while (guard() && clock.monotonic() < untilMs) {
    const listed = await client.list<WirePod>(pods, { fieldSelector: `spec.nodeName=${name}` }, { timeoutMs });
    if (listed.ok) {
      const { leaving, staying } = leavers.of(listed.value.items.filter(hasToLeave));
      if (leaving.length === 0) return { outcome: 'succeeded', message: `${name} is empty${but(staying)}` };
      const refused = await refusal(calls);
      if (refused !== undefined) return refused;
      const refusals = await Promise.all(
        leaving.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map((pod) => evict(pod, calls)),
      );
      left = refusals.find((one) => one !== undefined) ?? `${leaving.length} pods are still terminating`;
    }
    await sleep(clock, againEveryMs);
  }
  return { outcome: 'failed', message: `${name} could not be drained: ${left}` };
}

async function refusal({ mayAct }: DrainCalls): Promise<TryOutcome | undefined> {
  const objection = await mayAct();
  return objection === undefined ? undefined : { outcome: 'dropped', message: objection };
}

function but(staying: number): string {
  return staying === 0 ? '' : `, but for ${staying} pods that came while it was drained`;
}

/** Who has to leave: those that were there at the first look, and of each controller one that came later (SAF-9). */
export class Leavers {
  #present: ReadonlySet<string> | undefined;
  readonly #late = new Map<string, string>();

  of(here: readonly WirePod[]): { leaving: WirePod[]; staying: number } {
    const present = (this.#present ??= new Set(here.map(({ metadata }) => metadata.uid ?? '')));
    const leaving = here.filter(({ metadata }) => present.has(metadata.uid ?? '') || this.#isFirst(metadata));
    return { leaving, staying: here.length - leaving.length };
  }

  #isFirst(metadata: KubeObject['metadata']): boolean {
    const { uid = '' } = metadata;
    const controller = controllerOf(metadata)?.uid ?? uid;
    if (!this.#late.has(controller)) this.#late.set(controller, uid);
    return this.#late.get(controller) === uid;
  }
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
