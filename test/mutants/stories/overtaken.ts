/**
 * Somebody else writes to an object between what the operator has read of it and its own write: the write is not carried
 * out, and nothing of the other's is lost. One story for each precondition and each test of a patch.
 */
import type { JsonPatchOperation, KubeObject } from '../../../src/kube/client.ts';
import type { ObjectRef } from '../../../src/kube/resources.ts';
import { fenceDevices, nodeFences, nodes, pods, volumeAttachments } from '../../../src/kube/resources.ts';
import { atOnce } from '../../simulation/fencing/fenced.ts';
import { powerLoss } from '../../simulation/trouble.ts';
import type { Story, StoryOptions } from '../story.ts';
import type { Deed } from './kit.ts';
import {
  between,
  matching,
  meanwhile,
  nth,
  overtaken,
  overtakenAfter,
  recordsRelease,
  together,
  victim,
} from './kit.ts';
import { entryOf } from './cast.ts';
import type { Plot, WayOf } from './ways.ts';
import { emptied, fencing, place, shutAndOpen, ways } from './ways.ts';

const node = { resource: nodes, name: victim };
const web = { resource: pods, namespace: 'default', name: 'web-0' };
const nodePatch = String.raw`^PATCH /api/v1/nodes/[^/ ]* .*`;

function story(name: string, way: WayOf, options: () => StoryOptions, plot: Plot = {}): Story {
  return {
    name: `overtaken, ${name}`,
    scenario: () => way(`overtaken-${name.replaceAll(/\W+/g, '-')}`, plot),
    options,
  };
}

const patched =
  (ref: ObjectRef, operations: JsonPatchOperation[], subresource?: string): Deed =>
  (other) =>
    other.patch(ref, operations, subresource);
const annotated = (ref: ObjectRef, key: string, value: string): Deed =>
  patched(ref, [{ op: 'add', path: `/metadata/annotations/${key.replace('/', '~1')}`, value }]);
const tainted = (...taints: object[]): Deed => patched(node, [{ op: 'add', path: '/spec/taints', value: taints }]);
const theirs = { key: 'example.com/theirs', effect: 'NoSchedule' };
const quarantine = { key: 'fenceline.dev/quarantine', effect: 'NoSchedule' };
const cordonedKey = 'fenceline.dev/cordoned';

const labelled = patched(web, [{ op: 'add', path: '/metadata/labels/more', value: 'yes' }]);
const podStories: readonly Story[] = [
  story('a pod that is marked Failed', ways.policy, () => overtaken(/^PATCH .*\/pods\/web-0\/status /, labelled), {
    pod: { metadata: { finalizers: ['example.com/wait'] } },
  }),
  story('a pod that is deleted', ways.policy, () => overtaken(/^DELETE .*\/pods\/web-0 /, labelled)),
];

const nodeStories: readonly Story[] = [
  story('the list of volumes in use', ways.policy, () =>
    overtaken(
      /^PATCH \/api\/v1\/nodes\/[^/ ]*\/status .*volumesInUse/,
      patched(
        node,
        [{ op: 'add', path: '/status/volumesInUse', value: [entryOf('pv-0'), 'kubernetes.io/csi/x^y'] }],
        'status',
      ),
    ),
  ),
  story(
    'the first taint of a node',
    ways.power,
    () =>
      together(
        overtaken(new RegExp(`${nodePatch}quarantine`), tainted(theirs)),
        meanwhile({ 1: patched(node, [{ op: 'remove', path: '/spec/taints' }]) }),
      ),
    { events: [{ at: '0s', powerOff: place }] },
  ),
  story('one more taint of a node', ways.policy, () =>
    overtaken(new RegExp(`${nodePatch}quarantine`), tainted(theirs)),
  ),
  story('a taint with another value', ways.power, () =>
    overtakenAfter(
      { after: recordsRelease, deed: tainted({ ...quarantine, value: 'x' }) },
      new RegExp(`${nodePatch}"op":"replace","path":"/spec/taints`),
      tainted(theirs),
    ),
  ),
  story(
    'a taint that is to go',
    ways.policy,
    () => overtaken(new RegExp(`${nodePatch}"op":"remove","path":"/spec/taints`), tainted(theirs, quarantine)),
    { events: powerLoss, runFor: '110s' },
  ),
  story(
    'a cordon',
    ways.remedy,
    () =>
      overtaken(
        new RegExp(`${nodePatch}unschedulable.*true`),
        patched(node, [{ op: 'add', path: '/spec/unschedulable', value: true }]),
      ),
    shutAndOpen,
  ),
  story(
    'the mark of a cordon',
    ways.remedy,
    () => overtaken(new RegExp(`${nodePatch}fenceline.dev~1cordoned.*true`), annotated(node, cordonedKey, 'x')),
    shutAndOpen,
  ),
  story(
    'the mark of a cordon, which is to go',
    ways.remedy,
    () =>
      overtaken(new RegExp(`${nodePatch}"op":"remove".*fenceline.dev~1cordoned`), annotated(node, cordonedKey, 'x')),
    shutAndOpen,
  ),
];

