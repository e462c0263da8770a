/**
 * Who else is set up to act on the nodes that a policy fences, as far as objects in the cluster say (ADM-6): one reading, for the
 * status of policies and for `fenceline check`. That they are at a node right now is told by marks on it (api/others.ts) and by other
 * objects (others-at-work.ts); this is about what to settle beforehand.
 */
import { selects } from '../api/label-selector.ts';
import { choiceOf } from '../api/node-choice.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { WrittenPolicy } from '../api/written.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';

/** What was read: the objects that somebody has to be told of, by who tells. */
export interface SetUp {
  read: readonly { kind: string; objects: readonly Foreign[] }[];
  unread: readonly Unread[];
}

/** What could not be read, so that nothing is known of it. */
export interface Unread {
  what: string;
  why: string;
}

export type FencedNode = Pick<LiveNode, 'name' | 'labels' | 'providerId'>;

interface Other {
  group: string;
  kind: string;
  /** Where only one of them is looked at. */
  name?: string;
  tell: (objects: readonly Foreign[], fenced: readonly FencedNode[]) => string[];
}

/** What is looked at of objects that are not ours: whatever else is in them does not matter, and anything may be missing. */
export interface Foreign extends KubeObject {
  spec?: { selector?: WrittenPolicy['selector']; pauseRequests?: unknown; online?: unknown };
  value?: unknown;
}

/** A few of them are enough to tell: of hosts there may be thousands, and each is large. */
const atMost = 20;
const callTimeoutMs = 10_000;
const shown = 3;
const undoing = 'two who remedy one node undo what the other one does';
const downPolicy = 'node-down-pod-deletion-policy';

const others: readonly Other[] = [
  { group: 'remediation.medik8s.io', kind: 'NodeHealthCheck', tell: healthChecks },
  { group: 'cluster.x-k8s.io', kind: 'MachineHealthCheck', tell: machineChecks },
  { group: 'machine.openshift.io', kind: 'MachineHealthCheck', tell: machineChecks },
  { group: 'metal3.io', kind: 'BareMetalHost', tell: hosts },
  { group: 'longhorn.io', kind: 'Setting', name: downPolicy, tell: longhornSettings },
];

/** What is not installed is not there, and is not asked for. */
export async function readSetUp(client: KubeClient): Promise<SetUp> {
  const options = { timeoutMs: callTimeoutMs };
  const groups = await client.groups(options);
  if (!groups.ok) return { read: [], unread: [{ what: 'what is installed', why: groups.error.message }] };
  const read: { kind: string; objects: readonly Foreign[] }[] = [];
  const unread: Unread[] = [];
  for (const { group, kind, name } of others) {
    const version = groups.value.get(group);
    if (version === undefined) continue;
    const plural = `${kind.toLowerCase()}s`;
    const one = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
    const listed = await client.list<Foreign>(
      { group, version, plural, kind, namespaced: true },
      { ...one, limit: atMost },
      options,
    );
    if (listed.ok) read.push({ kind, objects: listed.value.items.map(kept) });
    else if (listed.error.kind !== 'notFound') {
      const why = listed.error.kind === 'forbidden' ? 'the right to list them is missing' : listed.error.message;
      unread.push({ what: `${plural}.${group}`, why });
    }
  }
  return { read, unread };
}

/** One sentence each: who, and what to do about it. `fenced`: without any, there is nobody to be in the way of. */
export function tellSetUp({ read }: Pick<SetUp, 'read'>, fenced: readonly FencedNode[]): string[] {
  if (fenced.length === 0) return [];
  return read.flatMap(({ kind, objects }) => others.find((other) => other.kind === kind)?.tell(objects, fenced) ?? []);
}

/** Whatever is not as its own schema has it is left out, so that nothing here stumbles over it. */
function kept({ metadata: { name, namespace }, spec, value }: Foreign): Foreign {
  const { selector, pauseRequests, online } = spec ?? {};
  return {
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      ...(selector === undefined || selector === null ? {} : { selector: wellFormed(selector) }),
      pauseRequests,
      online,
    },
    value,
  };
}

type Selector = NonNullable<WrittenPolicy['selector']>;

