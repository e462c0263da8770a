/** The marks of an incident, lane by lane. */
import { CORDON_METHOD } from '../api/fence-names.ts';
import { formatDuration } from '../api/duration.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { ALARM, FENCED, RELEASED, RELEASE_EVENTS } from '../api/reasons.ts';
import { FOUND_OFF } from '../fence/told.ts';
import type { Chronicle, Lane, Mark, MarkKind, Spell } from './timeline.ts';

type HistoryEntry = NodeFenceStatus['history'][number];

const record = 'NodeFence';

export function marksOf(chronicle: Chronicle, spell: Spell): Mark[] {
  return [
    ...heard(chronicle, spell),
    ...asked(chronicle, spell),
    ...held(chronicle, spell),
    ...done(chronicle, spell),
    ...workloads(chronicle, spell),
    ...machine(spell),
  ].toSorted((one, other) => Date.parse(one.from) - Date.parse(other.from));
}

function isOf({ startedAt, endedAt }: Spell, time: string): boolean {
  const atMs = Date.parse(time);
  return atMs >= Date.parse(startedAt) && (endedAt === undefined || atMs <= Date.parse(endedAt));
}

/** What is seen of every node that falls silent; everything else is rare enough to be called by its own name. */
const evidenceWords: Readonly<Record<string, string>> = {
  'Condition Alive': 'still called Ready',
  'Condition Unknown': 'not called Ready',
  'Lease Unknown': 'Lease overdue',
  'Lease Alive': 'Lease renewed',
};

/** What was heard of it, or was not. */
function heard({ status, silentSince, clearedAt }: Chronicle, spell: Spell): Mark[] {
  const since = spell.endedAt === undefined ? (status.incident?.silence?.since ?? silentSince) : silentSince;
  const told = spell.entries.find(({ reason }) => reason === 'Returning' || reason === FENCED.reason.Recovered)?.at;
  // It is heard before anything comes of it: a fence may have to wait for its device until it is seen to be back.
  const cleared = spell.endedAt === undefined ? status.incident?.clearedAt : clearedAt;
  const back = [cleared, told].filter((at) => at !== undefined).toSorted()[0];
  const to = back ?? spell.endedAt;
  const lease: Mark[] =
    since === undefined
      ? []
      : [
          {
            lane: 'heard',
            kind: 'silent',
            from: since,
            ...ending(to),
            label: to === undefined ? 'silent' : `silent for ${formatDuration(Date.parse(to) - Date.parse(since))}`,
            text: 'Its Lease was not renewed: nothing is heard of its kubelet. That says nothing of whether the machine runs.',
            source: `${record} status.incident.silence`,
            row: 'lease',
          },
        ];
  const back2: Mark[] =
    back === undefined
      ? []
      : [
          {
            lane: 'heard',
            kind: 'alive',
            from: back,
            ...ending(spell.endedAt),
            label: 'heard again',
            text: 'Its kubelet reports again.',
            source: back === cleared ? `${record} status.incident.clearedAt` : `${record} status.history`,
            row: 'lease',
          },
        ];
  const said = status.evidence
    .filter(({ source, observedAt }) => source !== 'Power' && isOf(spell, observedAt))
    .map(({ source, says, detail, observedAt, by }): Mark => {
      const who = by === undefined ? source : `${source} by ${by}`;
      return moment('heard', 'said', observedAt, {
        label: evidenceWords[`${source} ${says}`] ?? `${source}: ${says}`,
        text: detail,
        source: `${who}; ${record} status.evidence`,
      });
    });
  return [...lease, ...back2, ...said];
}

