/**
 * The operator's own share of a release: from the write that satisfies the rule to the last write of the release, by the
 * times that the API server wrote into its audit log. No controllers and no kubelets: nothing else is at work.
 */
import { join } from 'node:path';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import { nodeFenceName } from '../../src/api/fence-names.ts';
import { FORCE_EVICTION_KEY } from '../../src/api/release-view.ts';
import { realClock } from '../../src/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import { loadConnection } from '../../src/kube/kubeconfig.ts';
import { events, nodeFences, nodes, pods, remedyPolicies, type Resource } from '../../src/kube/resources.ts';
import { clientFor } from '../../test/support/client.ts';
import { startControlPlane, type AuditEvent, type ControlPlane } from '../../test/support/control-plane.ts';
import { operatorAccount, operatorKubeconfig, operatorNamespace } from '../../test/support/operator-rights.ts';
import { waitFor } from '../../test/support/wait.ts';
import { prepareBare } from './bare-release.ts';
import { driver, failedNodeEntries, nodeOfPod, podNamespace } from './failed-nodes.ts';
import { nodeName } from './node-objects.ts';
import { Child, cpuSecondsOf } from './process.ts';
import { acceptedAt, askedWithin, phasesOf, timeOf, type Asked, type Phases } from './release-phases.ts';
import { say } from './report.ts';
import { bundledOperator, operatorOfTree } from './subjects.ts';

export interface Share {
  /** From the rule being satisfied to the last write, one per release. */
  totalMs: number[];
  /** To the record of the basis, and from there to the last write. */
  decidedMs: number[];
  requests: number;
  writes: number;
  wallSeconds: number;
  /** CPU seconds meanwhile. */
  cpu: { operator: number; apiserver: number; etcd: number };
}

export interface OneByOne {
  share: Share;
  phases: Phases[];
  bareMs: number[];
  barePhases: Phases[];
  /** All that the API server was asked during the slowest releases, the slowest first. */
  slowest: { node: string; tookMs: number; asked: Asked[] }[];
}

const policyName = 'bench';
const bareAgent = 'bench-bare';
const slowestKept = 3;

