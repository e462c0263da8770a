/**
 * One line of the product sabotaged for each invariant, and the run in which it shows. The product looks twice before
 * whatever cannot be taken back: where the second look alone would still save the day, the sabotage is of that one, or
 * of what both rest on.
 */
import { KubeClient } from '../../src/kube/client.ts';
import { nodes } from '../../src/kube/resources.ts';
import type { Transport } from '../../src/kube/transport.ts';
import type { Scenario } from '../../src/scenario/format.ts';
import type { RunOptions } from '../../src/scenario/runner.ts';
import type { VirtualClock } from '../../src/world/time/virtual-clock.ts';
import type { World } from '../../src/world/world.ts';
import type { Sabotage } from './mutant.ts';
import { believedAtOnce, kubeletAnew } from './sabotages.ts';
import * as t from './trouble.ts';

export interface MutantCase {
  invariant: string;
  /** What the mutant does wrong. */
  mistake: string;
  sabotage: Sabotage;
  /** The second look, where it alone would save the day. */
  also?: readonly Sabotage[];
  scenario: Scenario;
  /** What else has to happen, with the mutant and without. */
  options?: () => RunOptions;
  /** What the same act breaks as well. */
  beside?: readonly string[];
  /** What the checker says of it. */
  says: RegExp;
}

const byPolicy = t.trouble('by-policy', { release: t.acceptsRisk, events: t.powerLoss });
const offForGood = t.trouble('off-for-good', { release: t.acceptsRisk, events: [t.powerLoss[0]!], runFor: '2m' });
const heldByFinalizer = t.trouble('finalizer', {
  release: t.acceptsRisk,
  pod: { metadata: { finalizers: ['example.com/wait'] } },
  events: [t.powerLoss[0]!],
  runFor: '50s',
});
const onlyHere = { nodeSelector: { 'kubernetes.io/hostname': 'node-3' } };

