/**
 * Metrics. Gauges are read when somebody asks, from the values that everything else uses: nothing is kept twice, and a
 * metric cannot drift from the truth.
 */
import type { Answered } from '../act/timed-devices.ts';
import { FENCE_PHASES } from '../api/fence-names.ts';
import { VERDICTS } from '../api/view.ts';
import type { Incidents } from './incidents.ts';
import type { LabelsOf, MetricName } from './metric-list.ts';
import { METRICS } from './metric-list.ts';
import type { Sample } from './prometheus.ts';
import { Counter, Histogram, render } from './prometheus.ts';
import type { ReleaseTimes } from './release-times.ts';
import type { VerdictBoard, VerdictChange } from './verdict-board.ts';

/** What is counted of passes. */
export interface ReleaseMetrics {
  released: Counter<LabelsOf<'fenceline_released_pods_total'>>;
  times: Pick<ReleaseTimes, 'took'>;
  refused: Counter<LabelsOf<'fenceline_release_refusals_total'>>;
  stuck: ReadonlyMap<string, number>;
  fenceSteps: Counter<LabelsOf<'fenceline_fence_steps_total'>>;
  remedies: Counter<LabelsOf<'fenceline_remedies_total'>>;
  /** Begun, by reason. */
  holds: Counter<LabelsOf<'fenceline_holds_total'>>;
  incidents: Pick<Incidents, 'stages' | 'ended'>;
  held: ReadonlyMap<string, number>;
}

/** What is known of drains. */
export interface DrainMetrics {
  nodes: readonly { node: string; cordoned: boolean | undefined; blocked: boolean; reason: string }[];
  requests: Counter<LabelsOf<'fenceline_replica_evictions_total'>>;
  refusals: Counter<LabelsOf<'fenceline_drain_refusals_total'>>;
}

export interface MetricSources {
  board: VerdictBoard;
  watches: () => { name: string; objects: number; ageMs: number; lists: number; watches: number; duplicates: number }[];
  isLeading: () => boolean;
  releases: ReleaseMetrics;
  drains: DrainMetrics;
  /** What the NodeFences say; empty while another instance leads, which tells the same. */
  records: () => readonly { phase?: string | undefined; alarm?: string | undefined }[];
  /** Somebody has paused everything. */
  isPaused: () => boolean;
  /** By how much a clock of an API server is off. */
  clockAstrayMs: () => number;
  /** Nodes that could not be fenced today, with why. */
  unfenceable: () => ReadonlyMap<string, string>;
  /** Messages of crashed kernels, by what came of them. */
  kdump: Readonly<Record<string, number>>;
}

type Readers = { [Name in MetricName]: () => Iterable<Sample<LabelsOf<Name>>> };
type Part<Prefix extends string> = Pick<Readers, Extract<MetricName, `${Prefix}${string}`>>;

/** A fence that is finished is none. */
const OPEN_PHASES = FENCE_PHASES.filter((phase) => phase !== 'finished');

