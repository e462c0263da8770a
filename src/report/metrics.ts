/**
 * Metrics. Gauges are read when somebody asks, from the values that everything else uses: nothing is kept twice, and a
 * metric cannot drift from the truth.
 */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Verdict } from '../api/view.ts';
import { VERDICTS } from '../api/view.ts';
import type { VerdictBoard, VerdictChange } from './verdict-board.ts';

export interface MetricSources {
  board: VerdictBoard;
  watches: () => { name: string; objects: number; ageMs: number; lists: number; watches: number; duplicates: number }[];
  isLeading: () => boolean;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #changes: Counter<'verdict' | 'reason'>;
  readonly #problems: Counter<'source' | 'kind'>;

  constructor(sources: MetricSources, version: string) {
    const registers = [this.#registry];
    // Sampling the event loop every 10 ms, as is the default, costs a third of what the idle operator costs.
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 100 });
    const info = new Gauge({ name: 'fenceline_build_info', help: 'Always 1.', labelNames: ['version'], registers });
    info.set({ version }, 1);
    this.#changes = new Counter({
      name: 'fenceline_verdict_changes_total',
      help: 'Verdicts that changed, by what they changed to.',
      labelNames: ['verdict', 'reason'],
      registers,
    });
    this.#problems = new Counter({
      name: 'fenceline_api_problems_total',
      help: 'Requests to the API server that failed and were tried again.',
      labelNames: ['source', 'kind'],
      registers,
    });
    gauge(registers, 'fenceline_leading', 'Whether this instance leads.', () => [[{}, sources.isLeading() ? 1 : 0]]);
    verdictGauges(registers, sources.board);
    watchGauges(registers, sources.watches);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  verdictChanged({ judgement }: VerdictChange): void {
    this.#changes.inc({ verdict: judgement.verdict, reason: judgement.reason });
  }

  problem(source: string, kind: string): void {
    this.#problems.inc({ source, kind });
  }
}

type Sample = [labels: Record<string, string>, value: number];

function gauge(registers: Registry[], name: string, help: string, read: () => Iterable<Sample>): void {
  const labelNames = ['node', 'verdict', 'resource'];
  const collect = function (this: Gauge): void {
    this.reset();
    for (const [labels, value] of read()) this.set(labels, value);
  };
  registers[0]?.registerMetric(new Gauge({ name, help, labelNames, collect, registers: [] }));
}

function verdictGauges(registers: Registry[], board: VerdictBoard): void {
  gauge(registers, 'fenceline_nodes', 'Nodes by verdict.', () => {
    const { counts } = board;
    return VERDICTS.map((verdict: Verdict): Sample => [{ verdict }, counts[verdict]]);
  });
  gauge(registers, 'fenceline_node_verdict', 'The present verdict on each node; always 1.', () =>
    [...board.verdicts].map(([node, { verdict }]): Sample => [{ node, verdict }, 1]),
  );
}

function watchGauges(registers: Registry[], watches: MetricSources['watches']): void {
  const perWatch = (name: string, help: string, value: (watch: ReturnType<typeof watches>[number]) => number): void =>
    gauge(registers, name, help, () => watches().map((watch): Sample => [{ resource: watch.name }, value(watch)]));
  perWatch('fenceline_view_objects', 'Objects in the local view.', (watch) => watch.objects);
  perWatch(
    'fenceline_view_age_seconds',
    'Everything that had happened this long ago is in the view.',
    (watch) => watch.ageMs / 1000,
  );
  perWatch('fenceline_view_lists', 'Full lists since the start.', (watch) => watch.lists);
  perWatch('fenceline_view_watches', 'Watches opened since the start.', (watch) => watch.watches);
  perWatch(
    'fenceline_view_dropped_events',
    'Events dropped because they were old or repeated.',
    (watch) => watch.duplicates,
  );
}
