/** How many fences there are and were: flows that recorded the intent to isolate a machine or to change its power. */
import type { StoredChange, StoredFence } from './cluster-state.ts';

/** What may go has gone, and the machine comes back; in `error` it stands still until somebody acts. */
const ended = ['done', 'final', 'error'];

export class FenceCount {
  readonly #flows = new Set<string>();
  readonly #active = new Map<string, string>();

  /** Counts all that ever ran. */
  get total(): number {
    return this.#flows.size;
  }

  get now(): number {
    return this.#active.size;
  }

  take({ type, object }: StoredChange): void {
    const { name, uid = '' } = object.metadata;
    const fence = (object as StoredFence).status?.fence;
    const flow = `${uid} ${fence?.startedAt ?? ''}`;
    const isWaiting = fence?.status === 'new' && fence.irrevocableSince === undefined;
    const started = fence?.status !== undefined && !isWaiting;
    if (started) this.#flows.add(flow);
    const isOver = ended.includes(fence?.status ?? '') || fence?.phase === 'poweringOn';
    if (type !== 'DELETED' && started && !isOver) this.#active.set(name, flow);
    else this.#active.delete(name);
  }
}
