/**
 * What an operator has on record for a node when a write of its arrives. What is stored counts. Whoever deletes the record while
 * the write is under way takes away what it rests on, and no precondition on a pod, a Node or an attachment can tell: then what the
 * operator had read of it counts too, marked as such, if that was read live together with the Node, right before.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { ClusterState, StoredChange } from '../cluster-state.ts';
import { isOperator } from '../operator-user.ts';
import type { OnRecord, WireEvent } from './checker.ts';
import { fencePath, nodePath, Reads } from './reads.ts';

export class Records {
  readonly #state: ClusterState;
  readonly #reads = new Reads();
  /** The UIDs of records that persons have deleted. */
  readonly #deleted = new Set<string>();

  constructor(state: ClusterState) {
    this.#state = state;
  }

  heard(event: WireEvent): void {
    this.#reads.take(event);
  }

  stored({ type, object }: StoredChange, user: string): void {
    if (object.kind === 'NodeFence' && type === 'DELETED' && !isOperator(user)) {
      this.#deleted.add(object.metadata.uid ?? '');
    }
  }

  of(user: string, node: string): readonly OnRecord[] {
    const stored = this.#state.fences.get(nodeFenceName(node))?.status?.releases ?? [];
    const read = this.#reads.of(user, fencePath + nodeFenceName(node));
    const { askedAtMs = Infinity } = this.#reads.of(user, nodePath + node) ?? {};
    const uid = read?.fence?.metadata.uid;
    if (read === undefined || uid === undefined || !this.#deleted.has(uid) || read.askedAtMs < askedAtMs) return stored;
    const lost = read.fence?.status?.releases ?? [];
    return [...stored, ...lost.map((record) => ({ ...record, isDeleted: true }))];
  }
}