class FailedCluster implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  /** With the operator's rights and place in the queues of the API server: an administrator passes by both. */
  readonly asOperator: KubeClient;
  readonly operator: Child;
  readonly nodeCount: number;

  private constructor(controlPlane: ControlPlane, operator: Child, nodeCount: number, asOperator: KubeClient) {
    this.controlPlane = controlPlane;
    this.client = clientFor(controlPlane);
    this.asOperator = asOperator;
    this.operator = operator;
    this.nodeCount = nodeCount;
  }

  static async start(nodeCount: number, podsPerNode: number, tree?: string): Promise<FailedCluster> {
    const controlPlane = await startControlPlane({ name: 'bench-release', audit: true });
    try {
      const definitions = await definitionsOf(tree);
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitions });
      await controlPlane.kubectl(['apply', '-f', '-'], { input });
      const kubeconfig = await operatorKubeconfig(controlPlane);
      await controlPlane.etcdPut(failedNodeEntries(nodeCount, podsPerNode));
      const subject = tree === undefined ? await bundledOperator() : await operatorOfTree(tree);
      const { args, ...command } = subject.command(kubeconfig);
      const more = [`--leader-elect-namespace=${operatorNamespace}`, '--leader-elect-name=fenceline'];
      const gates = '--feature-gates=ForceEviction=true';
      const operator = new Child('the operator', { ...command, args: [...args, ...more, gates] });
      const cluster = new FailedCluster(controlPlane, operator, nodeCount, await clientWith(kubeconfig));
      const everyNode = input.includes('"allNodes"') ? { allNodes: true } : { nodeSelector: {} };
      await cluster.#settle(podsPerNode, everyNode).catch(async (error: unknown) => {
        await operator[Symbol.asyncDispose]();
        cluster.close();
        throw error;
      });
      return cluster;
    } catch (error) {
      await controlPlane.stop({ keepLogs: true });
      throw error;
    }
  }

  /** Until the operator knows every node, and waits. */
  async #settle(podsPerNode: number, everyNode: object): Promise<void> {
    const release = { podDeletion: 'do-nothing', provisioners: [driver] };
    // What the API server can take is measured, not what we hold back.
    const spec = { ...everyNode, release, storm: { podsPerMinute: 100_000 } };
    await waitFor('the policy to be accepted', async () => {
      const policy = { metadata: { name: policyName }, spec };
      return (await this.client.create(remedyPolicies, policy)).ok;
    });
    await waitFor(
      'every node to be recorded',
      async () => {
        const listed = await this.client.list<{ metadata: { name: string }; status?: { stuck?: unknown[] } }>(
          nodeFences,
        );
        return (
          listed.ok &&
          listed.value.items.filter(({ status }) => (status?.stuck ?? []).length === podsPerNode).length ===
            this.nodeCount
        );
      },
      { timeoutMs: 300_000, intervalMs: 500 },
    );
    // Its own beginning is not to be in the way of the first release.
    await this.told();
    say(`${this.nodeCount} failed nodes with ${podsPerNode} pods each are known to the operator`);
  }

  cpu(): Share['cpu'] {
    const pids = this.controlPlane.pids();
    return {
      operator: cpuSecondsOf(this.operator.pid),
      apiserver: cpuSecondsOf(pids['kube-apiserver'] ?? 0),
      etcd: cpuSecondsOf(pids.etcd ?? 0),
    };
  }

  async gone(count: number): Promise<void> {
    await waitFor('the pods to go', async () => (await this.#count(pods)) === count, {
      timeoutMs: 600_000,
      intervalMs: 100,
    });
  }

  /** Until everything is told: the events of one release are not to be in the way of the next. */
  async told(): Promise<void> {
    let before = -1;
    await waitFor(
      'the events to come to an end',
      async () => {
        const count = await this.#count(events);
        const isSame = count === before;
        before = count;
        return isSame;
      },
      { timeoutMs: 60_000, intervalMs: 1000 },
    );
  }

  async #count(resource: Resource): Promise<number> {
    const listed = await this.client.list(resource, { namespace: podNamespace, limit: 1 });
    if (!listed.ok) throw new Error(listed.error.message);
    const { remainingItemCount = 0 } = listed.value.metadata as { remainingItemCount?: number };
    return listed.value.items.length + remainingItemCount;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.operator[Symbol.asyncDispose]();
    this.close();
    await this.controlPlane.stop();
  }

  close(): void {
    this.client.close();
    this.asOperator.close();
  }
}

async function clientWith(kubeconfig: string): Promise<KubeClient> {
  const connection = await loadConnection({
    overrides: { kubeconfig },
    env: {},
    home: '/',
    clock: realClock,
    stdinIsTerminal: false,
  });
  const transport = new HttpTransport(connection, realClock);
  return new KubeClient({ transport, clock: realClock, userAgent: bareAgent, fieldManager: 'fenceline' });
}

/** What is in the other tree goes before what is called the same here. */
async function definitionsOf(tree: string | undefined): Promise<object[]> {
  const ours = customResourceDefinitions();
  if (tree === undefined) return ours;
  const { customResourceDefinitions: other } = (await import(join(tree, 'src', 'api', 'crds.ts'))) as {
    customResourceDefinitions: typeof customResourceDefinitions;
  };
  const named = [...ours, ...other()].map((definition) => [definition.metadata.name, definition] as const);
  return [...new Map(named).values()];
}

/**
 * This tree and another one in turn, each with a control plane of its own, because what they store may differ: one release
 * here, one there, so that whatever else the machine does befalls both.
 */
