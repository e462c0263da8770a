/**
 * Every metric: its name, its type, its labels with what they hold, and what it means. The operator exports these and no others;
 * docs/metrics.md is made from the same list. Names and labels are API: alerts and dashboards are built on them.
 */
export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** None of them grows with the cluster, but `node` of those that are about each node. */
  readonly labels?: Readonly<Record<string, string>>;
}

export const METRICS = {
  fenceline_build_info: { type: 'gauge', help: 'Always 1.', labels: { version: 'of the operator' } },
  fenceline_leading: { type: 'gauge', help: 'Whether this instance leads.' },
  fenceline_nodes: { type: 'gauge', help: 'Nodes by verdict.', labels: { verdict: 'what is thought of them' } },
  fenceline_node_verdict: {
    type: 'gauge',
    help: 'The present verdict on each node; always 1.',
    labels: { node: 'its name', verdict: 'what is thought of it' },
  },
  fenceline_verdict_changes_total: {
    type: 'counter',
    help: 'Verdicts that changed, by what they changed to.',
    labels: { verdict: 'the new one', reason: 'why' },
  },
  fenceline_view_objects: {
    type: 'gauge',
    help: 'Objects in the local view.',
    labels: { resource: 'what is watched' },
  },
  fenceline_view_age_seconds: {
    type: 'gauge',
    help: 'Everything that had happened this long ago is in the view.',
    labels: { resource: 'what is watched' },
  },
  fenceline_view_lists: { type: 'gauge', help: 'Full lists since the start.', labels: { resource: 'what is watched' } },
  fenceline_view_watches: {
    type: 'gauge',
    help: 'Watches opened since the start.',
    labels: { resource: 'what is watched' },
  },
  fenceline_view_dropped_events: {
    type: 'gauge',
    help: 'Events dropped because they were old or repeated.',
    labels: { resource: 'what is watched' },
  },
  fenceline_api_problems_total: {
    type: 'counter',
    help: 'Requests to the API server that failed and were tried again.',
    labels: { source: 'who asked', kind: 'what went wrong' },
  },
  fenceline_api_clock_off_seconds: {
    type: 'gauge',
    help: 'How far the clock of an API server was ahead of what is believed, within the last minutes; negative: behind.',
  },
  fenceline_released_pods_total: {
    type: 'counter',
    help: 'Pods let go, by basis.',
    labels: { basis: 'why they may go' },
  },
  fenceline_release_seconds: {
    type: 'histogram',
    help: 'Of each pod let go: from the moment its rule held, as far as was known, until the API server had taken the last write.',
    labels: { basis: 'why it may go' },
  },
  fenceline_release_refusals_total: {
    type: 'counter',
    help: 'Acts that were not carried out, by reason.',
    labels: { why: '`changed`, `unconfirmed`, or what the API server answered' },
  },
  fenceline_stuck_pods: {
    type: 'gauge',
    help: 'Pods that should have gone and have not, by reason.',
    labels: { reason: 'why not' },
  },
  fenceline_fences: {
    type: 'gauge',
    help: 'Fences that have not ended, by phase; those that have failed included.',
    labels: { phase: 'where they stand' },
  },
  fenceline_fence_steps_total: {
    type: 'counter',
    help: 'Steps of fences, by what they came to.',
    labels: { step: 'a step, or an alarm' },
  },
  fenceline_remedies_total: {
    type: 'counter',
    help: 'Remedies of ladders that have ended, by how: succeeded, failed, unknown, or dropped because nobody needs them any more.',
    labels: { kind: 'of the remedy, as policies call it', outcome: 'how it ended' },
  },
  fenceline_device_seconds: {
    type: 'histogram',
    help: 'How long devices took to answer. Unknown: no answer, or one that can mean anything.',
    labels: {
      driver: 'the agent or cloud',
      action: '`status` is a question, `off` and `on` are commands',
      outcome: '`status`, `accepted`, `refused` or `unknown`',
    },
  },
  fenceline_alarms: {
    type: 'gauge',
    help: 'Nodes that a person should look at, by why: the alarms of NodeFences that stand.',
    labels: { reason: 'why' },
  },
  fenceline_held_nodes: {
    type: 'gauge',
    help: 'Nodes in trouble that nothing is done about just now, by reason.',
    labels: { reason: 'what holds them' },
  },
  fenceline_holds_total: {
    type: 'counter',
    help: 'Holds that began, by reason.',
    labels: { reason: 'what held a node' },
  },
  fenceline_paused: { type: 'gauge', help: 'Whether somebody has paused everything.' },
  fenceline_incident_stage_seconds: {
    type: 'histogram',
    help: 'From the first sight of trouble until the node was proven harmless, its pods were gone, or it was back.',
    labels: { stage: '`fenced`, `released` or `back`' },
  },
  fenceline_incidents_total: {
    type: 'counter',
    help: 'Incidents that are over: repaired by us, back alone, or with the node gone.',
    labels: { outcome: '`repaired`, `alone` or `gone`' },
  },
  fenceline_unfenceable_nodes: {
    type: 'gauge',
    help: 'Nodes that could not be fenced when last checked, by reason.',
    labels: { reason: 'why not' },
  },
  fenceline_node_unfenceable: {
    type: 'gauge',
    help: 'A node that could not be fenced when last checked; always 1.',
    labels: { node: 'its name', reason: 'why not' },
  },
  fenceline_kdump_messages_total: {
    type: 'counter',
    help: 'Datagrams at the port of crashed kernels, by what came of them.',
    labels: { result: 'what came of it' },
  },
  fenceline_draining_nodes: {
    type: 'gauge',
    help: 'Cordoned nodes under a DrainPolicy, by why a drain waits, or does not.',
    labels: { reason: 'why it waits; `Allowed`: it does not' },
  },
  fenceline_drain_blocked_nodes: { type: 'gauge', help: 'Nodes whose drain would wait, cordoned or not.' },
  fenceline_replica_evictions_total: {
    type: 'counter',
    help: 'Replicas asked to leave, and requests taken back.',
    labels: { event: 'the reason of the event that tells it' },
  },
  fenceline_drain_refusals_total: {
    type: 'counter',
    help: 'Acts of the drain guard that were not carried out, because things had changed.',
    labels: { action: 'what was to be done' },
  },
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time used.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Memory in use.' },
  process_start_time_seconds: { type: 'gauge', help: 'Start of the process.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Memory in use by objects.' },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;

/** What every sample of it has to say: a label that is not in the list does not compile. */
export type LabelsOf<Name extends MetricName> = (typeof METRICS)[Name] extends { labels: infer Labels }
  ? Record<keyof Labels & string, string>
  : Record<string, never>;

/** docs/metrics.md. */
export function metricsPage(): string {
  const rows = Object.entries<MetricDefinition>(METRICS).map(([name, { type, labels = {}, help }]) => {
    const told = Object.entries(labels).map(([label, holds]) => `\`${label}\`: ${holds}`);
    return `| \`${name}\` | ${type} | ${told.join('; ')} | ${help} |`;
  });
  return `${head}${rows.join('\n')}\n`;
}

const head = `# Metrics

<!-- Generated from src/report/metric-list.ts by \`npm run generate\`. Do not edit. -->

On \`/metrics\` of every instance of the operator. One that does not lead tells of itself alone (whether it leads, its views, its process),
so that sums over instances are right. Reasons, phases and bases are those of the
[reference](reference.md). What they should be is in
[production readiness](production-readiness.md#monitoring), and what to do when they are not in the [runbooks](runbooks.md).

| metric | type | labels | meaning |
|---|---|---|---|
`;
