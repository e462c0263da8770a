/** A node and its incident: what happened, on what proof, what is next? */
import type { JSX } from 'preact';
import type { Timeline } from '../../report/timeline.ts';
import type { Explanation } from '../../report/explanation.ts';
import type { NodePage as Page, NodePicture, PodPicture } from '../picture.ts';
import { ActButton } from './acts.tsx';
import { Lanes } from './lanes.tsx';
import { Incidents } from './now-page.tsx';
import type { Route } from './route.ts';
import { hashOf } from './route.ts';
import { MachineRow } from './stage.tsx';
import { duration } from './time.ts';
import { Clock, Command, Empty, markWords, Panel, Said, Shape, useStore, When } from './ui.tsx';

export function NodePage({ route }: { route: Route }): JSX.Element {
  const store = useStore();
  const page = store.get<Page | { missing: string }>('page');
  const { node = '', incident } = route;
  if (page !== undefined && 'missing' in page && page.missing === node) return <Missing node={node} />;
  if (page === undefined || 'missing' in page || page.node !== node) return <Empty>Waiting for the picture…</Empty>;
  const { explanation, timeline, incidents } = page;
  const picture = store.get<NodePicture>(`node/${node}`);
  const machine = store.machines.find(({ name }) => name === node);
  const isOld = incident !== undefined && timeline?.endedAt !== undefined;
  return (
    <>
      <section class="headline" aria-label="In short">
        <p class="crumbs">
          <a href={hashOf({ page: 'now' })}>All nodes</a> / {node}
        </p>
        <h1>
          {picture === undefined ? undefined : <Shape mark={picture.mark} />} <Said text={explanation.summary} />
        </h1>
        <Facts picture={picture} explanation={explanation} />
        <div class="acts">
          {page.acts
            .filter((act) => store.head?.can.includes(act))
            .map((act) => (
              <ActButton
                key={act}
                act={act}
                node={node}
                {...(explanation.trouble === undefined ? {} : { incident: explanation.trouble.incident })}
              />
            ))}
        </div>
      </section>
      {timeline === undefined ? (
        <Panel title="Incident">
          <Empty>
            {incident === undefined
              ? 'No incident of this node is on record.'
              : `No incident ${incident} is on record.`}
          </Empty>
        </Panel>
      ) : (
        <Panel
          title={isOld || timeline.endedAt !== undefined ? 'Last incident' : 'Incident'}
          aside={<span class="soft">{timeline.id}</span>}
        >
          <Total timeline={timeline} />
          <Lanes timeline={timeline} route={route} />
        </Panel>
      )}
      {machine === undefined ? undefined : (
        <Panel title="Its machine, as it really is">
          <ul class="machines">
            <MachineRow machine={machine} node={picture} />
          </ul>
        </Panel>
      )}
      <Words explanation={explanation} />
      <Pods pods={page.pods} />
      {incidents.length > 1 ? <Incidents title="Its incidents" lines={incidents} isDemo={false} /> : undefined}
    </>
  );
}

function Missing({ node }: { node: string }): JSX.Element {
  return (
    <Empty>
      There is no node {node}, and nothing on record of one. <a href={hashOf({ page: 'now' })}>Back to all nodes</a>
    </Empty>
  );
}

function Facts({ picture, explanation }: { picture: NodePicture | undefined; explanation: Explanation }): JSX.Element {
  const { policy } = explanation;
  const facts = [
    picture === undefined ? undefined : markWords[picture.mark],
    picture === undefined || picture.zone === '' ? undefined : `zone ${picture.zone}`,
    picture === undefined ? undefined : `Ready ${picture.ready}`,
    picture === undefined ? undefined : picture.schedulable ? 'schedulable' : 'unschedulable',
    picture?.drain?.autoEvicting === true ? 'auto-evicting' : undefined,
    policy === undefined ? 'no policy' : `policy ${policy.name}, mode ${policy.mode}`,
  ].filter((fact) => fact !== undefined);
  const { drain } = picture ?? {};
  return (
    <>
      <p class="facts soft">{facts.join(' · ')}</p>
      {drain === undefined ? undefined : (
        <p class="drain">
          <Said
            text={
              drain.blocked
                ? `a drain waits: ${drain.reason}: ${drain.message ?? ''}`
                : `${picture?.pods === 0 ? 'drained' : 'a drain may go on'}: ${drain.message ?? ''}`
            }
          />
        </p>
      )}
      {explanation.warnings.map((warning) => (
        <p key={warning} class="warning">
          <Said text={warning} />
        </p>
      ))}
    </>
  );
}

