/** On the embedded cluster: stories to click through, and the plugs. */
import type { JSX } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import type { NodePicture } from '../picture.ts';
import type { MachineSnapshot, TimeRate } from '../snapshot.ts';
import { DEVICE_FAULTS, TIME_RATES } from '../snapshot.ts';
import { hashOf } from './route.ts';
import type { Store } from './store.ts';
import { path, post } from './store.ts';
import type { Scene, Story } from './stories.ts';
import { heroNode, incidentIn, isAllWell, STORIES } from './stories.ts';
import { Panel, useStore } from './ui.tsx';

export interface Telling {
  story: Story;
  step: number;
  node: string;
  before: ReadonlySet<string>;
  /** How fast time passed when it began. */
  rate: TimeRate;
}

export const StoryContext = createContext<{ start: (story: Story) => void }>({ start: () => {} });

export function Stories(): JSX.Element {
  const { start } = useContext(StoryContext);
  const { nodes, machines } = useStore();
  const isReady = isAllWell(nodes, machines);
  return (
    <Panel title="Try it">
      <ul class="stories">
        {STORIES.map((story) => (
          <li key={story.id}>
            <button type="button" disabled={!isReady} onClick={() => start(story)}>
              {story.title}
            </button>
            <span class="soft">{story.about}</span>
          </li>
        ))}
      </ul>
      <p class="soft" role="status">
        {isReady ? 'Each takes less than two minutes.' : 'One can be begun when all nodes are well and plugged in.'}
      </p>
    </Panel>
  );
}

export function Plugs(): JSX.Element {
  const { machines, nodes } = useStore();
  const zones = [...new Set(machines.map(({ zone }) => zone))].filter((zone) => zone !== '');
  return (
    <Panel title="Plugs" aside={<Time />}>
      <ul class="machines">
        {machines.map((machine) => (
          <MachineRow key={machine.name} machine={machine} node={nodes.find(({ name }) => name === machine.name)} />
        ))}
        <li>
          <span class="soft">zones</span>
          <span class="switches">
            {zones.map((zone) => (
              <ZonePlug key={zone} zone={zone} machines={machines} />
            ))}
          </span>
        </li>
      </ul>
    </Panel>
  );
}

/** Whoever waits for a boot need not. */
function Time(): JSX.Element {
  const rate = useStore().stage?.rate;
  return (
    <span class="switches" role="group" aria-label="How fast time passes">
      <span class="soft">time</span>
      {TIME_RATES.map((one) => (
        <button
          key={one}
          type="button"
          class={one === rate ? 'is-chosen' : ''}
          aria-pressed={one === rate}
          onClick={() => void post(path('time', String(one)))}
        >
          ×{one}
        </button>
      ))}
    </span>
  );
}

function ZonePlug({ zone, machines }: { zone: string; machines: readonly MachineSnapshot[] }): JSX.Element {
  const isCut = machines.some((machine) => machine.zone === zone && !machine.linked);
  return (
    <button
      type="button"
      class={isCut ? 'is-off' : ''}
      onClick={() => void post(path('zones', zone, isCut ? 'heal' : 'partition'))}
    >
      {isCut ? `Mend zone ${zone}` : `Cut zone ${zone}`}
    </button>
  );
}

const faultWords: Readonly<Record<string, string>> = {
  none: 'BMC works',
  hangs: 'BMC silent',
  refuses: 'BMC refuses',
  ignores: 'BMC ignores',
  saysOff: 'BMC says off',
};

