/**
 * The dashboard for Grafana, from a list of what it shows: what an administrator asks at night, in that order. The chart holds what
 * this makes of it (`npm run generate`).
 */

interface Panel {
  title: string;
  kind: 'stat' | 'timeseries';
  /** By legend, as Grafana has it; of one query alone it may be empty. */
  queries: Readonly<Record<string, string>>;
  unit?: 's' | 'short';
  about: string;
}

const quantile = (metric: string, by: string, share: number): string =>
  `histogram_quantile(${share}, sum by (${by}, le) (rate(${metric}_bucket[$__rate_interval])))`;

const rows: Readonly<Record<string, readonly Panel[]>> = {
  'Is anybody at work?': [
    {
      title: 'Leaders',
      kind: 'stat',
      queries: { '': 'sum(fenceline_leading)' },
      about: 'One. With none nothing is done about any node.',
    },
    {
      title: 'Paused',
      kind: 'stat',
      queries: { '': 'max(fenceline_paused)' },
      about: '1: somebody has paused everything.',
    },
    {
      title: 'Nodes by verdict',
      kind: 'timeseries',
      queries: { '{{verdict}}': 'sum by (verdict) (fenceline_nodes)' },
      about: 'Unknown: we cannot see.',
    },
    {
      title: 'Age of the view',
      kind: 'timeseries',
      unit: 's',
      queries: { '{{resource}}': 'max by (resource) (fenceline_view_age_seconds)' },
      about: 'What is older than 80 s is not acted on.',
    },
  ],
  'What is being done, and what is not?': [
    {
      title: 'Fences by phase',
      kind: 'timeseries',
      queries: { '{{phase}}': 'sum by (phase) (fenceline_fences) > 0' },
      about: 'Failed: what waits for it is not released.',
    },
    {
      title: 'Nodes held, by reason',
      kind: 'timeseries',
      queries: { '{{reason}}': 'sum by (reason) (fenceline_held_nodes)' },
      about: 'In trouble, and nothing is done about them just now.',
    },
    {
      title: 'Alarms',
      kind: 'timeseries',
      queries: { '{{reason}}': 'sum by (reason) (fenceline_alarms)' },
      about: 'A person should look.',
    },
    {
      title: 'Pods stuck, by reason',
      kind: 'timeseries',
      queries: { '{{reason}}': 'sum by (reason) (fenceline_stuck_pods)' },
      about: 'They should be gone and are not.',
    },
  ],
  'How long does it take?': [
    {
      title: 'From the rule to the last write',
      kind: 'timeseries',
      unit: 's',
      queries: {
        '{{basis}} P50': quantile('fenceline_release_seconds', 'basis', 0.5),
        '{{basis}} P99': quantile('fenceline_release_seconds', 'basis', 0.99),
      },
      about: 'Of each pod let go; a second is the objective.',
    },
    {
      title: 'Stages of incidents',
      kind: 'timeseries',
      unit: 's',
      queries: { '{{stage}} P90': quantile('fenceline_incident_stage_seconds', 'stage', 0.9) },
      about: 'From the first sight of trouble.',
    },
    {
      title: 'Pods released',
      kind: 'timeseries',
      queries: { '{{basis}}': 'sum by (basis) (increase(fenceline_released_pods_total[$__rate_interval]))' },
      about: 'By basis: why they might go.',
    },
    {
      title: 'Acts refused at the last moment',
      kind: 'timeseries',
      queries: { '{{why}}': 'sum by (why) (increase(fenceline_release_refusals_total[$__rate_interval]))' },
      about: 'Changed: somebody was faster, and it is decided anew.',
    },
  ],
  'What came of it?': [
    {
      title: 'Incidents: repaired, or back alone',
      kind: 'timeseries',
      queries: { '{{outcome}}': 'sum by (outcome) (increase(fenceline_incidents_total[1d]))' },
      about: 'In the day before.',
    },
    {
      title: 'Remedies by outcome',
      kind: 'timeseries',
      queries: { '{{kind}} {{outcome}}': 'sum by (kind, outcome) (increase(fenceline_remedies_total[1d]))' },
      about: 'In the day before. Dropped: nobody needed it any more.',
    },
    {
      title: 'Steps of fences',
      kind: 'timeseries',
      queries: { '{{step}}': 'sum by (step) (increase(fenceline_fence_steps_total[$__rate_interval]))' },
      about: 'Each is an event as well.',
    },
    {
      title: 'Holds that began',
      kind: 'timeseries',
      queries: { '{{reason}}': 'sum by (reason) (increase(fenceline_holds_total[$__rate_interval]))' },
      about: 'By reason.',
    },
  ],
  'Would the next fence work?': [
    {
      title: 'Nodes that could not be fenced',
      kind: 'timeseries',
      queries: { '{{reason}}': 'sum by (reason) (fenceline_unfenceable_nodes)' },
      about: 'When their devices were asked last. fenceline check says more.',
    },
    {
      title: 'Devices take to answer',
      kind: 'timeseries',
      unit: 's',
      queries: { '{{driver}} P90': quantile('fenceline_device_seconds', 'driver', 0.9) },
      about: 'Questions and commands.',
    },
    {
      title: 'Answers of devices',
      kind: 'timeseries',
      queries: {
        '{{driver}} {{outcome}}':
          'sum by (driver, outcome) (increase(fenceline_device_seconds_count[$__rate_interval]))',
      },
      about: 'Unknown: no answer, or one that can mean anything.',
    },
    {
      title: 'Drains of cordoned nodes',
      kind: 'timeseries',
      queries: { '{{reason}}': 'sum by (reason) (fenceline_draining_nodes)' },
      about: 'Why they wait; Allowed: they do not.',
    },
  ],
  'How is the operator?': [
    {
      title: 'Trouble with the API server',
      kind: 'timeseries',
      queries: {
        '{{source}} {{kind}}': 'sum by (source, kind) (increase(fenceline_api_problems_total[$__rate_interval]))',
      },
      about: 'Requests that failed and were tried again.',
    },
    {
      title: 'Clock of the API server',
      kind: 'timeseries',
      unit: 's',
      queries: { '': 'max(fenceline_api_clock_off_seconds)' },
      about: 'How far it is off.',
    },
  ],
};

const width = 6;
const height = 8;

/** JSON as Grafana imports it. */
export function dashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const [title, shown] of Object.entries(rows)) {
    panels.push({ type: 'row', title, gridPos: { x: 0, y, w: 24, h: 1 }, panels: [] });
    for (const [at, panel] of shown.entries()) panels.push(panelOf(panel, { x: at * width, y: y + 1 }));
    y += height + 1;
  }
  const whole = {
    uid: 'fenceline',
    title: 'Fenceline',
    description: 'What is done about nodes in trouble, and what is not. docs/metrics.md says what each figure means.',
    tags: ['fenceline'],
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }] },
    panels: panels.map((panel, at) => ({ id: at + 1, ...panel })),
  };
  return `${JSON.stringify(whole, null, 2)}\n`;
}

function panelOf({ title, kind, queries, unit = 'short', about }: Panel, at: { x: number; y: number }): object {
  const datasource = { type: 'prometheus', uid: '${datasource}' };
  return {
    type: kind,
    title,
    description: about,
    datasource,
    gridPos: { ...at, w: width, h: height },
    fieldConfig: { defaults: { unit, min: unit === 's' ? undefined : 0 }, overrides: [] },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource,
      expr,
      legendFormat,
    })),
  };
}
