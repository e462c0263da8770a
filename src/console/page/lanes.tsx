/** An incident as lanes on one axis of time. Hover or focus a mark: what it rests on stands below, where nothing jumps. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Lane, Mark, Timeline } from '../../report/timeline.ts';
import type { Route } from './route.ts';
import { hashOf } from './route.ts';
import type { Scale } from './scale.ts';
import { linesFor, scaleOf } from './scale.ts';
import { clock, duration, exact } from './time.ts';
import { Said, Table, useNow, useStore } from './ui.tsx';

export const laneWords: Readonly<Record<Lane, string>> = {
  heard: 'Heard',
  asked: 'Asked',
  held: 'Held',
  done: 'Done',
  workloads: 'Workloads',
  machine: 'Machine',
};
const lanes = Object.keys(laneWords) as Lane[];

const lineHeight = 24;
const lanePad = 8;
const axisHeight = 28;
const letterPx = 6.6;

function labelPx({ label }: Mark): number {
  return label.length * letterPx;
}

interface Drawn {
  mark: Mark;
  x: number;
  width: number;
  y: number;
  isNext?: boolean;
  /** Another one of its line begins where its label would stand. */
  isUnlabelled?: boolean;
}

export function Lanes({ timeline, route }: { timeline: Timeline; route: Route }): JSX.Element {
  useNow();
  const now = useStore().now();
  const [shown, setShown] = useState<Mark | undefined>(undefined);
  const [width, box] = useWidth();
  const marks = withNext(timeline, now);
  const picture = layout(timeline, marks, { now, width });
  return (
    <div class="lanes">
      <div class="lane-names">
        {picture.lanes.map(({ lane, height }) => (
          <a
            key={lane}
            class={route.lane === lane ? 'open' : ''}
            style={{ height: `${height}px` }}
            href={hashOf(route.lane === lane ? withoutLane(route) : { ...route, lane })}
            aria-expanded={route.lane === lane}
            title="as a table"
          >
            {laneWords[lane]}
          </a>
        ))}
      </div>
      <div class="lane-picture" ref={box}>
        <svg
          width={width}
          height={picture.height + axisHeight}
          role="group"
          aria-label={`What happened to ${timeline.node}, on an axis of time`}
        >
          <Grid picture={picture} width={width} nowPx={timeline.endedAt === undefined ? picture.scale.x(now) : -1000} />
          {picture.drawn.map((drawn) => (
            <MarkShape
              key={`${drawn.mark.lane} ${drawn.mark.from} ${drawn.mark.label}`}
              drawn={drawn}
              room={width}
              isShown={shown === drawn.mark}
              onShow={setShown}
            />
          ))}
          {timeline.endedAt === undefined ? <NowLine x={picture.scale.x(now)} height={picture.height} /> : undefined}
        </svg>
      </div>
      <Evidence mark={shown} />
      {route.lane === undefined ? undefined : <LaneTable lane={route.lane} marks={timeline.marks} />}
      <Moments marks={marks} />
    </div>
  );
}

function withoutLane({ page, node, incident }: Route): Route {
  return { page, ...(node === undefined ? {} : { node }), ...(incident === undefined ? {} : { incident }) };
}

/** So much of the picture is ahead of now, however far away that is: the label says when. */
const aheadShare = 0.3;
const maxLabel = 56;

