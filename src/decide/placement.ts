/** On which other nodes a pod may run and reach its volumes, and if on none, what is in its way. */
import type { FailoverReason } from '../api/failover.ts';
import type {
  SnapshotNode,
  SnapshotNodeSelector,
  SnapshotPod,
  SnapshotRequirement,
  SnapshotVolume,
} from '../api/snapshot.ts';
import { meets } from '../api/label-selector.ts';
import { tolerates } from '../release/by-assertion.ts';
import { ownOf } from '../api/own.ts';

export type Places =
  | { kind: 'some'; nodes: readonly SnapshotNode[] }
  | { kind: 'none'; reason: FailoverReason; message: string; advice: string };

export function placesFor(pod: SnapshotPod, volumes: readonly SnapshotVolume[], all: readonly SnapshotNode[]): Places {
  const usable = all.filter((node) => node.name !== pod.node && node.ready === 'True' && node.isCordoned !== true);
  if (usable.length === 0) {
    return none('Pinned', 'no other node is Ready and schedulable', 'add a node, or uncordon one');
  }
  const allowed = usable.filter((node) => mayRun(pod, node));
  if (allowed.length === 0) {
    const message = 'its nodeSelector or node affinity matches no other node that is Ready and schedulable';
    return none('Pinned', message, 'let it match several nodes');
  }
  const reaching = allowed.filter((node) => volumes.every(({ affinity }) => matchesTerms(affinity, node)));
  if (reaching.length === 0) {
    const bound = volumes.find(({ affinity }) => !allowed.some((node) => matchesTerms(affinity, node)));
    const message = `volume ${bound?.facts.volume ?? ''} can be reached from none of the ${allowed.length} other nodes`;
    return none('NodeBound', message, 'add a node where it can be reached, or move the volume');
  }
  const free = reaching.filter((node) => untolerated(pod, node) === undefined);
  const [first] = reaching;
  if (free.length > 0 || first === undefined) return { kind: 'some', nodes: free };
  const taint = untolerated(pod, first);
  const message = `it does not tolerate the taints of the ${reaching.length} other nodes, such as ${taint} of ${first.name}`;
  return none('TaintedElsewhere', message, 'let it tolerate the taint, or add a node without it');
}

function none(reason: FailoverReason, message: string, advice: string): Places {
  return { kind: 'none', reason, message, advice };
}

function untolerated({ tolerations }: SnapshotPod, { taints }: SnapshotNode): string | undefined {
  const found = taints.find(
    (taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((one) => tolerates(one, taint)),
  );
  return found === undefined ? undefined : `${found.key}:${found.effect}`;
}

function mayRun({ object }: SnapshotPod, node: SnapshotNode): boolean {
  const { nodeSelector = {}, affinity } = object.spec;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (
    Object.entries(nodeSelector).every(([key, value]) => ownOf(node.labels, key) === value) &&
    matchesTerms(required, node)
  );
}

/** Without a selector every node will do; of several terms one has to match, and one without requirements matches nobody. */
function matchesTerms(selector: SnapshotNodeSelector | undefined, node: SnapshotNode): boolean {
  const { nodeSelectorTerms: terms } = selector ?? {};
  if (terms === undefined) return true;
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    const asked = matchExpressions.length + matchFields.length;
    return (
      asked > 0 &&
      matchExpressions.every((one) => nodeMeets(one, ownOf(node.labels, one.key))) &&
      matchFields.every((one) => nodeMeets(one, node.name))
    );
  });
}

/** Nodes may be compared by number as well. */
function nodeMeets({ operator, values = [] }: SnapshotRequirement, value: string | undefined): boolean {
  if (operator === 'Gt') return value !== undefined && Number(value) > Number(values[0]);
  if (operator === 'Lt') return value !== undefined && Number(value) < Number(values[0]);
  return meets({ operator, values }, value);
}
