/** Whether a state holds at this moment, and in words what is the case instead. */
import { nodeFenceName } from '../api/fence-names.ts';
import { conditionOf, isReady } from '../world/objects/meta.ts';
import type { Pod } from '../world/objects/pods.ts';
import type { Baseline } from './baseline.ts';
import { matches } from './baseline.ts';
import type { ClusterState } from './cluster-state.ts';
import { replicatedFinding } from './evaluate-storage.ts';
import type { NodeState, PodState, State } from './format.ts';
import type { Finding, Moment } from './moment.ts';

export function evaluate(wanted: State, moment: Moment): Finding {
  const { state, baseline, fences } = moment;
  switch (wanted.of) {
    case 'pod':
      return podFinding(wanted.pod, moment);
    case 'node':
      return nodeFinding(wanted.node, moment);
    case 'fencesAtMost':
      return { holds: fences.now <= wanted.count, detail: `${fences.now} at the same time` };
    case 'fences':
      return { holds: fences.total === wanted.count, detail: `${fences.total} ever` };
    case 'event': {
      const count = state.eventCount(wanted.reason) - baseline.eventCount(wanted.reason);
      const holds = wanted.count === undefined ? count > 0 : count === wanted.count;
      return { holds, detail: `${wanted.reason} was reported ${count} times` };
    }
    case 'ledger':
      return ledgerFinding(wanted, moment);
    case 'fence':
      return fenceFinding(wanted, moment);
    case 'drain': {
      const node = baseline.nodeName(wanted.node);
      const drain = moment.drainOf(node);
      if (drain === undefined) return { holds: false, detail: `no drain of ${node} was begun` };
      return { holds: (drain === 'done') === wanted.done, detail: `the drain of ${node} is ${drain}` };
    }
    case 'budget':
      return budgetFinding(wanted, moment);
    case 'volume':
    case 'replica':
    case 'storageNode':
      return replicatedFinding(wanted, moment);
  }
}

function podFinding(wanted: PodState, { state, baseline }: Moment): Finding {
  const { ref } = wanted;
  const keys = 'name' in ref ? [`${ref.namespace}/${ref.name}`] : labelledKeys(ref, state, baseline);
  const details: string[] = [];
  for (const key of keys) {
    const finding = onePod(key, wanted, state, baseline);
    if (finding.holds) return finding;
    details.push(finding.detail);
  }
  return { holds: false, detail: details.join('; ') || 'no such pod' };
}

/** One after the other, because mostly the first that is looked at will do: those of time 0, then those that came. */
function* labelledKeys(
  ref: { label: string; namespace?: string },
  state: ClusterState,
  baseline: Baseline,
): Generator<string> {
  const told = new Set<string>();
  for (const { key } of baseline.labelled(ref)) {
    told.add(key);
    yield key;
  }
  for (const [key, pod] of state.pods) if (!told.has(key) && matches(key, pod.metadata.labels, ref)) yield key;
}

function onePod(key: string, wanted: PodState, state: ClusterState, baseline: Baseline): Finding {
  const pod = state.pods.get(key);
  const known = baseline.pod(key);
  const deleted = known !== undefined && pod?.metadata.uid !== known.uid;
  const { ref, node, deleted: wantedDeleted, ...rest } = wanted;
  const others = Object.values(rest).some((value) => value !== undefined) || node !== undefined;
  const deletionHolds = wantedDeleted === undefined || wantedDeleted === deleted;
  if (pod === undefined) {
    return { holds: !others && wantedDeleted !== undefined && deletionHolds, detail: `${key} is not there` };
  }
  const facts = factsOf(pod, 'label' in ref ? elsewhere(pod, ref, state, baseline) : pod.spec.nodeName !== known?.node);
  const agrees = (Object.keys(rest) as (keyof typeof rest)[]).every(
    (name) => rest[name] === undefined || rest[name] === facts[name],
  );
  const placed = node === undefined || baseline.nodeName(node) === pod.spec.nodeName;
  return { holds: deletionHolds && agrees && placed, detail: describe(key, pod, deleted) };
}

function factsOf(pod: Pod, onAnother: boolean): Record<'running' | 'ready' | 'terminating' | 'moved', boolean> {
  return {
    running: pod.status?.phase === 'Running',
    ready: isReady(pod),
    terminating: pod.metadata.deletionTimestamp !== undefined,
    moved: pod.spec.nodeName !== undefined && onAnother,
  };
}

