/** Lanes on one axis of time: marks with their labels, where they have room. What a mark rests on is for whoever shows the picture to say. */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { MarkKind } from '../../report/timeline.ts';
import type { Scale } from './scale.ts';
import { linesFor, scaleOf } from './scale.ts';

export interface TimeMark {
  /** The key of its lane. */
  lane: string;
  kind: MarkKind;
  fromMs: number;
  /** Absent: a moment; or, if it is open, it goes on. */
  toMs?: number;
  open?: true;
  label: string;
  text: string;
  /** Marks of one row share a line of their lane; absent: wherever there is room. */
  row?: string;
  isNext?: true;
}

export interface Axis {
  /** What is to be on it beside the marks: its ends, and what another picture beside has. */
  times: readonly number[];
  /** So far goes what is open. */
  openToMs: number;
  /** A line there; absent: none. */
  nowMs?: number;
  /** A time as it stands below the axis. */
  say: (atMs: number) => string;
}

interface Props<M extends TimeMark> {
  /** In words, for who does not see it. */
  label: string;
  lanes: readonly { key: string; word: string }[];
  name: (lane: string, style: { height: string }) => ComponentChildren;
  marks: readonly M[];
  axis: Axis;
  shown: M | undefined;
  onShow: (mark: M) => void;
}

const lineHeight = 24;
const lanePad = 8;
const axisHeight = 28;
const letterPx = 6.6;

function labelPx({ label }: TimeMark): number {
  return label.length * letterPx;
}

interface Drawn<M> {
  mark: M;
  x: number;
  width: number;
  y: number;
  /** Another one of its line begins where its label would stand. */
  isUnlabelled?: boolean;
}

export function TimePicture<M extends TimeMark>(props: Props<M>): JSX.Element {
  const { label, lanes, name, marks, axis, shown, onShow } = props;
  const [width, box] = useWidth();
  const picture = layout({ lanes, marks, axis, width });
  const words = new Map(lanes.map(({ key, word }) => [key, word]));
  const nowPx = axis.nowMs === undefined ? undefined : picture.scale.x(axis.nowMs);
  return (
    <>
      <div class="lane-names">{picture.lanes.map(({ key, height }) => name(key, { height: `${height}px` }))}</div>
      <div class="lane-picture" ref={box}>
        <svg width={width} height={picture.height + axisHeight} role="group" aria-label={label}>
          <Grid picture={picture} width={width} nowPx={nowPx ?? -1000} say={axis.say} />
          {picture.drawn.map((drawn) => (
            <MarkShape
              key={`${drawn.mark.lane} ${drawn.mark.fromMs} ${drawn.mark.label}`}
              drawn={drawn}
              words={`${words.get(drawn.mark.lane)}, ${axis.say(drawn.mark.fromMs)}`}
              room={width}
              isShown={shown === drawn.mark}
              onShow={() => onShow(drawn.mark)}
            />
          ))}
          {nowPx === undefined ? undefined : <NowLine x={nowPx} height={picture.height} />}
        </svg>
      </div>
    </>
  );
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

interface Picture<M> {
  scale: Scale;
  drawn: Drawn<M>[];
  lanes: { key: string; top: number; height: number }[];
  height: number;
}

function layout<M extends TimeMark>(options: {
  lanes: Props<M>['lanes'];
  marks: readonly M[];
  axis: Axis;
  width: number;
}): Picture<M> {
  const { lanes, marks, axis, width } = options;
  const times = [
    ...axis.times,
    ...marks.flatMap(({ fromMs, toMs }) => [fromMs, ...(toMs === undefined ? [] : [toMs])]),
  ];
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const scale = scaleOf([...times, last + Math.max(1500, (last - first) * 0.04)], width);
  const endOf = ({ fromMs, toMs, open }: M): number => scale.x(open === true ? axis.openToMs : (toMs ?? fromMs));
  const drawn: Drawn<M>[] = [];
  const rows: Picture<M>['lanes'] = [];
  let top = 0;
  for (const { key } of lanes) {
    const { placed, lines } = linesFor(
      marks.filter((mark) => mark.lane === key),
      (mark) => {
        const fromPx = scale.x(mark.fromMs);
        return { fromPx, toPx: Math.max(endOf(mark), fromPx + 22 + labelPx(mark)) };
      },
    );
    const begins = (line: number): number[] =>
      placed.flatMap((one) => (one.line === line ? [scale.x(one.item.fromMs)] : []));
    for (const { item, line } of placed) {
      const x = scale.x(item.fromMs);
      const to = endOf(item);
      const hasNoRoom =
        item.row !== undefined &&
        to - x < labelPx(item) &&
        begins(line).some((other) => other > x && other < to + labelPx(item));
      drawn.push({
        mark: item,
        x,
        width: Math.max(0, to - x),
        y: top + lanePad + line * lineHeight,
        ...(hasNoRoom ? { isUnlabelled: true } : {}),
      });
    }
    const height = lines * lineHeight + 2 * lanePad;
    rows.push({ key, top, height });
    top += height;
  }
  return { scale, drawn, lanes: rows, height: top };
}

function Grid<M>(props: {
  picture: Picture<M>;
  width: number;
  nowPx: number;
  say: (atMs: number) => string;
}): JSX.Element {
  const { picture, width, nowPx, say } = props;
  const { scale, height, lanes: rows } = picture;
  return (
    <g class="grid" aria-hidden="true">
      {rows.map(({ key, top, height: own }, at) => (
        <rect key={key} class={at % 2 === 0 ? 'even' : 'odd'} x={0} y={top} width={width} height={own} />
      ))}
      {scale.breaks.map(({ fromPx, toPx }) => (
        <rect key={fromPx} class="break" x={fromPx} y={height} width={Math.max(0, toPx - fromPx)} height={4} />
      ))}
      {scale.ticks.map(({ atMs, px }) => (
        <g key={atMs}>
          <line x1={px} x2={px} y1={0} y2={height + 4} />
          {Math.abs(px - nowPx) < 48 || px < 28 ? undefined : (
            <text x={px} y={height + 20}>
              {say(atMs)}
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
  drawn: Drawn<TimeMark>;
  /** Its lane, and its time. */
  words: string;
  room: number;
  isShown: boolean;
  onShow: () => void;
}

function MarkShape({ drawn, words, room, isShown, onShow }: MarkProps): JSX.Element {
  const { mark, x, width, y, isUnlabelled } = drawn;
  const isSpan = mark.toMs !== undefined || mark.open === true;
  const label = labelPx(mark);
  const fits = isSpan && width > label + 8;
  const behind = x + width + (isSpan ? 5 : 13);
  // At the right end there is room on the left only.
  const isLeft = !fits && behind + label > room && x > label;
  const textX = fits ? x + 6 : isLeft ? x - 8 : behind;
  return (
    <g
      class={`mark k-${mark.kind} ${mark.isNext === true ? 'next' : ''} ${isShown ? 'shown' : ''}`}
      tabIndex={0}
      role="button"
      aria-label={`${words}: ${mark.label}. ${mark.text}`}
      onMouseEnter={onShow}
      onFocus={onShow}
      onClick={onShow}
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
export function Point({ x, y, kind }: { x: number; y: number; kind: MarkKind }): JSX.Element {
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
