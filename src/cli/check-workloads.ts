/**
 * `fenceline check --workloads`: each stateful pod that would not fail over if its node died now, why, and what to do about it
 * (EXP-4). The cluster is read once; no device is asked.
 */
import type { FailoverFinding } from '../api/failover.ts';
import type { FeatureGates } from '../api/feature-gates.ts';
import { featureGates } from '../api/feature-gates.ts';
import { failoverFindings, isStateful } from '../decide/failover.ts';
import { cloudDrivers } from '../devices/clouds/index.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import { fenceDevices } from '../kube/resources.ts';
import type { AgentFlags } from './agent-flags.ts';
import { agentSettings } from './agent-flags.ts';
import { withClient } from './kube-flags.ts';
import { noSuchNode } from './no-such-node.ts';
import { configuredIn } from './operator-place.ts';
import type { Unfenceable } from './node-status.ts';
import { snapshotOf } from './snapshot-of.ts';
import type { ReadDevice } from './status-devices.ts';
import { renderUnfenceable, unfenceableOf } from './status-devices.ts';
import { renderTable } from './table.ts';
import { UserError } from './user-error.ts';
import { elsewhere } from './written.ts';

export interface WorkloadFlags extends Overrides, AgentFlags {
  clear?: boolean;
  featureGates?: FeatureGates;
  output?: 'wide' | 'json' | 'yaml';
}

export interface WorkloadReport {
  /** How many pods were looked at. */
  stateful: number;
  findings: FailoverFinding[];
  /** Nodes of theirs that could not be fenced when the operator last asked, by which device and why. */
  unfenceable: readonly { node: string; unfenceable: readonly Unfenceable[] }[];
  /** What could not be read, so that nothing is known of it. */
  unread: readonly { what: string; why: string }[];
}

export async function checkWorkloads(names: string[], flags: WorkloadFlags): Promise<void> {
  if (flags.clear === true) throw new UserError('--clear is about devices: leave out --workloads');
  await withClient(flags, async (client, connection) => {
    const namespace = await configuredIn(client, { given: flags.namespace, usual: connection.namespace });
    const report = await workloadReport(client, namespace, { names, flags });
    process.stdout.write(await render(report, flags.output));
    for (const { what, why } of report.unread) process.stderr.write(`fenceline: ${what} are not looked at: ${why}\n`);
    const hint = await elsewhere({ client, namespace });
    if (hint !== undefined) process.stderr.write(`fenceline: ${hint}\n`);
    const isStuck = report.findings.some(({ failsOver }) => failsOver === 'never');
    process.exitCode = isStuck || report.unfenceable.length > 0 ? 1 : 0;
  });
}

export async function workloadReport(
  client: KubeClient,
  namespace: string,
  { names, flags }: { names: readonly string[]; flags: WorkloadFlags },
): Promise<WorkloadReport> {
  const snapshot = await snapshotOf(client, namespace);
  const missing = names.filter((name) => snapshot.nodes.every((node) => node.name !== name));
  if (missing.length > 0)
    throw noSuchNode(
      missing,
      snapshot.nodes.map(({ name }) => name),
    );
  const isMeant = (node: string | undefined): boolean => names.length === 0 || names.includes(node ?? '');
  const findings = failoverFindings({
    snapshot,
    gates: flags.featureGates ?? featureGates(),
    clouds: new Set(cloudDrivers.keys()),
    allowed: agentSettings(flags).allowed,
  });
  const pods = snapshot.pods.filter((pod) => isStateful(pod) && isMeant(pod.node));
  const on = [...new Set(pods.flatMap(({ node }) => node ?? []))].sort();
  // Who may not read them is told less; no device is asked here.
  const read = await client.list<ReadDevice>(fenceDevices, { namespace });
  const devices = read.ok ? read.value.items : [];
  return {
    stateful: pods.length,
    unfenceable: on.flatMap((node) => {
      const { unfenceable } = unfenceableOf(devices, node);
      return unfenceable === undefined ? [] : [{ node, unfenceable }];
    }),
    findings: findings.filter(({ node }) => isMeant(node)),
    unread: snapshot.unread,
  };
}

export async function render(report: WorkloadReport, format: WorkloadFlags['output']): Promise<string> {
  if (format === 'json') return `${JSON.stringify(report, null, 2)}\n`;
  if (format === 'yaml') return (await import('./yaml.ts')).toYaml(report);
  return [renderFindings(report), renderUnfenceable(report.unfenceable)].join('');
}

function renderFindings({ stateful, findings, unfenceable }: WorkloadReport): string {
  if (stateful === 0) return 'No stateful pod is found.\n';
  const all = stateful === 1 ? 'The one stateful pod' : `All ${stateful} stateful pods`;
  if (findings.length === 0 && unfenceable.length > 0)
    return `${all} would fail over if ${stateful === 1 ? 'its node' : 'their nodes'} could be fenced.\n`;
  if (findings.length === 0) {
    return `${all} would fail over, as far as can be told without trying, provided that the devices answer: fenceline check\n`;
  }
  const heads = ['POD', 'NODE', 'FAILS OVER', 'REASON', 'WHY', 'WHAT TO DO'];
  const rows = findings.map((one) => [
    `${one.namespace}/${one.pod}`,
    one.node,
    one.failsOver,
    one.reason,
    one.message,
    one.advice,
  ]);
  return renderTable(heads, rows);
}
