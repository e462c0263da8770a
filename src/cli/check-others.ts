/**
 * Who else is set up to act on the nodes that a policy fences, as far as objects in the cluster say (ADM-6). That they are at a
 * node right now is told by marks on it (api/others.ts); this is about what to settle beforehand.
 */
import { selects } from '../api/label-selector.ts';
import { choiceOf } from '../api/node-choice.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { WrittenPolicy } from '../api/written.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';
import { listAll } from '../observe/list-all.ts';

export interface Others {
  /** One sentence each: who, and what to do about it. */
  findings: string[];
  /** What could not be read, so that nothing is known of it. */
  unread: { what: string; why: string }[];
}

export type FencedNode = Pick<LiveNode, 'name' | 'labels' | 'providerId'>;

interface Other {
  resource: Resource;
  /** Of all objects of that kind; undefined where nothing has to be settled. */
  tell: (objects: readonly Foreign[], fenced: readonly FencedNode[]) => string[];
}

/** What is looked at of objects that are not ours: whatever else is in them does not matter, and anything may be missing. */
interface Foreign extends KubeObject {
  spec?: { selector?: WrittenPolicy['selector']; pauseRequests?: unknown; online?: unknown };
  value?: unknown;
}

const pageSize = 500;
const shown = 3;
const undoing = 'two who remedy one node undo what the other one does';

const machineHealthChecks = ['cluster.x-k8s.io/v1beta2', 'cluster.x-k8s.io/v1beta1', 'machine.openshift.io/v1beta1'];

const others: readonly Other[] = [
  { resource: resourceOf('remediation.medik8s.io/v1alpha1', 'NodeHealthCheck'), tell: healthChecks },
  ...machineHealthChecks.map((version) => ({
    resource: resourceOf(version, 'MachineHealthCheck'),
    tell: machineChecks,
  })),
  { resource: resourceOf('metal3.io/v1alpha1', 'BareMetalHost'), tell: hosts },
  { resource: resourceOf('longhorn.io/v1beta2', 'Setting'), tell: longhornSettings },
];

/** `fenced`: those that a policy fences. Without any, there is nobody to be in the way of. */
export async function othersIn(client: KubeClient, fenced: readonly FencedNode[]): Promise<Others> {
  if (fenced.length === 0) return { findings: [], unread: [] };
  const findings: string[] = [];
  const unread: Others['unread'] = [];
  for (const { resource, tell } of others) {
    const wanted = { resource, pageSize, keep: (object: KubeObject): Foreign => object };
    const read = await listAll(client, wanted, new AbortController().signal);
    if (read.ok) findings.push(...tell(read.value.items, fenced));
    // What is not installed is not there.
    else if (read.error.kind !== 'notFound') {
      const why = read.error.kind === 'forbidden' ? 'you may not read them' : read.error.message;
      unread.push({ what: `${resource.plural}.${resource.group}`, why });
    }
  }
  // One that is served in two versions is told once.
  return { findings: [...new Set([...findings, ...groups(fenced)])], unread };
}

export function renderOthers({ findings }: Pick<Others, 'findings'>): string {
  return findings.length === 0 ? '' : `\nWHO ELSE ACTS ON THESE NODES\n${findings.map((one) => `  ${one}\n`).join('')}`;
}

/** The API server says "forbidden" of what is not installed as well: in one line, because for most people there are none of them. */
export function renderUnread({ unread }: Pick<Others, 'unread'>): string {
  const byReason = Map.groupBy(unread, ({ why }) => why);
  return [...byReason]
    .map(([why, of]) => `fenceline: ${of.map(({ what }) => what).join(', ')} are not looked at: ${why}\n`)
    .join('');
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
  const which = `${first?.metadata.namespace}/${first?.metadata.name}${online.length > 1 ? ` and ${online.length - 1} more` : ''}`;
  return [
    `BareMetalHost ${which} is to be online: Ironic switches such a machine on again within a minute; where one has to stay off, set online: false as well`,
  ];
}

function longhornSettings(settings: readonly Foreign[]): string[] {
  return settings.flatMap(({ metadata: { name, namespace = '' }, value }) => {
    if (name !== 'node-down-pod-deletion-policy' || value === 'do-nothing' || value === '') return [];
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

function groups(fenced: readonly FencedNode[]): string[] {
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

function resourceOf(apiVersion: string, kind: string): Resource {
  const [group = '', version = ''] = apiVersion.split('/');
  return { group, version, plural: `${kind.toLowerCase()}s`, kind, namespaced: true };
}
