/** The pages beside Now and that of a node: each answers one question, from what is on record. */
import { ALARM } from '../api/reasons.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { WorkloadReport } from '../cli/check-workloads.ts';
import type { ClusterWatch, StoredPolicy } from './cluster-watch.ts';
import { byName } from './now.ts';
import type { DevicesPage, DrainsPage, PoliciesPage, PolicyLine, RecordPage, WorkloadsPage } from './picture.ts';

const maxLines = 500;

/** What is stuck now, and what would not fail over tonight? `report`: absent, nobody has looked yet, or it could not be found out. */
export function workloadsPage(
  cluster: ClusterWatch,
  report: { at: string; found?: WorkloadReport; problem?: string } | undefined,
): WorkloadsPage {
  const stuck = cluster.records.flatMap(({ spec, status }) =>
    (status?.stuck ?? []).map((one) => ({ ...one, pod: `${one.namespace}/${one.name}`, node: spec.node })),
  );
  const waiting = cluster.pods
    .filter(({ node, phase }) => node === '' && phase === 'Pending')
    .map(({ key, createdAt }) => ({ pod: key, since: createdAt }));
  const { found } = report ?? {};
  return {
    kind: 'workloads',
    stuck: stuck.slice(0, maxLines).map(({ pod, node, reason, message, until }) => ({
      pod,
      node,
      reason,
      message,
      ...(until === undefined ? {} : { until }),
    })),
    waiting: waiting.slice(0, maxLines),
    ...(report === undefined ? {} : { lookedAt: report.at }),
    ...(report?.problem === undefined ? {} : { problem: report.problem }),
    ...(found === undefined ? {} : { stateful: found.stateful, findings: found.findings.slice(0, maxLines) }),
  };
}

/** Which nodes could not be fenced today? Those first. */
export function devicesPage(cluster: ClusterWatch): DevicesPage {
  const all = cluster.devices.filter(
    ({ spec, status }) => spec?.node !== undefined && status?.unnamedSince === undefined,
  );
  const lines = all.map(({ metadata, spec, status = {} }) => ({
    name: metadata.name,
    node: spec?.node ?? '',
    device: status.device ?? spec?.agent ?? spec?.driver ?? '',
    power: status.power ?? 'unknown',
    ...(status.since === undefined ? {} : { since: status.since }),
    // Nobody has asked it yet: that is neither yes nor no.
    fenceable: status.wrong === undefined ? (status.fenceable ?? ('unknown' as const)) : false,
    ...reasonOf(status),
    ...(status.identity === undefined ? {} : { identity: status.identity }),
    ...(status.drilled === undefined ? {} : { drilled: status.drilled }),
  }));
  const known = new Set(lines.map(({ node }) => node));
  const without = cluster.nodes.map(({ facts }) => facts.name).filter((name) => !known.has(name));
  const rank = (fenceable: boolean | 'unknown'): number => (fenceable === false ? 0 : fenceable === 'unknown' ? 1 : 2);
  return {
    kind: 'devices',
    devices: lines.toSorted((a, b) => rank(a.fenceable) - rank(b.fenceable) || byName(a.node, b.node)),
    without: without.toSorted(byName).slice(0, maxLines),
  };
}

function reasonOf(status: NonNullable<ClusterWatch['devices'][number]['status']>): {
  reason?: string;
  message?: string;
} {
  const { wrong, reason, message } = status;
  if (wrong !== undefined) return { reason: wrong.reason, message: wrong.message };
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/** What is in force where, what is risky? */
export function policiesPage(cluster: ClusterWatch): PoliciesPage {
  const { policies } = cluster;
  const chosen = cluster.nodes.map(({ facts, labels }) => ({ node: facts.name, match: matchPolicy(policies, labels) }));
  const inForce = (name: string): string[] =>
    chosen.flatMap(({ node, match }) => (match.kind === 'one' && match.policy.name === name ? [node] : []));
  return {
    kind: 'policies',
    policies: cluster.remedyPolicies.map((policy) => lineOf(policy, inForce(policy.metadata.name).length)),
    unselected: chosen.flatMap(({ node, match }) => (match.kind === 'one' ? [] : [node])).slice(0, maxLines),
    problems: cluster.records
      .flatMap(({ spec, status }) =>
        (status?.problems ?? []).map(({ condition, count, times }) => ({
          node: spec.node,
          condition,
          count,
          ...(times.at(-1) === undefined ? {} : { last: times.at(-1) ?? '' }),
        })),
      )
      .toSorted((a, b) => b.count - a.count)
      .slice(0, maxLines),
    alarms: cluster.records.flatMap(({ spec, status }) =>
      (status?.conditions ?? [])
        .filter(({ type, status: is }) => type === ALARM.of && is === 'True')
        .map(({ reason, message, lastTransitionTime: since }) => ({ node: spec.node, reason, message, since })),
    ),
  };
}

function lineOf(policy: StoredPolicy, nodes: number): PolicyLine {
  const { spec = {}, status = {} } = policy;
  const mode = spec['mode'] ?? spec['policy'];
  const conditions = (status['conditions'] ?? []) as PolicyLine['conditions'];
  const selector = spec['allNodes'] === true ? 'all nodes' : JSON.stringify(spec['selector'] ?? {});
  return {
    name: policy.metadata.name,
    mode: typeof mode === 'string' ? mode : '',
    selector,
    nodes,
    conditions: conditions.map(({ type, status: is, reason, message }) => ({ type, status: is, reason, message })),
  };
}

/** Can I drain this node, what blocks? */
export function drainsPage(cluster: ClusterWatch): DrainsPage {
  const { drains } = cluster;
  const cordoned = cluster.nodes.filter(({ facts }) => facts.unschedulable).map(({ facts }) => facts.name);
  return {
    kind: 'drains',
    drains: cordoned.toSorted(byName).map((node) => ({ node, ...drains.get(node) })),
    policies: cluster.drainPolicies.map((policy) => lineOf(policy, Number(policy.status?.['nodes'] ?? 0))),
  };
}

/** Who did what, why, on what basis, with what result? The latest first; what happened without anybody's doing stands beside it. */
export function recordPage(cluster: ClusterWatch): RecordPage {
  const newest = (a: { at: string }, b: { at: string }): number => Date.parse(b.at) - Date.parse(a.at);
  const deeds = cluster.records.flatMap(({ spec, status }) =>
    (status?.deeds ?? []).map(({ at, deed, on = '', by = '', why = '', basis = '', result, message, times }) => ({
      at,
      node: spec.node,
      deed: times === undefined ? deed : `${deed} ×${times}`,
      on,
      by,
      why,
      basis,
      result: message === undefined ? result : `${result}: ${message}`,
    })),
  );
  const entries = cluster.records.flatMap(({ spec, status }) =>
    (status?.history ?? []).map(({ at, reason, message }) => ({ at, node: spec.node, reason, message: message ?? '' })),
  );
  return {
    kind: 'record',
    deeds: deeds.toSorted(newest).slice(0, maxLines),
    entries: entries.toSorted(newest).slice(0, maxLines),
    total: entries.length + deeds.length,
  };
}
