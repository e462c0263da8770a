/**
 * Metrics. Gauges are read when somebody asks, from the values that everything else uses: nothing is kept twice, and a
 * metric cannot drift from the truth.
 */
import { VERDICTS } from '../api/view.ts';
import type { Incidents } from './incidents.ts';
import type { Metric, Sample } from './prometheus.ts';
import { Counter, render } from './prometheus.ts';
import type { VerdictBoard, VerdictChange } from './verdict-board.ts';

/** What is counted of releases. */
export interface ReleaseMetrics {
  released: Counter;
  refused: Counter;
  stuck: ReadonlyMap<string, number>;
  fenceSteps: Counter;
  /** Begun, by reason. */
  holds: Counter;
  incidents: Pick<Incidents, 'stages' | 'ended'>;
  held: ReadonlyMap<string, number>;
}

/** What is known of drains. */
export interface DrainMetrics {
  nodes: readonly { node: string; cordoned: boolean | undefined; blocked: boolean; reason: string }[];
  requests: Counter;
  refusals: Counter;
}

export interface MetricSources {
  board: VerdictBoard;
  watches: () => { name: string; objects: number; ageMs: number; lists: number; watches: number; duplicates: number }[];
  isLeading: () => boolean;
  releases: ReleaseMetrics;
  drains: DrainMetrics;
  /** Somebody has paused everything. */
  isPaused: () => boolean;
  /** By how much a clock of an API server is off. */
  clockAstrayMs: () => number;
  /** Nodes that could not be fenced today, with why. */
  unfenceable: () => ReadonlyMap<string, string>;
  /** Messages of crashed kernels, by what came of them. */
  kdump: Readonly<Record<string, number>>;
}

export class Metrics {
  readonly #changes = new Counter();
  readonly #problems = new Counter();
  readonly #metrics: Metric[];

  constructor(sources: MetricSources, version: string) {
    this.#metrics = [
      gauge('fenceline_build_info', 'Always 1.', () => [{ labels: { version }, value: 1 }]),
      gauge('fenceline_leading', 'Whether this instance leads.', () => [one(sources.isLeading() ? 1 : 0)]),
      ...verdictMetrics(sources.board),
      counter('fenceline_verdict_changes_total', 'Verdicts that changed, by what they changed to.', this.#changes),
      ...watchMetrics(sources.watches),
      counter(
        'fenceline_api_problems_total',
        'Requests to the API server that failed and were tried again.',
        this.#problems,
      ),
      gauge(
        'fenceline_api_clock_off_seconds',
        'How far the clock of an API server was ahead of what is believed, within the last minutes; negative: behind.',
        () => [one(sources.clockAstrayMs() / 1000)],
      ),
      counter('fenceline_released_pods_total', 'Pods let go, by basis.', sources.releases.released),
      counter(
        'fenceline_release_refusals_total',
        'Acts that were not carried out, by reason.',
        sources.releases.refused,
      ),
      gauge('fenceline_stuck_pods', 'Pods that should have gone and have not, by reason.', () =>
        [...sources.releases.stuck].map(([reason, value]) => ({ labels: { reason }, value })),
      ),
      counter('fenceline_fence_steps_total', 'Steps of fences, by what they came to.', sources.releases.fenceSteps),
      gauge('fenceline_held_nodes', 'Nodes in trouble that nothing is done about just now, by reason.', () =>
        [...sources.releases.held].map(([reason, value]) => ({ labels: { reason }, value })),
      ),
      counter('fenceline_holds_total', 'Holds that began, by reason.', sources.releases.holds),
      gauge('fenceline_paused', 'Whether somebody has paused everything.', () => [one(sources.isPaused() ? 1 : 0)]),
      {
        name: 'fenceline_incident_stage_seconds',
        help: 'From the first sight of trouble until the node was proven harmless, its pods were gone, or it was back.',
        type: 'histogram',
        read: () => sources.releases.incidents.stages.samples,
      },
      counter(
        'fenceline_incidents_total',
        'Incidents that are over: repaired by us, back alone, or with the node gone.',
        sources.releases.incidents.ended,
      ),
      ...unfenceableMetrics(sources.unfenceable),
      {
        name: 'fenceline_kdump_messages_total',
        help: 'Datagrams at the port of crashed kernels, by what came of them.',
        type: 'counter',
        read: () => Object.entries(sources.kdump).map(([result, value]) => ({ labels: { result }, value })),
      },
      ...drainMetrics(sources.drains),
      ...processMetrics(),
    ];
  }