/** Nearly all answer at once; what takes longer than a question may take has not answered. */
const deviceBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export class Metrics {
  readonly #changes = new Counter<LabelsOf<'fenceline_verdict_changes_total'>>();
  readonly #problems = new Counter<LabelsOf<'fenceline_api_problems_total'>>();
  readonly #devices = new Histogram<LabelsOf<'fenceline_device_seconds'>>(deviceBounds);
  readonly #readers: Readers;

  constructor(sources: MetricSources, version: string) {
    this.#readers = {
      fenceline_build_info: () => [{ labels: { version }, value: 1 }],
      fenceline_leading: () => one(sources.isLeading() ? 1 : 0),
      fenceline_paused: () => one(sources.isPaused() ? 1 : 0),
      fenceline_verdict_changes_total: () => this.#changes.samples,
      fenceline_api_problems_total: () => this.#problems.samples,
      fenceline_api_clock_off_seconds: () => one(sources.clockAstrayMs() / 1000),
      fenceline_device_seconds: () => this.#devices.samples,
      fenceline_kdump_messages_total: () =>
        Object.entries(sources.kdump).map(([result, value]) => ({ labels: { result }, value })),
      ...verdictReaders(sources.board),
      ...watchReaders(sources.watches),
      ...passReaders(sources.releases),
      ...recordReaders(sources.records),
      ...unfenceableReaders(sources.unfenceable),
      ...drainReaders(sources.drains),
      ...processReaders(),
    };
  }

  text(): string {
    const names = Object.keys(METRICS) as MetricName[];
    return render(names.map((name) => ({ name, ...METRICS[name], read: this.#readers[name] })));
  }

  verdictChanged({ judgement: { verdict, reason } }: VerdictChange): void {
    this.#changes.increase({ verdict, reason });
  }

  problem(source: string, kind: string): void {
    this.#problems.increase({ source, kind });
  }

  /** A device was asked or told something. */
  answered({ driver, action, outcome, tookMs }: Answered): void {
    this.#devices.observe({ driver, action, outcome }, tookMs / 1000);
  }
}

function one(value: number): Sample<Record<string, never>>[] {
  return [{ labels: {}, value }];
}

/** How many there are of each. */
function counted<Key extends string>(all: Iterable<Key>): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const key of all) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function byReason(counts: Iterable<readonly [string, number]>): Sample<{ reason: string }>[] {
  return [...counts].map(([reason, value]) => ({ labels: { reason }, value }));
}

function verdictReaders(board: VerdictBoard): Pick<Readers, 'fenceline_nodes' | 'fenceline_node_verdict'> {
  return {
    fenceline_nodes: () => {
      const { counts } = board;
      return VERDICTS.map((verdict) => ({ labels: { verdict }, value: counts[verdict] }));
    },
    fenceline_node_verdict: () =>
      [...board.verdicts].map(([node, { verdict }]) => ({ labels: { node, verdict }, value: 1 })),
  };
}

type OfPasses =
  | 'fenceline_released_pods_total'
  | 'fenceline_release_seconds'
  | 'fenceline_release_refusals_total'
  | 'fenceline_stuck_pods'
  | 'fenceline_fence_steps_total'
  | 'fenceline_remedies_total'
  | 'fenceline_held_nodes'
  | 'fenceline_holds_total'
  | 'fenceline_incident_stage_seconds'
  | 'fenceline_incidents_total';

function passReaders(passes: ReleaseMetrics): Pick<Readers, OfPasses> {
  return {
    fenceline_released_pods_total: () => passes.released.samples,
    fenceline_release_seconds: () => passes.times.took.samples,
    fenceline_release_refusals_total: () => passes.refused.samples,
    fenceline_stuck_pods: () => byReason(passes.stuck),
    fenceline_fence_steps_total: () => passes.fenceSteps.samples,
    fenceline_remedies_total: () => passes.remedies.samples,
    fenceline_held_nodes: () => byReason(passes.held),
    fenceline_holds_total: () => passes.holds.samples,
    fenceline_incident_stage_seconds: () => passes.incidents.stages.samples,
    fenceline_incidents_total: () => passes.incidents.ended.samples,
  };
}

function recordReaders(records: MetricSources['records']): Pick<Readers, 'fenceline_fences' | 'fenceline_alarms'> {
  return {
    // Those that nobody is in too: an alert that is over has to see a zero.
    fenceline_fences: () => {
      const counts = counted(records().flatMap(({ phase }) => phase ?? []));
      return OPEN_PHASES.map((phase) => ({ labels: { phase }, value: counts.get(phase) ?? 0 }));
    },
    fenceline_alarms: () => byReason(counted(records().flatMap(({ alarm }) => alarm ?? []))),
  };
}

function unfenceableReaders(
  unfenceable: MetricSources['unfenceable'],
): Pick<Readers, 'fenceline_unfenceable_nodes' | 'fenceline_node_unfenceable'> {
  return {
    fenceline_unfenceable_nodes: () => byReason(counted(unfenceable().values())),
    fenceline_node_unfenceable: () =>
      [...unfenceable()].map(([node, reason]) => ({ labels: { node, reason }, value: 1 })),
  };
}

type OfDrains =
  | 'fenceline_draining_nodes'
  | 'fenceline_drain_blocked_nodes'
  | 'fenceline_replica_evictions_total'
  | 'fenceline_drain_refusals_total';

function drainReaders(drains: DrainMetrics): Pick<Readers, OfDrains> {
  return {
    fenceline_draining_nodes: () =>
      byReason(counted(drains.nodes.flatMap(({ cordoned, reason }) => (cordoned === true ? [reason] : [])))),
    fenceline_drain_blocked_nodes: () => one(drains.nodes.filter(({ blocked }) => blocked).length),
    fenceline_replica_evictions_total: () => drains.requests.samples,
    fenceline_drain_refusals_total: () => drains.refusals.samples,
  };
}

function watchReaders(watches: MetricSources['watches']): Part<'fenceline_view_'> {
  type Watch = ReturnType<typeof watches>[number];
  const perWatch = (value: (watch: Watch) => number) => (): Sample<{ resource: string }>[] =>
    watches().map((watch) => ({ labels: { resource: watch.name }, value: value(watch) }));
  return {
    fenceline_view_objects: perWatch(({ objects }) => objects),
    fenceline_view_age_seconds: perWatch(({ ageMs }) => ageMs / 1000),
    fenceline_view_lists: perWatch(({ lists }) => lists),
    fenceline_view_watches: perWatch((watch) => watch.watches),
    fenceline_view_dropped_events: perWatch(({ duplicates }) => duplicates),
  };
}

/** Under the names that every dashboard knows. */
function processReaders(): Part<'process_' | 'nodejs_'> {
  return {
    process_cpu_seconds_total: () => {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6);
    },
    process_resident_memory_bytes: () => one(process.memoryUsage.rss()),
    process_start_time_seconds: () => one(performance.timeOrigin / 1000),
    nodejs_heap_size_used_bytes: () => one(process.memoryUsage().heapUsed),
  };
}
