/** Policies and fence configurations by chance: from the defaults to what nobody should write. */
import type { Chance } from '../twins/chance.ts';
import type { Manifest, SwarmNode } from './document.ts';
import { drivers } from './workloads.ts';

const ours = 'fenceline.dev/v1alpha1';

export function policies(chance: Chance, nodes: readonly SwarmNode[]): Manifest[] {
  const count = chance.one([0, 1, 1, 1, 1, 1, 2, 2, 3]);
  return Array.from({ length: count }, (_, index) => remedyPolicy(chance, nodes, index));
}

export function remedyPolicy(chance: Chance, nodes: readonly SwarmNode[], index = 0): Manifest {
  const remedies = remediesOf(chance);
  const names = Object.keys(remedies);
  const one = chance.maybe(0.15)
    ? { selector: { matchLabels: { 'kubernetes.io/hostname': chance.one(nodes).name } } }
    : undefined;
  return policyObject(
    {
      ...(one ?? { allNodes: true }),
      ...(chance.maybe(0.2) ? { priority: chance.between(-1, 1) } : {}),
      mode: chance.one([
        'Enforce',
        'Enforce',
        'Enforce',
        'Enforce',
        'Enforce',
        'Enforce',
        'DryRun',
        'Paused',
        'Approve',
      ]),
      thresholds: thresholds(chance, names),
      remedies: Object.values(remedies),
      fence: fence(chance),
      release: release(chance),
      storm: storm(chance),
      return: { soak: chance.one(['0s', '10s', '10s', '30s']) },
    },
    index,
  );
}

export function policyObject(spec: object, index = 0): Manifest {
  return { apiVersion: ours, kind: 'RemedyPolicy', metadata: { name: `policy-${index}` }, spec };
}

/** A fence is nearly always among them: that is what this is about. */
function remediesOf(chance: Chance): Record<string, object> {
  const exit = { 'simulation.fenceline.dev/exit-code': chance.one(['0', '0', '1']) };
  const container = { name: 'main', image: 'example/remedy:1' };
  const podTemplate = { metadata: { annotations: exit }, spec: { restartPolicy: 'Never', containers: [container] } };
  return {
    ...(chance.maybe(0.9) ? { fence: { name: 'fence', fence: {} } } : {}),
    ...(chance.maybe(0.25) ? { repair: { name: 'repair', podTemplate } } : {}),
    ...(chance.maybe(0.15) ? { cordon: { name: 'cordon', cordon: {} } } : {}),
    ...(chance.maybe(0.15) ? { drain: { name: 'drain', drain: {} } } : {}),
    uncordon: { name: 'uncordon', uncordon: {} },
  };
}

function thresholds(chance: Chance, names: readonly string[]): object[] {
  const triggers = [
    { lease: { staleFor: chance.one(['12s', '12s', '20s']) } },
    { condition: { type: 'Ready', status: 'NotTrue', for: chance.one(['5s', '5s', '30s']) } },
    { condition: { type: 'KernelDeadlock', status: 'True', for: chance.one(['1s', '10s']) } },
  ];
  const acting = names.filter((name) => name !== 'uncordon');
  if (acting.length === 0) return [];
  return chance.some(triggers, chance.one([1, 1, 1, 2, 3])).map((trigger) => ({
    ...trigger,
    remedies: ladder(chance, acting),
    ...(chance.maybe(0.3) ? { recovery: [{ name: 'uncordon' }] } : {}),
  }));
}

function ladder(chance: Chance, acting: readonly string[]): object[] {
  const chosen = chance.some(acting, chance.between(1, Math.min(2, acting.length)));
  return chosen.map((name) => ({
    name,
    period: chance.one(['0s', '10s', '10s', '60s']),
    ...(chance.maybe(0.15) ? { cleanResources: chance.maybe(0.5) } : {}),
  }));
}

/** Devices that are asked all the time. */
export function powerWatch(chance: Chance): object {
  return chance.maybe(0.25) ? { powerWatch: { every: chance.one(['1s', '5s']) } } : {};
}

function fence(chance: Chance): object {
  if (chance.maybe(0.1)) return {};
  return {
    isolateAfter: chance.one(['0s', '0s', '5s', '30s']),
    powerManagementAfter: chance.one(['0s', '0s', '0s', '20s', '60s']),
    bootTimeout: chance.one(['30s', '60s', '2m']),
    retries: chance.between(0, 1),
    restarts: chance.between(0, 1),
    ...(chance.maybe(0.3) ? { kdump: { enabled: true, timeout: chance.one(['20s', '90s']) } } : {}),
    ...(chance.maybe(0.05) ? { machineRemoved: true } : {}),
    ...(chance.maybe(0.1) ? { powerOnFoundOff: false } : {}),
    ...powerWatch(chance),
    ...(chance.maybe(0.2) ? { markOutOfService: false } : {}),
  };
}

function release(chance: Chance): object {
  const accepts = {
    podDeletion: chance.one([
      'do-nothing',
      'delete-statefulset-pod',
      'delete-deployment-pod',
      'delete-both-statefulset-and-deployment-pod',
    ]),
    provisioners: chance.some(drivers, chance.between(0, 2)),
    volumeAttachmentRecovery: chance.one(['never', 'never', 'wait', 'immediate']),
    riskAfterFailedFence: chance.maybe(0.2),
  };
  return {
    ...(chance.maybe(0.25) ? accepts : {}),
    ...(chance.maybe(0.15) ? { safeDetach: chance.some(drivers, 1) } : {}),
    ...(chance.maybe(0.15) ? { budgets: 'Respect' } : {}),
    ...(chance.maybe(0.3) ? { assertions: chance.some(['OutOfService', 'CloudShutdown'], chance.between(1, 2)) } : {}),
  };
}

function storm(chance: Chance): object {
  return {
    ...(chance.maybe(0.6) ? { maxUnresponsive: chance.one(['40%', '50%', '60%', '100%', 1, 2]) } : {}),
    ...(chance.maybe(0.4) ? { maxConcurrent: chance.between(1, 3) } : {}),
    // By default it is five minutes, after which a small run is over.
    cooldown: chance.one(['1s', '10s', '60s']),
    ...(chance.maybe(0.2) ? { podsPerMinute: chance.one([1, 3, 10]) } : {}),
    ...(chance.maybe(0.1) ? { skipWhen: [{ type: 'StorageUnreachable', status: 'True' }] } : {}),
  };
}

export function drainPolicies(chance: Chance): Manifest[] {
  const policy = chance.one([
    'block-if-contains-last-replica',
    'allow-if-replica-is-stopped',
    'always-allow',
    'block-for-eviction',
    'block-for-eviction-if-contains-last-replica',
  ]);
  const enforcement = chance.one(['Auto', 'Auto', 'Enforce', 'Observe']);
  const spec = { allNodes: true, policy, storage: 'longhorn', enforcement };
  return [{ apiVersion: ours, kind: 'DrainPolicy', metadata: { name: 'default' }, spec }];
}