export const mutantCases: readonly MutantCase[] = [
  {
    invariant: 'S1',
    mistake: 'acts before its basis is stored',
    sabotage: {
      file: 'src/decide/record.ts',
      line: '    releases: records,',
      instead: '    releases: before.releases,',
    },
    scenario: byPolicy,
    beside: ['S43'],
    says: /^pod default\/web-0 on node-\d was deleted by force without a record of its basis$/,
  },
  {
    invariant: 'S2',
    mistake: 'calls a risk that somebody accepts a proof',
    sabotage: {
      file: 'src/release/by-policy.ts',
      line: "basis: 'AcceptedRisk',",
      instead: "basis: 'KernelCrashed',",
    },
    scenario: t.trouble('cut-off', { release: t.acceptsRisk, events: t.partition }),
    // No kernel has said so.
    beside: ['S35'],
    says: /^volume pv-0 is written from node-\d and node-\d at the same time$/,
  },
  {
    invariant: 'S3',
    mistake: 'takes every fence for a fence that worked',
    sabotage: {
      file: 'src/release/checks.ts',
      line: 'const status = fence?.status.fence?.status;',
      instead: 'const status = undefined;',
    },
    scenario: t.trouble('fence-failed', {
      release: t.acceptsRisk,
      objects: ['node-1', 'node-2', 'node-3'].map(failedFence),
      events: t.powerLoss,
    }),
    says: /although the fence of its node is error$/,
  },
  {
    invariant: 'S5',
    mistake: 'takes the out-of-service taint for a quarantine',
    sabotage: quarantineBy("key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute'"),
    scenario: byPolicy,
    says: /^node-\d restarts with the taint node\.kubernetes\.io\/out-of-service, which is ours$/,
  },
  {
    invariant: 'S6',
    mistake: 'drives pods away from a machine that still writes',
    sabotage: quarantineBy("key: QUARANTINE_KEY, effect: 'NoExecute'"),
    scenario: t.trouble('cut-off-safely', {
      ...t.safely,
      events: [t.partition[0]!],
      runFor: '30s',
    }),
    says: /^node-\d got the taint fenceline\.dev\/quarantine:NoExecute while its machine can still write$/,
  },
  {
    invariant: 'S7',
    mistake: 'takes the quarantine from a node that is not Ready',
    sabotage: {
      file: 'src/return/return-node.ts',
      line: "if (away !== undefined) return waiting(undefined, 'NotSeen', away);",
      instead: '',
    },
    also: [{ file: 'src/act/grounds.ts', line: 'Return: [sameNode, isReady,', instead: 'Return: [sameNode,' }],
    scenario: offForGood,
    says: /^node-\d lost its taint fenceline\.dev\/quarantine while it is not Ready$/,
  },
  {
    invariant: 'S8',
    mistake: 'removes whatever taint comes first',
    sabotage: {
      file: 'src/kube/patches.ts',
      line: 'node.spec?.taints, (other) => isSameTaint(other, taint));',
      instead: 'node.spec?.taints, () => true);',
    },
    scenario: t.trouble('shared-taints', {
      release: t.acceptsRisk,
      events: [...t.powerLoss, { at: '1s', taint: { node: t.place, key: 'example.com/theirs', effect: 'NoSchedule' } }],
    }),
    says: /^nodes\/node-\d lost its taint example\.com\/theirs:NoSchedule, which is not ours$/,
  },
  {
    invariant: 'S9',
    mistake: 'believes a returned kubelet at once',
    sabotage: believedAtOnce,
    scenario: t.trouble('back-at-once', {
      ...t.safely,
      release: {},
      soak: '0s',
      events: kubeletAnew,
    }),
    says: /^node-\d is back in service, and a pod that was released \(.*\) still runs there$/,
  },
  {
    invariant: 'S10',
    mistake: 'sees no tolerations',
    sabotage: {
      file: 'src/release/by-assertion.ts',
      line: 'if (matching.length === 0) return undefined;',
      instead: 'return undefined;',
    },
    scenario: t.trouble('tolerated', {
      gates: { ForceEviction: true },
      pod: { spec: { tolerations: [{ key: t.forceEvictionKey, operator: 'Exists' }] } },
      events: [...t.powerLoss, t.taint('22s', t.forceEvictionKey)],
    }),
    says: /although it tolerates fenceline\.dev\/force-eviction$/,
  },
  {
    invariant: 'S11',
    mistake: 'forgets that some pods stay',
    sabotage: {
      file: 'src/release/kept.ts',
      line: 'const staying = pods.filter((pod) => !isOver(pod));',
      instead: 'const staying: typeof pods = [];',
    },
    scenario: t.trouble('one-stays', {
      gates: { ForceEviction: true },
      pod: { spec: onlyHere },
      objects: [t.volume('pv-1', 'kept'), t.claim('kept', 'pv-1'), stayingPod()],
      events: [t.powerLoss[0]!, t.taint('22s', t.forceEvictionKey)],
      runFor: '45s',
    }),
    beside: ['S43'],
    says: /^VolumeAttachment of pv-1 on node-3 was deleted although pod staying there still uses it$/,
  },
  {
    invariant: 'S13',
    mistake: 'deletes the Node instead of marking it',
    sabotage: {
      file: 'src/act/perform.ts',
      line: 'return client.patch(ref, { uid }, operations, options)',
      instead: 'return client.delete(ref, { uid }, this.#calls)',
    },
    scenario: offForGood,
    says: /^nodes\/node-\d was deleted, and no fence of it is done$/,
  },
  {
    invariant: 'S14',
    mistake: 'deletes whatever has the name',
    sabotage: {
      file: 'src/act/perform.ts',
      line: 'return this.#options.client.delete(ref, { uid, resourceVersion }, calls);',
      instead: 'return this.#options.client.delete(ref, { resourceVersion }, calls);',
    },
    scenario: byPolicy,
    says: /^delete of pods\/default\/web-0 without a UID precondition$/,
  },
  {
    invariant: 'S15',
    mistake: 'acts without looking again',
    sabotage: {
      file: 'src/act/perform.ts',
      line: "const refusal = 'free' in step ? undefined : await verify(reads, step.grounds, { ask });",
      instead: 'const refusal = undefined as any;',
    },
    scenario: byPolicy,
    says: /without a live read of Lease, policy right before$/,
  },
  {
    invariant: 'S17',
    mistake: 'decides on the Node as it once was',
    sabotage: {
      file: 'src/observe/case-reader.ts',
      line: 'client.get({ resource: nodes, name }, { timeoutMs: callTimeoutMs }),',
      instead: '((this as any).once ??= client.get({ resource: nodes, name }, { timeoutMs: callTimeoutMs })),',
    },
    scenario: t.trouble('safe-detach', {
      ...t.safely,
      events: [t.powerLoss[0]!],
      runFor: '50s',
    }),
    says: /^decided about node-\d without a look at what it had done to it before$/,
  },
  {
    invariant: 'S17',
    mistake: 'decides on pods as they were before it wrote to them',
    sabotage: {
      file: 'src/observe/case-reader.ts',
      line: 'if (pods.showsOwnWrites) return pods;',
      instead: 'return pods;',
    },
    scenario: heldByFinalizer,
    options: watchesLag,
    says: /^patch of pods\/default\/web-0 rests on a version from before its own last write$/,
  },
  {
    invariant: 'S20',
    mistake: 'does not see that a pod was let go already',
    sabotage: {
      file: 'src/release/plan.ts',
      line: 'const isDone = pod.graceSeconds === 0 && pod.deletionAtMs !== undefined && isOver(pod);',
      instead: 'const isDone = false;',
    },
    scenario: heldByFinalizer,
    says: /^pod default\/web-0 on node-\d was deleted by force a second time$/,
  },
  {
    invariant: 'S23',
    mistake: 'goes on although the node is back',
    sabotage: {
      file: 'src/act/grounds.ts',
      line: "if (!mayBeReady.has(grounds.basis) && ready !== 'False' && ready !== 'Unknown')",
      instead: "if (ready === 'never')",
    },
    scenario: byPolicy,
    options: readyInBetween,
    says: /although the node was read to be Ready$/,
  },
  {
    invariant: 'S26',
    mistake: 'takes a Lease that cannot be read for one that is not there',
    sabotage: {
      file: 'src/act/grounds.ts',
      line: "if (!read.ok) return read.error.kind === 'notFound' ? undefined : { kind: 'unreadable', error: read.error };",
      instead: 'if (!read.ok) return undefined;',
    },
    scenario: offForGood,
    options: leasesUnreadable,
    says: /although \/apis\/coordination\.k8s\.io\/.*\/leases\/node-\d could not be read$/,
  },
  {
    invariant: 'S30',
    mistake: 'is content with one volume that is protected',
    sabotage: {
      file: 'src/release/by-safe-detach.ts',
      line: 'if (wrong !== undefined) return wrong;',
      instead: 'if (wrong === undefined) return undefined;',
    },
    scenario: t.trouble('mixed', {
      ...t.safely,
      pod: { spec: { volumes: [{ name: 'extra', persistentVolumeClaim: { claimName: 'extra' } }] } },
      objects: [t.volume('pv-nfs', 'extra', { nfs: { server: 'nfs', path: '/x' } }), t.claim('extra', 'pv-nfs')],
      events: t.powerLoss,
    }),
    says: /although nothing protects its volume pv-nfs$/,
  },
];

