/**
 * Which nodes are really in trouble: by the renewals that reached the API server, and by what is stored of them. For the
 * checkers that ask whether the operator may have known.
 */
import { shareOf } from '../../api/share.ts';
import type { StoredChange, StoredFence, StoredPolicy } from '../cluster-state.ts';
import { isReady } from '../../world/objects/meta.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { CheckContext } from './checker.ts';

/** A condition of a node that its own policy has a remedy for that cannot be taken back. */
export interface HarshCondition {
  type: string;
  status: string;
  forMs: number;
}

const harsh = ['fence', 'podTemplate', 'drain', 'deleteMachine'];
const zoneLabel = 'topology.kubernetes.io/zone';
const smallestZone = 3;
/** A live read, and the time until everybody has been looked at. */
const noticedMs = 2000;
/** From when a node counts as silent until an operator that takes over just then has counted all of them. */
const seenByAllMs = 60_000;
const switching = ['isolating', 'poweringOff'];

/** Groups of which a majority has to respond, each by its label. */
const quorumGroups = ['control-plane', 'etcd'] as const;

/** The groups that a node is of, each with all who are of it. */
export function quorumsOf(
  node: Node,
  nodes: ReadonlyMap<string, Node>,
): { of: (typeof quorumGroups)[number]; names: string[] }[] {
  return quorumGroups.flatMap((of) => {
    const has = ({ metadata }: Node): boolean => metadata.labels?.[`node-role.kubernetes.io/${of}`] !== undefined;
    return has(node) ? [{ of, names: [...nodes].flatMap(([name, one]) => (has(one) ? [name] : [])) }] : [];
  });
}

/** A fence is recorded to switch something off now that it did not before. */
export function beginsFence({ object, previous, type }: StoredChange): boolean {
  if (object.kind !== 'NodeFence' || type === 'DELETED') return false;
  const last: StoredFence | undefined = previous;
  const before = last?.status?.fence?.phase ?? 'waiting';
  const { phase = 'waiting' } = (object as StoredFence).status?.fence ?? {};
  const isFirst = before === 'waiting' || before === 'isolated' || before === 'failed' || before === 'finished';
  return isFirst && switching.includes(phase);
}

export class Troubles {
  readonly #context: CheckContext;
  /** `node type`: since when it has had this status. */
  readonly #since = new Map<string, { status: string; sinceMs: number }>();

  /** By name: since when there is a Node, and what was so of one that was deleted and has not come back. */
  readonly #madeMs = new Map<string, number>();
  readonly #deleted = new Map<string, { madeMs: number; heardMs: number; atMs: number; wasSilent: boolean }>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  take({ object, type }: StoredChange): void {
    if (object.kind !== 'Node') return;
    this.#come(object.metadata.name, type === 'DELETED');
    if (type === 'DELETED') return;
    for (const { type: of, status } of (object as Node).status?.conditions ?? []) {
      const key = `${object.metadata.name} ${of}`;
      if (this.#since.get(key)?.status !== status) this.#since.set(key, { status, sinceMs: this.#context.nowMs() });
    }
  }

  /** Its renewals have stayed away for longer than they may, or Kubernetes says so; for long enough to be known by all. */
  isSilent(name: string): boolean {
    const { state, pulseOf, nowMs } = this.#context;
    const node = state.nodes.get(name);
    if (node === undefined) return false;
    const pulse = pulseOf(name);
    const sinceMs = this.#since.get(`${name} Ready`)?.sinceMs ?? 0;
    if (!isReady(node) && nowMs() - sinceMs >= noticedMs) return true;
    return pulse !== undefined && pulse.silentForMs >= pulse.silentAfterMs + noticedMs;
  }

