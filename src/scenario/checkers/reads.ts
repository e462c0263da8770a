/** Remembers what operators have read, at their end of the wire, for the checkers that ask whether they have. */
import type { ReadEvent, WireEvent } from './checker.ts';

/** Where the Lease of a node is. */
export const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/';
export const nodePath = '/api/v1/nodes/';
export const fencePath = '/apis/fenceline.dev/v1alpha1/nodefences/';

export interface Remembered extends ReadEvent {
  /** In the order of what the operator read and wrote. */
  order: number;
}

export class Reads {
  readonly #latest = new Map<string, Remembered>();
  readonly #writes = new Map<string, number>();
  #order = 0;

  take(event: WireEvent): void {
    if (event.type === 'started') {
      // A new process remembers nothing.
      for (const key of this.#latest.keys()) if (key.startsWith(`${event.operator} `)) this.#latest.delete(key);
    } else if (event.type === 'read' && event.live) {
      this.#order += 1;
      this.#latest.set(`${event.operator} ${event.path}`, { ...event, order: this.#order });
    }
  }

  /** The operator has written there: what it read of it before is no longer fresh. It may be busy with others at the same time. */
  wrote(user: string, path: string): void {
    this.#writes.set(`${user} ${path}`, this.mark());
  }

  /** A point in that order, after all that was read up to now. */
  mark(): number {
    this.#order += 1;
    return this.#order;
  }

  /** The last live read of an object, whatever came of it. */
  of(user: string, path: string): Remembered | undefined {
    return this.#latest.get(`${numberOf(user)} ${path}`);
  }

  /** Whether it was read since the operator last wrote there. */
  sinceWrite(user: string, path: string): boolean {
    return (this.of(user, path)?.order ?? -1) > (this.#writes.get(`${user} ${path}`) ?? 0);
  }
}

function numberOf(user: string): string {
  return user.slice(user.lastIndexOf('-') + 1);
}
