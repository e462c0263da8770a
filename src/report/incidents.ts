/** What came of incidents, and how long their stages took: counted when it is put on record, so that nothing counts twice. */
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { FENCED, RELEASED } from '../api/reasons.ts';
import type { LabelsOf } from './metric-list.ts';
import type { Pass } from './pass.ts';
import { Counter, Histogram } from './prometheus.ts';

type Incident = NonNullable<NodeFenceStatus['incident']>;
type Entry = NodeFenceStatus['history'][number];

/** `repaired`: by a restart of ours, or a Job of a remedy; `alone`: it came back without; `gone`: its Node object went. */
export type Outcome = 'repaired' | 'alone' | 'gone';

/** The first of these on record in an incident ends a stage of it. */
const stages: Readonly<Record<string, string>> = {
  [FENCED.reason.Isolated]: 'fenced',
  [FENCED.reason.PoweredOff]: 'fenced',
  [RELEASED.reason.Complete]: 'released',
};

export class Incidents {
  /** Seconds from the first sight of the trouble, by stage. */
  readonly stages = new Histogram<LabelsOf<'fenceline_incident_stage_seconds'>>([
    1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600,
  ]);
  readonly ended = new Counter<LabelsOf<'fenceline_incidents_total'>>();

  /** `news`: what this pass has added to the history. */
  note({ nodeCase, fence }: Pass, news: readonly Entry[]): void {
    const before = nodeCase.fence?.status;
    const after = fence?.status;
    const incident = before?.incident ?? after?.incident;
    if (incident === undefined || after === undefined) return;
    const earlier = since(incident, before?.history ?? []);
    const ended = new Set(earlier.flatMap(({ reason }) => stages[reason] ?? []));
    for (const { reason, at } of news) {
      const stage = stages[reason];
      if (stage === undefined || ended.has(stage)) continue;
      ended.add(stage);
      this.#took(stage, incident, at);
    }
    if (before?.incident === undefined || after.incident?.id === before.incident.id) return;
    const { clearedAt } = before.incident;
    this.ended.increase({ outcome: nodeCase.node === undefined ? 'gone' : outcomeOf(before.incident, after) });
    if (nodeCase.node !== undefined && clearedAt !== undefined) this.#took('back', before.incident, clearedAt);
  }

  #took(stage: string, { startedAt }: Incident, at: string): void {
    this.stages.observe({ stage }, Math.max(0, Date.parse(at) - Date.parse(startedAt)) / 1000);
  }
}

function outcomeOf(incident: Incident, { history, jobs }: NodeFenceStatus): Outcome {
  const isRestarted = since(incident, history).some(({ reason }) => reason === FENCED.reason.Booting);
  const isMended = jobs.some(({ startedAt, outcome }) => outcome === 'Succeeded' && startedAt >= incident.startedAt);
  return isRestarted || isMended ? 'repaired' : 'alone';
}

/** What was let go in the incident that is open, or is not gone yet; where none is open, all that is on record. */
export function releasesOf({
  incident,
  releases = [],
}: Partial<Pick<NodeFenceStatus, 'incident' | 'releases'>>): NodeFenceStatus['releases'] {
  if (incident === undefined) return releases;
  const startedMs = Date.parse(incident.startedAt);
  return releases.filter(({ endedAt, recordedAt }) => endedAt === undefined || Date.parse(recordedAt) >= startedMs);
}

function since({ startedAt }: Incident, history: readonly Entry[]): Entry[] {
  return history.filter(({ at }) => Date.parse(at) >= Date.parse(startedAt));
}
