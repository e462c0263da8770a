/** What people are told of a pod that stays: each way that somebody opened says why it is not taken, and the others nothing. */
import type { NodeFenceStatus } from '../../../src/api/node-fence.ts';
import { FENCED } from '../../../src/api/reasons.ts';
import type { KubeObject } from '../../../src/kube/client.ts';
import type { Story } from '../story.ts';
import { noRecord, told, watching } from './kit.ts';
import type { Plot, WayOf } from './ways.ts';
import { place, unsaid, ways } from './ways.ts';

/** Once the pod is stuck, and in the end, it is told this. */
function story(name: string, way: WayOf, plot: Plot, says: RegExp): Story {
  return {
    name: `told, ${name}`,
    scenario: () => way(`told-${name.replaceAll(/\W+/g, '-')}`, plot),
    options: () => {
      const messages: string[] = [];
      const listening = told('web-0', (message) => (messages.push(message), undefined));
      const last = (): string => messages.at(-1) ?? 'nothing';
      return {
        ...watching([listening, noRecord('web-0')]),
        wrong: () => (says.test(last()) ? [] : [`told of web-0 is: ${last()}`]),
      };
    },
  };
}

const nothing = { podDeletion: 'do-nothing', volumeAttachmentRecovery: 'never' };
const gone = {
  events: [
    { at: '0s', powerOff: place },
    { at: '45s', deleteNode: place },
  ],
  runFor: '60s',
};
const noNode = 'there is no Node object of this name any more';

interface Told {
  kind: string;
  reason: string;
  note: string;
  count: number;
}

const explained: { readonly [reason: string]: string } = FENCED.explanation;

/** Every step that the record has, of the fence and of its end, is an Event on the Node and one on the record, each once. */
const eachStepOnce: Story = {
  name: 'told, each step of a fence once',
  scenario: () =>
    ways.power('told-steps', {
      events: [
        { at: '0s', partition: place },
        { at: '60s', heal: place },
      ],
      runFor: '120s',
    }),
  options: () => {
    const events = new Map<string, Told>();
    const steps = new Map<string, string>();
    const look = (object: KubeObject): void => {
      if (object.kind === 'Event') events.set(object.metadata.uid ?? '', toldBy(object));
      if (object.kind !== 'NodeFence') return;
      const { history = [] } = (object as { status?: Partial<NodeFenceStatus> }).status ?? {};
      for (const { at, reason, message = '' } of history) {
        // A step that has nothing to add is told by what its reason means.
        const note = message === '' ? explained[reason] : message;
        if (Object.hasOwn(FENCED.reason, reason)) steps.set(`${at} ${reason}`, `${reason}: ${note}`);
      }
    };
    return {
      onWorld: ({ server }) => void server.onChange(({ version }) => look(version.object as KubeObject)),
      wrong: () => {
        const wanted = [...steps.values()].sort();
        if (wanted.length < fewestSteps) return [`only ${wanted.join(', ')} were recorded`];
        return ['Node', 'NodeFence'].flatMap((kind) => {
          const of = [...events.values()].filter(
            (one) => one.kind === kind && Object.hasOwn(FENCED.reason, one.reason),
          );
          const found = of.flatMap(({ reason, note, count }) => Array<string>(count).fill(`${reason}: ${note}`)).sort();
          return found.join() === wanted.join() ? [] : [`on the ${kind}: ${found.join()}; recorded: ${wanted.join()}`];
        });
      },
    };
  },
};

/** Off, confirmed, on, confirmed, back. */
const fewestSteps = 4;

function toldBy(event: object): Told {
  const { involvedObject, reason, message, series } = event as {
    involvedObject?: { kind?: string };
    reason?: string;
    message?: string;
    series?: { count?: number };
  };
  return { kind: involvedObject?.kind ?? '', reason: reason ?? '', note: message ?? '', count: series?.count ?? 1 };
}

export const toldStories: readonly Story[] = [
  eachStepOnce,
  story(
    'a node that is gone',
    ways.policy,
    { ...gone, policy: nothing },
    new RegExp(
      `^${['power', 'storage fence', 'kernel crash', 'remedy'].map((way) => `${way}: ${noNode}; `).join('')}policy: podDeletion`,
    ),
  ),
  story(
    'a node that is gone, and a safe detach',
    ways.safeDetach,
    {
      ...gone,
      events: [
        { at: '0s', powerOff: place },
        { at: '22s', deleteNode: place },
      ],
    },
    new RegExp(`safe detach: ${noNode}`),
  ),
  story(
    'a policy that wants nothing',
    ways.policy,
    { policy: nothing, runFor: '60s' },
    /^policy: podDeletion of policy release is do-nothing$/,
  ),
  story('no policy', unsaid, { runFor: '60s' }, /^safe detach: volume pv-0: CSIDriver \S+ has no [^;]*$/),
  story(
    'another storage',
    ways.policy,
    { policy: { ...nothing, volumeAttachmentRecovery: 'wait', provisioners: ['other.csi.test'] } },
    /; attachment recovery: none of its volumes is of other\.csi\.test$/,
  ),
];
