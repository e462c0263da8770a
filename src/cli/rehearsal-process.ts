/**
 * The process in which the console has something rehearsed (`fenceline simulate --for-console`). What somebody has written is read
 * here and nowhere else, so that whatever it does to the parser or to the simulation, only this process ends. It is told what to
 * rehearse in the first line, before the cluster has been read, and then the cluster; it answers in lines as well, and reaches nothing else.
 */
import { createInterface } from 'node:readline';
import type { Snapshot, SnapshotObject } from '../api/snapshot.ts';
import type { RehearsalNews, RehearsalPicture } from '../console/picture.ts';
import type { RehearsalOrder } from '../console/rehearsal-lines.ts';
import { LISTING, snapshotIn } from '../console/rehearsal-lines.ts';
import { rehearsalPicture } from '../console/rehearsal-picture.ts';
import { chosenNotes } from '../scenario/from-cluster/chosen.ts';
import type { ScenarioDocument } from '../scenario/from-cluster/document.ts';
import { planFor, runDocument } from '../scenario/from-cluster/plan.ts';
import { readPolicies } from '../scenario/from-cluster/policies.ts';
import type { Rehearsal } from '../scenario/from-cluster/tell.ts';
import { ScenarioError } from '../scenario/reader.ts';

/** So often progress is told. */
const tellEveryMs = 200;

export async function rehearseForConsole(): Promise<void> {
  // Whoever asked has gone; nobody else reads it.
  process.stdout.on('error', () => process.exit());
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done === true) return;
  const order = JSON.parse(first.value) as RehearsalOrder;
  const written = order.policy === undefined ? undefined : readPolicies(order.policy);
  if (written?.ok === false) return tell({ state: 'wrong', mistakes: [...written.mistakes] });
  try {
    const snapshot = await snapshotIn({ [Symbol.asyncIterator]: () => lines });
    tell({ state: 'done', picture: await pictureOf(snapshot, order, written?.policies) });
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    tell({ state: 'failed', text: error.problems.join('; ') });
  }
}

async function pictureOf(
  snapshot: Snapshot,
  { failure, runFor, runForMs, featureGates }: RehearsalOrder,
  policies: readonly SnapshotObject[] | undefined,
): Promise<RehearsalPicture> {
  const proposed = policies === undefined ? {} : { proposed: policies };
  const { struck, unwell, notes, documents } = planFor(snapshot, { failure, runFor, featureGates, ...proposed });
  const { unread } = snapshot;
  const rehearsals: Rehearsal[] = [];
  for (const { policies: under, document } of documents) {
    const outcome = await runTold(document, { struck, policies: under, ofMs: runForMs });
    rehearsals.push({ policies: under, outcome });
  }
  const names = (policies ?? []).map(({ metadata }) => metadata.name);
  const last = documents.at(-1)?.document;
  const idle = last === undefined ? [] : chosenNotes(last, struck, names);
  // They decide what comes of it, so that they are not left to the small print.
  const isOfUnread = (note: string): boolean => unread.some(({ what }) => note.startsWith(`${what} are taken`));
  return rehearsalPicture({
    rehearsals,
    struck,
    unwell,
    warnings: [...notes.filter(isOfUnread).map((note) => `${note}${LISTING}`), ...idle],
    notes: notes.filter((note) => !isOfUnread(note)),
  });
}

function runTold(
  document: ScenarioDocument,
  { struck, policies, ofMs }: { struck: ReadonlySet<string>; policies: string; ofMs: number },
): ReturnType<typeof runDocument> {
  let toldMs = -Infinity;
  const onMoment = (ms: number): void => {
    const nowMs = performance.now();
    if (nowMs - toldMs < tellEveryMs) return;
    toldMs = nowMs;
    tell({ state: 'runs', policies, ms: Math.round(ms), ofMs });
  };
  onMoment(0);
  return runDocument(document, { struck, wallNow: () => performance.now(), onMoment });
}

function tell(news: RehearsalNews): void {
  process.stdout.write(`${JSON.stringify(news)}\n`);
}