/** What comes next is a mark too, ahead of now. */
function withNext({ marks, next, from }: Timeline, now: number): (Mark & { isNext?: boolean })[] {
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

function useWidth(): [number, (element: HTMLDivElement | null) => void] {
  const [width, setWidth] = useState(800);
  const box = useRef<HTMLDivElement | null>(null);
  useLayoutEffect(() => {
    if (box.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 800)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return [width, (element) => (box.current = element)];
}

interface Picture {
  scale: Scale;
  drawn: Drawn[];
  lanes: { lane: Lane; top: number; height: number }[];
  height: number;
}

function layout(
  timeline: Timeline,
  marks: readonly (Mark & { isNext?: boolean })[],
  { now, width }: { now: number; width: number },
): Picture {
  const end = timeline.endedAt === undefined ? now : Date.parse(timeline.endedAt);
  const times = [
    Date.parse(timeline.from),
    end,
    ...marks.flatMap(({ from, to }) => [Date.parse(from), ...(to === undefined ? [] : [Date.parse(to)])]),
  ];
  const last = Math.max(...times);
  const scale = scaleOf([...times, last + Math.max(1500, (last - Date.parse(timeline.from)) * 0.04)], width);
  const drawn: Drawn[] = [];
  const rows: Picture['lanes'] = [];
  let top = 0;
  for (const lane of lanes) {
    const own = marks.filter((mark) => mark.lane === lane);
    const extent = (mark: Mark): { fromPx: number; toPx: number } => {
      const from = scale.x(Date.parse(mark.from));
      const to = mark.open === true ? scale.x(now) : mark.to === undefined ? from : scale.x(Date.parse(mark.to));
      return { fromPx: from, toPx: Math.max(to, from + 22 + mark.label.length * letterPx) };
    };
    const { placed, lines } = linesFor(own, extent);
    const begins = (line: number): number[] =>
      placed.flatMap((one) => (one.line === line ? [scale.x(Date.parse(one.item.from))] : []));
    for (const { item, line } of placed) {
      const x = scale.x(Date.parse(item.from));
      const to = item.open === true ? scale.x(now) : item.to === undefined ? x : scale.x(Date.parse(item.to));
      drawn.push({
        mark: item,
        x,
        width: Math.max(0, to - x),
        y: top + lanePad + line * lineHeight,
        ...(item.isNext === true ? { isNext: true } : {}),
        ...(item.row !== undefined &&
        to - x < labelPx(item) &&
        begins(line).some((other) => other > x && other < to + labelPx(item))
          ? { isUnlabelled: true }
          : {}),
      });
    }
    const height = lines * lineHeight + 2 * lanePad;
    rows.push({ lane, top, height });
    top += height;
  }
  return { scale, drawn, lanes: rows, height: top };
}

function Grid({ picture, width, nowPx }: { picture: Picture; width: number; nowPx: number }): JSX.Element {
  const { scale, height, lanes: rows } = picture;
  return (
    <g class="grid" aria-hidden="true">
      {rows.map(({ lane, top, height: own }, at) => (
        <rect key={lane} class={at % 2 === 0 ? 'even' : 'odd'} x={0} y={top} width={width} height={own} />
      ))}
      {scale.breaks.map(({ fromPx, toPx }) => (
        <rect key={fromPx} class="break" x={fromPx} y={height} width={Math.max(0, toPx - fromPx)} height={4} />
      ))}
      {scale.ticks.map(({ atMs, px }) => (
        <g key={atMs}>
          <line x1={px} x2={px} y1={0} y2={height + 4} />
          {Math.abs(px - nowPx) < 48 || px < 28 ? undefined : (
            <text x={px} y={height + 20}>
              {clock(atMs)}
            </text>
          )}
        </g>
      ))}
    </g>
  );
}

function NowLine({ x, height }: { x: number; height: number }): JSX.Element {
  return (
    <g class="now" aria-hidden="true" style={{ transform: `translateX(${x}px)` }}>
      <line x1={0} x2={0} y1={0} y2={height + 4} />
      <text x={0} y={height + 20}>
        now
      </text>
    </g>
  );
}

interface MarkProps {
  drawn: Drawn;
  room: number;
  isShown: boolean;
  onShow: (mark: Mark) => void;
}

function MarkShape({ drawn, room, isShown, onShow }: MarkProps): JSX.Element {
  const { mark, x, width, y, isNext, isUnlabelled } = drawn;
  const isSpan = mark.to !== undefined || mark.open === true;
  const label = labelPx(mark);
  const fits = isSpan && width > label + 8;
  const behind = x + width + (isSpan ? 5 : 13);
  // At the right end there is room on the left only.
  const isLeft = !fits && behind + label > room && x > label;
  const textX = fits ? x + 6 : isLeft ? x - 8 : behind;
  const show = (): void => onShow(mark);
  return (
    <g
      class={`mark k-${mark.kind} ${isNext === true ? 'next' : ''} ${isShown ? 'shown' : ''}`}
      tabIndex={0}
      role="button"
      aria-label={`${laneWords[mark.lane]}, ${clock(Date.parse(mark.from))}: ${mark.label}. ${mark.text}`}
      onMouseEnter={show}
      onFocus={show}
      onClick={show}
    >
      <rect class="hit" x={x - 6} y={y} width={Math.max(width, 12) + 12} height={20} />
      {isSpan ? (
        <rect class="bar" x={x} y={y + 2} width={Math.max(2, width)} height={16} rx={3} />
      ) : (
        <Point x={x} y={y + 10} kind={mark.kind} />
      )}
      <text x={textX} y={y + 14} text-anchor={isLeft ? 'end' : 'start'}>
        {isUnlabelled === true ? '' : mark.label}
      </text>
    </g>
  );
}

/** A shape for each kind, so that it reads without colour. */
function Point({ x, y, kind }: { x: number; y: number; kind: Mark['kind'] }): JSX.Element {
  switch (kind) {
    case 'off':
      return <rect class="dot" x={x - 5} y={y - 5} width={10} height={10} />;
    case 'bad':
      return <path class="dot" d={`M${x} ${y - 6}l6 11h-12z`} />;
    case 'act':
    case 'freed':
      return <path class="dot" d={`M${x} ${y - 6}l6 6l-6 6l-6-6z`} />;
    case 'alive':
    case 'silent':
    case 'said':
    case 'waits':
    case 'coming':
      return <circle class="dot" cx={x} cy={y} r={5} />;
  }
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
