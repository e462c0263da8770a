/**
 * What people have really said that a release may rest on, whatever stands in the record: taints that they have put on a node, Jobs
 * of theirs that have succeeded, policies that accept a risk.
 */
import type { KubeObject } from '../../kube/client.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { StoredChange, StoredPolicy, StoredRelease } from '../cluster-state.ts';
import { isOperator } from '../operator-user.ts';
import type { CheckContext } from './checker.ts';

/** What was decided by a live read rests on what was there so long ago. */
const readBeforeMs = 20_000;
export const jobOf = /^remedy .*, Job (?<job>.*)$/;
const said = [
  'node.kubernetes.io/out-of-service',
  'fenceline.dev/force-eviction',
  'node.cloudprovider.kubernetes.io/shutdown',
];

/** Taints by which somebody says that nothing of the node runs any more. */
export function drivingOut(node: Node | undefined): string[] {
  return (node?.spec?.taints ?? []).flatMap(({ key, effect }) =>
    said.includes(key) || (effect === 'NoExecute' && key.startsWith('fenceline.dev/')) ? [key] : [],
  );
}

export class Words {
  readonly #context: CheckContext;
  /** Taints that are not ours, as `node key`. */
  readonly #theirs = new Set<string>();
  /** As `namespace/name`. */
  readonly #succeeded = new Set<string>();
  /** What each policy said before it was edited or deleted, and when that was. */
  readonly #earlier = new Map<string, { policy: StoredPolicy; untilMs: number }>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  take({ object, previous, type }: StoredChange, user: string): void {
    const { name, namespace } = object.metadata;
    if (object.kind === 'Node') this.#tainted(object, previous, isOperator(user));
    if (object.kind === 'Job' && succeededIn(object)) this.#succeeded.add(`${namespace}/${name}`);
    const before = type === 'DELETED' ? object : previous;
    if (object.kind === 'RemedyPolicy' && before !== undefined)
      this.#earlier.set(name, { policy: before, untilMs: this.#context.nowMs() });
  }

  /** Somebody says that nothing runs there, and it was not us. */
  isSaidDead(node: string): boolean {
    return drivingOut(this.#context.state.nodes.get(node)).some((key) => this.#theirs.has(`${node} ${key}`));
  }

  isSaidByJob({ by = '' }: StoredRelease): boolean {
    return this.#succeeded.has(jobOf.exec(by)?.groups?.['job'] ?? '');
  }

  /** The policy that answers for a release accepts the risk for this pod, or did a moment ago. */
  isAccepted({ by = '' }: StoredRelease, pod: Pod | undefined): boolean {
    const { state, nowMs } = this.#context;
    const name = by.replace(/^policy /, '');
    const earlier = this.#earlier.get(name);
    const policies = [
      state.policies.get(name),
      earlier !== undefined && nowMs() - earlier.untilMs < readBeforeMs ? earlier.policy : undefined,
    ];
    return policies.some((policy) => accepts(policy, pod));
  }

  #tainted(node: Node, previous: Node | undefined, isOurs: boolean): void {
    const had = new Set(drivingOut(previous));
    const has = new Set(drivingOut(node));
    for (const key of has) if (!had.has(key) && !isOurs) this.#theirs.add(`${node.metadata.name} ${key}`);
    for (const key of had) if (!has.has(key)) this.#theirs.delete(`${node.metadata.name} ${key}`);
  }
}

function succeededIn(job: KubeObject & { status?: { succeeded?: number } }): boolean {
  return (job.status?.succeeded ?? 0) > 0;
}

const covered: Record<string, readonly string[]> = {
  'delete-statefulset-pod': ['StatefulSet'],
  'delete-deployment-pod': ['ReplicaSet'],
  'delete-both-statefulset-and-deployment-pod': ['StatefulSet', 'ReplicaSet'],
};

function accepts(policy: StoredPolicy | undefined, pod: Pod | undefined): boolean {
  const { podDeletion = 'do-nothing', volumeAttachmentRecovery = 'never', owners = [] } = policy?.spec?.release ?? {};
  if (volumeAttachmentRecovery !== 'never') return true;
  const kinds = covered[podDeletion] ?? [];
  const further = kinds.includes('StatefulSet') ? owners.map(({ kind }) => kind) : [];
  // What is gone belonged to somebody whom nobody can ask any more.
  const [owner] = pod?.metadata.ownerReferences?.filter(({ controller }) => controller) ?? [];
  return pod === undefined ? kinds.length > 0 : [...kinds, ...further].includes(owner?.kind ?? '');
}
