/** By the word of a person or a cloud: whose counts, and what holds a pod back all the same. */
import type { Story } from '../story.ts';
import { bystander, calm, early, inPlace, story, unwell } from './checks.ts';
import { inTheEnd } from './judged.ts';
import { assert, moved, place, ways } from './ways.ts';

const cloudShutdownKey = 'node.cloudprovider.kubernetes.io/shutdown';

const heldStories: readonly Story[] = [
  story('assertion that nobody makes', ways.assertion, { expect: [inPlace] }),
  story('assertion, before Kubernetes has noticed', ways.assertion, { also: [{ ...assert, at: '14s' }] }, early),
  story('assertion about a node that reports trouble', ways.assertion, {
    policy: { assertions: ['CloudShutdown'] },
    objects: bystander,
    events: unwell,
    also: [{ at: '10s', taint: { node: place, key: cloudShutdownKey, effect: 'NoSchedule' } }],
    expect: [calm],
  }),
  story('assertion that the node has outlived', ways.assertion, {
    policy: { assertions: ['CloudShutdown'] },
    events: [
      { at: '5s', taint: { node: place, key: cloudShutdownKey, effect: 'NoSchedule' } },
      { at: '40s', powerOff: place },
    ],
    expect: [inPlace],
    runFor: '80s',
  }),
  story('assertion that is tolerated', ways.assertion, {
    pod: { spec: { tolerations: [{ key: 'fenceline.dev/force-eviction', operator: 'Exists' }] } },
    also: [assert],
    expect: [inPlace],
  }),
];

const asserts = (key: string, effect: string): object => ({ at: '22s', taint: { node: place, key, effect } });
const spokenStories: readonly Story[] = [
  {
    name: 'assertion of an administrator',
    scenario: () =>
      ways.assertion('assertion-out-of-service', {
        policy: { assertions: ['OutOfService'] },
        also: [asserts('node.kubernetes.io/out-of-service', 'NoExecute')],
        expect: [moved('38s')],
      }),
    options: () =>
      inTheEnd(
        ({ evidence }) => evidence.some(({ source }) => source === 'OutOfServiceTaint'),
        'nobody has listened to it',
      ),
  },
  {
    name: 'assertion of a cloud',
    scenario: () =>
      ways.assertion('assertion-cloud', {
        policy: { assertions: ['CloudShutdown'] },
        also: [asserts('node.cloudprovider.kubernetes.io/shutdown', 'NoSchedule')],
        expect: [moved('38s')],
      }),
  },
];

export const assertionStories: readonly Story[] = [...heldStories, ...spokenStories];
