/** An incident as one picture: its marks, where it begins, and how long its workloads were away, with what. */
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { marksOf } from './timeline-marks.ts';
import type { Chronicle, Part, Spell, Timeline, Workload } from './timeline.ts';
import { spellsOf } from './timeline.ts';

/** Before the first mark, so that one sees what was so before. */
const leadMs = 2000;

/** `id`: absent, the one that is open or was last. Undefined: there is none. */
export function timelineOf(chronicle: Chronicle, id?: string): Timeline | undefined {
  const { node, status } = chronicle;
  const spells = spellsOf(node, status);
  const spell = id === undefined ? spells[0] : spells.find((one) => one.id === id);
  if (spell === undefined) return undefined;
  const isLast = spell === spells[0];
  // What is on record beside the history is about the latest.
  const own = isLast ? chronicle : { ...chronicle, workloads: [], holds: [], devices: [] };
  const marks = marksOf(own, spell);
  const firstMs = Math.min(Date.parse(spell.startedAt), ...marks.map(({ from }) => Date.parse(from)));
  const total = isLast ? totalOf(own, spell) : undefined;
  const { id: spellId, trouble, startedAt, endedAt } = spell;
  return {
    id: spellId,
    node,
    trouble,
    from: new Date(firstMs - leadMs).toISOString(),
    startedAt,
    ...(endedAt === undefined ? {} : { endedAt }),
    marks,
    ...(endedAt === undefined ? nextOf(status) : {}),
    ...(total === undefined ? {} : { total }),
  };
}

function nextOf({ next, hold, return: back }: NodeFenceStatus): Pick<Timeline, 'next'> {
  if (next === undefined) return {};
  const at = next.at ?? hold?.until ?? back?.soakUntil;
  return { next: { what: next.what, ...(at === undefined ? {} : { at }) } };
}

/** From when nothing was heard until the last of them runs again. */
function totalOf(chronicle: Chronicle, spell: Spell): Timeline['total'] {
  const { status, silentSince, workloads, nowMs } = chronicle;
  const since =
    (spell.endedAt === undefined ? status.incident?.silence?.since : undefined) ?? silentSince ?? spell.startedAt;
  const release = status.releases.find(({ recordedAt }) => recordedAt >= spell.startedAt);
  if (workloads.length === 0) return undefined;
  const runsMs = workloads.map(({ runs }) => (runs === undefined ? undefined : Date.parse(runs.since)));
  const isOver = runsMs.every((ms) => ms !== undefined);
  if (!isOver && spell.endedAt !== undefined) return undefined;
  const endMs = isOver ? Math.max(...runsMs.map((ms) => ms ?? 0)) : nowMs;
  const cuts: [string, number | undefined][] = [
    ['waiting to be sure that it is silent', Date.parse(spell.startedAt)],
    [sureText(release?.basis), release && Date.parse(release.recordedAt)],
    ['letting go what ran there', release && Date.parse(release.podsGoneAt ?? release.endedAt ?? '')],
    ['Kubernetes starting it elsewhere', isOver ? endMs : undefined],
  ];
  const startMs = Date.parse(since);
  return { ms: Math.max(0, endMs - startMs), isOver, parts: partsOf(cuts, startMs, endMs) };
}

/** Each up to where the next begins; the one that goes on has the rest. */
function partsOf(cuts: readonly [string, number | undefined][], startMs: number, endMs: number): Part[] {
  const parts: Part[] = [];
  let atMs = startMs;
  for (const [what, untilMs] of cuts) {
    const toMs = Math.min(endMs, untilMs === undefined || Number.isNaN(untilMs) ? endMs : untilMs);
    if (toMs > atMs) parts.push({ what, ms: toMs - atMs });
    atMs = Math.max(atMs, toMs);
  }
  return parts;
}

function sureText(basis: NodeFenceStatus['releases'][number]['basis'] | undefined): string {
  switch (basis) {
    case 'PowerOff':
      return 'making sure that its power is off';
    case 'StorageFenced':
      return 'cutting it off from its storage';
    case 'KernelCrashed':
      return 'hearing that its kernel had crashed';
    case 'StorageSafeDetach':
    case 'Asserted':
    case 'AcceptedRisk':
    case undefined:
      return 'until something made it safe';
  }
}

/** What of a node is looked for elsewhere: the pods that were let go in this incident. */
export function releasedIn(
  { releases }: NodeFenceStatus,
  { startedAt, endedAt }: Pick<Spell, 'startedAt' | 'endedAt'>,
): Workload[] {
  const within = releases.filter(
    ({ recordedAt }) => recordedAt >= startedAt && (endedAt === undefined || recordedAt <= endedAt),
  );
  return within.flatMap(({ pods, recordedAt, podsGoneAt }) =>
    pods.map(({ namespace, name }) => ({ pod: `${namespace}/${name}`, goneAt: podsGoneAt ?? recordedAt })),
  );
}