function quarantineBy(taint: string): Sabotage {
  return {
    file: 'src/act/perform.ts',
    line: "key: QUARANTINE_KEY, effect: 'NoSchedule'",
    instead: taint,
  };
}

function failedFence(node: string): object {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: `node-fence-${node}` },
    spec: { node },
    status: {
      fence: {
        step: 'power-management',
        status: 'error',
        phase: 'failed',
        startedAt: '2026-01-01T00:00:00Z',
        stepStartedAt: '2026-01-01T00:00:00Z',
        level: 0,
        retries: 3,
        restarts: 2,
      },
    },
  };
}

function stayingPod(): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'staying', namespace: 'default' },
    spec: {
      ...onlyHere,
      containers: [{ name: 'main', image: 'example/web:1' }],
      tolerations: [{ operator: 'Exists' }],
      volumes: [{ name: 'kept', persistentVolumeClaim: { claimName: 'kept' } }],
    },
  };
}

/** The node is reported Ready just between the decision and the act. */
function readyInBetween(): RunOptions {
  let server: World['server'] | undefined;
  let clock: VirtualClock | undefined;
  let done = false;
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      const found = /nodefences\/node-fence-([^/]+)\/status/.exec(request.path);
      const isRelease = request.method === 'PUT' && (request.body ?? '').includes('"releases":[{');
      const isIt = user === 'operator-1' && found !== null && isRelease && !done;
      if (isIt && server !== undefined && clock !== undefined) {
        done = true;
        await reportReady(server, clock, found[1] ?? '');
      }
      return inner.send(request);
    },
    close: () => inner.close(),
  });
  return {
    wire,
    onWorld: (world, virtual) => {
      server = world.server;
      clock = virtual;
    },
  };
}

async function reportReady(server: World['server'], clock: VirtualClock, name: string): Promise<void> {
  const transport = server.transport(`system:node:${name}`);
  const client = new KubeClient({ transport, clock, userAgent: 'kubelet', fieldManager: 'kubelet' });
  const ref = { resource: nodes, name };
  const read = await client.get<{ metadata: { name: string }; status?: { conditions?: { type: string }[] } }>(ref);
  if (!read.ok) throw new Error(read.error.message);
  const { uid = '' } = read.value.metadata as { uid?: string };
  const index = read.value.status?.conditions?.findIndex(({ type }) => type === 'Ready') ?? -1;
  const operation = { op: 'replace' as const, path: `/status/conditions/${index}/status`, value: 'True' };
  const written = await client.patch(ref, { uid }, [operation], { subresource: 'status' });
  if (!written.ok) throw new Error(written.error.message);
}

function leasesUnreadable(): RunOptions {
  return {
    onWorld: ({ server }) => {
      server.faults.inject({
        matches: ({ user, verb, path }) =>
          user === 'operator-1' && verb === 'get' && path.includes('/kube-node-lease/'),
        code: 500,
      });
    },
  };
}

/** What the operator is shown is two seconds old, until all is released. */
function watchesLag(): RunOptions {
  return {
    onWorld: ({ server }, clock) => {
      server.faults.lag((user) => (user === 'operator-1' ? 2000 : 0));
      clock.after(80_000, () => server.faults.lag(0));
    },
  };
}
