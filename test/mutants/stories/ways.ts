/** Each way of release in its shortest form: one node, one pod with a volume, and whatever else a story needs. */
import type { Scenario } from '../../../src/scenario/format.ts';
import { atOnce, fenced } from '../../simulation/fencing/fenced.ts';
import * as t from '../../simulation/trouble.ts';

export interface Plot {
  objects?: object[];
  /** In place of the trouble that the way is about. */
  events?: object[];
  /** Beside it. */
  also?: object[];
  expect?: object[];
  runFor?: string;
  /** Over the policy of the way. */
  policy?: object;
  pod?: t.Trouble['pod'];
  cluster?: object;
  workload?: t.Trouble['workload'];
}

export type WayOf = (name: string, plot?: Plot) => Scenario;

export const moved = (by: string): object => ({ by, pod: { label: 'app=web', running: true, moved: true } });
export const place = t.place;
const partition = [{ at: '0s', partition: t.place }];
const powerOff = [{ at: '0s', powerOff: t.place }];

function inFence(defaults: Plot & { runFor: string }): WayOf {
  return (name, { objects = [], events = defaults.events ?? [], also = [], policy, ...plot } = {}) =>
    fenced(name, {
      runFor: defaults.runFor,
      policy: { ...defaults.policy, ...policy },
      objects: [...(defaults.objects ?? []), ...objects],
      events: [...events, ...also],
      ...plot,
    });
}

function inTrouble(defaults: Omit<t.Trouble, 'events'> & { runFor: string }): WayOf {
  return (name, { objects = [], events = powerOff, also = [], policy, workload = defaults.workload, ...rest } = {}) => {
    const { cluster: _, ...plot } = rest;
    return t.trouble(name, {
      ...defaults,
      ...(policy === undefined ? {} : { release: policy }),
      ...(workload === undefined ? {} : { workload }),
      objects: [...(defaults.objects ?? []), ...objects],
      events: [...events, ...also],
      ...plot,
    } as t.Trouble);
  };
}

export function configMap(name: string, data: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'fenceline' }, data };
}

/** Every node has a switch to its storage, besides its power. */
export const storageDevices = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline' } },
  configMap('fence-method-template-fc-switch', {
    'template.properties': `driver=simulated-switch\nstorage=${t.driver}`,
  }),
  configMap('fence-method-template-pdu', { 'template.properties': 'driver=simulated' }),
  ...['node-1', 'node-2', 'node-3'].map((node) =>
    configMap(`fence-config-${node}`, {
      'config.properties': `node_name=${node}\nisolation=fc-off\npower_management=pdu-off pdu-on\nrecovery=fc-on`,
      'fence-method-fc-on': 'template=fence-method-template-fc-switch\nplug=2\naction=on',
      'fence-method-fc-off': 'template=fence-method-template-fc-switch\nplug=2\naction=off',
      'fence-method-pdu-on': 'template=fence-method-template-pdu\nplug=1\naction=on',
      'fence-method-pdu-off': 'template=fence-method-template-pdu\nplug=1\naction=off',
    }),
  ),
];

/** A Job, whose pod ends as told. */
export function job(name: string, code = 0): object {
  const annotations = { 'simulation.fenceline.dev/exit-code': String(code) };
  const containers = [{ name: 'main', image: 'example/remedy:1' }];
  return { name, podTemplate: { metadata: { annotations }, spec: { restartPolicy: 'Never', containers } } };
}

export const jobOn = (condition: object): object => ({
  thresholds: [{ condition, remedies: [{ name: 'clean', cleanResources: true, period: '10m' }] }],
  remedies: [job('clean')],
});
export const notReady = { type: 'Ready', status: 'NotTrue', for: '5s' };

export const ways = {
  power: inFence({ events: partition, runFor: '30s' }),
  storageFence: inFence({
    objects: storageDevices,
    policy: { fence: { ...atOnce, isolateAfter: '5s', powerManagementAfter: '10m', bootTimeout: '5m' } },
    events: partition,
    runFor: '40s',
  }),
  kernelCrash: inFence({
    policy: {
      thresholds: [{ condition: { type: 'Ready', status: 'NotTrue', for: '1h' }, remedies: [{ name: 'fence' }] }],
      fence: { ...atOnce, bootTimeout: '5m', kdump: { enabled: true } },
    },
    events: [{ at: '0s', kdump: t.place }],
    runFor: '45s',
  }),
  remedy: inFence({ policy: jobOn(notReady), events: powerOff, runFor: '50s' }),
  assertion: inTrouble({
    gates: { ForceEviction: true },
    release: {},
    runFor: '40s',
  }),
  safeDetach: inTrouble({
    ...t.safely,
    release: {},
    runFor: '50s',
  }),
  policy: inTrouble({ release: t.acceptsRisk, runFor: '50s' }),
  recovery: inTrouble({
    workload: 'Deployment',
    release: { volumeAttachmentRecovery: 'wait', provisioners: [t.driver] },
    runFor: '50s',
  }),
} satisfies Record<string, WayOf>;

const broken = { at: '0s', condition: { node: t.place, type: 'Broken', status: 'True' } };
const onBroken = { type: 'Broken', status: 'True', for: '5s' };

/** For `ways.remedy`: a node that is well but for a condition is closed and opened again. */
export const shutAndOpen: Plot = {
  policy: {
    thresholds: [{ condition: onBroken, remedies: ['shut', 'open'].map((name) => ({ name, period: '0s' })) }],
    remedies: [
      { name: 'shut', cordon: {} },
      { name: 'open', uncordon: {} },
    ],
  },
  events: [broken],
  runFor: '20s',
};

/** For `ways.remedy`: a node that is well but for a condition is drained. */
export const emptied: Plot = {
  policy: {
    thresholds: [{ condition: onBroken, remedies: [{ name: 'empty' }] }],
    remedies: [{ name: 'empty', drain: {} }],
  },
  events: [broken],
  expect: [{ by: '30s', pod: { label: 'app=web', running: true, deleted: true } }],
  runFor: '30s',
};

/** Everything that a safe detach needs, but the gate. */
export const gateOff = inTrouble({ driverSays: t.safeDetach, release: {}, runFor: '50s' });
/** The gate, but no word of the driver. */
export const unsaid = inTrouble({ gates: { NonGracefulFailover: true }, driverSays: {}, runFor: '50s' });

/** A driver that fences by itself when it is asked to. */
export const fencing = inTrouble({
  gates: { NonGracefulFailover: true },
  driverSays: { ...t.safeDetach, 'fenceline.dev/unpublish-fence': 'true' },
  release: {},
  runFor: '50s',
});

export const assert = t.taint('22s', t.forceEvictionKey);