function wellFormed({ matchLabels, matchExpressions }: Selector): Selector {
  const labels = Object.entries(matchLabels ?? {}).filter(([, value]) => typeof value === 'string');
  const expressions = Array.isArray(matchExpressions) ? matchExpressions : [];
  return {
    matchLabels: Object.fromEntries(labels),
    matchExpressions: expressions.filter((one) => typeof one?.key === 'string' && typeof one.operator === 'string'),
  };
}

function healthChecks(checks: readonly Foreign[], fenced: readonly FencedNode[]): string[] {
  return checks.flatMap(({ metadata, spec = {} }) => {
    if (Array.isArray(spec.pauseRequests) && spec.pauseRequests.length > 0) return [];
    // An empty selector, and none, is for every node.
    const { matchLabels = {}, matchExpressions = [] } = spec.selector ?? {};
    const isForAll = Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
    const choice = isForAll ? undefined : choiceOf({ selector: spec.selector }, {});
    const both = fenced.filter(({ labels }) => isForAll || (choice !== undefined && selects(choice.selector, labels)));
    if (both.length === 0) return [];
    const until = `kubectl patch nodehealthcheck ${metadata.name} --type=merge -p '{"spec":{"pauseRequests":["fenceline"]}}'`;
    return [
      `NodeHealthCheck ${metadata.name} is for ${namesOf(both)} as well: ${undoing}; pause one of them: ${until}`,
    ];
  });
}

/** They choose Machines, by labels that Nodes do not have. */
function machineChecks(checks: readonly Foreign[]): string[] {
  return checks.map(({ metadata: { namespace = '', name } }) => {
    const what = `MachineHealthCheck ${namespace}/${name} remedies Machines by itself`;
    return `${what}: ${undoing}; give nodes of its Machines a policy that only releases, or delete one of them`;
  });
}

function hosts(all: readonly Foreign[]): string[] {
  const online = all.filter(({ spec }) => spec?.online === true);
  if (online.length === 0) return [];
  const [first] = online;
  const more = all.length >= atMost ? ' and others' : ` and ${online.length - 1} more`;
  const which = `${first?.metadata.namespace}/${first?.metadata.name}${online.length > 1 ? more : ''}`;
  return [
    `BareMetalHost ${which} is to be online: Ironic switches such a machine on again within a minute; where one has to stay off, set online: false as well`,
  ];
}

function longhornSettings(settings: readonly Foreign[]): string[] {
  return settings.flatMap(({ metadata: { name, namespace = '' }, value }) => {
    if (name !== downPolicy || value === 'do-nothing' || value === '') return [];
    const set = `kubectl patch settings.longhorn.io ${name} -n ${namespace} --type=merge -p '{"value":"do-nothing"}'`;
    return [`Longhorn deletes pods of nodes that are down, fenced or not (${name}): two writers are possible; ${set}`];
  });
}

/** Of whom the cloud replaces whoever is stopped, where that is not switched off there. */
const groupLabels: Readonly<Record<string, string>> = {
  'eks.amazonaws.com/nodegroup': 'an auto-scaling group of AWS',
  'cloud.google.com/gke-nodepool': 'a managed instance group of Google',
  'kubernetes.azure.com/agentpool': 'a scale set of Azure',
};

/** Whether it is suspended there nobody can see from here: whoever asks is told, and a status would say it for ever. */
export function tellGroups(fenced: readonly FencedNode[]): string[] {
  const groupOf = ({ labels, providerId = '' }: FencedNode): string | undefined =>
    Object.entries(groupLabels).find(([label]) => labels[label] !== undefined)?.[1] ??
    (/\/virtualMachineScaleSets\//i.test(providerId) ? groupLabels['kubernetes.azure.com/agentpool'] : undefined);
  const byGroup = Map.groupBy(fenced, groupOf);
  return [...byGroup].flatMap(([group, of]) => {
    if (group === undefined) return [];
    const what = `${namesOf(of)} ${of.length === 1 ? 'is' : 'are'} of ${group}, which may replace what is stopped`;
    return [`${what}: suspend that, or write fence.machineRemoved: true (docs/devices.md)`];
  });
}

function namesOf(nodes: readonly FencedNode[]): string {
  const names = nodes.slice(0, shown).map(({ name }) => name);
  return `${names.join(', ')}${nodes.length > shown ? ` and ${nodes.length - shown} more` : ''}`;
}