/** What its devices were asked or told, and what they answered. */
function asked({ status, devices }: Chronicle, spell: Spell): Mark[] {
  const { incident, fence } = status;
  const isOpen = spell.endedAt === undefined;
  const told = (isOpen ? (fence?.switched ?? []) : []).flatMap(({ method, commandSentAt, confirmedAt }): Mark[] => [
    ...(commandSentAt === undefined || !isOf(spell, commandSentAt)
      ? []
      : [
          moment('asked', 'act', commandSentAt, {
            label: `${method}: told off`,
            text: `${method} was told to switch off; on record before it was sent.`,
            source: `${record} status.fence.switched`,
          }),
        ]),
    ...(confirmedAt === undefined || !isOf(spell, confirmedAt)
      ? []
      : [
          moment('asked', 'off', confirmedAt, {
            label: `${method}: off`,
            text: `${method} was asked again, and said off.`,
            source: `${record} status.fence.switched`,
          }),
        ]),
  ]);
  const found = isOpen ? incident?.foundOff : undefined;
  const evidence = status.evidence
    .filter(({ source, observedAt }) => source === 'Power' && isOf(spell, observedAt))
    .map(({ says, detail, observedAt, by }) =>
      moment('asked', says === 'Dead' ? 'off' : 'said', observedAt, {
        label: `${by ?? 'device'}: ${says === 'Dead' ? 'off' : says}`,
        text: detail,
        source: `${by ?? 'device'}; ${record} status.evidence`,
      }),
    );
  const words = devices.flatMap(({ name, status: { power, since, message, wrong } }): Mark[] => {
    if (power === undefined || since === undefined || !isOf(spell, since)) return [];
    const why = wrong?.message ?? message;
    return [
      moment('asked', power === 'off' ? 'off' : 'said', since, {
        label: `${name}: ${power}`,
        text: `${name} has said ${power} since then, whenever it was asked${why === undefined ? '' : `: ${why}`}.`,
        source: `FenceDevice ${name} status.power`,
      }),
    ];
  });
  const confirmed = spell.entries
    .filter(({ reason }) => reason === FENCED.reason.PoweredOff || reason === FENCED.reason.Isolated)
    .map((entry) => {
      const label = entry.reason === FENCED.reason.PoweredOff ? 'confirmed off' : 'confirmed cut off';
      return moment('asked', 'off', entry.at, { label, text: textOf(entry), source: history });
    });
  const foundOff =
    found === undefined
      ? []
      : [
          moment('asked', 'off', found.at, {
            label: 'found off',
            text: 'Its devices said off when they were asked; nobody had told them to.',
            source: `${record} status.incident.foundOff`,
          }),
        ];
  return [...foundOff, ...told, ...evidence, ...words, ...confirmed];
}

const waiting: ReadonlySet<string> = new Set([FENCED.reason.WaitingToIsolate, FENCED.reason.WaitingToPowerOff]);

/** What kept us from acting. */
function held({ status, holds }: Chronicle, spell: Spell): Mark[] {
  const now = spell.endedAt === undefined ? status.hold : undefined;
  const seen = holds.filter(({ since }) => isOf(spell, since) && since !== now?.since);
  const all = [...seen, ...(now === undefined ? [] : [{ reason: now.reason, message: now.message, since: now.since }])];
  const patience = spell.entries.flatMap((entry, at): Mark[] => {
    if (!waiting.has(entry.reason)) return [];
    const to = spell.entries.slice(at + 1).find((one) => one.reason !== 'Incident')?.at;
    if (to === entry.at) return [];
    return [
      {
        lane: 'held',
        kind: 'waits',
        from: entry.at,
        ...ending(to),
        label: 'time to come back',
        text: textOf(entry),
        source: history,
      },
    ];
  });
  return [
    ...patience,
    ...all.map((one): Mark => ({
      lane: 'held',
      kind: 'waits',
      from: one.since,
      ...ending('endedAt' in one ? one.endedAt : undefined),
      label: words(one.reason),
      text: one.message,
      source: `${record} status.hold`,
    })),
  ];
}

const deeds: Readonly<Record<string, { label: string; kind: MarkKind }>> = {
  Incident: { label: 'on record', kind: 'act' },
  [FENCED.reason.Isolating]: { label: 'cuts it off', kind: 'act' },
  [FENCED.reason.Isolated]: { label: 'cut off', kind: 'off' },
  [FENCED.reason.PoweringOff]: { label: 'makes sure', kind: 'act' },
  [FENCED.reason.PoweringOn]: { label: 'switches on', kind: 'act' },
  [FENCED.reason.Cancelled]: { label: 'called off', kind: 'alive' },
  [FENCED.reason.FenceFailed]: { label: 'failed', kind: 'bad' },
  [FENCED.reason.OutletsSwapped]: { label: 'wrong outlet', kind: 'bad' },
  [RELEASED.reason.Releasing]: { label: 'releases', kind: 'freed' },
  [RELEASED.reason.Complete]: { label: 'all gone', kind: 'freed' },
  [RELEASED.reason.DetachRefused]: { label: 'detach refused', kind: 'bad' },
  [RELEASE_EVENTS.reason.Approved]: { label: 'approved', kind: 'act' },
  [RELEASE_EVENTS.reason.FenceRefused]: { label: 'fence refused', kind: 'bad' },
  [ALARM.reason.RepeatedTrouble]: { label: 'alarm', kind: 'bad' },
  [ALARM.reason.LadderExhausted]: { label: 'alarm', kind: 'bad' },
  [ALARM.reason.FenceInError]: { label: 'alarm', kind: 'bad' },
  [ALARM.reason.NeverOff]: { label: 'alarm', kind: 'bad' },
  [ALARM.reason.TooManyActs]: { label: 'alarm', kind: 'bad' },
  BackInService: { label: 'over', kind: 'alive' },
};

