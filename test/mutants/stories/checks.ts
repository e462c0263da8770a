/** For each question that a way of release asks: the smallest run in which its answer is what holds a pod back. */
import { leases, nodes, volumeAttachments } from '../../../src/kube/resources.ts';
import type { Story, StoryOptions } from '../story.ts';
import { acceptsRisk, driver, powerLoss } from '../../simulation/trouble.ts';
import { ballast, disk, later, pod, stays } from './cast.ts';
import type { Deed } from './kit.ts';
import { meanwhile, noEarlyRecord, noRecord, victim, watching } from './kit.ts';
import type { Plot, WayOf } from './ways.ts';
import { gateOff, job, jobOn, moved, notReady, place, unsaid, ways } from './ways.ts';

export const inPlace = { never: { pod: { label: 'app=web', deleted: true } } };
export const reports = (at: string, type: string, status: string): object => ({
  at,
  condition: { node: place, type, status },
});
/** Its kubelet lives and says that something is wrong. */
export const unwell = [reports('0s', 'Ready', 'False')];
const off = [{ at: '0s', powerOff: place }];
const maintenance = (at: string): object => ({
  at,
  apply: {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: victim, annotations: { 'fenceline.dev/maintenance-until': '2027-01-01T00:00:00Z' } },
  },
});
export const early = (): StoryOptions => watching([noEarlyRecord]);
export function story(name: string, way: WayOf, plot: Plot, options?: () => StoryOptions): Story {
  return { name, scenario: () => way(name.replaceAll(/\W+/g, '-'), plot), ...(options && { options }) };
}

/** A message in the name of a machine that goes on running. */
function lying(): StoryOptions {
  let machine: object | undefined;
  return {
    onWorld: (world) => (machine = world.fleet.machine(victim)),
    onZero: () => Object.assign(machine ?? {}, { powerOff: () => {}, powerOn: () => {} }),
  };
}

const crashMessage = { at: '2s', kdump: place };
const broken = { type: 'Broken', status: 'True', for: '5s' };
/** On the node too, and whatever happens to the node, not asked to go. */
export const bystander = [...ballast, ...disk('calm'), pod({ name: 'calm', claimName: 'calm' })];
export const calm = stays('calm');
/** Attended to because it is silent, long before anything is done about it. */
const attended = {
  thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'clean', period: '10m' }] }],
  remedies: [job('clean', 1)],
};

const fenceStories: readonly Story[] = [
  story('power, which the ladder does not want the pods to go with', ways.power, {
    policy: { thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence', cleanResources: false }] }] },
    expect: [{ by: '20s', node: { name: place, ready: false } }, inPlace],
  }),
  story(
    'power, which the device does not switch off',
    ways.power,
    {
      also: [{ at: '0s', device: { node: place, fault: 'ignores' } }],
      expect: [inPlace],
    },
    () => watching([noRecord('web-0')]),
  ),
  story('storage fence, and a volume elsewhere', ways.storageFence, {
    objects: [
      ...ballast,
      ...disk('calm', { nfs: { server: 'nfs', path: '/x' } }),
      pod({ name: 'calm', claimName: 'calm' }),
    ],
    expect: [moved('38s'), calm],
  }),
  story(
    'storage fence, before Kubernetes has noticed',
    ways.storageFence,
    {
      cluster: { kubernetes: { nodeMonitorGracePeriod: '45s', bootTime: '10s' } },
      expect: [moved('63s')],
      runFor: '65s',
    },
    early,
  ),
  story('storage fence of a node that reports trouble', ways.storageFence, {
    policy: { thresholds: [{ condition: notReady, remedies: [{ name: 'fence' }] }] },
    objects: bystander,
    events: unwell,
    expect: [calm],
  }),
  story('kernel crash, of which nobody has said anything', ways.kernelCrash, { events: off, expect: [inPlace] }),
  story(
    'kernel crash, before Kubernetes has noticed',
    ways.kernelCrash,
    { policy: attended, expect: [moved('43s')] },
    early,
  ),
  story(
    'kernel crash, in the name of a machine that reports trouble',
    ways.kernelCrash,
    { objects: bystander, events: [...unwell, crashMessage], expect: [calm] },
    lying,
  ),
  story('remedy that fails', ways.remedy, {
    policy: { ...jobOn(notReady), remedies: [job('clean', 1)] },
    expect: [inPlace],
  }),
  story('remedy of a node that reports trouble', ways.remedy, { objects: bystander, events: unwell, expect: [calm] }),
  story(
    'remedy, before Kubernetes has noticed',
    ways.remedy,
    {
      policy: jobOn(broken),
      events: [reports('0s', 'Broken', 'True'), { at: '15s', powerOff: place }],
      expect: [moved('58s')],
      runFor: '60s',
    },
    early,
  ),
  // The machine loses its power while the Job runs: what its kubelet wrote later would void what the Job says.
  story('remedy, and then somebody works on the node', ways.remedy, {
    policy: jobOn(broken),
    events: [reports('0s', 'Broken', 'True'), { at: '5100ms', powerOff: place }, maintenance('15s')],
    expect: [inPlace],
    runFor: '55s',
  }),
  story(
    'remedy, and then another boot',
    ways.remedy,
    {
      policy: jobOn(broken),
      events: [reports('0s', 'Broken', 'True'), { at: '5100ms', powerOff: place }],
      expect: [inPlace],
      runFor: '55s',
    },
    () => meanwhile({ 15: rebooted }),
  ),
];

/** Of a remedy whose template asks for the very node that is in trouble. */
const pinnedJob = {
  name: 'clean',
  podTemplate: {
    metadata: { labels: { app: 'clean' } },
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'main', image: 'example/remedy:1' }],
      nodeSelector: { 'kubernetes.io/hostname': victim },
    },
  },
};
const remedyStories: readonly Story[] = [
  story('remedy that asks for the node in trouble', ways.remedy, {
    policy: { ...jobOn(broken), remedies: [pinnedJob] },
    events: [reports('0s', 'Broken', 'True')],
    expect: [{ never: { pod: { label: 'app=clean', running: true } } }],
    runFor: '30s',
  }),
];