export function MachineRow({
  machine,
  node,
}: {
  machine: MachineSnapshot;
  node: NodePicture | undefined;
}): JSX.Element {
  const { name, power, linked, hung, fault, replicas } = machine;
  const act = (action: string) => () => void post(path('nodes', name, action));
  const cordoned = node?.cordoned === true;
  const changed = replicas.filter(({ state }) => state !== 'healthy');
  return (
    <li aria-label={name} data-machine={name}>
      <a href={hashOf({ page: 'node', node: name })}>{name}</a>
      <span class="switches">
        <button
          type="button"
          class={power === 'on' ? '' : 'is-off'}
          onClick={act(power === 'on' ? 'power-off' : 'power-on')}
        >
          {power === 'on' ? 'Pull the plug' : 'Plug in'}
        </button>
        <button type="button" class={linked ? '' : 'is-off'} onClick={act(linked ? 'partition' : 'heal')}>
          {linked ? 'Cut its network' : 'Mend its network'}
        </button>
        <button
          type="button"
          class={hung ? 'is-off' : ''}
          onClick={act(hung ? 'wake' : 'hang')}
          disabled={power === 'off'}
        >
          {hung ? 'Wake it up' : 'Hang it'}
        </button>
        <button type="button" class={cordoned ? 'is-off' : ''} onClick={act(cordoned ? 'uncordon' : 'drain')}>
          {cordoned ? 'Uncordon' : 'Drain'}
        </button>
        <select
          aria-label={`Power device of ${name}`}
          value={fault}
          onChange={(event) => act(`device-${event.currentTarget.value}`)()}
        >
          {DEVICE_FAULTS.map((one) => (
            <option key={one} value={one}>
              {faultWords[one]}
            </option>
          ))}
        </select>
      </span>
      <span class="soft copies">
        {replicas.map(({ volume, state }) => `${volume}${state === 'healthy' ? '' : ` (${state})`}`).join(', ') ||
          'no copies'}
        {changed.length === 0 ? '' : ' …'}
      </span>
    </li>
  );
}

/** The story that is told, at the lower edge of every page. */
export function StoryBar({
  telling,
  onStep,
  onEnd,
}: {
  telling: Telling;
  onStep: (step: number) => void;
  onEnd: () => void;
}): JSX.Element {
  const { nodes, machines, head } = useStore();
  const { story, step, node, before } = telling;
  const scene: Scene = { nodes, machines, head, node, before };
  const now = story.steps[step];
  const isLast = step === story.steps.length - 1;
  const isSo = now?.until?.(scene) ?? true;
  useEffect(() => {
    const incident = incidentIn(scene)?.id;
    if (now?.onIncident === true && incident !== undefined) location.hash = hashOf({ page: 'node', node, incident });
  }, [step]);
  usePace(now?.rate, telling.rate);
  const goOn = async (): Promise<void> => {
    if (!isSo) return;
    if (isLast) return onEnd();
    for (const one of now?.deed?.paths(scene) ?? []) await post(one);
    onStep(step + 1);
  };
  const leave = (): void => {
    for (const one of isLast ? [] : story.mend(scene)) void post(one);
    onEnd();
  };
  return (
    <aside class="story-bar" aria-label={story.title}>
      <p aria-live="polite">
        <span class="soft">
          {story.title}, {step + 1} of {story.steps.length}
        </span>{' '}
        {now?.text(scene)}
      </p>
      {/* One button all the time: whoever has no mouse stays on it. */}
      <button type="button" class={isSo ? 'primary' : 'waiting'} aria-disabled={!isSo} onClick={() => void goOn()}>
        {isSo ? (now?.deed?.label ?? (isLast ? 'Done' : 'Go on')) : 'waiting…'}
      </button>
      {isLast ? undefined : (
        <button type="button" class="quiet" onClick={leave} title="What it has broken is mended">
          Leave
        </button>
      )}
    </aside>
  );
}

/** As fast as the step wants it, and otherwise as it was when the story began. */
function usePace(wanted: TimeRate | undefined, usual: TimeRate): void {
  const asked = useRef(usual);
  const ask = (rate: TimeRate): void => {
    if (rate !== asked.current) void post(path('time', String(rate)));
    asked.current = rate;
  };
  useEffect(() => ask(wanted ?? usual), [wanted, usual]);
  useEffect(() => () => ask(usual), [usual]);
}

export function beginning(
  story: Story,
  { machines, head, stage }: Pick<Store, 'machines' | 'head' | 'stage'>,
): Telling {
  const node = (story.node ?? heroNode)(machines) ?? machines[0]?.name ?? '';
  return { story, step: 0, node, before: new Set(head?.incidents.map(({ id }) => id)), rate: stage?.rate ?? 1 };
}