  text(): string {
    return render(this.#metrics);
  }

  verdictChanged({ judgement: { verdict, reason } }: VerdictChange): void {
    this.#changes.increase({ verdict, reason });
  }

  problem(source: string, kind: string): void {
    this.#problems.increase({ source, kind });
  }
}

function gauge(name: string, help: string, read: () => Iterable<Sample>): Metric {
  return { name, help, type: 'gauge', read };
}

function counter(name: string, help: string, source: Counter): Metric {
  return { name, help, type: 'counter', read: () => source.samples };
}

function one(value: number): Sample {
  return { labels: {}, value };
}

function verdictMetrics(board: VerdictBoard): Metric[] {
  return [
    gauge('fenceline_nodes', 'Nodes by verdict.', () => {
      const { counts } = board;
      return VERDICTS.map((verdict) => ({ labels: { verdict }, value: counts[verdict] }));
    }),
    gauge('fenceline_node_verdict', 'The present verdict on each node; always 1.', () =>
      [...board.verdicts].map(([node, { verdict }]) => ({ labels: { node, verdict }, value: 1 })),
    ),
  ];
}

function unfenceableMetrics(unfenceable: MetricSources['unfenceable']): Metric[] {
  return [
    gauge('fenceline_unfenceable_nodes', 'Nodes that could not be fenced when last checked, by reason.', () => {
      const counts = new Map<string, number>();
      for (const reason of unfenceable().values()) counts.set(reason, (counts.get(reason) ?? 0) + 1);
      return [...counts].map(([reason, value]) => ({ labels: { reason }, value }));
    }),
    gauge('fenceline_node_unfenceable', 'A node that could not be fenced when last checked; always 1.', () =>
      [...unfenceable()].map(([node, reason]) => ({ labels: { node, reason }, value: 1 })),
    ),
  ];
}

function drainMetrics(drains: DrainMetrics): Metric[] {
  return [
    gauge('fenceline_draining_nodes', 'Cordoned nodes under a DrainPolicy, by why a drain waits, or does not.', () => {
      const counts = new Map<string, number>();
      for (const { cordoned, reason } of drains.nodes) {
        if (cordoned === true) counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
      return [...counts].map(([reason, value]) => ({ labels: { reason }, value }));
    }),
    gauge('fenceline_drain_blocked_nodes', 'Nodes whose drain would wait, cordoned or not.', () => [
      one(drains.nodes.filter(({ blocked }) => blocked).length),
    ]),
    counter('fenceline_replica_evictions_total', 'Replicas asked to leave, and requests taken back.', drains.requests),
    counter(
      'fenceline_drain_refusals_total',
      'Acts of the drain guard that were not carried out, because things had changed.',
      drains.refusals,
    ),
  ];
}

function watchMetrics(watches: MetricSources['watches']): Metric[] {
  type Watch = ReturnType<typeof watches>[number];
  const perWatch = (name: string, help: string, value: (watch: Watch) => number): Metric =>
    gauge(name, help, () => watches().map((watch) => ({ labels: { resource: watch.name }, value: value(watch) })));
  return [
    perWatch('fenceline_view_objects', 'Objects in the local view.', ({ objects }) => objects),
    perWatch(
      'fenceline_view_age_seconds',
      'Everything that had happened this long ago is in the view.',
      ({ ageMs }) => ageMs / 1000,
    ),
    perWatch('fenceline_view_lists', 'Full lists since the start.', ({ lists }) => lists),
    perWatch('fenceline_view_watches', 'Watches opened since the start.', (watch) => watch.watches),
    perWatch(
      'fenceline_view_dropped_events',
      'Events dropped because they were old or repeated.',
      ({ duplicates }) => duplicates,
    ),
  ];
}

/** Under the names that every dashboard knows. */
function processMetrics(): Metric[] {
  const cpuSeconds = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  return [
    {
      name: 'process_cpu_seconds_total',
      help: 'CPU time used.',
      type: 'counter',
      read: () => [one(cpuSeconds())],
    },
    gauge('process_resident_memory_bytes', 'Memory in use.', () => [one(process.memoryUsage.rss())]),
    gauge('process_start_time_seconds', 'Start of the process.', () => [one(performance.timeOrigin / 1000)]),
    gauge('nodejs_heap_size_used_bytes', 'Memory in use by objects.', () => [one(process.memoryUsage().heapUsed)]),
  ];
}
