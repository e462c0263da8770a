/**
 * By what objects beside the Node others say that they are at work on it (ADM-6). One table: what is new is one line more, and one in
 * the role. The names are theirs; whatever else is in their objects does not matter, and anything may be missing.
 */
import { clockTime } from '../api/facts.ts';
import type { OtherActor } from '../api/others.ts';
import type { AskedElsewhere } from '../api/steps.ts';
import type { KubeObject } from '../kube/client.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';

/** What is looked at of objects that are not ours. */
export interface Foreign extends KubeObject {
  spec?: { online?: unknown; nodeName?: unknown };
  status?: {
    phase?: unknown;
    conditions?: unknown;
    unhealthyNodes?: unknown;
    nodeRef?: { name?: unknown };
    provisioning?: { state?: unknown };
  };
}

/** A node, and which node the Machine says that it is that this one names: none, or one of that name; absent: nobody knows. */
export type Looked = AskedElsewhere & { machineSays?: string | undefined };

interface Read {
  group: string;
  plural: string;
  kind: string;
}

export type Source = Read & {
  /** All of them: there are only as many as nodes that somebody is at work on. Or the one that is about this node, if there is. */
  of: 'all' | ((node: AskedElsewhere) => Pick<ObjectRef, 'namespace' | 'name'> | undefined);
  tell: (objects: readonly Foreign[], node: Looked, read: Read) => OtherActor[];
};

export const sources: readonly Source[] = [
  ...remediations([
    ['fence-agents-remediation.medik8s.io', 'FenceAgentsRemediation', 'Fence Agents Remediation'],
    ['self-node-remediation.medik8s.io', 'SelfNodeRemediation', 'Self Node Remediation'],
    ['machine-deletion-remediation.medik8s.io', 'MachineDeletionRemediation', 'Machine Deletion Remediation'],
    ['infrastructure.cluster.x-k8s.io', 'Metal3Remediation', 'Metal3'],
  ]),
  source('remediation.medik8s.io', 'NodeHealthCheck', { of: 'all', tell: healthChecks }),
  source('nodemaintenance.medik8s.io', 'NodeMaintenance', { of: 'all', tell: maintenance }),
  source('cluster.x-k8s.io', 'Machine', { of: ({ machine }) => placeOf(machine), tell: machines }),
  source('metal3.io', 'BareMetalHost', { of: ({ providerId }) => placeOf(hostOf(providerId)), tell: hosts }),
];

/** What is kept: a BareMetalHost is all of its hardware, and what is written for a fence agent is nobody else's business. */
export function slim({ metadata, spec, status }: Foreign): Foreign {
  const { name, namespace, annotations, ownerReferences, creationTimestamp, deletionTimestamp } = metadata;
  const { online, nodeName } = spec ?? {};
  const { phase, conditions, unhealthyNodes, nodeRef, provisioning } = status ?? {};
  return JSON.parse(
    JSON.stringify({
      metadata: { name, namespace, annotations, ownerReferences, creationTimestamp, deletionTimestamp },
      spec: { online, nodeName },
      status: { phase, conditions, unhealthyNodes, nodeRef, provisioning: { state: provisioning?.state } },
    }),
  );
}

export function resourceOf({ group, plural, kind }: Read, version: string): Resource {
  return { group, version, plural, kind, namespaced: true };
}

function source(group: string, kind: string, rest: Pick<Source, 'of' | 'tell'>): Source {
  return { group, plural: `${kind.toLowerCase()}s`, kind, ...rest };
}

function remediations(known: readonly (readonly [group: string, kind: string, by: string])[]): Source[] {
  return known.map(([group, kind, by]) =>
    source(group, kind, {
      of: 'all',
      tell: (objects, node, read) =>
        objects
          .filter((object) => isAbout(object, node) && !isOver(object))
          .map((object) => ({ by, does: 'remedies', ...named(object, read) })),
    }),
  );
}

/**
 * By an annotation, or by its own name; a Machine is named where it was that which was found unhealthy. A kubelet may write which
 * Machine it is: by that of another node which is being remedied it would keep its own from being cut.
 */
function isAbout({ metadata }: Foreign, { name, machine, machineSays = name }: Looked): boolean {
  const { annotations = {}, ownerReferences = [], namespace } = metadata;
  const nodeName = annotations['remediation.medik8s.io/node-name'];
  if (nodeName !== undefined) return nodeName === name;
  const owner = ownerReferences.find(({ kind }) => kind === 'Machine');
  if (owner === undefined) return metadata.name === name;
  const says = groupOf(owner.apiVersion) === 'cluster.x-k8s.io' ? machineSays : name;
  return machine === `${namespace}/${owner.name}` && says === name;
}

/** It is done with its node, for better or worse, or has been told to stop. */
function isOver({ metadata, status }: Foreign): boolean {
  if (metadata.annotations?.['remediation.medik8s.io/nhc-timed-out'] !== undefined) return true;
  const conditions = listOf<{ type?: unknown; status?: unknown } | null>(status?.conditions);
  const isProcessed = conditions.some((one) => one?.type === 'Processing' && one.status === 'False');
  return isProcessed || status?.phase === 'Failed';
}

