/**
 * Storms that whoever leads knows of: an operator has written the record of a node that is silent, while so many had been for so long
 * that this is a storm by the policy of that node. How many they were says for whom else it is one (STM-6).
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { StoredChange, StoredPolicy } from '../cluster-state.ts';
import type { CheckContext, Write } from './checker.ts';
import type { Group, Troubles } from './trouble.ts';
import { beyondIn, msOf } from './trouble.ts';

interface Seen {
  atMs: number;
  groups: readonly Group[];
  /** The NodeFence that tells of it. */
  record: string;
}

/** Everybody who lives has renewed by then, also after the API server was away, and everybody has been judged. */
const lastsMs = 15_000;
const keptMs = 3_600_000;
/** Times are in whole seconds. */
const roundedMs = 1000;

export class PastStorms {
  readonly #context: CheckContext;
  readonly #troubles: Troubles;
  #seen: Seen[] = [];

  constructor(context: CheckContext, troubles: Troubles) {
    this.#context = context;
    this.#troubles = troubles;
  }

  /** An operator has stored something of a node. */
  write({ resource, name, after }: Write): void {
    if (resource !== 'nodefences' || after === undefined || !this.#isHearing()) return;
    const node = [...this.#context.state.nodes.keys()].find((one) => nodeFenceName(one) === name);
    const policy = node === undefined ? undefined : this.#troubles.policyOf(node);
    if (node === undefined || (policy?.spec?.thresholds ?? []).length === 0 || !this.#isLongSilent(node)) return;
    const groups = this.#troubles.groups((one) => this.#isLongSilent(one));
    if (beyondIn(groups, limitOf(policy)) === undefined) return;
    const nowMs = this.#context.nowMs();
    this.#seen = this.#seen.filter(({ atMs }) => atMs > nowMs - keptMs);
    this.#seen.push({ atMs: nowMs, groups, record: nodeFenceName(node) });
  }

  /** What is on record of it goes with the record. */
  take({ object, type }: StoredChange): void {
    if (object.kind !== 'NodeFence' || type !== 'DELETED') return;
    this.#seen = this.#seen.filter(({ record }) => record !== object.metadata.name);
  }

  /** Where so many were silent of late that the policy of this node has nothing begun yet; in words. */
  lately(node: string): string | undefined {
    const policy = this.#troubles.policyOf(node);
    const sinceMs = this.#context.nowMs() - msOf(policy?.spec?.storm?.cooldown ?? '5m') + roundedMs;
    return this.#seen
      .filter(({ atMs }) => atMs > sinceMs)
      .map(({ groups }) => beyondIn(groups, limitOf(policy)))
      .find((where) => where !== undefined);
  }

  #isLongSilent(name: string): boolean {
    const pulse = this.#context.pulseOf(name);
    return this.#troubles.isSilent(name) && pulse !== undefined && pulse.silentForMs >= pulse.silentAfterMs + lastsMs;
  }

  /** Somebody has been heard of all the time: the API server was not away. */
  #isHearing(): boolean {
    const { pulseOf, state } = this.#context;
    return [...state.nodes.keys()].some((name) => {
      const pulse = pulseOf(name);
      return pulse !== undefined && pulse.silentForMs < pulse.silentAfterMs && pulse.renewingForMs >= lastsMs;
    });
  }
}

export function limitOf(policy: StoredPolicy | undefined): number | string {
  return policy?.spec?.storm?.maxUnresponsive ?? '40%';
}
