/**
 * What people type at any cluster and this one cannot do: its machines have no processes to look into, and nobody measures them. They
 * are told in one sentence, with what to type instead, and not that a path is unknown.
 */
import type { JsonRecord } from './object.ts';
import { isRecord } from './object.ts';
import { ApiError } from './status-error.ts';

const inPod =
  /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/(log|exec|attach|portforward|proxy|ephemeralcontainers)$/;
const metrics = { group: 'metrics.k8s.io', version: 'v1beta1' };

const lacks: Readonly<Record<string, string>> = {
  log: 'no logs',
  exec: 'no processes to run anything beside',
  attach: 'no processes to attach to',
  portforward: 'no ports',
  proxy: 'no ports',
  ephemeralcontainers: 'no processes to look at',
};

/** Undefined: it may be known. */
export function insteadOf(path: string): ApiError | undefined {
  const [, namespace, pod, what = ''] = inPod.exec(path) ?? [];
  if (pod !== undefined) {
    return notHere(
      `pods of this cluster are simulated and have ${lacks[what]}; what is known of this one: ` +
        `kubectl describe pod -n ${namespace} ${pod}, and of its node: fenceline explain NODE`,
    );
  }
  if (!path.startsWith(`/apis/${metrics.group}/`)) return undefined;
  return notHere(
    'nobody measures simulated machines; what runs where: kubectl get pods -A -o wide, and how nodes are: fenceline status',
  );
}

function notHere(message: string): ApiError {
  return new ApiError(501, 'NotImplemented', message);
}

/** kubectl asks for measurements only where it finds their group; so it comes to hear why there are none. */
export function withMetrics(groups: string): string {
  const list: unknown = JSON.parse(groups);
  if (!isRecord(list)) return groups;
  const { group, version } = metrics;
  const groupVersion = { groupVersion: `${group}/${version}`, version };
  if (Array.isArray(list['groups'])) {
    const one: JsonRecord = { name: group, versions: [groupVersion], preferredVersion: groupVersion };
    return JSON.stringify({ ...list, groups: [...(list['groups'] as unknown[]), one] });
  }
  if (!Array.isArray(list['items'])) return groups;
  const one: JsonRecord = { metadata: { name: group }, versions: [{ version, freshness: 'Current', resources: [] }] };
  return JSON.stringify({ ...list, items: [...(list['items'] as unknown[]), one] });
}
