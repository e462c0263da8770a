/**
 * What an act rests on changes between the decision and the act, after its basis was recorded: nothing is let go, before it
 * was decided anew. One story for each basis and each thing that can change.
 */
import { sleep } from '../../../src/clock.ts';
import {
  configMaps,
  csiDrivers,
  leases,
  nodeFences,
  nodes,
  podDisruptionBudgets,
  pods,
  remedyPolicies,
} from '../../../src/kube/resources.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { driver, powerLoss } from '../../simulation/trouble.ts';
import type { Story, StoryOptions } from '../story.ts';
import type { Deed, Matcher } from './kit.ts';
import { between, lets, matching, meanwhile, nth, recordsRelease, together, unheard, victim } from './kit.ts';
import { entryOf } from './cast.ts';
import type { Plot, WayOf } from './ways.ts';
import { mark, removed } from './machines.ts';
import { assert, job, place, ways } from './ways.ts';

const node = { resource: nodes, name: victim };
const lease = { resource: leases, namespace: 'kube-node-lease', name: victim };
const record = { resource: nodeFences, name: `node-fence-${victim}` };

const farGroup = 'fence-agents-remediation.medik8s.io';
const farNames = {
  plural: 'fenceagentsremediations',
  singular: 'fenceagentsremediation',
  kind: 'FenceAgentsRemediation',
};
const remediations = { group: farGroup, version: 'v1alpha1', ...farNames, namespaced: true };
const farSchema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
const farInstalled = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${farNames.plural}.${farGroup}` },
  spec: {
    group: farGroup,
    names: farNames,
    scope: 'Namespaced',
    versions: [{ name: 'v1alpha1', served: true, storage: true, schema: farSchema }],
  },
};

const stopped: Deed = (other) => other.patch(record, [{ op: 'add', path: '/spec/stop', value: true }]);
const taken: Deed = (other) =>
  other.patch(
    record,
    [
      { op: 'add', path: '/status/epoch', value: 1000 },
      { op: 'add', path: '/status/holder', value: 'operator-2' },
    ],
    'status',
  );
const forgotten: Deed = (other) => other.remove(record);
const allPaused: Deed = (other) =>
  other.create(configMaps, { metadata: { name: 'fenceline-pause', namespace: 'fenceline' }, data: { by: 'alice' } });
/** The one policy of the story. */
const paused =
  (name: string): Deed =>
  (other) =>
    other.patch({ resource: remedyPolicies, name }, [{ op: 'add', path: '/spec/mode', value: 'Paused' }]);

const renewed: Deed = async (other) => {
  // Of the very moment in which the silence was seen, it would not be from after it.
  await sleep(other.clock, 10);
  const value = `${new Date(other.clock.now()).toISOString().slice(0, 23)}000Z`;
  await other.patch(lease, [{ op: 'add', path: '/spec/renewTime', value }]);
};
const ready: Deed = async (other) => {
  const { status } = await other.get<{ metadata: { name: string }; status?: { conditions?: { type: string }[] } }>(
    node,
  );
  const index = status?.conditions?.findIndex(({ type }) => type === 'Ready') ?? -1;
  await other.patch(node, [{ op: 'replace', path: `/status/conditions/${index}/status`, value: 'True' }], 'status');
};
const reported: Deed = async (other) => {
  const { status } = await other.get<{ metadata: { name: string }; status?: { conditions?: { type: string }[] } }>(
    node,
  );
  const index = status?.conditions?.findIndex(({ type }) => type === 'Ready') ?? -1;
  const value = `${new Date(other.clock.now()).toISOString().slice(0, 19)}Z`;
  await other.patch(node, [{ op: 'add', path: `/status/conditions/${index}/lastHeartbeatTime`, value }], 'status');
};
const booted: Deed = (other) =>
  other.patch(node, [{ op: 'replace', path: '/status/nodeInfo/bootID', value: 'another' }], 'status');
const cordoned: Deed = (other) => other.patch(node, [{ op: 'add', path: '/spec/unschedulable', value: true }]);
const remediated: Deed = (other) => other.create(remediations, { metadata: { name: victim, namespace: 'default' } });
const emptied: Deed = (other) => other.remove({ resource: pods, namespace: 'default', name: 'web-0' });
const onlyKubeletDown: Deed = async (other) => {
  other.world.fleet.kubelet(victim).stop();
  other.world.fleet.machine(victim).heal();
};
/** A node that nobody knows anything of yet. */
const made: Deed = (other) => other.create(nodes, { metadata: { name: victim } });
const replaced: Deed = (other) => other.replace(node);
const distrusted: Deed = (other) =>
  other.patch({ resource: csiDrivers, name: driver }, [
    { op: 'replace', path: '/metadata/annotations/fenceline.dev~1safe-detach', value: 'false' },
  ]);

const budgeted: Deed = (other) =>
  other.create(podDisruptionBudgets, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  });

/** Decided anew: the record was written again. */
const decides: Matcher = matching(/^(PUT|POST) .*\/nodefences/);

interface Way {
  name: string;
  way: WayOf;
  plot?: Plot;
  policy: string;
}

const bases: Record<string, Way> = {
  PowerOff: { name: 'power', way: ways.power, policy: 'fence' },
  StorageFenced: { name: 'storage fence', way: ways.storageFence, policy: 'fence' },
  StorageSafeDetach: { name: 'safe detach', way: ways.safeDetach, policy: 'release' },
  KernelCrashed: { name: 'kernel crash', way: ways.kernelCrash, policy: 'fence' },
  Asserted: { name: 'assertion', way: ways.assertion, plot: { also: [assert] }, policy: 'release' },
  AcceptedRisk: { name: 'policy', way: ways.policy, policy: 'release' },
};

function story(basis: string, what: string, options: () => StoryOptions): Story {
  const { name, way, plot } = bases[basis]!;
  return { name: `between, ${name}: ${what}`, scenario: () => way(`between-${basis}`, plot), options };
}

/** Where it comes to the same again, only what was decided before is watched. */
const afterRecord = (deed: Deed, until?: Matcher): StoryOptions =>
  between({ after: recordsRelease, deed, not: lets, ...(until && { until }) });
/** The grounds are read once; whoever reads the record again decides anew. */
const decidesAnew = (): Matcher => nth(2, matching(/^GET .*\/nodefences\//));

/** Its pods were otherwise than they were seen: from then on it is decided by what is there, and its volume is there still. */
const listsAnew: Matcher = ({ method, path }) =>
  method === 'GET' && path.startsWith('/api/v1/pods?') && path.includes('limit=500');

/** After the quarantine was put up, the last thing before the first step that rests on grounds. */
const quarantines = matching(/^PATCH \/api\/v1\/nodes\/[^/ ]* .*fenceline\.dev\/quarantine/);
const frees = matching(/^PATCH \/api\/v1\/nodes\/[^/ ]*\/status .*volumesInUse/);
const unguarded: Deed = (other) => other.patch(node, [{ op: 'remove', path: '/spec/taints' }]);
const inUse: Deed = (other) =>
  other.patch(node, [{ op: 'add', path: '/status/volumesInUse', value: [entryOf('pv-0')] }], 'status');

/** What a fence has switched off is switched on also when its policy is paused (SAF-12). */
const switchesOn = matching(/^PUT .*\/nodefences\/.*"phase":"poweringOn"/);

const releases: readonly Story[] = [
  ...Object.entries(bases).flatMap(([basis, { policy }]) => [
    story(basis, 'stopped by a person', () => afterRecord(stopped)),
    story(basis, 'its policy is paused', () => afterRecord(paused(policy), switchesOn)),
    story(basis, 'its Lease is renewed', () => afterRecord(renewed, decidesAnew())),
    story(basis, 'it was booted again', () => afterRecord(booted, decidesAnew())),
  ]),
  story('AcceptedRisk', 'everything is paused', () => afterRecord(allPaused)),
  story('AcceptedRisk', 'it is Ready', () => afterRecord(ready, decidesAnew())),
  story('AcceptedRisk', 'its kubelet has reported', () => afterRecord(reported, decidesAnew())),
  story('AcceptedRisk', 'it is another node of the same name', () =>
    between({ after: frees, deed: replaced, not: lets, until: decidesAnew() }),
  ),
  story('AcceptedRisk', 'another instance has taken over', () => afterRecord(taken, decides)),
  story('AcceptedRisk', 'its record is gone', () => afterRecord(forgotten, decides)),
  story('AcceptedRisk', 'its quarantine is gone', () =>
    between({ after: quarantines, deed: unguarded, not: lets, until: quarantines }),
  ),
  story('AcceptedRisk', 'its kubelet uses the volume again', () =>
    between({ after: frees, deed: inUse, not: lets, until: frees }),
  ),
  story('StorageSafeDetach', 'its driver does not detach safely any more', () => afterRecord(distrusted)),
  {
    name: 'between, power: a budget forbids it that the policy respects',
    scenario: () => ways.power('between-budget', { policy: { release: { budgets: 'Respect' } } }),
    options: () => afterRecord(budgeted, decidesAnew()),
  },
  {
    name: 'between, policy: there is a node again',
    scenario: () =>
      ways.policy('between-gone', {
        pod: { spec: { terminationGracePeriodSeconds: 30 } },
        events: [
          { at: '0s', powerOff: place },
          { at: '40s', deleteNode: place },
        ],
        runFor: '70s',
      }),
    options: () => afterRecord(made, decides),
  },
];

/** A ladder that comes to a remedy, and what the remedy does. */
interface Rung {
  name: string;
  scenario: () => Scenario;
  /** On record, and about to begin. */
  begins: RegExp;
  act: RegExp;
  /** What somebody does before, by the second. */
  before?: Readonly<Record<string, Deed>>;
}

const broken = { at: '0s', condition: { node: place, type: 'Broken', status: 'True' } };
const onBroken = (remedies: object[], names = remedies.map((one) => (one as { name: string }).name)): object => ({
  thresholds: [
    {
      condition: { type: 'Broken', status: 'True', for: '5s' },
      remedies: names.map((name) => ({ name, period: '0s' })),
    },
  ],
  remedies,
});
const mended: Deed = async (other) => {
  other.world.fleet.kubelet(victim).report('Broken', 'False');
  await sleep(other.clock, 100);
};
const onSilence = (remedies: object[]): object => ({
  thresholds: [
    {
      lease: { staleFor: '12s' },
      remedies: remedies.map((one) => ({ name: (one as { name: string }).name, period: '0s' })),
    },
  ],
  remedies,
});

const jobRung: Rung = {
  name: 'a Job',
  scenario: () => ways.remedy('between-job', { policy: onBroken([job('repair')]), events: [broken], runFor: '20s' }),
  begins: /^PUT .*\/nodefences\/.*"ladders":\[[^\]]*"phase":"running"/,
  act: /^POST .*\/jobs /,
};
const silentRung: Rung = {
  ...jobRung,
  name: 'a Job for silence',
  scenario: () => ways.remedy('between-silence', { policy: onSilence([job('repair')]), runFor: '18s' }),
};
const drainRung: Rung = {
  ...jobRung,
  name: 'a drain',
  scenario: () =>
    ways.remedy('between-drain', { policy: onBroken([{ name: 'empty', drain: {} }]), events: [broken], runFor: '20s' }),
  act: /^POST .*\/eviction /,
};
const uncordonRung: Rung = {
  ...jobRung,
  name: 'an uncordon',
  scenario: () =>
    ways.remedy('between-uncordon', {
      policy: onBroken([
        { name: 'shut', cordon: {} },
        { name: 'open', uncordon: {} },
      ]),
      events: [broken],
      runFor: '20s',
    }),
  begins: /^PUT .*\/nodefences\/.*"remedy":"open"/,
  act: /^PATCH \/api\/v1\/nodes\/[^/ ]* .*unschedulable/,
};
const fenceRung: Rung = {
  name: 'a fence',
  scenario: () => ways.power('between-fence', { runFor: '30s' }),
  begins: /^PUT .*\/nodefences\/.*"phase":"poweringOff"/,
  act: /(?!)/,
};

/** Another remediation operator is installed. */
const besideRung: Rung = {
  ...fenceRung,
  name: 'a fence beside another operator',
  scenario: () => ways.power('between-others', { objects: [farInstalled], runFor: '30s' }),
};

/** Somebody has cordoned it and switched it off: there is nothing to do but to let go. */
const foundOffRung: Rung = {
  ...fenceRung,
  name: 'a machine that was found off',
  scenario: () =>
    ways.power('between-found-off', {
      events: [
        { at: '0s', cordon: place },
        { at: '0s', powerOff: place },
      ],
      runFor: '30s',
    }),
};

/** After a fence that did not bring it back, its provider is to remove the machine. */
const machineRung: Rung = {
  name: 'a machine to be removed',
  scenario: () => removed('between-machine', {}),
  // Until it has begun it may be held back.
  begins: /^PUT .*\/nodefences\/.*"remedy":"remove"[^}]*"begunAt"/,
  act: /^DELETE .*\/machines\//,
  before: { 1: (other) => mark(other) },
};

function remedy(rung: Rung, what: string, deed: Deed, until?: () => Matcher): Story {
  const { name, scenario, begins, act, before = {} } = rung;
  return {
    name: `between, ${name}: ${what}`,
    scenario,
    options: () =>
      together(
        between({ after: matching(begins), deed, not: matching(act), ...(until && { until: until() }) }),
        meanwhile(before),
      ),
  };
}

/** As an operator would write it whose record nobody here has seen yet. */
const elsewhere: Deed = async (other) => {
  const ref = { resource: nodeFences, name: 'node-fence-node-1' };
  await other.create(nodeFences, { metadata: { name: ref.name }, spec: { node: 'node-1' } });
  const at = '2026-01-01T00:00:00Z';
  const ladder = {
    threshold: 'Broken=True',
    position: 0,
    remedy: 'repair',
    phase: 'running',
    startedAt: at,
    begunAt: at,
  };
  const value = { epoch: 1, holder: 'operator-2', ladders: [ladder] };
  await other.patch(ref, [{ op: 'add', path: '/status', value }], 'status');
};

const remedies: readonly Story[] = [
  remedy(jobRung, 'another node came first, and nobody has heard of it', unheard(elsewhere)),
  remedy(jobRung, 'stopped by a person', stopped),
  remedy(jobRung, 'its policy is paused', paused('fence')),
  remedy(jobRung, 'its policy is paused, and nobody has heard of it', unheard(paused('fence'))),
  remedy(jobRung, 'it was booted again', booted, decidesAnew),
  remedy({ ...jobRung, before: { 4: unheard(async () => {}) } }, 'the trouble is over', mended),
  remedy(silentRung, 'its Lease is renewed', renewed),
  remedy(silentRung, 'its Lease is renewed, and nobody has heard of it', unheard(renewed)),
  remedy(drainRung, 'stopped by a person', stopped),
  remedy(uncordonRung, 'stopped by a person', stopped),
  remedy(uncordonRung, 'it was booted again', booted, decidesAnew),
  remedy(fenceRung, 'stopped by a person', stopped),
  remedy(fenceRung, 'it was booted again', booted),
  remedy(fenceRung, 'somebody has cordoned it', unheard(cordoned)),
  remedy(fenceRung, 'what it would free is gone', unheard(emptied), () => listsAnew),
  remedy(fenceRung, 'its machine answers, and only its kubelet is down', onlyKubeletDown),
  remedy(besideRung, 'that one has begun', remediated),
  remedy(foundOffRung, 'somebody switches it on', async ({ world }) => world.fleet.machine(victim).powerOn()),
  remedy(machineRung, 'stopped by a person', stopped),
];

/** The quarantine is about to go from a node that is back in order. */
const soaked = matching(/^PUT .*\/nodefences\/.*"stage":"soaked"/);
const untaints = matching(/^PATCH \/api\/v1\/nodes\/[^/ ]* .*"op":"remove","path":"\/spec\/taints/);
const unwell: Deed = async (other) => {
  other.world.fleet.kubelet(victim).report('Ready', 'False');
  await sleep(other.clock, 100);
};

const returning = (what: string, deed: Deed, until?: () => Matcher): Story => ({
  name: `between, the way back: ${what}`,
  scenario: () => ways.policy('between-return', { events: powerLoss, runFor: '110s' }),
  options: () => between({ after: soaked, deed, not: untaints, ...(until && { until: until() }) }),
});

const returns: readonly Story[] = [
  returning('stopped by a person', stopped),
  returning('its policy is paused', paused('release')),
  returning('it was booted again', booted, decidesAnew),
  returning('it is not Ready', unwell),
];

/** All has gone from a machine that is off, and our mark is about to go. */
const unmarks: Story = {
  name: 'between, the end of a mark: it was booted again',
  scenario: () => ways.power('between-mark'),
  options: () => {
    // Of the release, and not of what is said of one that was done.
    const after = matching(/^PUT .*\/nodefences\/.*"podsGoneAt":"[^"]*"[^{}]*"endedAt"/);
    return between({ after, deed: booted, not: untaints, until: decides });
  },
};

export const betweenStories: readonly Story[] = [...releases, ...remedies, ...returns, unmarks];
