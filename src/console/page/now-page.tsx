/** Now: must I do anything? */
import type { JSX } from 'preact';
import type { BrakePicture, HeadPicture, IncidentLine, NeedPicture } from '../picture.ts';
import { ActButton } from './acts.tsx';
import { ClusterMap, Legend } from './map.tsx';
import { hashOf } from './route.ts';
import { Plugs, Stories } from './stage.tsx';
import { Command, Empty, Panel, Said, Table, useStore, When } from './ui.tsx';
import { duration } from './time.ts';

export function NowPage(): JSX.Element {
  const store = useStore();
  const { head, nodes } = store;
  if (head === undefined) return <p class="empty">Waiting for the first picture…</p>;
  return (
    <>
      <Headline head={head} />
      <Needs needs={head.needs} can={head.can} />
      <div class="columns">
        <div class="side">
          <Panel title="Cluster" aside={<Legend />}>
            {nodes.length === 0 ? <Empty>No nodes.</Empty> : <ClusterMap nodes={nodes} />}
          </Panel>
          {store.stage === undefined ? undefined : <Plugs />}
          <Incidents title="Recent incidents" lines={head.incidents} isDemo={store.stage !== undefined} />
        </div>
        <div class="side">
          {head.brake === undefined ? <NoPolicy /> : <Brake brake={head.brake} />}
          {store.stage === undefined ? undefined : <Stories />}
          {store.stage === undefined ? undefined : <Story />}
        </div>
      </div>
    </>
  );
}

function Headline({ head }: { head: HeadPicture }): JSX.Element {
  return (
    <section class={`headline t-${head.tone}`} aria-label="In short">
      <h1>{head.text}</h1>
      <div role="status">
        <ul>
          {head.lines.map(({ node, text }) => (
            <li key={node}>
              <a href={hashOf({ page: 'node', node })}>
                <Said text={text} />
              </a>
            </li>
          ))}
        </ul>
      </div>
      {head.warnings.map((warning) => (
        <p key={warning} class="warning">
          <Said text={warning} />
        </p>
      ))}
    </section>
  );
}

function Needs({ needs, can }: { needs: NeedPicture[]; can: HeadPicture['can'] }): JSX.Element | null {
  if (needs.length === 0) return null;
  return (
    <Panel title="Needs a person">
      <ul class="needs">
        {needs.map((need) => (
          <li key={`${need.node} ${need.reason}`} class={need.isUrgent === true ? 'urgent' : ''}>
            <p>
              {need.node === undefined ? undefined : (
                <a class="strong" href={hashOf({ page: 'node', node: need.node })}>
                  {need.node}
                </a>
              )}{' '}
              <Said text={need.message} />{' '}
              <span class="soft">
                {need.reason}
                {need.since === undefined ? undefined : (
                  <>
                    , <When at={need.since} />
                  </>
                )}
                ; ends when <Said text={need.ends} />
              </span>
            </p>
            {need.act !== undefined && need.node !== undefined && can.includes(need.act) ? (
              <ActButton act={need.act} node={need.node} />
            ) : need.command === undefined ? undefined : (
              <Command {...need.command} />
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Brake({ brake }: { brake: BrakePicture }): JSX.Element {
  const { nodes, troubled, allowed, isOn, policy, limit, fencing, maxConcurrent } = brake;
  const isOver = troubled > allowed;
  const share = (count: number): string => `${Math.min(100, (count / Math.max(1, nodes)) * 100)}%`;
  const text = `${troubled} of ${nodes} in trouble, ${allowed} allowed`;
  return (
    <Panel title="Brake" aside={<span class={isOn ? 'strong' : 'soft'}>{isOn ? 'it holds' : 'open'}</span>}>
      <div class={`gauge ${isOver ? 'over' : ''}`} role="img" aria-label={text}>
        <div class="fill" style={{ width: share(troubled) }} />
        <div class="limit" style={{ left: share(allowed) }} />
      </div>
      <p>{text}</p>
      <p class="soft">
        {fencing.length} of {maxConcurrent} fences at a time. Limit {limit}, by policy {policy}. Beyond it nothing is
        cut: so many at once are a broken switch, not broken machines.
      </p>
    </Panel>
  );
}

function NoPolicy(): JSX.Element {
  return (
    <Panel title="Brake">
      <Empty>No policy is in force: whatever happens, nothing is done about any node.</Empty>
    </Panel>
  );
}

export function Incidents(props: { title: string; lines: IncidentLine[]; isDemo: boolean }): JSX.Element {
  const { title, lines, isDemo } = props;
  return (
    <Panel title={title}>
      {lines.length === 0 ? (
        <Empty>
          {isDemo ? 'None yet. Try one: tell a story, or pull a plug. Or ' : 'None on record. '}
          <a href={hashOf({ page: 'rehearse' })}>{isDemo ? 'rehearse one' : 'Rehearse one'}</a>.
        </Empty>
      ) : (
        <Table heads={['Node', 'Since', 'What', 'Workloads away', 'Outcome']} label={title}>
          {lines.map(({ id, node, trouble, startedAt, endedAt, outcome, awayMs }) => (
            <tr key={id} class={endedAt === undefined ? 'open' : ''}>
              <td>
                <a href={hashOf({ page: 'node', node, incident: id })}>{node}</a>
              </td>
              <td>
                <When at={startedAt} />
              </td>
              <td>{trouble}</td>
              <td class="number">{awayMs === undefined ? '–' : duration(awayMs)}</td>
              <td>{endedAt === undefined ? `open: ${outcome}` : outcome}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

/** What is said twice in a row is counted. */
function Story(): JSX.Element {
  const { stage } = useStore();
  return (
    <Panel title="What happened">
      <div class="scroll" tabIndex={0} role="group" aria-label="What happened">
        <ol class="story">
          {(stage?.story ?? []).slice(0, 40).map(({ at, text }, index) => (
            <li key={`${at} ${text} ${index}`}>
              <When at={at} /> <span>{text}</span>
            </li>
          ))}
        </ol>
      </div>
    </Panel>
  );
}
