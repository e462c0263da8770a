/**
 * A drain as `kubectl drain --ignore-daemonsets --delete-emptydir-data --force` does it: cordon, evict every pod that no
 * DaemonSet and no file of the node keeps there, try again every five seconds where a budget forbids it, give up on
 * anything else, and wait until the pods are gone. One that is given up, by the signal, sends nothing more.
 */
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { nodes, pods } from '../kube/resources.ts';
import type { Node } from '../world/objects/nodes.ts';
import type { Pod } from '../world/objects/pods.ts';
import { isOfTheNode } from '../world/objects/pods.ts';

export type DrainOutcome = 'done' | 'failed';

interface Kubectl {
  client: KubeClient;
  clock: Clock;
  signal: AbortSignal;
}

const retryMs = 5000;
const pollMs = 1000;

export async function cordon(client: KubeClient, name: string, unschedulable: boolean): Promise<string | undefined> {
  const ref = { resource: nodes, name };
  const node = await client.get<Node>(ref);
  if (!node.ok) return node.error.message;
  const { uid = '' } = node.value.metadata;
  if ((node.value.spec?.unschedulable === true) === unschedulable) return undefined;
  const patched = await client.patch(ref, { uid }, [
    unschedulable
      ? { op: 'add', path: '/spec/unschedulable', value: true }
      : { op: 'remove', path: '/spec/unschedulable' },
  ]);
  return patched.ok ? undefined : patched.error.message;
}

export async function drain(
  client: KubeClient,
  clock: Clock,
  nodeName: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<DrainOutcome> {
  if ((await cordon(client, nodeName, true)) !== undefined) return 'failed';
  const listed = await client.list<Pod>(pods, { fieldSelector: `spec.nodeName=${nodeName}` }, { signal });
  if (!listed.ok) return 'failed';
  const leaving = listed.value.items.filter((pod) => !isOfTheNode(pod));
  const outcomes = await Promise.all(leaving.map((pod) => evict({ client, clock, signal }, pod)));
  return outcomes.every((outcome) => outcome === 'done') ? 'done' : 'failed';
}

async function evict({ client, clock, signal }: Kubectl, pod: Pod): Promise<DrainOutcome> {
  const { name, namespace = '', uid = '' } = pod.metadata;
  const ref = { resource: pods, namespace, name };
  while (!signal.aborted) {
    const evicted = await client.evict(ref, { uid });
    if (evicted.ok) break;
    if (evicted.error.kind === 'notFound' || evicted.error.kind === 'conflict') return 'done';
    if (evicted.error.kind !== 'tooManyRequests') return 'failed';
    await sleep(clock, retryMs, signal);
  }
  while (!signal.aborted) {
    const read = await client.get<Pod>(ref);
    if (read.ok ? read.value.metadata.uid !== uid : read.error.kind === 'notFound') return 'done';
    if (!read.ok) return 'failed';
    await sleep(clock, pollMs, signal);
  }
  return 'failed';
}
