/**
 * Releases on the real control plane: what the operator itself needs for one node with thirty pods and for a hundred such
 * nodes at once, and how long it takes until the replacement runs, beside what an administrator does by hand.
 *
 *     node bench/release.ts [--releases 50] [--nodes 100] [--pods 30] [--rounds 5] [--only share,storm,recovery] [--quick]
 *
 * `--against DIR` measures the operator of another tree of the project instead, in turn with this one: with its packages
 * installed, that of an earlier commit for instance.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { renderPhases } from './lib/release-phases.ts';
import { allAtOnce, besideTree, oneByOne, type OneByOne, type Share } from './lib/release-share.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import { methods, recovery } from './lib/release-recovery.ts';
import { markdownTable, percentile, ratio } from './lib/table.ts';

export interface ReleaseBenchOptions {
  releases: number;
  nodes: number;
  pods: number;
  rounds: number;
  /** Also what takes Kubernetes six minutes. */
  slow: boolean;
  only: readonly string[];
  /** Where another tree of the project is. */
  against?: string;
}

export const fullRelease: ReleaseBenchOptions = {
  releases: 50,
  nodes: 100,
  pods: 30,
  rounds: 5,
  slow: true,
  only: ['share', 'storm', 'recovery'],
};

export async function releaseBench(options: ReleaseBenchOptions): Promise<Report> {
  const { releases, nodes, pods, only, against } = options;
  if (against !== undefined) return beside(releases, pods, against);
  const shares: { what: string; share: Share }[] = [];
  const parts: string[] = [];
  let bareMs: number[] = [];
  let slowest: OneByOne['slowest'] = [];
  if (only.includes('share')) {
    const measured = await oneByOne(releases, pods);
    ({ bareMs, slowest } = measured);
    shares.push({ what: `one node, ${releases} times`, share: measured.share });
    say(JSON.stringify(summary(measured.share)));
    parts.push(renderBare(measured.share, bareMs));
    parts.push(
      renderPhases([
        { what: 'Fenceline', phases: measured.phases },
        { what: 'the same writes, nothing looked at', phases: measured.barePhases },
      ]),
    );
  }
  if (only.includes('storm')) {
    shares.push({ what: `${nodes} nodes at once`, share: await allAtOnce(nodes, pods) });
    say(JSON.stringify(summary(shares.at(-1)?.share)));
  }
  if (shares.length > 0) parts.push(renderShares(shares, pods));
  const recovered = only.includes('recovery') ? await recovery(options.rounds, options.slow) : undefined;
  if (recovered !== undefined) parts.unshift(renderRecovery(recovered));
  const figures = { shares, bareMs, slowest, recovered: Object.fromEntries(recovered ?? []) };
  return keep({ name: 'release', text: parts.join('\n\n') }, figures);
}

async function beside(releases: number, pods: number, tree: string): Promise<Report> {
  const { ours, theirs } = await besideTree(releases, pods, tree);
  const rows = [
    { what: 'this tree', sorted: ours.totalMs.toSorted((a, b) => a - b) },
    { what: 'the other tree', sorted: theirs.totalMs.toSorted((a, b) => a - b) },
  ];
  const shares = [
    { what: `this tree, ${releases} times`, share: ours },
    { what: `the other tree, ${releases} times`, share: theirs },
  ];
  const text = [renderBeside(rows), renderShares(shares, pods)].join('\n\n');
  return keep({ name: 'release-beside', text }, { ours, theirs });
}

function renderRecovery(figures: ReadonlyMap<string, readonly number[]>): string {
  const median = (name: string): number =>
    percentile(
      (figures.get(name) ?? []).toSorted((a, b) => a - b),
      0.5,
    );
  const reference = median('policy');
  const rows = methods.flatMap(({ name, title }) => {
    const sorted = (figures.get(name) ?? []).toSorted((a, b) => a - b);
    if (sorted.length === 0) return [];
    const seconds = (ms: number | undefined): string => ((ms ?? NaN) / 1000).toFixed(2);
    const [fastest, slowest] = [sorted[0], sorted.at(-1)];
    return [
      [
        title,
        String(sorted.length),
        seconds(fastest),
        seconds(median(name)),
        seconds(slowest),
        ratio(median(name), reference),
      ],
    ];
  });
  return markdownTable(['until the replacement is Ready', 'times', 'fastest s', 'P50 s', 'slowest s', ''], rows);
}

/** Beside what the same writes take when nobody looks at anything. */
function renderBare(share: Share, bareMs: readonly number[]): string {
  const rows = [
    { what: 'Fenceline, from the rule being satisfied', sorted: share.totalMs.toSorted((a, b) => a - b) },
    { what: 'the same writes, nothing looked at', sorted: bareMs.toSorted((a, b) => a - b) },
  ];
  return renderBeside(rows);
}

/** The last one is what the others are compared with. */
function renderBeside(rows: readonly { what: string; sorted: readonly number[] }[]): string {
  const at = (fraction: number): number => percentile(rows.at(-1)?.sorted ?? [], fraction);
  return markdownTable(
    ['until the last write is accepted', 'P50 ms', '', 'P99 ms', ''],
    rows.map(({ what, sorted }) => [
      what,
      percentile(sorted, 0.5).toFixed(0),
      ratio(percentile(sorted, 0.5), at(0.5)),
      percentile(sorted, 0.99).toFixed(0),
      ratio(percentile(sorted, 0.99), at(0.99)),
    ]),
  );
}

function summary(share: Share | undefined): object {
  if (share === undefined) return {};
  const sorted = share.totalMs.toSorted((a, b) => a - b);
  const { totalMs: _, decidedMs: __, ...rest } = share;
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), ...rest };
}

function renderShares(shares: readonly { what: string; share: Share }[], pods: number): string {
  const heads = [
    `${pods} pods a node`,
    'P50 ms',
    'P99 ms',
    'to the record P50 ms',
    'requests',
    'writes',
    'CPU s operator',
    'API server',
    'etcd',
    'share of the operator',
  ];
  const rows = shares.map(({ what, share }) => {
    const sorted = share.totalMs.toSorted((a, b) => a - b);
    const decided = share.decidedMs.toSorted((a, b) => a - b);
    const { operator, apiserver, etcd } = share.cpu;
    return [
      what,
      percentile(sorted, 0.5).toFixed(0),
      percentile(sorted, 0.99).toFixed(0),
      percentile(decided, 0.5).toFixed(0),
      String(share.requests),
      String(share.writes),
      operator.toFixed(1),
      apiserver.toFixed(1),
      etcd.toFixed(1),
      `${((100 * operator) / (operator + apiserver + etcd)).toFixed(0)} %`,
    ];
  });
  return markdownTable(heads, rows);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      releases: { type: 'string' },
      nodes: { type: 'string' },
      pods: { type: 'string' },
      rounds: { type: 'string' },
      only: { type: 'string' },
      against: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  console.log(machine());
  const number = (text: string | undefined, otherwise: number): number =>
    text === undefined ? otherwise : Number(text);
  const report = await releaseBench({
    releases: number(values.releases, fullRelease.releases),
    nodes: number(values.nodes, fullRelease.nodes),
    pods: number(values.pods, fullRelease.pods),
    rounds: number(values.rounds, fullRelease.rounds),
    slow: !values.quick,
    only: values.only?.split(',') ?? fullRelease.only,
    ...(values.against === undefined ? {} : { against: resolve(values.against) }),
  });
  console.log(`\n${report.text}`);
}
