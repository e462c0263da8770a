/** The good objects that the bad ones differ from, and the notation for the difference. */
import { API_VERSION } from '../../src/api/common.ts';

const NOW = '2026-01-01T00:00:00Z';

/** Together they use every field that a bad object changes. */
export const BASES = {
  policy: {
    apiVersion: API_VERSION,
    kind: 'RemedyPolicy',
    metadata: { name: 'workers' },
    spec: {
      selector: {
        matchLabels: { type: 'compute' },
        matchExpressions: [{ key: 'rack', operator: 'In', values: ['r1'] }],
      },
      mode: 'Enforce',
      thresholds: [
        {
          condition: { type: 'Ready', status: 'NotTrue', for: '5s' },
          remedies: [
            { name: 'repair', period: '3m' },
            { name: 'fence', cleanResources: true },
          ],
          recovery: [{ name: 'recovery' }],
        },
        { lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] },
        { condition: { type: 'DiskPressure', status: 'NotTrue' }, remedies: [{ name: 'fence' }] },
      ],
      remedies: [
        {
          name: 'repair',
          podTemplate: {
            spec: { restartPolicy: 'Never', containers: [{ name: 'repair', image: 'example/repair:1' }] },
          },
        },
        { name: 'fence', fence: {} },
        { name: 'recovery', uncordon: {} },
        { name: 'scrap', deleteMachine: {} },
      ],
      fence: {
        isolateAfter: '30s',
        powerManagementAfter: '5m',
        bootTimeout: '10m',
        kdump: { enabled: true },
        powerWatch: {},
      },
      release: {
        provisioners: ['driver.longhorn.io'],
        owners: [{ group: 'postgresql.cnpg.io', kind: 'Cluster' }],
        safeDetach: ['csi.example.com'],
        assertions: ['OutOfService'],
      },
      storm: { maxUnresponsive: '40%', skipWhen: [{ type: 'StorageUnreachable', status: 'True' }] },
      return: { soak: '30s', backoff: 2 },
      alarms: [{ condition: 'Ready', count: 3, within: '24h' }],
    },
  },
  fence: {
    apiVersion: API_VERSION,
    kind: 'NodeFence',
    metadata: { name: 'node-fence-worker-7' },
    spec: { node: 'worker-7', policy: 'workers', stop: false },
  },
  /** Stands for an object that exists already; what is written is its status. */
  fenceStatus: {
    apiVersion: API_VERSION,
    kind: 'NodeFence',
    metadata: { name: 'node-fence-worker-1' },
    spec: { node: 'worker-1' },
    status: {
      epoch: 3,
      verdict: 'down',
      fence: { step: 'power-management', status: 'running', startedAt: NOW, stepStartedAt: NOW },
      return: { stage: 'seen', since: NOW },
      evidence: [{ source: 'Kdump', says: 'Dead', detail: 'crashed', observedAt: NOW }],
      releases: [{ basis: 'PowerOff', nodeUid: 'u', recordedAt: NOW }],
      history: [{ at: NOW, reason: 'PoweredOff' }],
      conditions: [{ type: 'Fenced', status: 'True', lastTransitionTime: NOW, reason: 'PoweredOff', message: '' }],
    },
  },
  drain: {
    apiVersion: API_VERSION,
    kind: 'DrainPolicy',
    metadata: { name: 'default' },
    spec: { allNodes: true, policy: 'always-allow', storage: 'longhorn', enforcement: 'Auto', namespace: 'storage' },
  },
  device: {
    apiVersion: API_VERSION,
    kind: 'FenceDevice',
    metadata: { name: 'bmc', namespace: 'default' },
    spec: {
      node: 'worker-1',
      agent: 'fence_ipmilan',
      parameters: { ip: '{{bmc}}', username: 'admin' },
      values: [{ node: 'worker-1', values: { bmc: '10.0.0.1' } }],
      secrets: ['bmc'],
      level: 1,
      cuts: 'Power',
    },
  },
  /** As the operator makes it. */
  madeDevice: {
    apiVersion: API_VERSION,
    kind: 'FenceDevice',
    metadata: { name: 'worker-1.bmc', namespace: 'default' },
    spec: { node: 'worker-1' },
  },
} as const;

export type BaseName = keyof typeof BASES;

export interface Change {
  readonly path: string;
  /** Undefined: the field is missing. */
  readonly value: unknown;
  readonly refusedBy: 'rule' | 'schema';
  /** What the refusal says to write. */
  readonly hint: string;
  /** The field that the refusal blames. */
  readonly blames: string;
}

export interface BadObject extends Change {
  readonly base: BaseName;
}

export function rule(path: string, value: unknown, hint: string, blames = path): Change {
  return { path, value, refusedBy: 'rule', hint, blames };
}

export function schema(path: string, value: unknown, hint: string, blames = path): Change {
  return { path, value, refusedBy: 'schema', hint, blames };
}

export function within(base: BaseName, changes: readonly Change[]): BadObject[] {
  return changes.map((change) => Object.assign({ base }, change));
}

export function titleOf({ base, path, value }: BadObject): string {
  const text = value === undefined ? 'is missing' : `= ${JSON.stringify(value)}`;
  return `${BASES[base].kind} ${path} ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}

export interface AnyObject {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: unknown;
  status?: unknown;
}

export function goodTwin(bad: BadObject): AnyObject {
  return structuredClone<AnyObject>(BASES[bad.base]);
}

export function badObject(bad: BadObject): AnyObject {
  const object = goodTwin(bad);
  const keys = bad.path.replaceAll(/\[(\d+)\]/g, '.$1').split('.');
  const last = keys.pop();
  let parent = object as unknown as Record<string, unknown>;
  for (const key of keys) parent = parent[key] as Record<string, unknown>;
  if (last === undefined) throw new Error('a bad object without a path');
  if (bad.value === undefined) {
    if (!(last in parent)) throw new Error(`${bad.path} is not there to be removed`);
    delete parent[last];
  } else parent[last] = bad.value;
  return object;
}
