/**
 * S35: what was said of a node before it last showed that it lives lets nothing go: the message of a crashed kernel, a taint
 * by which somebody asserts that nothing runs there, the success of a Job. When it was said, and when the kubelet wrote its Lease
 * or its status, is what the world knows; of the operator's own record only the basis is taken. It counts how things stood when
 * the release was recorded: what was begun may be brought to its end while the node comes back.
 */
import type { KubeObject } from '../../kube/client.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { StoredChange, StoredFence, StoredRelease } from '../cluster-state.ts';
import type { CheckContext, Checker, Invariant, Write } from './checker.ts';
import { releaseOf, toldOf } from './release.ts';
import { jobOf } from './words.ts';

export const s35: Invariant = { id: 'S35', check: (context) => new VoidEvidence(context) };

const assertions = [
  'fenceline.dev/force-eviction',
  'node.kubernetes.io/out-of-service',
  'node.cloudprovider.kubernetes.io/shutdown',
];

class VoidEvidence implements Checker {
  readonly #context: CheckContext;
  /** When the kubelet of each node last wrote something that only a living one writes. */
  readonly #lifeAt = new Map<string, number>();
  /** When it was last said that a node is dead, by `node kdump`, `node taint` and `job namespace/name`. */
  readonly #saidAt = new Map<string, number>();
  /** Pods that were let go on void evidence, by UID, with what is wrong. */
  readonly #wrong = new Map<string, string>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onRenewed(node: string): void {
    this.#lifeAt.set(node, this.#context.nowMs());
  }

  onKdump(node: string): void {
    this.#saidAt.set(`${node} kdump`, this.#context.nowMs());
  }

  onStored(change: StoredChange): void {
    if (change.object.kind === 'Node') this.#nodeStored(change.object, change.previous);
    else if (change.object.kind === 'Job') this.#jobStored(change.object);
    else if (change.object.kind === 'NodeFence') this.#recorded(change.object, change.previous);
  }

  onWrite(write: Write): void {
    const release = releaseOf(write);
    if (release === undefined || !('uid' in release)) return;
    const wrong = this.#wrong.get(release.uid);
    if (wrong !== undefined) this.#context.violated(`${toldOf(release)} ${wrong}`);
  }

  #nodeStored(node: Node, previous: Node | undefined): void {
    const { name } = node.metadata;
    const heartbeats = [node, previous].map(
      (one) => one?.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime,
    );
    if (heartbeats[0] !== heartbeats[1]) this.#lifeAt.set(name, this.#context.nowMs());
    const had = new Set((previous?.spec?.taints ?? []).map(({ key }) => key));
    const isNew = (node.spec?.taints ?? []).some(({ key }) => assertions.includes(key) && !had.has(key));
    if (isNew) this.#saidAt.set(`${name} taint`, this.#context.nowMs());
  }

  #jobStored({ metadata, status }: KubeObject & { status?: { succeeded?: number } }): void {
    const key = `job ${metadata.namespace}/${metadata.name}`;
    if ((status?.succeeded ?? 0) > 0 && !this.#saidAt.has(key)) this.#saidAt.set(key, this.#context.nowMs());
  }

  #recorded(fence: StoredFence, previous: StoredFence | undefined): void {
    const { node = '' } = fence.spec ?? {};
    const known = new Set((previous?.status?.releases ?? []).flatMap(({ pods = [] }) => pods.map(({ uid }) => uid)));
    for (const record of fence.status?.releases ?? []) {
      const wrong = this.#whyVoid(node, record);
      if (wrong === undefined) continue;
      for (const { uid } of record.pods ?? []) if (!known.has(uid)) this.#wrong.set(uid, wrong);
    }
  }

  #whyVoid(node: string, { basis, by }: StoredRelease): string | undefined {
    const said = saidBy(node, basis, by);
    const lifeAt = this.#lifeAt.get(node);
    if (said === undefined || lifeAt === undefined || lifeAt <= (this.#saidAt.get(said) ?? -Infinity)) return undefined;
    return `on the basis ${basis} (${by}), although the node has shown since that it lives`;
  }
}

/** Which word such a record rests on; undefined: none that was said once. */
function saidBy(node: string, basis: string, by = ''): string | undefined {
  if (basis === 'KernelCrashed') return `${node} kdump`;
  if (basis !== 'Asserted') return undefined;
  const job = jobOf.exec(by)?.groups?.['job'];
  return job === undefined ? `${node} taint` : `job ${job}`;
}
