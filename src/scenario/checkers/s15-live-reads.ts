/**
 * S15: Node, Lease and policy are read live, by quorum, right before each act that cannot be taken back. Right before
 * means: after the record of the act was stored, and not so long ago that the decision could be an old one. What takes its
 * time (a drain, a Job, a machine that is removed, a device that is told to switch) is recorded long before, so that only the
 * latter counts there. What the answer was is not asked here (S23, S26). And where everything was paused before the operator last
 * looked at the node, nothing of the kind is done (ADM-5).
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { StoredChange } from '../cluster-state.ts';
import { operatorNamespace } from '../namespaces.ts';
import { operatorUser } from '../operator-user.ts';
import type { CheckContext, Checker, Invariant, WireEvent, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import { longActOf } from './long-act.ts';
import { leasePath, Reads } from './reads.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

/** Two calls of an act, each up to its timeout. */
const freshMs = 20_000;
const policyPath = '/apis/fenceline.dev/v1alpha1/remedypolicies/';
const pauseName = 'fenceline-pause';

export const s15: Invariant = { id: 'S15', check: (context) => new LiveReads(context) };

interface Act {
  user: string;
  node: string;
  told: string;
  policies: readonly string[];
  /** In the order of reads: from when on one counts. */
  after: number;
}

class LiveReads implements Checker {
  readonly #context: CheckContext;
  readonly #reads = new Reads();
  /** When the record of a node was last written, by operator and node. */
  readonly #recorded = new Map<string, number>();

  /** The pause for all, and since when it is there. */
  #pause: { sinceMs: number; until: string | undefined } | undefined;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onStored({ object, type }: StoredChange): void {
    const { name, namespace } = object.metadata;
    if (object.kind !== 'ConfigMap' || name !== pauseName || namespace !== operatorNamespace) return;
    const { until } = (object as { data?: { until?: string } }).data ?? {};
    const sinceMs = this.#pause?.sinceMs ?? this.#context.nowMs();
    this.#pause = type === 'DELETED' ? undefined : { sinceMs, until };
  }

  onWire(event: WireEvent): void {
    this.#reads.take(event);
    if ((event.type !== 'device' && event.type !== 'port') || event.action !== 'off') return;
    const { operator, node, type, action } = event;
    this.#judgeLong(operatorUser(operator), { node, told: `the ${type} of ${node} was told ${action}` });
  }

  onWrite(write: Write): void {
    const { state } = this.#context;
    if (write.resource === 'nodefences' && succeeded(write)) {
      this.#recorded.set(`${write.user} ${write.name}`, this.#reads.mark());
      return;
    }
    const release = releaseOf(write);
    if (release !== undefined) {
      const { user } = write;
      const { node } = release;
      const policies = recordsFor(this.#context, release).flatMap(({ by }) => policyIn(by) ?? []);
      const after = this.#recorded.get(`${user} ${nodeFenceName(node)}`) ?? 0;
      this.#judge({ user, node, told: toldOf(release), policies, after });
      return;
    }
    const long = longActOf(write, state);
    if (long !== undefined) this.#judgeLong(write.user, long);
  }

  #judgeLong(user: string, { node, told }: { node: string; told: string }): void {
    const { fences, policies: known } = this.#context.state;
    const policy = fences.get(nodeFenceName(node))?.spec?.policy;
    // A person may have written any name there, and ask for a fence without a policy.
    const policies = policy === undefined || !known.has(policy) ? [] : [policy];
    this.#judge({ user, node, told, policies, after: 0 });
  }

  #judge({ user, node, told, policies, after }: Act): void {
    const { nowMs, violated } = this.#context;
    const wanted = [
      { what: 'Node', path: `/api/v1/nodes/${node}` },
      { what: 'Lease', path: `${leasePath}${node}` },
      ...policies.map((name) => ({ what: 'policy', path: policyPath + name })),
    ];
    const unread = wanted.filter(({ path }) => {
      const read = this.#reads.of(user, path);
      return read === undefined || read.order < after || nowMs() - read.askedAtMs > freshMs;
    });
    if (this.#isPaused(this.#reads.of(user, `/api/v1/nodes/${node}`)?.askedAtMs)) {
      violated(`${told} although everything is paused`);
    }
    if (unread.length === 0) return;
    violated(`${told} without a live read of ${unread.map(({ what }) => what).join(', ')} right before`);
  }

  /** What is no time does not pass. */
  #isPaused(readMs = -Infinity): boolean {
    if (this.#pause === undefined || readMs <= this.#pause.sinceMs) return false;
    const { until = '' } = this.#pause;
    return !(Date.parse(until) <= this.#context.wallMs());
  }
}

function policyIn(by: string | undefined): string | undefined {
  return by?.startsWith('policy ') ? by.slice('policy '.length) : undefined;
}