/** A replacement has another name: it has moved if it is not where those were that had to go. */
function elsewhere(
  pod: Pod,
  ref: { label: string; namespace?: string },
  state: ClusterState,
  baseline: Baseline,
): boolean {
  const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
  const own = baseline.pod(key);
  const original = own !== undefined && own.node !== undefined;
  if (original) return own.node !== pod.spec.nodeName;
  const all = [...baseline.labelled(ref)].filter(({ node }) => node !== undefined);
  const gone = all.filter((known) => {
    const now = state.pods.get(known.key);
    return now?.metadata.uid !== known.uid || now.metadata.deletionTimestamp !== undefined;
  });
  return (gone.length > 0 ? gone : all).every(({ node }) => node !== pod.spec.nodeName);
}

function describe(key: string, pod: Pod, deleted: boolean): string {
  const place = pod.spec.nodeName === undefined ? 'bound nowhere' : `on ${pod.spec.nodeName}`;
  const more = [
    pod.status?.phase ?? 'Pending',
    isReady(pod) ? 'ready' : 'not ready',
    ...(pod.metadata.deletionTimestamp === undefined ? [] : ['terminating']),
    ...(deleted ? ['another pod than at time 0'] : []),
  ];
  return `${key} is ${place}: ${more.join(', ')}`;
}

function nodeFinding(wanted: NodeState, { state, baseline }: Moment): Finding {
  const name = baseline.nodeName(wanted.node);
  const node = state.nodes.get(name);
  if (node === undefined) return { holds: false, detail: `${name} is not there` };
  const taints = node.spec?.taints ?? [];
  const cordoned = node.spec?.unschedulable === true;
  const schedulable = !cordoned && taints.every(({ effect }) => effect !== 'NoSchedule' && effect !== 'NoExecute');
  const keys = [...new Set(taints.map(({ key }) => key))].sort();
  const wantedKeys = wanted.taints === undefined ? undefined : [...new Set(wanted.taints)].sort();
  const holds =
    (wanted.ready === undefined || wanted.ready === isReady(node)) &&
    (wanted.schedulable === undefined || wanted.schedulable === schedulable) &&
    (wantedKeys === undefined || wantedKeys.join() === keys.join());
  const ready = conditionOf(node, 'Ready')?.status ?? 'not reported';
  const parts = [`Ready is ${ready}`, cordoned ? 'cordoned' : 'not cordoned', `taints [${keys.join(', ')}]`];
  return { holds, detail: `${name}: ${parts.join(', ')}` };
}

function ledgerFinding(wanted: Extract<State, { of: 'ledger' }>, { ledgerOf }: Moment): Finding {
  const report = ledgerOf(wanted.volume);
  if (report === undefined) return { holds: false, detail: `nobody ever wrote to ${wanted.volume}` };
  const { mostWriters, machines, dataIntact, records, volume } = report;
  const moved = machines.at(-1) !== machines[0];
  const holds =
    (wanted.moved === undefined || wanted.moved === moved) &&
    (wanted.writersAtMost === undefined || mostWriters <= wanted.writersAtMost) &&
    (wanted.dataIntact === undefined || wanted.dataIntact === dataIntact);
  const most = `written from at most ${mostWriters} ${mostWriters === 1 ? 'machine' : 'machines'} at a time`;
  const writers = `${most}, ${moved ? `first from ${machines[0]}, last` : 'always'} from ${machines.at(-1)}`;
  return { holds, detail: `${volume}: ${writers}, ${records} records, data ${dataIntact ? 'intact' : 'damaged'}` };
}

function fenceFinding(wanted: Extract<State, { of: 'fence' }>, { state, baseline }: Moment): Finding {
  const node = baseline.nodeName(wanted.node);
  const fence = state.fences.get(nodeFenceName(node))?.status?.fence;
  if (fence === undefined) return { holds: false, detail: `${node} is not being fenced` };
  const holds =
    (wanted.status === undefined || wanted.status === fence.status) &&
    (wanted.step === undefined || wanted.step === fence.step);
  return { holds, detail: `${node}: ${fence.step} is ${fence.status}` };
}

/** A budget that leaves no room over any pod of the node makes a drain wait. */
function budgetFinding(wanted: Extract<State, { of: 'budget' }>, { state, baseline }: Moment): Finding {
  const node = baseline.nodeName(wanted.node);
  const here = [...state.pods.values()].filter(({ spec }) => spec.nodeName === node);
  const blocking = [...state.budgets.values()].find(
    (budget) =>
      (budget.status?.disruptionsAllowed ?? 0) === 0 &&
      here.some(
        (pod) =>
          pod.metadata.namespace === budget.metadata.namespace &&
          Object.entries(budget.spec?.selector?.matchLabels ?? {}).every(
            ([key, value]) => pod.metadata.labels?.[key] === value,
          ),
      ),
  );
  const detail = blocking === undefined ? `no budget blocks ${node}` : `${blocking.metadata.name} blocks ${node}`;
  return { holds: (blocking !== undefined) === wanted.blocks, detail };
}
