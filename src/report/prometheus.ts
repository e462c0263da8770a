/**
 * The Prometheus text format, as much of it as is needed. The usual library costs 9 MB of the operator's memory, a tenth
 * of its target, for pushing and much else that is not used here.
 */
export type Labels = Record<string, string>;

export interface Sample<Of extends Labels = Labels> {
  /** Behind the name of the metric, as histograms have it. */
  suffix?: string;
  labels: Of;
  value: number;
}

export interface Metric {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** Asked at every scrape. */
  read: () => Iterable<Sample>;
}

export const contentType = 'text/plain; version=0.0.4; charset=utf-8';

export function render(metrics: Iterable<Metric>): string {
  const lines: string[] = [];
  for (const { name, help, type, read } of metrics) {
    lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${type}`);
    for (const { suffix = '', labels, value } of read()) {
      lines.push(`${name}${suffix}${renderLabels(labels)} ${renderValue(value)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Counts by labels; one series for each set of values that ever occurred. */
export class Counter<Of extends Labels = Labels> {
  readonly #series = new Map<string, Sample<Of>>();

  increase(labels: Of): void {
    const key = renderLabels(labels);
    const sample = this.#series.get(key);
    if (sample === undefined) this.#series.set(key, { labels, value: 1 });
    else sample.value += 1;
  }

  get samples(): Iterable<Sample<Of>> {
    return this.#series.values();
  }
}

/** How long things took, by labels: how many took no longer than each bound. */
export class Histogram<Of extends Labels = Labels> {
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, { labels: Of; counts: number[]; sum: number }>();

  constructor(bounds: readonly number[]) {
    this.#bounds = [...bounds, Infinity];
  }

  observe(labels: Of, value: number): void {
    const key = renderLabels(labels);
    const series = this.#series.get(key) ?? { labels, counts: this.#bounds.map(() => 0), sum: 0 };
    this.#series.set(key, series);
    series.sum += value;
    // In place: devices may be asked thousands of times a minute.
    for (const [at, bound] of this.#bounds.entries())
      if (value <= bound) series.counts[at] = (series.counts[at] ?? 0) + 1;
  }

  get samples(): Sample<Of>[] {
    return [...this.#series.values()].flatMap(({ labels, counts, sum }) => [
      ...counts.map((value, at) => ({
        suffix: '_bucket',
        labels: { ...labels, le: renderValue(this.#bounds[at] ?? Infinity) },
        value,
      })),
      { suffix: '_sum', labels, value: sum },
      { suffix: '_count', labels, value: counts.at(-1) ?? 0 },
    ]);
  }
}

function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escape(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function renderValue(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}