function Total({ timeline }: { timeline: Timeline }): JSX.Element {
  const { total, startedAt, endedAt, trouble } = timeline;
  const what = trouble === 'lease' ? 'its Lease was not renewed' : trouble;
  return (
    <>
      <p class="total">
        {total === undefined ? (
          <>No workload was away. </>
        ) : (
          <>
            <span class="strong">{duration(total.ms)}</span>
            {total.isOver ? ' until all that ran there ran again' : ' so far'}:{' '}
            {total.parts.map(({ what: part, ms }) => `${duration(ms)} ${part}`).join(', ')}.{' '}
          </>
        )}
        <span class="soft">
          Began <When at={startedAt} /> ({what}){endedAt === undefined ? '' : ', over '}
          {endedAt === undefined ? undefined : <When at={endedAt} />}.
        </span>
      </p>
      {total === undefined ? undefined : (
        <div class="parts" aria-hidden="true">
          {total.parts.map(({ what: part, ms }, at) => (
            <span
              key={part}
              class={`part p${at}`}
              style={{ flexGrow: String(Math.max(ms, total.ms / 40)) }}
              title={`${duration(ms)} ${part}`}
            />
          ))}
        </div>
      )}
    </>
  );
}

function Words({ explanation }: { explanation: Explanation }): JSX.Element {
  return (
    <div class="columns even">
      <Verdict explanation={explanation} />
      <Next explanation={explanation} />
    </div>
  );
}

function Verdict({ explanation }: { explanation: Explanation }): JSX.Element {
  const { verdict, released, rehearsed } = explanation;
  return (
    <Panel title="Why this verdict">
      <p>
        <span class="strong">{verdict.is}</span>, {verdict.reason}: <Said text={verdict.explanation} />
      </p>
      <ul class="lines">
        {verdict.evidence.map(({ source, says, detail, at, by }) => (
          <li key={`${source} ${at} ${detail}`}>
            <Clock at={at} /> <Said text={detail} />{' '}
            <span class="soft">
              [{by === undefined ? source : `${source} by ${by}`}: {says}]
            </span>
          </li>
        ))}
      </ul>
      {released.length === 0 ? undefined : <h3>What was released</h3>}
      <ul class="lines">
        {released.map(({ at, basis, by, pods, ended }) => (
          <li key={`${at} ${basis}`}>
            <Clock at={at} /> {pods} {pods === 1 ? 'pod' : 'pods'} on the basis <span class="strong">{basis}</span>
            {by === undefined ? '' : ` (${by})`}
            {ended ? ', all gone' : ', not all gone yet'}
          </li>
        ))}
      </ul>
      {rehearsed.length === 0 ? undefined : <h3>What would have been done</h3>}
      <ul class="lines">
        {rehearsed.map(({ at, reason, message }) => (
          <li key={`${at} ${reason}`}>
            <Clock at={at} /> {message}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Next({ explanation }: { explanation: Explanation }): JSX.Element {
  const { waits, next, changes, commands } = explanation;
  return (
    <Panel title="What comes next">
      <p>
        {next === undefined ? 'Nothing, while it stays as it is.' : <Said text={next.what} />}{' '}
        {next?.at === undefined ? undefined : (
          <span class="soft">
            (<When at={next.at} />)
          </span>
        )}
      </p>
      {waits.length === 0 ? undefined : <h3>Why not yet</h3>}
      <ul class="lines">
        {waits.map(({ reason, message, since, until, ends }) => (
          <li key={`${reason} ${message}`}>
            <span class="strong">{reason}</span>
            {since === undefined ? undefined : (
              <>
                , <When at={since} />
              </>
            )}
            {until === undefined ? undefined : (
              <>
                , until <When at={until} />
              </>
            )}
            : <Said text={message} />.{' '}
            <span class="soft">
              Ends when <Said text={ends} />.
            </span>
          </li>
        ))}
      </ul>
      <h3>What would change this</h3>
      <ul class="lines">
        {changes.map((one) => (
          <li key={one}>
            <Said text={one} />
          </li>
        ))}
      </ul>
      <h3>What you can type</h3>
      {commands.map((one) => (
        <Command key={one.command} {...one} />
      ))}
    </Panel>
  );
}

function Pods({ pods }: { pods: PodPicture[] }): JSX.Element {
  return (
    <Panel title="Pods on it">
      {pods.length === 0 ? <Empty>None.</Empty> : undefined}
      <ul class="pods">
        {pods.map(({ namespace, name, phase, ready, terminating, volumes, stuck }) => (
          <li key={`${namespace}/${name}`} class={stuck !== undefined || terminating ? 'bad' : ready ? '' : 'waits'}>
            <span class="soft">{namespace}/</span>
            {name} <span class="soft">{terminating ? 'terminating' : ready ? 'running' : phase.toLowerCase()}</span>
            {volumes.length === 0 ? undefined : <span class="soft"> · {volumes.join(', ')}</span>}
            {stuck === undefined ? undefined : (
              <p>
                <Said text={stuck} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