export async function besideTree(
  releases: number,
  podsPerNode: number,
  tree: string,
): Promise<{ ours: Share; theirs: Share }> {
  await using ours = await FailedCluster.start(releases, podsPerNode);
  await using theirs = await FailedCluster.start(releases, podsPerNode, tree);
  const both = [ours, theirs];
  const before = both.map((cluster) => ({ cpu: cluster.cpu(), at: performance.now() }));
  for (let index = 0; index < releases; index += 1) {
    for (const cluster of index % 2 === 0 ? both : both.toReversed()) {
      await taint(cluster.client, nodeName(index));
      await cluster.gone((releases - index - 1) * podsPerNode);
      await cluster.told();
    }
  }
  const names = Array.from({ length: releases }, (_, index) => nodeName(index));
  const [ourShare, theirShare] = await Promise.all(
    both.map(async (cluster, at) => {
      const after = { cpu: cluster.cpu(), at: performance.now() };
      const audited = await cluster.controlPlane.auditEvents();
      const what = { nodes: releases, names, trigger: (node: string) => taintedAt(audited, node) };
      return shareOf(audited, what, before[at] ?? after, after);
    }),
  );
  if (ourShare === undefined || theirShare === undefined) throw new Error('there are two');
  return { ours: ourShare, theirs: theirShare };
}

/**
 * One node after the other, each by a taint that asserts that nothing runs there. In between, for as many other nodes, the
 * same writes by a client that looks at nothing: what the API server needs in any case.
 */
export async function oneByOne(releases: number, podsPerNode: number): Promise<OneByOne> {
  await using cluster = await FailedCluster.start(2 * releases, podsPerNode);
  const bareMs: number[] = [];
  const before = { cpu: cluster.cpu(), at: performance.now() };
  for (let index = 0; index < releases; index += 1) {
    await taint(cluster.client, nodeName(index));
    await cluster.gone((2 * (releases - index) - 1) * podsPerNode);
    await cluster.told();
    const left = 2 * (releases - index - 1) * podsPerNode;
    bareMs.push(await bareRelease(cluster, nodeName(releases + index), left));
  }
  const after = { cpu: cluster.cpu(), at: performance.now() };
  const events = await cluster.controlPlane.auditEvents();
  const names = Array.from({ length: releases }, (_, index) => nodeName(index));
  const what = { nodes: 2 * releases, names, trigger: (node: string) => taintedAt(events, node) };
  const phasesBy = (isMine: (event: AuditEvent) => boolean, startedAt: (node: string) => number) => (node: string) => {
    const isPodOf = (pod: string): boolean => nodeOfPod(pod, 2 * releases) === node;
    return phasesOf(events, { isMine, node, startedAt: startedAt(node), isPodOf });
  };
  const others = names.map((_, index) => nodeName(releases + index));
  const share = shareOf(events, what, before, after);
  const slowest = names
    .map((node, index) => ({ node, tookMs: share.totalMs[index] ?? NaN }))
    .toSorted((a, b) => b.tookMs - a.tookMs)
    .slice(0, slowestKept)
    .map((one) => ({ ...one, asked: askedWithin(events, what.trigger(one.node), one.tookMs) }));
  return {
    share,
    slowest,
    phases: names.map(phasesBy(isOperator, what.trigger)),
    bareMs,
    barePhases: others.map(phasesBy(isBare, (node) => begunAt(events, node))),
  };
}

/** When the first write of a client that looks at nothing arrived. */
function begunAt(events: readonly AuditEvent[], node: string): number {
  const recorded = events.find(
    (event) => event.verb === 'update' && isBare(event) && event.objectRef?.name === nodeFenceName(node),
  );
  return recorded === undefined ? NaN : timeOf(recorded.requestReceivedTimestamp);
}

/** The operator is paused meanwhile, so that nobody else is at work, and has looked at what was done before the next one. */
async function bareRelease(cluster: FailedCluster, node: string, left: number): Promise<number> {
  const bare = await prepareBare(cluster.asOperator, node);
  process.kill(cluster.operator.pid, 'SIGSTOP');
  try {
    // Somebody asks whether the pods are gone there too: the server does the same besides.
    const [tookMs] = await Promise.all([bare.write(), cluster.gone(left)]);
    return tookMs;
  } finally {
    process.kill(cluster.operator.pid, 'SIGCONT');
    await cluster.told();
  }
}

