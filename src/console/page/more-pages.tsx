/** Workloads, Devices, Policies, Drains, Record: tables, with what is wrong first. */
import type { JSX } from 'preact';
import type { DevicesPage, DrainsPage, PoliciesPage, PolicyLine, RecordPage, WorkloadsPage } from '../picture.ts';
import { hashOf } from './route.ts';
import { Command, Empty, Panel, Said, Table, useStore, When } from './ui.tsx';

type AnyPage = WorkloadsPage | DevicesPage | PoliciesPage | DrainsPage | RecordPage;

export function MorePage({ name }: { name: string }): JSX.Element {
  const page = useStore().get<AnyPage>('page');
  if (page === undefined || page.kind !== name) return <Empty>Waiting for the picture…</Empty>;
  switch (page.kind) {
    case 'workloads':
      return <Workloads page={page} />;
    case 'devices':
      return <Devices page={page} />;
    case 'policies':
      return <Policies page={page} />;
    case 'drains':
      return <Drains page={page} />;
    case 'record':
      return <Record page={page} />;
  }
}

function Title({ text }: { text: string }): JSX.Element {
  return (
    <section class="headline" aria-label="In short">
      <h1>{text}</h1>
    </section>
  );
}

function NodeLink({ node }: { node: string }): JSX.Element {
  return <a href={hashOf({ page: 'node', node })}>{node}</a>;
}

function some(count: number, one: string, many = `${one}s`): string {
  return `${count === 0 ? 'No' : count} ${count === 1 ? one : many}`;
}

