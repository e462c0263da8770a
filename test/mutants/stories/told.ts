/** What people are told of a pod that stays: each way that somebody opened says why it is not taken, and the others nothing. */
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

export const toldStories: readonly Story[] = [
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