const stray = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttachment',
  metadata: { name: 'stray' },
  spec: { attacher: driver, nodeName: 'node-2', source: { persistentVolumeName: 'pv-0' } },
};
/** A pod that was asked to go and has ended, and which somebody keeps. */
const kept = (at: string): Pick<Plot, 'objects' | 'also'> => ({
  objects: [...ballast, ...later(600, {}, { finalizers: ['example.com/wait'] })],
  also: [{ at, delete: { kind: 'Pod', name: 'later-0', namespace: 'default' } }],
});
const unreleased = (): StoryOptions => watching([noRecord('later-0')]);
/** The node comes back, and while it is in quarantine falls silent again: Kubernetes has not noticed yet. */
const again: Plot = {
  objects: [...ballast, ...later(600)],
  events: [...powerLoss, { at: '85s', powerOff: place }],
  also: [{ at: '98s', delete: { kind: 'Pod', name: 'later-0', namespace: 'default' } }],
  runFor: '110s',
};
/** As it is after two who attach: nobody knows which of the nodes writes. */
const twice = (): StoryOptions =>
  meanwhile({
    1: (other) =>
      other.patch(
        { resource: volumeAttachments, name: 'stray' },
        [{ op: 'add', path: '/status', value: { attached: true } }],
        'status',
      ),
  });
/** Its kubelet renews its Lease again, and Kubernetes has not said Ready yet. */
const renewing = (): StoryOptions =>
  meanwhile(Object.fromEntries([22, 24, 26, 28, 30, 32, 34, 36].map((seconds) => [seconds, renew])));
const renew: Deed = async (other) => {
  const renewTime = `${new Date(other.clock.now()).toISOString().slice(0, 23)}000Z`;
  await other.patch({ resource: leases, namespace: 'kube-node-lease', name: victim }, [
    { op: 'add', path: '/spec/renewTime', value: renewTime },
  ]);
};
/** As it is written by a kubelet of another boot. */
const rebooted: Deed = (other) =>
  other.patch(
    { resource: nodes, name: victim },
    [{ op: 'replace', path: '/status/nodeInfo/bootID', value: 'another' }],
    'status',
  );
const pinned = { spec: { nodeSelector: { 'kubernetes.io/hostname': victim } } };

const detachStories: readonly Story[] = [
  story('safe detach, with the gate off', gateOff, { expect: [inPlace] }),
  story('safe detach of a driver that does not say that it does', unsaid, { expect: [inPlace] }),
  story('safe detach of a pod that nobody asked to go', ways.safeDetach, {
    objects: bystander,
    expect: [moved('48s'), calm],
  }),
  story(
    'safe detach of a volume that is attached twice',
    ways.safeDetach,
    {
      pod: pinned,
      objects: [stray],
      expect: [inPlace],
    },
    twice,
  ),
  story('safe detach from a node that reports trouble', ways.safeDetach, { ...kept('5s'), events: unwell }, unreleased),
  story('safe detach, before Kubernetes has noticed', ways.safeDetach, again, early),
];