  #come(name: string, isGone: boolean): void {
    const { pulseOf, nowMs } = this.#context;
    const madeMs = this.#madeMs.get(name);
    if (!isGone) {
      // Who is back is no stranger, though its Node is another one.
      if (madeMs === undefined) this.#madeMs.set(name, this.#deleted.get(name)?.madeMs ?? nowMs());
      this.#deleted.delete(name);
      return;
    }
    const pulse = pulseOf(name);
    const wasSilent = pulse !== undefined && pulse.silentForMs >= pulse.silentAfterMs + noticedMs;
    const heardMs = nowMs() - (pulse?.silentForMs ?? 0);
    if (madeMs !== undefined) this.#deleted.set(name, { madeMs, heardMs, atMs: nowMs(), wasSilent });
    this.#madeMs.delete(name);
  }

  /**
   * Where more have been silent since this one is than a limit allows, of those that were there by the time that it was noticed: who was
   * made since then says nothing, and who was deleted as it was silent has not been heard of. `isLost`: nor who was deleted at all.
   */
  beyondSince(limit: number | string, node: string, isLost = false): string | undefined {
    const { pulseOf, nowMs } = this.#context;
    const own = pulseOf(node);
    if (own === undefined || !this.isSilent(node)) return undefined;
    const noticed = nowMs() - own.silentForMs + own.silentAfterMs + seenByAllMs;
    const heardMs = (name: string): number => nowMs() - (pulseOf(name)?.silentForMs ?? 0);
    const there = [...this.#madeMs].flatMap(([name, madeMs]) => (madeMs <= noticed ? [name] : []));
    const silent = there.filter((name) => this.isSilent(name) && heardMs(name) <= noticed);
    const gone = [...this.#deleted.values()].filter(
      (one) => one.madeMs <= noticed && one.atMs > noticed && (isLost || (one.wasSilent && one.heardMs <= noticed)),
    );
    const [lost, all] = [silent.length + gone.length, there.length + gone.length];
    return lost > shareOf(limit, all) ? `${lost} of ${all} nodes that were there when it fell silent` : undefined;
  }

  /** The zone of a node, if nobody else anywhere is heard of but in it, and there are two more zones at least. */
  isAlone(name: string | undefined): string | undefined {
    const zones = Object.groupBy(
      this.#context.state.nodes.values(),
      ({ metadata }) => metadata.labels?.[zoneLabel] ?? '',
    );
    const own = this.#context.state.nodes.get(name ?? '')?.metadata.labels?.[zoneLabel] ?? '';
    const { [own]: beside = [], ...others } = zones;
    if (own === '' || Object.keys(others).length < 2) return undefined;
    const isHeard = ({ metadata }: Node): boolean => !this.isSilent(metadata.name);
    return beside.some(isHeard) && !Object.values(others).some((all = []) => all.some(isHeard)) ? own : undefined;
  }

  /** What a node reports of this type, since when; empty: nothing. */
  statusOf(name: string, type: string): { status: string; sinceMs: number }[] {
    const found = this.#context.state.nodes.has(name) ? this.#since.get(`${name} ${type}`) : undefined;
    return found === undefined ? [] : [found];
  }

  /** What its policy would act upon harshly, whether or not it has lasted long enough. */
  conditionsOf(name: string): (HarshCondition & { sinceMs: number })[] {
    const node = this.#context.state.nodes.get(name);
    const has = node?.status?.conditions ?? [];
    return harshConditionsOf(this.policyOf(name)).flatMap((wanted) => {
      const found = has.find(({ type, status }) => type === wanted.type && isStatus(status, wanted.status));
      const since = this.#since.get(`${name} ${wanted.type}`);
      return found === undefined || since === undefined ? [] : [{ ...wanted, sinceMs: since.sinceMs }];
    });
  }

  /** The policy that selects it: by priority, then by how much it asks for, then by age and name. */
  policyOf(name: string): StoredPolicy | undefined {
    const { state } = this.#context;
    const labels = state.nodes.get(name)?.metadata.labels ?? {};
    const rank = ({ spec }: StoredPolicy): number =>
      (spec?.priority ?? 0) * 1000 + Object.keys(spec?.selector?.matchLabels ?? {}).length;
    const born = ({ metadata }: StoredPolicy): string => `${metadata.creationTimestamp} ${metadata.name}`;
    return [...state.policies.values()]
      .filter(({ spec }) => spec?.allNodes === true || selects(spec?.selector?.matchLabels, labels))
      .sort((one, other) => rank(other) - rank(one) || (born(one) < born(other) ? -1 : 1))[0];
  }

  /** Where more are in trouble than a limit allows; in words. */
  beyond(limit: number | string, isTroubled: (name: string) => boolean): string | undefined {
    return beyondIn(this.groups(isTroubled), limit);
  }

  /** How many are in trouble, over all nodes and in each zone of three or more. */
  groups(isTroubled: (name: string) => boolean): Group[] {
    const nodes = [...this.#context.state.nodes.values()];
    const groups = Map.groupBy(nodes, ({ metadata }) => metadata.labels?.[zoneLabel] ?? '');
    const zones = [...groups].filter(([zone, inside]) => zone !== '' && inside.length >= smallestZone);
    return [['the cluster', nodes] as const, ...zones].map(([where, inside]) => ({
      where,
      nodes: inside.length,
      troubled: inside.filter(({ metadata }) => isTroubled(metadata.name)).length,
    }));
  }
}

/** The cluster, or a zone of it. */
export interface Group {
  where: string;
  nodes: number;
  troubled: number;
}

export function beyondIn(groups: readonly Group[], limit: number | string): string | undefined {
  const found = groups.find(({ nodes, troubled }) => troubled > shareOf(limit, nodes));
  return found && `${found.troubled} of ${found.nodes} nodes of ${found.where}`;
}

function selects(wanted: Record<string, string> | undefined, labels: Record<string, string>): boolean {
  return wanted !== undefined && Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

export function isStatus(status: string, wanted: string): boolean {
  return wanted === 'NotTrue' ? status !== 'True' : status === wanted;
}

function harshConditionsOf(policy: StoredPolicy | undefined): HarshCondition[] {
  const { thresholds = [], remedies = [] } = policy?.spec ?? {};
  const isHarsh = (name: string): boolean =>
    remedies.some((remedy) => remedy.name === name && harsh.some((action) => action in remedy));
  return thresholds.flatMap(({ condition, remedies: rungs = [] }) =>
    condition === undefined || !rungs.some(({ name }) => isHarsh(name))
      ? []
      : [{ type: condition.type, status: condition.status, forMs: msOf(condition.for) }],
  );
}

/** `90s`, `5m`, `1h30m`, `500ms`. */
export function msOf(duration = '0s'): number {
  const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const parts = [...duration.matchAll(/(\d+)(ms|s|m|h)/g)];
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * (units[unit ?? ''] ?? 0), 0);
}
