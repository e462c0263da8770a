/** An incident as lanes on one axis of time. Hover or focus a mark: what it rests on stands below, where nothing jumps. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Lane, Mark, Timeline } from '../../report/timeline.ts';
import type { Route } from './route.ts';
import { hashOf } from './route.ts';
import { clock, duration, exact } from './time.ts';
import type { TimeMark } from './time-picture.tsx';
import { Point, TimePicture } from './time-picture.tsx';
import { Said, Table, useNow, useStore } from './ui.tsx';

export const laneWords: Readonly<Record<Lane, string>> = {
  heard: 'Heard',
  asked: 'Asked',
  held: 'Held',
  done: 'Done',
  workloads: 'Workloads',
  machine: 'Machine',
};
const lanes = (Object.keys(laneWords) as Lane[]).map((key) => ({ key, word: laneWords[key] }));

/** As it is on record, and where it is drawn. */
interface DrawnMark extends TimeMark {
  lane: Lane;
  mark: Mark;
}

export function Lanes({ timeline, route }: { timeline: Timeline; route: Route }): JSX.Element {
  useNow();
  const now = useStore().now();
  const [shown, setShown] = useState<Mark | undefined>(undefined);
  const marks = withNext(timeline, now).map(drawn);
  const isOver = timeline.endedAt !== undefined;
  const axis = {
    times: [Date.parse(timeline.from), timeline.endedAt === undefined ? now : Date.parse(timeline.endedAt)],
    openToMs: now,
    ...(isOver ? {} : { nowMs: now }),
    say: clock,
  };
  return (
    <div class="lanes">
      <TimePicture
        label={`What happened to ${timeline.node}, on an axis of time`}
        lanes={lanes}
        name={(lane, style) => (
          <a
            key={lane}
            class={route.lane === lane ? 'open' : ''}
            style={style}
            href={hashOf(route.lane === lane ? withoutLane(route) : { ...route, lane })}
            aria-expanded={route.lane === lane}
            title="as a table"
          >
            {laneWords[lane as Lane]}
          </a>
        )}
        marks={marks}
        axis={axis}
        shown={marks.find(({ mark }) => mark === shown)}
        onShow={({ mark }) => setShown(mark)}
      />
      <Evidence mark={shown} />
      {route.lane === undefined ? undefined : <LaneTable lane={route.lane} marks={timeline.marks} />}
      <Moments marks={marks.map(({ mark }) => mark)} />
    </div>
  );
}

function drawn(mark: Mark & { isNext?: true }): DrawnMark {
  const { lane, kind, from, to, open, label, text, row, isNext } = mark;
  return {
    mark,
    lane,
    kind,
    fromMs: Date.parse(from),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
    ...(open === undefined ? {} : { open }),
    label,
    text,
    ...(row === undefined ? {} : { row }),
    ...(isNext === undefined ? {} : { isNext }),
  };
}

function withoutLane({ page, node, incident }: Route): Route {
  return { page, ...(node === undefined ? {} : { node }), ...(incident === undefined ? {} : { incident }) };
}

/** So much of the picture is ahead of now, however far away that is: the label says when. */
const aheadShare = 0.3;
const maxLabel = 56;

/** What comes next is a mark too, ahead of now. */
function withNext({ marks, next, from }: Timeline, now: number): (Mark & { isNext?: true })[] {
  if (next === undefined) return [...marks];
  const at = next.at === undefined ? undefined : Date.parse(next.at);
  const roomMs = Math.max(4000, (now - Date.parse(from)) * aheadShare);
  const to = new Date(now + Math.min(roomMs, Math.max(3000, (at ?? now) - now))).toISOString();
  const when = at === undefined || at <= now ? 'next' : `next, in ${duration(Math.round((at - now) / 1000) * 1000)}`;
  const whole = `${when}: ${next.what}`;
  const mark = {
    lane: 'done',
    kind: 'waits',
    from: new Date(now).toISOString(),
    to,
    label: whole.length > maxLabel ? `${whole.slice(0, maxLabel)}…` : whole,
    text: at === undefined ? `Next, as soon as what it waits for is so: ${next.what}` : `Next: ${next.what}`,
    source: 'NodeFence status.next',
    row: 'next',
    isNext: true,
  } as const;
  return [...marks, mark];
}

function Evidence({ mark }: { mark: Mark | undefined }): JSX.Element {
  if (mark === undefined)
    return <p class="evidence soft">Point at a mark, or walk to one with the tab key: what it rests on stands here.</p>;
  const { from, to, open, text, source, label, lane } = mark;
  const fromMs = Date.parse(from);
  const span = to === undefined ? (open === true ? ', goes on' : '') : `, for ${duration(Date.parse(to) - fromMs)}`;
  return (
    <p class="evidence" aria-live="polite">
      <span class="strong">
        {laneWords[lane]}: {label}
      </span>{' '}
      <Said text={text} />{' '}
      <span class="soft">
        {exact(fromMs)}
        {span}. From {source}.
      </span>
    </p>
  );
}

function LaneTable({ lane, marks }: { lane: string; marks: readonly Mark[] }): JSX.Element {
  return (
    <Table heads={['Time', 'Until', 'What', 'Rests on', 'Source']} label={`Lane ${lane} as a table`}>
      {marks
        .filter((mark) => mark.lane === lane)
        .map(({ from, to, open, label, text, source }) => (
          <tr key={`${from} ${label}`}>
            <td class="number">{exact(Date.parse(from))}</td>
            <td class="number">{to === undefined ? (open === true ? 'goes on' : '') : clock(Date.parse(to))}</td>
            <td>{label}</td>
            <td>
              <Said text={text} />
            </td>
            <td class="soft">{source}</td>
          </tr>
        ))}
    </Table>
  );
}

/** The same on a phone: moments, one below the other. */
function Moments({ marks }: { marks: readonly Mark[] }): JSX.Element {
  return (
    <ol class="moments">
      {marks.map((mark) => (
        <li key={`${mark.lane} ${mark.from} ${mark.label}`} class={`k-${mark.kind}`}>
          <details>
            <summary>
              <svg width={16} height={16} aria-hidden="true" class={`mark k-${mark.kind}`}>
                <Point x={8} y={8} kind={mark.kind} />
              </svg>
              <span class="number">{clock(Date.parse(mark.from))}</span>{' '}
              <span class="soft">{laneWords[mark.lane]}</span> {mark.label}
            </summary>
            <p>
              <Said text={mark.text} /> <span class="soft">From {mark.source}.</span>
            </p>
          </details>
        </li>
      ))}
    </ol>
  );
}