/** All at once, by one edit of the policy that covers them. */
export async function allAtOnce(nodeCount: number, podsPerNode: number): Promise<Share> {
  await using cluster = await FailedCluster.start(nodeCount, podsPerNode);
  const before = { cpu: cluster.cpu(), at: performance.now() };
  const ref = { resource: remedyPolicies, name: policyName };
  const read = await cluster.client.get(ref);
  if (!read.ok) throw new Error(read.error.message);
  const operations = [{ op: 'replace' as const, path: '/spec/release/podDeletion', value: 'delete-statefulset-pod' }];
  await cluster.client.patch(ref, { uid: read.value.metadata.uid ?? '' }, operations);
  await cluster.gone(0);
  const after = { cpu: cluster.cpu(), at: performance.now() };
  const events = await cluster.controlPlane.auditEvents();
  const edited = events.find(({ verb, objectRef }) => verb === 'patch' && objectRef?.resource === 'remedypolicies');
  const editedAt = acceptedAt(edited);
  const names = Array.from({ length: nodeCount }, (_, index) => nodeName(index));
  return shareOf(events, { nodes: nodeCount, names, trigger: () => editedAt }, before, after);
}

function isBare({ userAgent }: AuditEvent): boolean {
  return userAgent === bareAgent;
}

function isOperator(event: AuditEvent): boolean {
  return event.user.username === operatorAccount && !isBare(event);
}

interface Snapshot {
  cpu: Share['cpu'];
  at: number;
}

function shareOf(
  events: readonly AuditEvent[],
  what: { nodes: number; names: readonly string[]; trigger: (node: string) => number },
  before: Snapshot,
  after: Snapshot,
): Share {
  const mine = events.filter(isOperator);
  const deleted = Map.groupBy(
    mine.filter(({ verb, objectRef }) => verb === 'delete' && objectRef?.resource === 'pods'),
    ({ objectRef }) => nodeOfPod(objectRef?.name ?? '', what.nodes),
  );
  const recorded = Map.groupBy(
    mine.filter(({ verb, objectRef }) => verb === 'update' && objectRef?.resource === 'nodefences'),
    ({ objectRef }) => (objectRef?.name ?? '').slice('node-fence-'.length),
  );
  const { names } = what;
  const startedAt = Math.min(...names.map(what.trigger));
  const during = mine.filter((event) => acceptedAt(event) >= startedAt);
  return {
    totalMs: names.map((name) => Math.max(...(deleted.get(name) ?? []).map(acceptedAt)) - what.trigger(name)),
    decidedMs: names.map((name) => {
      const first = (recorded.get(name) ?? []).map(acceptedAt).find((at) => at >= what.trigger(name)) ?? NaN;
      return first - what.trigger(name);
    }),
    requests: during.length,
    writes: during.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb)).length,
    wallSeconds: (after.at - before.at) / 1000,
    cpu: {
      operator: after.cpu.operator - before.cpu.operator,
      apiserver: after.cpu.apiserver - before.cpu.apiserver,
      etcd: after.cpu.etcd - before.cpu.etcd,
    },
  };
}

function taintedAt(events: readonly AuditEvent[], node: string): number {
  return acceptedAt(
    events.find(
      ({ verb, user, objectRef }) =>
        verb === 'patch' && user.username === 'admin' && objectRef?.resource === 'nodes' && objectRef.name === node,
    ),
  );
}

async function taint(client: KubeClient, name: string): Promise<void> {
  const ref = { resource: nodes, name };
  const read = await client.get<{ metadata: { name: string; uid?: string } }>(ref);
  if (!read.ok) throw new Error(read.error.message);
  const value = [{ key: FORCE_EVICTION_KEY, effect: 'NoExecute' }];
  const { uid = '' } = read.value.metadata;
  const patched = await client.patch(ref, { uid }, [{ op: 'add', path: '/spec/taints', value }]);
  if (!patched.ok) throw new Error(patched.error.message);
}
