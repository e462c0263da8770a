/**
 * The record of what was done about a node: who, why, by what evidence, on what basis, with what result. What is planned is
 * written down before it is done, in the same write as the decision; what came of it with the next one. One entry for each thing that
 * is done in an incident, however often it is tried: the list grows with what happens, and not with time.
 */
import type { Deed, DeedName, DeedOutcome } from '../api/deed-names.ts';
import { deedOf } from '../api/deeds.ts';
import { MAX_DEEDS } from '../api/fence-names.ts';
import { hash } from '../api/hash.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import { actsOf } from '../api/steps.ts';
import type { ReleaseDecision } from './decide-release.ts';
import type { RemedyDecision } from './decide-remedy.ts';

type Entry = NonNullable<NodeFenceStatus['deeds']>[number];

interface Decided {
  nodeCase: NodeCase;
  decision: ReleaseDecision;
  remedy: RemedyDecision;
}

/** Something that is to be done, or that a person has done. */
interface Plan extends Deed {
  basis?: string;
  by?: string | undefined;
  /** What its basis rests on, beside what is known of the node. */
  proof?: string;
  /** Of what takes its time: which try of it this is. */
  try?: string;
  why?: string;
}

/** So many names of pods and volumes fit; all of them are in the records of the release. */
const maxOn = 1024;
const more = ', …';
const maxEvidence = 3;

/** `after`: what is stored beside it. */
export function deedsAfter(decided: Decided, after: NodeFenceStatus, now: string): Entry[] {
  const { nodeCase } = decided;
  const { deeds: before = [] } = nodeCase.fence?.status ?? {};
  const incident = after.incident?.id ?? nodeCase.fence?.status.incident?.id ?? '';
  const ended = before.map((entry) => withTask(entry, nodeCase, now));
  const told = (nodeCase.outcomes ?? []).reduce((all, outcome) => withOutcome(all, outcome, now), ended);
  const facts = { ...contextOf(decided, after), at: now, epoch: after.epoch, incident };
  const planned = [...personsOf(decided, after), ...plansOf(decided)];
  return planned.reduce((all, plan) => withPlan(all, plan, facts), told).slice(-MAX_DEEDS);
}

type Facts = Pick<Entry, 'at' | 'epoch' | 'incident' | 'why' | 'evidence' | 'by'>;

/** Why, by what was seen, and by whose will: of all that is decided at once. */
function contextOf(
  { nodeCase, decision, remedy }: Decided,
  { evidence }: NodeFenceStatus,
): Pick<Facts, 'why' | 'evidence' | 'by'> {
  const { policy } = nodeCase;
  const by = remedy.asked?.by ?? (policy.kind === 'one' ? `policy ${policy.policy.name}` : undefined);
  const said = evidence.slice(-maxEvidence).map(({ source, detail }) => `${source}: ${detail}`);
  const why =
    remedy.ladder === undefined ? decision.trouble?.text : `${remedy.ladder.threshold}: ${remedy.ladder.remedy}`;
  return {
    ...(by === undefined ? {} : { by }),
    ...(why === undefined ? {} : { why }),
    ...(said.length === 0 ? {} : { evidence: said.join('; ') }),
  };
}

function plansOf({ decision, remedy }: Decided): Plan[] {
  const saidBy = new Map(decision.records.map(({ basis, by }) => [basis as string, by]));
  const steps = decision.steps.flatMap((step): Plan[] => {
    const basis = 'grounds' in step ? step.grounds.basis : undefined;
    const deeds = actsOf(step).flatMap((act): Deed | [] => deedOf(act) ?? []);
    const said = basis === undefined ? undefined : saidBy.get(basis);
    const isWill = basis === 'Asserted' || basis === 'AcceptedRisk';
    return [...Map.groupBy(deeds, ({ deed }) => deed)].map(([deed, all]) => ({
      deed,
      on: all.flatMap(({ on }) => on),
      ...(basis === undefined ? {} : { basis }),
      ...(said === undefined ? {} : isWill ? { by: said } : { proof: `${basis}: ${said}` }),
    }));
  });
  const { run } = remedy;
  const running = run === undefined ? undefined : deedOf(run);
  if (run === undefined || running === undefined) return steps;
  return [{ ...running, basis: 'Remedy', try: hash(run.key) }, ...steps];
}

const heldByPersons: ReadonlySet<string | undefined> = new Set(['Stopped', 'PausedForAll', 'Maintenance']);

