/** Metrics as documents, alerts and dashboards name them: what of it the operator does not export. */
import type { MetricDefinition } from '../../src/report/metric-list.ts';
import { METRICS } from '../../src/report/metric-list.ts';

const known = new Map<string, MetricDefinition>(Object.entries(METRICS));

/** Names that no metric has, and labels of metrics that they do not have. A query never finds a histogram by its bare name. */
export function unknownMetrics(text: string, { isQuery = false } = {}): string[] {
  return [...text.matchAll(/\b(fenceline_[a-z_]+)(?:\{([^}]*)\})?/g)].flatMap(([, name = '', labels = '']) => {
    const metric = metricNamed(name);
    if (metric === undefined || (isQuery && known.get(name)?.type === 'histogram')) return [name];
    const names = [...labels.matchAll(/(\w+)\s*(?:[=!]~?\s*"[^"]*")?\s*(?:,|$)/g)].map(([, label = '']) => label);
    const allowed = [...Object.keys(metric.labels ?? {}), ...(name.endsWith('_bucket') ? ['le'] : [])];
    return names.filter((label) => !allowed.includes(label)).map((label) => `${name}{${label}}`);
  });
}

/** Those of which a text has a query, without what histograms put behind their names. */
export function metricsNamed(text: string): Set<string> {
  const names = [...text.matchAll(/\bfenceline_[a-z_]+/g)].map(([name]) => name);
  return new Set(names.map((name) => (known.has(name) ? name : name.replace(suffix, ''))));
}

export function labelsOf(name: string): string[] {
  return Object.keys(metricNamed(name)?.labels ?? {});
}

const suffix = /_(bucket|sum|count)$/;

function metricNamed(name: string): MetricDefinition | undefined {
  const part = known.get(name.replace(suffix, ''));
  return known.get(name) ?? (part?.type === 'histogram' ? part : undefined);
}
