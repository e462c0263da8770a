/**
 * Writes NodeFence, the memory of the operator. Every write is a compare-and-swap against the object as it was read, so
 * that of two instances that both think they lead one fails (S18).
 */
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { nodeFenceName } from '../api/fence-names.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import type { CallOptions, KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import { nodeFences } from '../kube/resources.ts';

type Stored = NodeFence & KubeObject;

export interface FenceStoreOptions {
  client: KubeClient;
  guard: () => boolean;
  timeoutMs: number;
  /** What became of a write; undefined: it is stored. */
  onKept?: (error: KubeError | undefined) => void;
}

/** What changes: the policy in its spec, its status. */
export interface Keeping {
  policy?: string;
  status?: NodeFenceStatus;
}

export class FenceStore {
  readonly #options: FenceStoreOptions;

  constructor(options: FenceStoreOptions) {
    this.#options = options;
  }

  /** The intent, before any act. Answers with the NodeFence as it is stored. */
  async keep(node: string, fence: NodeFence | undefined, { policy, status }: Keeping): Promise<Result<NodeFence>> {
    const read = await this.#ofPolicy(node, fence, policy);
    const next = read.ok && fence === undefined ? begunIn(read.value, status) : status;
    const kept = read.ok && next !== undefined ? await this.#update(read.value, next) : read;
    this.#options.onKept?.(kept.ok ? undefined : kept.error);
    return kept;
  }

  /** Nobody needs it any more; not one that was written to, or made anew, since it was read. */
  async forget(fence: NodeFence): Promise<Result<KubeObject>> {
    const { uid = '', resourceVersion = '' } = (fence as Stored).metadata;
    return this.#options.client.delete(refOf(fence.spec.node), { uid, resourceVersion }, this.#calls());
  }

  async #ofPolicy(node: string, fence: NodeFence | undefined, policy: string | undefined): Promise<Result<NodeFence>> {
    if (fence === undefined) return this.#create(node, policy);
    return policy === undefined ? { ok: true, value: fence } : this.#setPolicy(fence, policy);
  }

  async #create(node: string, policy: string | undefined): Promise<Result<NodeFence>> {
    const object = {
      metadata: { name: refOf(node).name },
      spec: { node, ...(policy === undefined ? {} : { policy }), stop: false },
    };
    return whole(await this.#options.client.create<Stored>(nodeFences, object as unknown as Stored, this.#calls()));
  }

  async #setPolicy(fence: NodeFence, policy: string): Promise<Result<NodeFence>> {
    const next = { ...fence, spec: { ...fence.spec, policy } } as Stored;
    return whole(await this.#options.client.replace<Stored>(refOf(fence.spec.node), next, undefined, this.#calls()));
  }

  async #update(fence: NodeFence, status: NodeFenceStatus): Promise<Result<NodeFence>> {
    const next = { ...fence, status } as Stored;
    return whole(await this.#options.client.replace<Stored>(refOf(fence.spec.node), next, 'status', this.#calls()));
  }

  #calls(): CallOptions {
    return { guard: this.#options.guard, timeoutMs: this.#options.timeoutMs };
  }
}

/** What was decided before there was a record is of the one that was just made. */
function begunIn({ metadata }: NodeFence, status: NodeFenceStatus | undefined): NodeFenceStatus | undefined {
  if (status?.fence === undefined || metadata.uid === undefined) return status;
  return { ...status, fence: { ...status.fence, recordUid: metadata.uid } };
}

function whole(result: Result<Stored>): Result<NodeFence> {
  if (!result.ok) return result;
  return { ...result, value: { ...result.value, status: { ...EMPTY_STATUS, ...result.value.status } } };
}

function refOf(node: string): { resource: typeof nodeFences; name: string } {
  return { resource: nodeFences, name: nodeFenceName(node) };
}
