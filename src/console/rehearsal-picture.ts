/** Outcomes of a rehearsal as the page shows them: one sentence, two pictures with the same lanes, and the tables of the command. */
import { words } from '../report/timeline-marks.ts';
import type { NodeOutcome, Outcome, PodOutcome } from '../scenario/from-cluster/outcome.ts';
import type { Rehearsal } from '../scenario/from-cluster/tell.ts';
import { unmade } from '../scenario/from-cluster/outcome.ts';
import { rowsOf, warningsOf } from '../scenario/from-cluster/tell.ts';
import { duration } from './page/time.ts';
import type { RehearsalMark, RehearsalPicture } from './picture.ts';
import { rehearsalSentence } from './rehearsal-sentence.ts';

/** More lines than that nobody compares; the tables go on. */
const maxNodes = 12;
const maxPods = 12;
const maxRows = 300;

export interface Rehearsed {
  rehearsals: readonly Rehearsal[];
  struck: ReadonlySet<string>;
  unwell: ReadonlySet<string>;
  warnings: readonly string[];
  notes: readonly string[];
}

export function rehearsalPicture({ rehearsals, struck, unwell, warnings, notes }: Rehearsed): RehearsalPicture {
  const tables = rowsOf(rehearsals);
  const nodes = [...new Set(rehearsals.flatMap(({ outcome }) => outcome.nodes.map(({ node }) => node)))];
  const moved = rehearsals.flatMap(({ outcome }) => outcome.pods.filter(isMoved).map(({ pod }) => pod));
  const pods = [...new Set(moved)];
  const lanes = [
    ...nodes.slice(0, maxNodes).map((node) => ({ key: `node/${node}`, name: node, node })),
    ...pods.slice(0, maxPods).map((pod) => ({ key: `pod/${pod}`, name: pod.replace(/^[^/]*\//, '') })),
  ];
  const shown = new Set(lanes.map(({ key }) => key));
  return {
    said: rehearsalSentence(rehearsals, { struck, unwell }),
    lanes,
    unpictured: nodes.length + pods.length - lanes.length,
    runs: rehearsals.map(({ policies, outcome }) => ({
      policies,
      marks: marksOf(outcome).filter(({ lane }) => shown.has(lane)),
    })),
    nodes: tables.nodes.slice(0, maxRows + 1),
    pods: tables.pods.slice(0, maxRows + 1),
    untold: Math.max(0, tables.nodes.length - 1 - maxRows) + Math.max(0, tables.pods.length - 1 - maxRows),
    warnings: [...warnings, ...rehearsals.flatMap((one) => warningsOf(one, unwell))],
    notes: [...notes],
    virtualMs: rehearsals[0]?.outcome.virtualMs ?? 0,
    wallMs: rehearsals.reduce((sum, { outcome }) => sum + outcome.wallMs, 0),
  };
}

function isMoved({ becomes, goneAt }: PodOutcome): boolean {
  return becomes !== 'stays' || goneAt !== undefined;
}

function marksOf({ nodes, pods, virtualMs }: Outcome): RehearsalMark[] {
  return [...nodes.flatMap((node) => nodeMarks(node, virtualMs)), ...pods.filter(isMoved).flatMap(podMarks)];
}

function nodeMarks(node: NodeOutcome, virtualMs: number): RehearsalMark[] {
  const lane = `node/${node.node}`;
  const moment = (at: number | undefined, mark: Pick<RehearsalMark, 'kind' | 'label' | 'text'>): RehearsalMark[] =>
    at === undefined ? [] : [{ lane, fromMs: at, ...mark }];
  const { suspectedAt, fencedAt, foundOffAt, isolatedAt, confirmedAt, backAt, fence } = node;
  const said = fence?.waitsFor ?? fence?.message;
  const unfinished = backAt === undefined && fence !== undefined;
  return [
    ...silence(node, lane),
    ...node.holds.map(({ reason, message, at, until }): RehearsalMark => ({
      lane,
      kind: 'waits',
      fromMs: at,
      ...(until === undefined ? { open: true } : { toMs: until }),
      label: `held: ${words(reason)}`,
      text: message,
    })),
    ...moment(suspectedAt, { kind: 'said', label: 'suspected', text: 'it is silent for too long' }),
    ...moment(fencedAt, { kind: 'act', label: 'fenced', text: 'its device is told to switch it off' }),
    ...moment(foundOffAt, { kind: 'off', label: 'found off', text: 'its device says off, and nobody had told it to' }),
    ...moment(isolatedAt, {
      kind: 'off',
      label: 'cut off from its storage',
      text: 'a device has closed its way there',
    }),
    ...moment(confirmedAt, { kind: 'off', label: 'confirmed off', text: 'its device says off after it was told to' }),
    ...node.releases.map(({ basis, at, pods }): RehearsalMark => ({
      lane,
      kind: 'freed',
      fromMs: at,
      label: `frees ${pods} ${pods === 1 ? 'pod' : 'pods'}`,
      text: `on the basis ${basis}`,
    })),
    ...moment(backAt, { kind: 'alive', label: 'back in service', text: 'it is Ready, and takes pods again' }),
    ...moment(unfinished ? virtualMs : undefined, {
      kind: 'bad',
      label: `ends as ${fence?.phase ?? ''}`,
      text: said ?? 'its fence has not ended',
    }),
  ];
}

function silence({ struck, suspectedAt, backAt }: NodeOutcome, lane: string): RehearsalMark[] {
  if (!struck) return [];
  const nothing = suspectedAt === undefined && backAt === undefined;
  return [
    {
      lane,
      kind: 'silent',
      fromMs: 0,
      ...(nothing ? { open: true } : { toMs: suspectedAt ?? backAt ?? 0 }),
      label: nothing ? 'nothing is done' : 'silent',
      text: nothing
        ? 'it fails, and nothing is done about it'
        : `it fails; nothing is heard of it for ${duration(suspectedAt ?? backAt ?? 0)}`,
      row: 'state',
    },
  ];
}

function podMarks({ pod, node, becomes, goneAt, runningAt, on, why = '' }: PodOutcome): RehearsalMark[] {
  const lane = `pod/${pod}`;
  const row = 'state';
  const gone: RehearsalMark[] =
    goneAt === undefined
      ? []
      : [
          {
            lane,
            kind: 'freed',
            fromMs: goneAt,
            label: '',
            row,
            text: `is let go, ${duration(goneAt)} after the failure`,
          },
        ];
  if (runningAt !== undefined) {
    return [
      { lane, kind: 'silent', fromMs: 0, toMs: runningAt, label: 'away', text: `away for ${duration(runningAt)}`, row },
      ...gone,
      { lane, kind: 'alive', fromMs: runningAt, open: true, label: `on ${on ?? node}`, text: `${becomes}: ${on}`, row },
    ];
  }
  if (why === unmade) return gone.map((mark) => ({ ...mark, label: 'gone' }));
  const text = why === '' ? becomes : `${becomes}: ${why}`;
  return [{ lane, kind: 'bad', fromMs: 0, open: true, label: becomes, text, row }, ...gone];
}
