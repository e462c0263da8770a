/**
 * How many fences there are and were: flows that recorded the intent to isolate a machine or to change its power. One that found its
 * machine off counts among those that were when it is about to switch it on.
 */
import type { StoredChange, StoredFence } from './cluster-state.ts';
import { hasSent } from './cluster-state.ts';

/** Until all that may go has gone: a machine that boots, stays off or stands in error is nobody's concern any more. */
const busy = ['isolating', 'isolated', 'poweringOff', 'off'];

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
    const started = hasSent(object);
    if (started || fence?.phase === 'poweringOn') this.#flows.add(flow);
    const isBusy =
      busy.includes(fence?.phase ?? '') && fence?.releasedAt === undefined && fence?.waitsFor === undefined;
    if (type !== 'DELETED' && started && isBusy) this.#active.set(name, flow);
    else this.#active.delete(name);
  }
}
