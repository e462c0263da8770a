/** Pods as their controllers make them from a template. */
import { createHash } from 'node:crypto';
import type { KubeObject } from '../../kube/client.ts';
import type { Resource } from '../../kube/resources.ts';
import { conditionOf, controlledBy, isReady, isTerminating } from '../objects/meta.ts';
import type { Pod, PodTemplate } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';

/** Letters that never make a word. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Every look at a set asks for the hash of its template, and there are few templates. */
const knownHashes = new Map<string, string>();
const mostHashes = 1000;

/** The same template has the same hash for ever. */
export function templateHash(template: PodTemplate): string {
  const text = JSON.stringify(template);
  let hash = knownHashes.get(text);
  if (hash === undefined) {
    const digest = createHash('sha256').update(canonical(template)).digest();
    hash = Array.from({ length: 10 }, (_, at) => alphabet[(digest[at] ?? 0) % alphabet.length]).join('');
    if (knownHashes.size >= mostHashes) knownHashes.clear();
    knownHashes.set(text, hash);
  }
  return hash;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}

export interface PodIdentity {
  name: string;
  labels?: Record<string, string>;
  finalizers?: string[];
}

export function podFrom(template: PodTemplate, owner: KubeObject, resource: Resource, identity: PodIdentity): Pod {
  const { labels, annotations, finalizers = [] } = template.metadata ?? {};
  const allFinalizers = [...finalizers, ...(identity.finalizers ?? [])];
  return {
    metadata: {
      name: identity.name,
      namespace: owner.metadata.namespace ?? '',
      labels: { ...labels, ...identity.labels },
      ...(annotations === undefined ? {} : { annotations }),
      ...(allFinalizers.length === 0 ? {} : { finalizers: allFinalizers }),
      ownerReferences: [controlledBy(owner, resource)],
    },
    spec: template.spec,
  };
}

/** As the API server ends names that it is asked to make. */
export function generatedName(prefix: string, random: () => number): string {
  const suffix = Array.from({ length: 5 }, () => alphabet[Math.floor(random() * alphabet.length)]);
  return `${prefix}-${suffix.join('')}`;
}

/** Neither finished nor on its way out. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && !isTerminating(pod);
}

/** Milliseconds until a ready pod counts as available: 0 when it is, Infinity while it is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number | undefined, nowMs: number): number {
  if (!isReady(pod)) return Infinity;
  if (minReadySeconds === undefined || minReadySeconds === 0) return 0;
  const since = Date.parse(conditionOf(pod, 'Ready')?.lastTransitionTime ?? '');
  return Math.max(0, since + minReadySeconds * 1000 - nowMs);
}
