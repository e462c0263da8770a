/** What belongs to the node stays there, in every way of release. */
import { pods } from '../../../src/kube/resources.ts';
import { statefulSets } from '../../../src/world/controllers/resources.ts';
import type { Story } from '../story.ts';
import { agentStays, ballast, daemonSet, disk, mirror, pod, stays } from './cast.ts';
import { meanwhile, victim } from './kit.ts';
import type { Plot, WayOf } from './ways.ts';
import { assert, moved, ways } from './ways.ts';

/** With a volume each, so that nothing but their kind holds them. */
const disks = [...disk('file'), ...disk('agent')];
const cast = [...ballast, ...disks, pod({ name: 'file', annotations: mirror, claimName: 'file' }), daemonSet('agent')];
const staying = [stays('file'), agentStays];

function story(name: string, way: WayOf, plot: Plot): Story {
  const whole = { ...plot, objects: [...cast, ...(plot.objects ?? [])], expect: [...(plot.expect ?? []), ...staying] };
  return { name: `beside, ${name}`, scenario: () => way(`beside-${name}`, whole) };
}

/** Somebody wants them to go, and the node is away: they are terminating for as long as it is. */
const asked = () => meanwhile({ 8: async (other) => other.askToGo(victim) });

/** A file of the kubelet that has, as its mirror says, an owner of the kind that the policy names. */
const owned = () =>
  meanwhile({
    1: async (other) => {
      const { metadata } = await other.get({ resource: statefulSets, namespace: 'default', name: 'web' });
      const ownerReferences = [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: metadata.uid ?? '', controller: true },
      ];
      await other.create(pods, pod({ name: 'owned', annotations: mirror, claimName: 'owned', ownerReferences }));
    },
    8: async (other) => other.askToGo(victim),
  });

/** Who waits elsewhere for their volumes. */
const heirs = ['file', 'agent'].map((claimName) => pod({ name: `heir-of-${claimName}`, claimName, node: 'node-1' }));

export const besideStories: readonly Story[] = [
  story('power', ways.power, { expect: [moved('28s')] }),
  story('storage fence', ways.storageFence, { expect: [moved('38s')] }),
  story('kernel crash', ways.kernelCrash, { expect: [moved('43s')] }),
  story('remedy', ways.remedy, { expect: [moved('48s')] }),
  story('assertion', ways.assertion, { also: [assert], expect: [moved('38s')] }),
  { ...story('safe detach', ways.safeDetach, { expect: [moved('48s')] }), options: () => asked() },
  {
    ...story('policy', ways.policy, { objects: disk('owned'), expect: [moved('48s'), stays('owned')] }),
    options: () => owned(),
  },
  {
    ...story('attachment recovery', ways.recovery, {
      also: heirs.map((apply) => ({ at: '7s', apply })),
      expect: [moved('48s'), neverReady('file'), neverReady('agent')],
    }),
    options: () => asked(),
  },
];

/** What waits for a volume of theirs never gets it. */
function neverReady(claim: string): object {
  return { never: { pod: { name: `heir-of-${claim}`, running: true } } };
}