/** What people did that bears on it. */
function personsOf({ nodeCase, remedy }: Decided, { approval, incident, hold }: NodeFenceStatus): Plan[] {
  const before = nodeCase.fence?.status.hold;
  const plans: Plan[] = [];
  // One that is spent stands there still in the next incident.
  const known = nodeCase.fence?.status.request;
  if (remedy.request?.reason === 'TakenUp' && known?.at !== remedy.request.at) {
    plans.push({ deed: 'Requested', on: [remedy.request.at], by: remedy.request.by });
  }
  if (approval !== undefined && approval.incident === incident?.id) {
    plans.push({ deed: 'Approved', on: [approval.at], by: approval.by });
  }
  if (before !== undefined && hold?.reason !== before.reason && heldByPersons.has(before.reason)) {
    plans.push({ deed: 'LetGoOn', on: [`${before.reason} since ${before.since}`] });
  }
  if (hold !== undefined && heldByPersons.has(hold.reason)) {
    const by = hold.reason === 'PausedForAll' ? nodeCase.pause.written?.by : nodeCase.fence?.spec.stoppedBy;
    plans.push({ deed: 'HeldBack', on: [`${hold.reason} since ${hold.since}`], by, why: hold.message });
  }
  return plans;
}

/** Who people are they say themselves; whose will the rest is, is known. */
const ofPersons: ReadonlySet<DeedName> = new Set(['Requested', 'Approved', 'HeldBack', 'LetGoOn']);

function withPlan(entries: readonly Entry[], plan: Plan, facts: Facts): Entry[] {
  const known = entries.findLastIndex((entry) => entry.incident === facts.incident && covers(entry, plan));
  if (known >= 0) {
    return entries.map((entry, at) =>
      at !== known || plan.try === undefined || plan.try === entry.try ? entry : anotherTry(entry, plan.try),
    );
  }
  const isPersons = ofPersons.has(plan.deed);
  const { by: _, evidence, ...rest } = facts;
  const seen = [evidence, plan.proof].filter((one) => one !== undefined).join('; ');
  const by = plan.by ?? (isPersons ? undefined : facts.by);
  const on = onText(plan.on);
  const entry: Entry = {
    ...rest,
    ...(seen === '' || isPersons ? {} : { evidence: seen }),
    deed: plan.deed,
    result: isPersons ? 'Done' : 'Begun',
    ...(on === '' ? {} : { on, count: plan.on.length }),
    ...(by === undefined || by === '' ? {} : { by }),
    ...(plan.why === undefined ? {} : { why: plan.why }),
    ...(plan.basis === undefined ? {} : { basis: plan.basis }),
    ...(plan.try === undefined ? {} : { try: plan.try }),
  };
  return [...entries, entry];
}

function anotherTry(ended: Entry, of: string): Entry {
  const { endedAt: _, message: __, ...entry } = ended;
  return { ...entry, result: 'Begun', try: of, times: (entry.times ?? 1) + 1 };
}

function onText(names: readonly string[]): string {
  const text = names.join(', ');
  return text.length <= maxOn ? text : `${text.slice(0, maxOn - more.length)}${more}`;
}

/** The same, or more of the same: what is left of it is done again. */
function covers({ deed, on = '', count = 0 }: Entry, plan: Deed): boolean {
  if (deed !== plan.deed || plan.on.length > count) return false;
  if (on.endsWith(more)) return true;
  const names = new Set(on.split(', '));
  return plan.on.every((name) => names.has(name));
}

const ends = { succeeded: 'Done', failed: 'Failed', unknown: 'Unknown', dropped: 'Dropped' } as const;

/** What came of what takes its time. */
function withTask(entry: Entry, { task }: NodeCase, now: string): Entry {
  if (task === undefined || task.outcome === 'running' || entry.result !== 'Begun') return entry;
  if (entry.try !== hash(task.key)) return entry;
  const { outcome, message } = task;
  return { ...entry, result: ends[outcome], endedAt: now, ...(message === undefined ? {} : { message }) };
}

/** What came of what was done at once. That it fails again is no news; that it was done once more is. */
function withOutcome(entries: readonly Entry[], { result, message, ...deed }: DeedOutcome, now: string): Entry[] {
  const at = entries.findLastIndex((entry) => covers(entry, deed));
  const entry = entries[at];
  if (entry === undefined || entry.try !== undefined) return [...entries];
  const isOver = entry.result === 'Done';
  if (isOver ? result !== 'Done' : result === 'Failed' && entry.result === 'Failed') return [...entries];
  const { message: _, ...rest } = entry;
  const next: Entry = {
    ...rest,
    result: result === 'Failed' ? 'Failed' : 'Done',
    endedAt: now,
    ...(isOver && entry.count === undefined ? { times: (entry.times ?? 1) + 1 } : {}),
    ...(message === undefined ? {} : { message }),
  };
  return entries.map((one, index) => (index === at ? next : one));
}