function Workloads({ page }: { page: WorkloadsPage }): JSX.Element {
  const { stuck, waiting, findings, stateful } = page;
  const never = findings?.filter(({ failsOver }) => failsOver === 'never').length ?? 0;
  const tonight =
    findings === undefined
      ? ''
      : never === 0
        ? ` All ${stateful} stateful pods would fail over tonight.`
        : ` ${never} would not fail over tonight.`;
  return (
    <>
      <Title text={`${some(stuck.length, 'pod is stuck', 'pods are stuck')}.${tonight}`} />
      <Panel title="Stuck now">
        {stuck.length === 0 ? <Empty>Nothing that should be gone is still there.</Empty> : undefined}
        {stuck.length === 0 ? undefined : (
          <Table heads={['Pod', 'Node', 'Why', 'Until']} label="Stuck pods">
            {stuck.map(({ pod, node, reason, message, until }) => (
              <tr key={pod}>
                <td>{pod}</td>
                <td>
                  <NodeLink node={node} />
                </td>
                <td>
                  <span class="strong">{reason}</span> <Said text={message} />
                </td>
                <td>{until === undefined ? '–' : <When at={until} />}</td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      <ListPanel title="Waits for a node" empty="No pod waits." look="pods">
        {waiting.map(({ pod, since }) => (
          <li key={pod} class="waits">
            {pod} <Since at={since} />
          </li>
        ))}
      </ListPanel>
      <Tonight page={page} />
    </>
  );
}

/** A list, or what it means that nothing is in it. */
function ListPanel(props: {
  title: string;
  empty: string;
  look: 'pods' | 'lines';
  children: JSX.Element[];
}): JSX.Element {
  const { title, empty, look, children } = props;
  return (
    <Panel title={title}>{children.length === 0 ? <Empty>{empty}</Empty> : <ul class={look}>{children}</ul>}</Panel>
  );
}

function Since({ at }: { at: string }): JSX.Element {
  return (
    <span class="soft">
      <When at={at} />
    </span>
  );
}

function Tonight({ page }: { page: WorkloadsPage }): JSX.Element {
  const { findings, lookedAt, problem } = page;
  return (
    <Panel
      title="Would not fail over today"
      aside={
        lookedAt === undefined ? undefined : (
          <span class="soft">
            looked <When at={lookedAt} />
          </span>
        )
      }
    >
      {problem === undefined ? undefined : <p class="warning">{problem}</p>}
      {findings === undefined && problem === undefined ? <Empty>Being found out…</Empty> : undefined}
      {findings?.length === 0 ? <Empty>All would, as far as can be told without trying.</Empty> : undefined}
      {findings === undefined || findings.length === 0 ? undefined : (
        <Table heads={['Pod', 'Node', 'Fails over', 'Why', 'What to do']} label="What would not fail over">
          {findings.map((one) => (
            <tr key={`${one.namespace}/${one.pod} ${one.reason}`}>
              <td>
                {one.namespace}/{one.pod}
              </td>
              <td>
                <NodeLink node={one.node} />
              </td>
              <td class={one.failsOver === 'never' ? 'bad' : ''}>{one.failsOver}</td>
              <td>
                <span class="strong">{one.reason}</span> {one.message}
              </td>
              <td>{one.advice}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

function Devices({ page }: { page: DevicesPage }): JSX.Element {
  const { devices, without } = page;
  const bad = devices.filter(({ fenceable }) => fenceable === false).length;
  const unknown = devices.filter(({ fenceable }) => fenceable === 'unknown').length;
  const rest = unknown === 0 ? '' : ` Of ${unknown} it is not known yet.`;
  return (
    <>
      <Title
        text={
          bad === 0
            ? `No device has failed its last check.${rest}`
            : `${some(bad, 'device')} could not fence today.${rest}`
        }
      />
      <Panel title="Devices" aside={<span class="soft">as they answered the operator last</span>}>
        <Table
          heads={['Node', 'Device', 'Could fence', 'Says', 'Since', 'Why not, or whose it is', 'Drilled']}
          label="Devices"
        >
          {devices.map(({ name, node, device, power, since, fenceable, reason, message, identity, drilled }) => (
            <tr key={name}>
              <td>
                <NodeLink node={node} />
              </td>
              <td>
                {name} <span class="soft">{device}</span>
              </td>
              <td class={fenceable === false ? 'bad' : ''}>
                {fenceable === 'unknown' ? 'not known' : fenceable ? 'yes' : 'no'}
              </td>
              <td>{power}</td>
              <td>{since === undefined ? '–' : <When at={since} />}</td>
              <td>
                {reason === undefined ? undefined : <span class="strong">{reason} </span>}
                {message === undefined ? <span class="soft">{identity ?? ''}</span> : <Said text={message} />}
              </td>
              <td>{drilled === undefined ? 'never' : <When at={drilled} />}</td>
            </tr>
          ))}
        </Table>
        {without.length === 0 ? undefined : <p class="warning">No device is on record of {without.join(', ')}.</p>}
        <Command to="ask all of them now; nothing is switched" command="fenceline check" />
      </Panel>
    </>
  );
}

function PolicyTable({ lines, label }: { lines: PolicyLine[]; label: string }): JSX.Element {
  return (
    <Table heads={['Policy', 'Mode', 'For', 'Nodes', 'What is said of it']} label={label}>
      {lines.map(({ name, mode, selector, nodes, conditions }) => (
        <tr key={name}>
          <td class="strong">{name}</td>
          <td>{mode}</td>
          <td>
            <code>{selector}</code>
          </td>
          <td class="number">{nodes}</td>
          <td>
            <ul class="lines">
              {conditions.map(({ type, status, reason, message }) => (
                <li key={type}>
                  <span class="strong">
                    {type} {status}
                  </span>
                  , {reason}: <Said text={message} />
                </li>
              ))}
            </ul>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Policies({ page }: { page: PoliciesPage }): JSX.Element {
  const { policies, unselected, problems, alarms } = page;
  const risky = policies.filter(({ conditions }) =>
    conditions.some(({ type, status }) => type === 'Risky' && status === 'True'),
  ).length;
  return (
    <>
      <Title
        text={`${some(policies.length, 'policy', 'policies')} in force, ${risky} risky. ${unselected.length === 0 ? 'Every node has one.' : `${unselected.length} nodes have none.`}`}
      />
      <Panel title="Policies" aside={<a href={hashOf({ page: 'rehearse' })}>What would they do?</a>}>
        {policies.length === 0 ? (
          <Empty>
            Without a policy nothing is done about any node.{' '}
            <a href={hashOf({ page: 'rehearse' })}>Rehearse one of the reference</a>
          </Empty>
        ) : (
          <PolicyTable lines={policies} label="Policies" />
        )}
        {unselected.length === 0 ? undefined : (
          <p class="warning">No policy is in force for {unselected.join(', ')}.</p>
        )}
      </Panel>
      <ListPanel title="Alarms" empty="None." look="lines">
        {alarms.map(({ node, reason, message, since }) => (
          <li key={`${node} ${reason}`}>
            <NodeLink node={node} /> <span class="strong">{reason}</span> <Said text={message} /> <Since at={since} />
          </li>
        ))}
      </ListPanel>
      <Panel title="Problems counted over time">
        {problems.length === 0 ? <Empty>None.</Empty> : undefined}
        {problems.length === 0 ? undefined : (
          <Table heads={['Node', 'Condition', 'How often', 'Last']} label="Problem counters">
            {problems.map(({ node, condition, count, last }) => (
              <tr key={`${node} ${condition}`}>
                <td>
                  <NodeLink node={node} />
                </td>
                <td>{condition}</td>
                <td class="number">{count}</td>
                <td>{last === undefined ? '–' : <When at={last} />}</td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
    </>
  );
}

function Drains({ page }: { page: DrainsPage }): JSX.Element {
  const { drains, policies } = page;
  const waits = drains.filter(({ blocked }) => blocked === true).length;
  return (
    <>
      <Title
        text={`${some(drains.length, 'node is cordoned', 'nodes are cordoned')}, ${waits === 0 ? 'no drain waits' : some(waits, 'drain waits', 'drains wait')}.`}
      />
      <Panel title="Cordoned nodes">
        {drains.length === 0 ? (
          <Empty>None. A plan says beforehand what a drain would wait for, and what would move.</Empty>
        ) : undefined}
        {drains.length === 0 ? undefined : (
          <Table heads={['Node', 'Drain', 'Why', 'Since']} label="Drains">
            {drains.map(({ node, blocked, autoEvicting, reason, message, since }) => (
              <tr key={node}>
                <td>
                  <NodeLink node={node} />
                </td>
                <td>
                  {blocked === undefined ? 'not guarded' : blocked ? 'waits' : 'may go on'}
                  {autoEvicting === true ? ', auto-evicting' : ''}
                </td>
                <td>
                  {reason === undefined ? undefined : <span class="strong">{reason} </span>}
                  <Said text={message ?? ''} />
                </td>
                <td>{since === undefined ? '–' : <When at={since} />}</td>
              </tr>
            ))}
          </Table>
        )}
        <Command
          to="before you drain a node: what would wait, and what would move"
          command="fenceline plan-drain NODE"
        />
      </Panel>
      <Panel title="Drain policies">
        {policies.length === 0 ? (
          <Empty>None: no drain waits for a copy of anybody's data.</Empty>
        ) : (
          <PolicyTable lines={policies} label="Drain policies" />
        )}
      </Panel>
    </>
  );
}

function Record({ page }: { page: RecordPage }): JSX.Element {
  const { deeds, entries, total } = page;
  return (
    <>
      <Title text={`${some(total, 'entry', 'entries')} on record`} />
      <Panel title="Who did what, on what basis">
        {deeds.length === 0 ? <Empty>Nothing was done to any node.</Empty> : undefined}
        {deeds.length === 0 ? undefined : (
          <Table heads={['When', 'Node', 'What', 'By', 'Why', 'Basis', 'Result']} label="Deeds">
            {deeds.map(({ at, node, deed, on, by, why, basis, result }, index) => (
              <tr key={`${at} ${node} ${deed} ${index}`}>
                <td>
                  <When at={at} />
                </td>
                <td>
                  <NodeLink node={node} />
                </td>
                <td>
                  <span class="strong">{deed}</span> {on}
                </td>
                <td>{by}</td>
                <td>
                  <Said text={why} />
                </td>
                <td>{basis}</td>
                <td>
                  <Said text={result} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      <History entries={entries} />
    </>
  );
}

function History({ entries }: Pick<RecordPage, 'entries'>): JSX.Element {
  return (
    <Panel title="What happened">
      {entries.length === 0 ? <Empty>Nothing has happened yet.</Empty> : undefined}
      {entries.length === 0 ? undefined : (
        <Table heads={['When', 'Node', 'What', 'In words']} label="Record">
          {entries.map(({ at, node, reason, message }, index) => (
            <tr key={`${at} ${node} ${reason} ${index}`}>
              <td>
                <When at={at} />
              </td>
              <td>
                <NodeLink node={node} />
              </td>
              <td class="strong">{reason}</td>
              <td>
                <Said text={message} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