/** What was done about it. */
function done({ status }: Chronicle, spell: Spell): Mark[] {
  const acts = spell.entries.flatMap((entry): Mark[] => {
    const deed = deeds[entry.reason];
    return deed === undefined
      ? []
      : [moment('done', deed.kind, entry.at, { label: deed.label, text: textOf(entry), source: history })];
  });
  const since = spell.endedAt === undefined ? status.quarantine?.since : undefined;
  const quarantined: Mark[] =
    since === undefined
      ? []
      : [
          moment('done', 'act', since, {
            label: 'quarantine',
            text: 'The node takes no pods until it is back and clean. On record before the taint was put there.',
            source: `${record} status.quarantine`,
          }),
        ];
  const jobs = status.jobs
    .filter(({ startedAt }) => isOf(spell, startedAt))
    .map(({ purpose, startedAt, endedAt, outcome, namespace, name }): Mark => ({
      lane: 'done',
      kind: outcome === 'Failed' ? 'bad' : 'act',
      from: startedAt,
      ...ending(endedAt),
      label: purpose,
      text: `Job ${namespace}/${name}: ${outcome ?? 'it runs'}.`,
      source: `${record} status.jobs`,
    }));
  return [...acts, ...quarantined, ...jobs];
}

/** What ran there: away from when nothing was heard of its node, until it runs elsewhere. */
function workloads({ workloads: all, silentSince, status }: Chronicle, spell: Spell): Mark[] {
  const away = (spell.endedAt === undefined ? status.incident?.silence?.since : undefined) ?? silentSince;
  const from = away ?? spell.startedAt;
  return all.flatMap(({ pod, goneAt, runs }): Mark[] => {
    const gone: Mark = {
      lane: 'workloads',
      kind: 'silent',
      from,
      ...ending(runs?.since ?? (spell.endedAt === undefined ? undefined : (goneAt ?? spell.endedAt))),
      label: pod.replace(/^[^/]*\//, ''),
      text: goneAt === undefined ? `${pod} is on the node, and has not been let go.` : `${pod} was let go at its time.`,
      source: goneAt === undefined ? 'Pod' : `${record} status.releases`,
      row: pod,
    };
    if (runs === undefined) return [gone];
    const running: Mark = {
      lane: 'workloads',
      kind: 'alive',
      from: runs.since,
      ...ending(spell.endedAt),
      label: `on ${runs.node}`,
      text: `${pod} runs on ${runs.node}.`,
      source: 'Pod status',
      row: pod,
    };
    return [gone, running];
  });
}

const states: Readonly<Record<string, { label: string; kind: MarkKind }>> = {
  [FENCED.reason.PoweringOff]: { label: 'being cut', kind: 'waits' },
  [FENCED.reason.PoweredOff]: { label: 'off', kind: 'off' },
  [FENCED.reason.PoweringOn]: { label: 'switched on', kind: 'coming' },
  [FENCED.reason.Booting]: { label: 'boots', kind: 'coming' },
  [FENCED.reason.Recovering]: { label: 'undone', kind: 'coming' },
  [FENCED.reason.FenceFailed]: { label: 'not known', kind: 'bad' },
  seen: { label: 'seen', kind: 'coming' },
  clean: { label: 'clean, soaks', kind: 'coming' },
  soaked: { label: 'takes pods', kind: 'alive' },
};

/** What became of the machine, from one state to the next. */
function machine(spell: Spell): Mark[] {
  const steps = spell.entries.flatMap((entry) => {
    const state = states[entry.reason === 'Returning' ? (entry.message ?? '') : entry.reason];
    return state === undefined ? [] : [{ ...state, entry }];
  });
  return steps.map(({ label, kind, entry }, at): Mark => {
    const next = steps[at + 1]?.entry;
    const to = next?.at ?? spell.endedAt;
    // Nobody has cut what had lost its power before.
    const isFound = [entry, next].some((one) => one?.message?.startsWith(FOUND_OFF) === true);
    const wasOff = isFound && entry.reason === FENCED.reason.PoweringOff;
    return {
      lane: 'machine',
      kind,
      from: entry.at,
      ...ending(to),
      label: wasOff ? 'is it off?' : label,
      text: textOf(entry),
      source: history,
      row: 'machine',
    };
  });
}

const history = `${record} status.history`;

/** As it was put on record; where nothing was, what the word means. */
function textOf({ reason, message }: HistoryEntry): string {
  if (reason === 'Incident')
    return `The trouble was put on record: ${message === 'lease' ? 'its Lease is not renewed' : message}.`;
  if (reason === 'Returning') return `On its way back: ${message}.`;
  const known: { readonly [reason: string]: string } = {
    ...FENCED.explanation,
    ...RELEASED.explanation,
    ...RELEASE_EVENTS.explanation,
    ...ALARM.explanation,
  };
  if (message === undefined || message === CORDON_METHOD) return known[reason] ?? reason;
  return message;
}

function moment(lane: Lane, kind: MarkKind, from: string, said: Pick<Mark, 'label' | 'text' | 'source'>): Mark {
  return { lane, kind, from, ...said };
}

function ending(to: string | undefined): Pick<Mark, 'to' | 'open'> {
  return to === undefined ? { open: true } : { to };
}

/** `StormLimit` is two words to a reader. */
export function words(reason: string): string {
  return reason.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}
