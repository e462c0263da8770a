/** What may happen next, by how much it is worth. */
import type { Outlook, Trouble } from './outlook.ts';
import type { Fault, MachineFault, NodeAt, Workload } from './scenario.ts';
import { poolSize } from './scenario.ts';

export interface Choice {
  weight: number;
  choice: Fault;
}

const outOfService = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' };
const maintenance = 'example.com/maintenance';
const mostTroubled = 2;

const remedies: Record<Trouble, MachineFault> = {
  off: 'powerOn',
  hung: 'resume',
  cutOff: 'heal',
  noKubelet: 'kubeletStart',
};

export function faultChoices(outlook: Outlook, workloads: readonly Workload[]): Choice[] {
  if (outlook.zoneDown.length > 0) return [{ weight: 1, choice: { do: 'zoneHeal', nodes: outlook.zoneDown } }];
  const nodes = Array.from({ length: poolSize }, (_, at) => at as NodeAt);
  const lives = (node: NodeAt): number =>
    workloads.filter(({ places }) => places.some(({ home }) => home === node)).length;
  return [
    ...nodes.flatMap((node) => nodeChoices(outlook, node, 0.3 + lives(node))),
    ...workloads.flatMap((workload) => podChoices(outlook, workload)),
    ...workloads.flatMap((workload) => scaleChoices(outlook, workload)),
    ...zoneChoices(outlook, nodes),
    ...detachChoices(outlook, workloads),
  ];
}

function nodeChoices(outlook: Outlook, node: NodeAt, importance: number): Choice[] {
  const { trouble, known, cordoned, taints } = outlook.at(node);
  const choices: Choice[] = [];
  const add = (weight: number, choice: Fault): void => void choices.push({ weight: weight * importance, choice });
  if (!known) {
    if (trouble === 'off') add(2, { do: 'powerOn', node });
    else add(2, { do: 'reboot', node });
    return choices;
  }
  if (trouble === undefined) {
    if (outlook.isSettled(node) && outlook.troubled < mostTroubled) {
      const broken: [MachineFault, number][] = [
        ['powerOff', 3],
        ['partition', 2],
        ['hang', 1],
        ['kubeletStop', 1],
        ['reboot', 1.5],
      ];
      for (const [fault, weight] of broken) add(weight, { do: fault, node });
      add(0.4, { do: 'deleteNode', node });
    }
  } else {
    add(3, { do: remedies[trouble], node });
    if (trouble === 'off' && outlook.isSettled(node)) {
      const declared = taints.has(`${outOfService.key}:${outOfService.effect}`);
      if (!declared) add(5, { do: 'taint', node, ...outOfService });
      add(0.7, { do: 'deleteNode', node });
    }
  }
  if (cordoned) add(1, { do: 'uncordon', node });
  else if (trouble === undefined) add(0.7, { do: 'cordon', node });
  const tainted = [...taints];
  for (const taint of tainted) {
    const [key = '', effect = ''] = taint.split(':');
    // Whoever declares a node out of service takes it back only when the node is back.
    if (key === maintenance || trouble === undefined) add(1.5, { do: 'untaint', node, key, effect });
  }
  if (tainted.length === 0 && trouble === undefined) {
    add(0.6, { do: 'taint', node, key: maintenance, effect: 'NoExecute' });
    add(0.2, { do: 'taint', node, key: maintenance, effect: 'NoSchedule' });
  }
  return choices;
}

function podChoices(outlook: Outlook, { kind, name, places }: Workload): Choice[] {
  const [only] = places;
  if (kind === 'DaemonSet' || (outlook.replicas.get(name) ?? 0) === 0) return [];
  if (kind === 'StatefulSet') {
    return places.slice(0, outlook.replicas.get(name)).flatMap((place, ordinal) => {
      if (!outlook.isPlacementCertain(place)) return [];
      const pod = { of: name, pod: `${name}-${ordinal}` };
      return endings(pod);
    });
  }
  if (kind === 'Pod') return endings({ of: name, pod: name }).map(({ choice }) => ({ weight: 0.3, choice }));
  if (places.length !== 1 || only === undefined || !outlook.isPlacementCertain(only)) return [];
  return endings({ of: name });
}

function endings(pod: { of: string; pod?: string }): Choice[] {
  return [
    { weight: 0.8, choice: { do: 'deletePod', ...pod, force: false } },
    { weight: 0.8, choice: { do: 'deletePod', ...pod, force: true } },
    { weight: 0.6, choice: { do: 'evict', ...pod } },
  ];
}

function scaleChoices(outlook: Outlook, { kind, name, places }: Workload): Choice[] {
  if (kind !== 'StatefulSet' && kind !== 'Deployment') return [];
  const now = outlook.replicas.get(name) ?? 0;
  const choices: Choice[] = [];
  const growing = places.slice(now);
  if (growing.length > 0 && growing.every((place) => outlook.isPlacementCertain(place)))
    choices.push({ weight: 2, choice: { do: 'scale', workload: name, replicas: places.length } });
  // Which of several equal ones goes is chance, but for a StatefulSet.
  const less = kind === 'StatefulSet' ? now - 1 : 0;
  if (now > 0) choices.push({ weight: 0.6, choice: { do: 'scale', workload: name, replicas: less } });
  return choices;
}

/**
 * A first node is silent, and soon after it two others: when they are noticed, the first has had the one taint that a
 * zone gets in twelve seconds. All at once, and it would be chance who is tainted before the zone counts as disrupted.
 */
function zoneChoices(outlook: Outlook, nodes: readonly NodeAt[]): Choice[] {
  const [first, ...more] = nodes.filter((node) => !outlook.isSettled(node));
  if (first === undefined || more.length > 0 || outlook.troubled !== 1) return [];
  const { trouble, changedAtMs } = outlook.at(first);
  const sinceMs = outlook.nowMs - changedAtMs;
  if (trouble === undefined || sinceMs < 5000 || sinceMs > 6000) return [];
  const others = nodes.filter((node) => node !== first).slice(0, 2);
  return [{ weight: 40, choice: { do: 'zonePartition', nodes: others } }];
}

function detachChoices({ detach }: Outlook, workloads: readonly Workload[]): Choice[] {
  if (!workloads.some(({ volumes }) => volumes)) return [];
  if (detach !== 'none') return [{ weight: 1.5, choice: { do: 'detach', fault: 'none' } }];
  return [
    { weight: 1.2, choice: { do: 'detach', fault: 'errors' } },
    { weight: 0.6, choice: { do: 'detach', fault: 'hangs' } },
  ];
}