/** With a device that says no, the fence fails. */
const failing = (release: object): Plot => ({
  policy: { release },
  also: [{ at: '0s', device: { node: place, fault: 'refuses' } }],
  runFor: '60s',
});

/** The risk is accepted, and something else holds the pod back. */
const policyStories: readonly Story[] = [
  story('policy that deletes nothing', ways.policy, {
    policy: { podDeletion: 'do-nothing', provisioners: [driver] },
    expect: [inPlace],
  }),
  story('policy, while somebody works on the node', ways.policy, { also: [maintenance('1s')], expect: [inPlace] }),
  story('policy, and a pod that nobody asked to go', ways.policy, {
    objects: [...ballast, ...later(600)],
    expect: [moved('48s'), stays('later-0')],
  }),
  story('policy, and a pod whose time is not up', ways.policy, {
    pod: { spec: { terminationGracePeriodSeconds: 60 } },
    expect: [inPlace],
  }),
  story('policy for another storage', ways.policy, {
    policy: { podDeletion: 'delete-statefulset-pod', provisioners: ['other.csi.test'] },
    expect: [inPlace],
  }),
  story(
    'policy, and a volume that is attached twice',
    ways.policy,
    { pod: pinned, objects: [stray], expect: [inPlace] },
    twice,
  ),
  story(
    'policy, and a node that is back',
    ways.policy,
    { events: powerLoss, runFor: '110s', ...kept('85s') },
    unreleased,
  ),
  story('policy, and a fence that has failed', ways.power, { ...failing(acceptsRisk), expect: [inPlace] }),
  story('policy, and a node that is on its way back', ways.policy, { expect: [inPlace], runFor: '40s' }, renewing),
];

const recoversAt = (when: string, provisioner = driver): object => ({
  volumeAttachmentRecovery: when,
  provisioners: [provisioner],
});
/** Who waits elsewhere for a volume. */
const heir = (claimName: string): object => pod({ name: `heir-of-${claimName}`, claimName, node: 'node-1' });
const waits = { never: { pod: { label: 'app=web', running: true, moved: true } } };
const recoveryStories: readonly Story[] = [
  story('attachment recovery that nobody wants', ways.recovery, { policy: recoversAt('never'), expect: [waits] }),
  story('attachment recovery of what is deleted anyway', ways.recovery, {
    policy: { ...recoversAt('immediate'), podDeletion: 'delete-deployment-pod' },
    pod: { spec: { terminationGracePeriodSeconds: 60 } },
    expect: [waits],
  }),
  story('attachment recovery, while somebody works on the node', ways.recovery, {
    also: [maintenance('1s')],
    expect: [waits],
  }),
  story('attachment recovery, before the time is up', ways.recovery, {
    pod: { spec: { terminationGracePeriodSeconds: 60 } },
    expect: [waits],
  }),
  story('attachment recovery of another storage', ways.recovery, {
    policy: recoversAt('wait', 'other.csi.test'),
    expect: [waits],
  }),
  story(
    'attachment recovery of a volume that is attached twice',
    ways.recovery,
    { objects: [...ballast, stray], expect: [waits] },
    twice,
  ),
  story('attachment recovery, and a fence that has failed', ways.power, {
    ...failing(recoversAt('wait')),
    workload: 'Deployment',
    expect: [waits],
  }),
  story(
    'attachment recovery from a pod that nobody asked to go',
    ways.recovery,
    {
      policy: recoversAt('immediate'),
      objects: [...bystander, pod({ name: 'calmer', claimName: 'calm' })],
      also: [
        { at: '5s', delete: { kind: 'Pod', name: 'calm', namespace: 'default' } },
        { at: '6s', apply: heir('calm') },
      ],
    },
    () => watching([noRecord('calmer')]),
  ),
  story(
    'attachment recovery that nobody waits for',
    ways.recovery,
    { objects: bystander, also: [{ at: '5s', delete: { kind: 'Pod', name: 'calm', namespace: 'default' } }] },
    () => watching([noRecord('calm')]),
  ),
  story(
    'attachment recovery, before Kubernetes has noticed',
    ways.recovery,
    { ...again, policy: recoversAt('immediate'), also: [...(again.also ?? []), { at: '90s', apply: heir('later') }] },
    early,
  ),
  story(
    'attachment recovery, and a node that is on its way back',
    ways.recovery,
    { expect: [waits], runFor: '40s' },
    renewing,
  ),
];

export const checkStories: readonly Story[] = [
  ...fenceStories,
  ...remedyStories,
  ...detachStories,
  ...policyStories,
  ...recoveryStories,
];