const reported: Deed = async (other) => {
  const { status } = await other.get<KubeObject & { status?: { conditions?: { type: string }[] } }>(node);
  const index = status?.conditions?.findIndex(({ type }) => type === 'Ready') ?? -1;
  const value = `${new Date(other.clock.now()).toISOString().slice(0, 19)}Z`;
  await other.patch(node, [{ op: 'add', path: `/status/conditions/${index}/lastHeartbeatTime`, value }], 'status');
};
const readyAgain: Deed = async (other) => {
  const { status } = await other.get<KubeObject & { status?: { conditions?: { type: string }[] } }>(node);
  const index = status?.conditions?.findIndex(({ type }) => type === 'Ready') ?? -1;
  await other.patch(node, [{ op: 'replace', path: `/status/conditions/${index}/status`, value: 'True' }], 'status');
};
const saysOff = /^PATCH \/api\/v1\/nodes\/[^/ ]*\/status .*FencelinePoweredOff/;
const offStories: readonly Story[] = [
  story('what a node says of itself', ways.power, () => overtaken(saysOff, reported), {
    events: [{ at: '0s', powerOff: place }],
  }),
  {
    name: 'between, a node that is out of service: it is Ready again',
    scenario: () => ways.power('between-out-of-service', { events: [{ at: '0s', powerOff: place }] }),
    options: () =>
      between({
        after: matching(saysOff),
        deed: readyAgain,
        not: matching(new RegExp(`${nodePatch}out-of-service`)),
        until: matching(/^GET .*\/nodefences\//),
      }),
  },
];

/** The one attachment of the volume: its name is known only when it is there. */
const onAttachment =
  (operations: JsonPatchOperation[]): Deed =>
  async (other) => {
    const listed = await other.client.list(volumeAttachments);
    const [first] = listed.ok ? listed.value.items : [];
    await other.patch({ resource: volumeAttachments, name: first?.metadata.name ?? '' }, operations);
  };
const requests = /^PATCH .*\/volumeattachments\//;

const attachmentStories: readonly Story[] = [
  story('the first annotation of an attachment', fencing, () =>
    overtaken(requests, onAttachment([{ op: 'add', path: '/metadata/annotations', value: { 'example.com/a': 'b' } }])),
  ),
  {
    name: 'between, an attachment: its annotation is gone',
    scenario: () => fencing('between-attachment', {}),
    options: () =>
      between({
        after: matching(requests),
        deed: onAttachment([{ op: 'remove', path: '/metadata/annotations' }]),
        not: matching(/^PATCH \/api\/v1\/nodes\/[^/ ]*\/status /),
        until: matching(requests),
      }),
  },
];

const newPod = {
  metadata: { name: 'new', namespace: 'default' },
  spec: {
    nodeName: victim,
    containers: [{ name: 'main', image: 'example/new:1' }],
    tolerations: [{ operator: 'Exists' }],
  },
};

const otherStories: readonly Story[] = [
  {
    name: 'between, the way back: a pod has come',
    scenario: () => ways.policy('between-pod', { events: powerLoss, runFor: '110s' }),
    options: () =>
      between({
        after: matching(/^PUT .*\/nodefences\/.*"stage":"soaked"/),
        deed: (other) => other.create(pods, newPod),
        not: matching(new RegExp(`${nodePatch}"op":"remove","path":"/spec/taints`)),
        until: nth(2, matching(/^GET .*\/nodefences\//)),
      }),
  },
  {
    name: 'between, the way back: a pod is sent away',
    scenario: () =>
      ways.policy('between-sent-away', {
        events: [...powerLoss, { at: '75s', apply: { apiVersion: 'v1', kind: 'Pod', ...newPod } }],
        runFor: '110s',
      }),
    options: () =>
      between({
        after: matching(/^PUT .*\/nodefences\/.*"stage":"soaked"/),
        deed: (other) => other.askToGo(victim),
        not: matching(new RegExp(`${nodePatch}"op":"remove","path":"/spec/taints`)),
        until: nth(2, matching(/^GET .*\/nodefences\//)),
      }),
  },
  {
    name: 'between, power: its machine is on again',
    scenario: () => ways.power('between-on'),
    options: () =>
      between({
        after: recordsRelease,
        deed: async (other) => other.world.fleet.machine(victim).powerOn(),
      }),
  },
];

const record = { resource: nodeFences, name: `node-fence-${victim}` };
const noted = patched(record, [{ op: 'add', path: '/metadata/labels', value: { more: 'yes' } }]);
/** A person has asked for a fence of a node, and knew no policy. */
const requested = {
  at: '5s',
  apply: {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: record.name },
    spec: { node: victim, requested: { by: 'jane', at: '2026-01-01T00:00:00Z', withoutPolicy: true } },
  },
};
/** Between the look at the record that comes so many seconds after time 0, and the write that follows it. */
const rewritten = (write: RegExp, seconds: number): StoryOptions => {
  let isDue = false;
  return together(
    between({
      after: ({ method, path }) => isDue && method === 'GET' && path.includes('/nodefences/'),
      deed: noted,
      not: matching(write),
      once: true,
    }),
    meanwhile({ [seconds]: async () => void (isDue = true) }),
  );
};
const recordStories: readonly Story[] = [
  story('a record', ways.policy, () => rewritten(/^PUT .*\/nodefences\/[^ ]*\/status /, 30)),
  story('the policy of a record', ways.power, () => rewritten(/^PUT .*\/nodefences\/[^/ ]* /, 1), {
    events: [requested],
  }),
];

const device = { resource: fenceDevices, namespace: 'fenceline', name: `${victim}.power-off` };
const labelledDevice = patched(device, [{ op: 'add', path: '/metadata/labels', value: { more: 'yes' } }]);
/** What is written to such an object is not seen by whoever watches. */
const unseen = (name: string): StoryOptions => ({
  onWorld: ({ server }) => void server.faults.dropEvents(({ version: { object } }) => object.metadata.name === name),
});
const deviceStories: readonly Story[] = [
  story('what is known of a device', ways.power, () =>
    together(
      between({
        after: matching(new RegExp(`^POST .*/fencedevices .*"${device.name}"`)),
        deed: labelledDevice,
        not: matching(new RegExp(`^PUT .*/fencedevices/${device.name}/status `)),
        once: true,
      }),
      unseen(device.name),
    ),
  ),
];

/** The controller that detaches comes to nothing, and so it is up to the operator. */
const left = (): StoryOptions => ({
  onWorld: ({ server }) =>
    void server.faults.inject({
      matches: ({ user, verb, resource }) =>
        verb === 'delete' && resource === 'volumeattachments' && !user.startsWith('operator-'),
      code: 500,
    }),
});

const acts: readonly Story[] = [
  {
    name: 'an attachment that is left behind',
    scenario: () =>
      ways.policy('left-behind', {
        expect: [{ by: '80s', pod: { label: 'app=web', running: true, moved: true } }],
        runFor: '80s',
      }),
    options: left,
  },
  {
    name: 'a machine that its provider has removed',
    scenario: () =>
      ways.power('removed', {
        policy: { fence: { ...atOnce, machineRemoved: true } },
        events: [{ at: '0s', powerOff: place }],
        expect: [{ by: '60s', pod: { label: 'app=web', running: true, moved: true } }],
        runFor: '60s',
      }),
  },
  { name: 'a drain', scenario: () => ways.remedy('drain', emptied) },
];

/** A record of a node that has been gone for long. */
const old: ObjectRef = { resource: nodeFences, name: 'node-fence-old' };
const remembered: Deed = async (other) => {
  await other.create(nodeFences, { metadata: { name: old.name }, spec: { node: 'old' } });
  const status = { epoch: 1, goneSince: '2020-01-01T00:00:00Z' };
  await other.patch(old, [{ op: 'add', path: '/status', value: status }], 'status');
};
/** And what is known of its device. */
const oldDevice: ObjectRef = { resource: fenceDevices, namespace: 'fenceline', name: 'old.power-off' };
const rememberedDevice: Deed = async (other) => {
  const metadata = { name: oldDevice.name, namespace: 'fenceline' };
  await other.create(fenceDevices, { metadata, spec: { node: 'old' } });
  await other.patch(
    oldDevice,
    [{ op: 'add', path: '/status', value: { goneSince: '2020-01-01T00:00:00Z' } }],
    'status',
  );
};
const quiet: Plot = { events: [{ at: '0s', cordon: place }], expect: [], runFor: '11m' };

const upkeepStories: readonly Story[] = [
  story(
    'a record that nobody needs, and somebody writes to',
    ways.policy,
    () =>
      together(
        overtaken(
          /^DELETE .*\/nodefences\/node-fence-old /,
          patched(old, [{ op: 'add', path: '/metadata/annotations', value: { note: 'kept' } }]),
        ),
        meanwhile({ 1: remembered }),
      ),
    quiet,
  ),
  story(
    'a device that nobody needs, and somebody writes to',
    ways.policy,
    () =>
      together(
        overtaken(
          /^DELETE .*\/fencedevices\/old\.power-off /,
          patched(oldDevice, [{ op: 'add', path: '/metadata/annotations', value: { note: 'kept' } }]),
        ),
        meanwhile({ 1: rememberedDevice }),
      ),
    quiet,
  ),
];

export const overtakenStories: readonly Story[] = [
  ...upkeepStories,
  ...podStories,
  ...nodeStories,
  ...attachmentStories,
  ...offStories,
  ...otherStories,
  ...recordStories,
  ...deviceStories,
  ...acts,
];
