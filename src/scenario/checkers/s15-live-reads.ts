/**
 * S15: Node, Lease and policy are read live, by quorum, right before each act that cannot be taken back. Right before
 * means: after the record of the act was stored, and not so long ago that the decision could be an old one. What the
 * answer was is not asked here (S23, S26).
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Invariant } from './checker.ts';
import { succeeded } from './checker.ts';
import { Reads } from './reads.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

/** Two calls of an act, each up to its timeout. */
const freshMs = 20_000;
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/';
const policyPath = '/apis/fenceline.dev/v1alpha1/remedypolicies/';

export const s15: Invariant = {
  id: 'S15',
  check: ({ state, nowMs, violated }) => {
    const reads = new Reads();
    /** When the record of a node was last written, by operator and node. */
    const recorded = new Map<string, number>();
    return {
      onWire: (event) => reads.take(event),
      onWrite(write) {
        if (write.resource === 'nodefences' && succeeded(write)) {
          recorded.set(`${write.user} ${write.name}`, reads.mark());
          return;
        }
        const release = releaseOf(write);
        if (release === undefined) return;
        const { node } = release;
        const policies = recordsFor(state, release).flatMap(({ by }) => policyIn(by) ?? []);
        const wanted = [
          { what: 'Node', path: `/api/v1/nodes/${node}` },
          { what: 'Lease', path: `${leasePath}${node}` },
          ...policies.map((name) => ({ what: 'policy', path: policyPath + name })),
        ];
        const after = recorded.get(`${write.user} ${nodeFenceName(node)}`) ?? 0;
        const unread = wanted.filter(({ path }) => {
          const read = reads.of(write.user, path);
          return read === undefined || read.order < after || nowMs() - read.askedAtMs > freshMs;
        });
        if (unread.length === 0) return;
        violated(`${toldOf(release)} without a live read of ${unread.map(({ what }) => what).join(', ')} right before`);
      },
    };
  },
};

function policyIn(by: string | undefined): string | undefined {
  return by?.startsWith('policy ') ? by.slice('policy '.length) : undefined;
}
