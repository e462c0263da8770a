/** What a rehearsal came to: both runs on one axis of time, line by line, and the same as tables. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RehearsalMark, RehearsalPicture, RehearsedRun } from '../picture.ts';
import { hashOf } from './route.ts';
import { duration } from './time.ts';
import type { Axis } from './time-picture.tsx';
import { Point, TimePicture } from './time-picture.tsx';
import { Panel, Table } from './ui.tsx';

export function RehearsalResult({ picture }: { picture: RehearsalPicture }): JSX.Element {
  const { runs, warnings, notes, virtualMs, wallMs, unpictured, untold } = picture;
  const axis = axisOf(runs);
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      {runs.map((run) => (
        <Run key={run.policies} run={run} picture={picture} axis={axis} />
      ))}
      <Panel title="The same as a table">
        <Rows rows={picture.nodes} label="What becomes of nodes" none="No node is touched." />
        <Rows rows={picture.pods} label="What becomes of pods" none="No pod is touched." />
        {unpictured === 0 ? undefined : <p class="soft">{unpictured} more lines are not in the pictures.</p>}
        {untold === 0 ? undefined : (
          <p class="soft">{untold} more rows there were; the command line below prints all.</p>
        )}
      </Panel>
      <Panel title="What it rests on">
        <p class="soft">
          {duration(virtualMs)} were simulated, in {duration(wallMs)}; nothing was written to the cluster.
        </p>
        <ul class="lines">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      </Panel>
    </>
  );
}

/** One for all, so that the same moment is at the same place. */
function axisOf(runs: readonly RehearsedRun[]): Axis {
  const times = runs.flatMap(({ marks }) => marks.flatMap(({ fromMs, toMs }) => [fromMs, toMs ?? fromMs]));
  const last = Math.max(10_000, ...times);
  const openToMs = last + Math.max(2000, last * 0.08);
  return { times: [0, ...times, openToMs], openToMs, say: since };
}

function since(atMs: number): string {
  return atMs <= 0 ? '0' : `+${duration(Math.round(atMs / 100) * 100)}`;
}

interface RunProps {
  run: RehearsedRun;
  picture: RehearsalPicture;
  axis: Axis;
}

function Run({ run, picture, axis }: RunProps): JSX.Element {
  const [shown, setShown] = useState<RehearsalMark | undefined>(undefined);
  const { policies, marks } = run;
  const lanes = picture.lanes.map(({ key, name }) => ({ key, word: name }));
  const title = policies === 'in force' ? 'In force' : 'Proposed';
  return (
    <Panel title={title} aside={<span class="soft">time since the failure</span>}>
      <div class="lanes wide-names">
        <TimePicture
          label={`${title}: what would happen, on an axis of time`}
          lanes={lanes}
          name={(key, style) => (
            <LaneName key={key} lane={picture.lanes.find((one) => one.key === key)} style={style} />
          )}
          marks={marks}
          axis={axis}
          shown={shown}
          onShow={setShown}
        />
        <p class="evidence" aria-live="polite">
          {shown === undefined ? (
            <span class="soft">Point at a mark, or walk to one with the tab key: what happens there stands here.</span>
          ) : (
            <Told mark={shown} picture={picture} />
          )}
        </p>
        <ol class="moments">
          {marks
            .toSorted((a, b) => a.fromMs - b.fromMs)
            .map((mark) => (
              <li key={`${mark.lane} ${mark.fromMs} ${mark.label}`} class={`k-${mark.kind}`}>
                <details>
                  <summary>
                    <svg width={16} height={16} aria-hidden="true" class={`mark k-${mark.kind}`}>
                      <Point x={8} y={8} kind={mark.kind} />
                    </svg>
                    <span class="number">{since(mark.fromMs)}</span> <span class="soft">{nameOf(mark, picture)}</span>{' '}
                    {mark.label}
                  </summary>
                  <p>{mark.text}</p>
                </details>
              </li>
            ))}
        </ol>
      </div>
    </Panel>
  );
}

function LaneName(props: {
  lane: RehearsalPicture['lanes'][number] | undefined;
  style: { height: string };
}): JSX.Element {
  const { name = '', node } = props.lane ?? {};
  if (node === undefined) {
    return (
      <span style={props.style} title={name}>
        {name}
      </span>
    );
  }
  return (
    <a style={props.style} href={hashOf({ page: 'node', node })} title={name}>
      {name}
    </a>
  );
}

function nameOf({ lane }: RehearsalMark, { lanes }: RehearsalPicture): string {
  return lanes.find(({ key }) => key === lane)?.name ?? '';
}

function Told({ mark, picture }: { mark: RehearsalMark; picture: RehearsalPicture }): JSX.Element {
  const { fromMs, toMs, open, label, text } = mark;
  const span = toMs === undefined ? (open === true ? ', goes on' : '') : `, for ${duration(toMs - fromMs)}`;
  return (
    <>
      <span class="strong">
        {nameOf(mark, picture)}
        {label === '' ? '' : `: ${label}`}
      </span>{' '}
      {text}{' '}
      <span class="soft">
        {since(fromMs)}
        {span}
      </span>
    </>
  );
}

function Rows({ rows, label, none }: { rows: readonly string[][]; label: string; none: string }): JSX.Element {
  const [heads = [], ...rest] = rows;
  if (rest.length === 0) return <p class="empty">{none}</p>;
  return (
    <Table heads={heads.map(headWord)} label={label}>
      {rest.map((cells) => (
        <tr key={cells[0]} class="fate">
          {cells.map((cell, at) => (
            <td key={heads[at]} class={at === 0 ? 'strong' : heads[at] === 'ON' ? 'number' : ''}>
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

/** The command writes them in capitals. */
function headWord(head: string): string {
  return `${head.charAt(0)}${head.slice(1).toLowerCase()}`;
}
