/** A node that is back, and something of before is not over yet: it stays in quarantine. */
import { nodes } from '../../../src/kube/resources.ts';
import { driver, powerLoss } from '../../simulation/trouble.ts';
import type { Story } from '../story.ts';
import { entryOf } from './cast.ts';
import type { Deed } from './kit.ts';
import { meanwhile, victim } from './kit.ts';
import { configMap, place, ways } from './ways.ts';

/** A driver that does not detach, as long as somebody looks. */
const hangs = { at: '0s', detach: { driver, fault: 'hangs' } };
const quarantined = { at: '108s', node: { name: place, taints: ['fenceline.dev/quarantine'] } };
const inUse: Deed = (other) =>
  other.patch(
    { resource: nodes, name: victim },
    [{ op: 'add', path: '/status/volumesInUse', value: [entryOf('pv-0')] }],
    'status',
  );

/** What cut the node off is configured no more: nothing connects it again. */
const unconfigured = configMap(`fence-config-${victim}`, {
  'config.properties': `node_name=${victim}\npower_management=pdu-off pdu-on`,
  'fence-method-pdu-on': 'template=fence-method-template-pdu\nplug=1\naction=on',
  'fence-method-pdu-off': 'template=fence-method-template-pdu\nplug=1\naction=off',
});

export const returnedStories: readonly Story[] = [
  {
    name: 'the way back, while a volume is still attached',
    scenario: () =>
      ways.policy('return-attached', { events: [...powerLoss, hangs], expect: [quarantined], runFor: '110s' }),
  },
  {
    name: 'the way back of a kubelet that still uses a volume',
    scenario: () => ways.policy('return-in-use', { events: powerLoss, expect: [quarantined], runFor: '110s' }),
    // Its kubelet says otherwise with each report.
    options: () => meanwhile(Object.fromEntries(Array.from({ length: 80 }, (_, at) => [70 + at / 2, inUse]))),
  },
  {
    name: 'the way back of a node that is still cut off from its storage',
    scenario: () =>
      ways.storageFence('return-cut-off', {
        events: [
          { at: '0s', partition: place },
          { at: '35s', apply: unconfigured },
          { at: '50s', heal: place },
        ],
        expect: [quarantined],
        runFor: '110s',
      }),
  },
];
