/** Where the time goes between a loss of power and the pod that runs elsewhere: tables, bars of text, and a picture. */
import { markdownTable, percentile } from './table.ts';

/** In the order in which they are reached. */
export const stageNames = ['seen', 'asked', 'confirmed', 'recorded', 'deleted', 'scheduled', 'running'] as const;
export type Stage = (typeof stageNames)[number];
export type Stages = Partial<Record<Stage, number>>;

export interface Subject {
  name: string;
  title: string;
}

interface Figures extends Subject {
  runs: readonly { stages: Stages; endpointMs?: number; fencedMs?: number }[];
}

const width = 60;
const colours = ['#7b8794', '#3e6fb0', '#5b9bd5', '#4a9b6e', '#d9a441', '#c8693b', '#8e4a8e'];
const letters = 'saCRdSr';

const seconds = (ms: number | undefined): string =>
  ms === undefined || Number.isNaN(ms) ? '' : (ms / 1000).toFixed(2);

function sorted(values: readonly (number | undefined)[]): number[] {
  return values.filter((ms) => ms !== undefined).toSorted((a, b) => a - b);
}

function median(values: readonly (number | undefined)[]): number | undefined {
  const all = sorted(values);
  return all.length === 0 ? undefined : percentile(all, 0.5);
}

export function renderStages(measured: readonly Figures[]): string {
  const heads = ['s after the power was lost: P50 / worst', 'runs', ...stageNames];
  const rows = measured
    .filter(({ runs }) => runs.length > 0)
    .map(({ title, runs }) => [
      title,
      String(runs.length),
      ...stageNames.map((stage) => {
        const all = sorted(runs.map(({ stages }) => stages[stage]));
        if (all.length === 0) return stage === 'running' ? 'never in that time' : '';
        const missed = runs.length - all.length;
        const more = missed === 0 || stage !== 'running' ? '' : ` (${missed} never)`;
        return `${seconds(percentile(all, 0.5))} / ${seconds(all.at(-1))}${more}`;
      }),
    ]);
  return markdownTable(heads, rows);
}

/** What each stage takes, half of the runs less. What nobody can tell counts with the next. */
function partsOf({ runs }: Figures): number[] {
  let before = 0;
  return stageNames.map((stage) => {
    const at = median(runs.map(({ stages }) => stages[stage]));
    const part = Math.max(0, (at ?? before) - before);
    before += part;
    return part;
  });
}

export function renderBars(measured: readonly Figures[]): string {
  const drawn = withParts(measured);
  const longest = Math.max(1, ...drawn.map(({ totalMs }) => totalMs));
  const widest = Math.max(0, ...drawn.map(({ title }) => title.length));
  const lines = drawn.map(({ title, parts, totalMs }) => {
    const bar = parts.map((ms, at) => (letters[at] ?? '?').repeat(Math.round((ms / longest) * width))).join('');
    return `${title.padEnd(widest)}  ${bar} ${seconds(totalMs)} s`;
  });
  const legend = stageNames.map((stage, at) => `${letters[at]} until ${stage}`).join(', ');
  return ['```', ...lines, '', legend, '```'].join('\n');
}

function withParts(measured: readonly Figures[]): { title: string; parts: number[]; totalMs: number }[] {
  return measured
    .map((one) => ({ title: one.title, parts: partsOf(one) }))
    .map((one) => ({ ...one, totalMs: one.parts.reduce((sum, ms) => sum + ms, 0) }))
    .filter(({ totalMs }) => totalMs > 0);
}

export function renderTelling(measured: readonly Figures[]): string {
  const rows = measured
    .filter(({ name }) => name === 'told' || name === 'untold')
    .map(({ title, runs }) => {
      const both = (values: readonly (number | undefined)[]): string => {
        const all = sorted(values);
        return all.length === 0 ? 'never' : `${seconds(percentile(all, 0.5))} / ${seconds(all.at(-1))}`;
      };
      return [
        title,
        String(runs.length),
        both(runs.map(({ endpointMs }) => endpointMs)),
        both(runs.map(({ fencedMs }) => fencedMs)),
      ];
    });
  if (rows.length === 0) return '';
  const heads = [
    's after the power was lost: P50 / worst',
    'runs',
    "the DaemonSet's endpoint is gone",
    'fenced by the storage',
  ];
  return markdownTable(heads, rows);
}

export function renderPicture(measured: readonly Figures[]): string {
  const drawn = withParts(measured);
  const [left, full, row] = [330, 560, 26];
  const longest = Math.max(1, ...drawn.map(({ totalMs }) => totalMs));
  const scale = (ms: number): number => Math.round((ms / longest) * full);
  const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('`', '');
  const bars = drawn.map(({ title, parts, totalMs }, at) => {
    const y = 34 + at * row;
    let x = left;
    const pieces = parts.map((ms, stage) => {
      const piece = `<rect x="${x}" y="${y}" width="${scale(ms)}" height="16" fill="${colours[stage]}"/>`;
      x += scale(ms);
      return piece;
    });
    const name = `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${escaped(title)}</text>`;
    return `${name}${pieces.join('')}<text x="${x + 6}" y="${y + 12}">${seconds(totalMs)} s</text>`;
  });
  const legend = stageNames.map((stage, at) => {
    const x = left + at * 84;
    return `<rect x="${x}" y="8" width="10" height="10" fill="${colours[at]}"/><text x="${x + 14}" y="17">${stage}</text>`;
  });
  const height = 44 + drawn.length * row;
  const open = `<svg xmlns="http://www.w3.org/2000/svg" width="${left + full + 70}" height="${height}" font-family="sans-serif" font-size="12">`;
  return `${[open, ...legend, ...bars, '</svg>'].join('\n')}\n`;
}