/** Whose objects are read themselves, which say more. */
const readThemselves: ReadonlySet<unknown> = new Set([
  'FenceAgentsRemediation',
  'SelfNodeRemediation',
  'MachineDeletionRemediation',
  'Metal3Remediation',
]);

interface InFlight {
  resource?: { kind?: unknown; namespace?: unknown; name?: unknown } | null;
  started?: unknown;
  timedOut?: unknown;
}

/** A remediation of whatever kind that it has begun, and not given up. */
function healthChecks(objects: readonly Foreign[], { name }: Looked): OtherActor[] {
  return objects.flatMap(({ metadata, status }) =>
    listOf<{ name?: unknown; remediations?: unknown } | null>(status?.unhealthyNodes)
      .filter((node) => node?.name === name)
      .flatMap((found) => listOf<InFlight | null>(found?.remediations))
      .filter((one) => one !== null && one.timedOut === undefined && !readThemselves.has(one.resource?.kind))
      .map((one) => ({ by: `NodeHealthCheck ${metadata.name}`, does: 'remedies', ...inFlight(one) })),
  );
}

function inFlight(one: InFlight | null): Pick<OtherActor, 'object' | 'since'> {
  const { kind, namespace, name } = one?.resource ?? {};
  const object = objectName(textOf(kind), { namespace: textOf(namespace), name: textOf(name) });
  return { object, ...timed(one?.started) };
}

/** It is there for as long as somebody works on the node. */
function maintenance(objects: readonly Foreign[], { name }: Looked, read: Read): OtherActor[] {
  return objects
    .filter(({ spec }) => spec?.nodeName === name)
    .map((object) => ({ by: 'the Node Maintenance Operator', does: 'maintains', ...named(object, read) }));
}

/** Of what was read by the name that a node has for its Machine: empty where there is none, or it is nobody's yet. */
export function nodeOf(machine: Foreign | undefined): string {
  return textOf(machine?.status?.nodeRef?.name);
}

/** Whoever may write to a Node may write which Machine it is: that one has to say so too. */
function machines(objects: readonly Foreign[], { name }: Looked, read: Read): OtherActor[] {
  return objects
    .filter((object) => object.metadata.deletionTimestamp !== undefined && nodeOf(object) === name)
    .map((object) => ({
      by: 'Cluster API',
      does: 'removes',
      ...named(object, read),
      ...timed(object.metadata.deletionTimestamp),
    }));
}

/** In these the machine is wiped, and is no node any more by the end. */
const givenUp: ReadonlySet<unknown> = new Set(['deprovisioning', 'deleting', 'powering off before delete']);
/** Of what has a name behind it the machine stays off; without one it is a reboot. */
const rebootAnnotation = 'reboot.metal3.io';

function hosts(objects: readonly Foreign[], _: Looked, read: Read): OtherActor[] {
  return objects.flatMap((object): OtherActor | [] => {
    const { metadata, spec, status } = object;
    const { annotations = {}, deletionTimestamp } = metadata;
    const { object: host } = named(object, read);
    const told = { by: 'Metal3', object: host };
    if (deletionTimestamp !== undefined || givenUp.has(status?.provisioning?.state))
      return { ...told, does: 'removes' };
    // Ironic does nothing to it, whatever is written there.
    if ('baremetalhost.metal3.io/paused' in annotations || 'baremetalhost.metal3.io/detached' in annotations) return [];
    const keys = Object.keys(annotations);
    if (spec?.online === false || keys.some((key) => key.startsWith(`${rebootAnnotation}/`)))
      return { ...told, does: 'switchesOff' };
    return keys.includes(rebootAnnotation) ? { ...told, does: 'reboots' } : [];
  });
}

/** `metal3://NAMESPACE/HOST/…`, of OpenShift `baremetalhost:///NAMESPACE/HOST/…`. An older one has a UUID, by which nothing is found. */
function hostOf(providerId = ''): string | undefined {
  return /^(?:metal3|baremetalhost):\/{2,3}([^/]+\/[^/]+)\/[^/]+$/.exec(providerId)?.[1];
}

function placeOf(path: string | undefined): Pick<ObjectRef, 'namespace' | 'name'> | undefined {
  const [namespace = '', name = '', rest] = (path ?? '').split('/');
  return namespace === '' || name === '' || rest !== undefined ? undefined : { namespace, name };
}

function named(
  { metadata }: Foreign,
  { kind }: Read,
): Required<Pick<OtherActor, 'object'>> & Pick<OtherActor, 'since'> {
  return { object: objectName(kind, metadata), ...timed(metadata.creationTimestamp) };
}

function objectName(kind: string, { namespace = '', name }: { namespace?: string; name: string }): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

function timed(written: unknown): Pick<OtherActor, 'since'> {
  const atMs = Date.parse(textOf(written));
  return Number.isNaN(atMs) ? {} : { since: clockTime(atMs) };
}

function groupOf(apiVersion: unknown): string {
  return typeof apiVersion === 'string' ? apiVersion.replace(/\/.*$/, '') : '';
}

/** Names and times; whatever else is written there is not repeated. */
function textOf(value: unknown): string {
  return typeof value === 'string' && /^[\w.:+-]{1,253}$/.test(value) ? value : '';
}

function listOf<Item>(value: unknown): Item[] {
  return Array.isArray(value) ? value : [];
}
