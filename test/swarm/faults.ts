/**
 * What befalls a cluster of the swarm: every fault that the world can produce, each with its end. An end that the seed does not
 * bring is brought when all faults stop, so that what becomes of the nodes then can be judged.
 */
import type { Chance } from '../twins/chance.ts';
import type { Happening, Manifest, SwarmNode } from './document.ts';
import { seconds } from './document.ts';
import { drivers } from './workloads.ts';

export interface Stage {
  chance: Chance;
  nodes: readonly SwarmNode[];
  operators: number;
  /** When all faults stop, in seconds. */
  quietAt: number;
}

/** What begins at a time and ends with another event. */
type Fault = (stage: Stage, node: SwarmNode) => { begin: object; end?: object; leastSeconds?: number };

const onNode =
  (begin: string, end?: string): Fault =>
  (_stage, { name }) => ({ begin: { [begin]: name }, ...(end === undefined ? {} : { end: { [end]: name } }) });

const device =
  (fault: string): Fault =>
  (_stage, { name }) => ({ begin: { device: { node: name, fault } }, end: { device: { node: name, fault: 'none' } } });

const apiFault =
  (fault: string): Fault =>
  ({ chance, operators }) => {
    const operator = chance.between(1, operators);
    return { begin: { apiFault: { operator, fault } }, end: { apiFault: { operator, fault: 'none' } } };
  };

const zone: Fault = (_stage, { zone: name = 'z1' }) => ({ begin: { zonePartition: name }, end: { zoneHeal: name } });
const apiDown: Fault = () => ({ begin: { apiDown: true }, end: { apiUp: true } });
const crash: Fault = ({ chance, operators }) => ({ begin: { crashOperator: chance.between(1, operators) } });
const isolate: Fault = ({ chance, operators }) => {
  const operator = chance.between(1, operators);
  return { begin: { isolateOperator: operator }, end: { restoreOperator: operator } };
};
const skew: Fault = ({ chance, operators }) => {
  const operator = chance.between(1, operators);
  const by = chance.one(['30s', '10m', '2h']);
  return { begin: { clockSkew: { operator, by } }, end: { clockSkew: { operator, by: `-${by}` } } };
};
const detach: Fault = ({ chance }) => {
  const driver = chance.one(drivers);
  const fault = chance.one(['errors', 'hangs']);
  return { begin: { detach: { driver, fault } }, end: { detach: { driver, fault: 'none' } } };
};
/** Switched on again only when it has gone down. */
const shutDown: Fault = (_stage, { name }) => ({
  begin: { gracefulShutdown: name },
  end: { powerOn: name },
  leastSeconds: 40,
});
const deadlock: Fault = (_stage, { name }) => ({
  begin: { condition: { node: name, type: 'KernelDeadlock', status: 'True' } },
  end: { condition: { node: name, type: 'KernelDeadlock', status: 'False' } },
});
const storageUnreachable: Fault = (_stage, { name }) => ({
  begin: { condition: { node: name, type: 'StorageUnreachable', status: 'True' } },
  end: { condition: { node: name, type: 'StorageUnreachable', status: 'False' } },
});
const swap: Fault = ({ chance, nodes }) => {
  const pair = chance
    .some(
      nodes.filter(({ bmc = true }) => bmc),
      2,
    )
    .map(({ name }) => name);
  return pair.length < 2 ? { begin: {} } : { begin: { swapDevices: pair }, end: { swapDevices: pair } };
};

/** By weight: what takes a node away is what everything else is about. */
const away: readonly { weight: number; choice: Fault }[] = [
  { weight: 6, choice: onNode('partition', 'heal') },
  { weight: 5, choice: onNode('powerOff', 'powerOn') },
  { weight: 3, choice: onNode('hang', 'resume') },
  { weight: 2, choice: onNode('reboot') },
  { weight: 2, choice: onNode('kubeletStop', 'kubeletStart') },
  { weight: 1, choice: onNode('gracefulReboot') },
  { weight: 1, choice: shutDown },
  { weight: 2, choice: onNode('kdump') },
  { weight: 2, choice: deadlock },
  { weight: 2, choice: zone },
  { weight: 1, choice: onNode('storagePartition', 'storageHeal') },
];

const beside: readonly { weight: number; choice: Fault }[] = [
  ...['refuses', 'hangs', 'ignores', 'late', 'reportsFailure', 'wrongMachine', 'saysOff', 'saysOn'].map((fault) => ({
    weight: 1,
    choice: device(fault),
  })),
  ...['errors', 'conflicts', 'tooMany', 'lost', 'slow', 'lags', 'drops', 'doubles', 'breaks', 'compacts'].map(
    (fault) => ({ weight: 1, choice: apiFault(fault) }),
  ),
  { weight: 3, choice: crash },
  { weight: 2, choice: isolate },
  { weight: 1, choice: skew },
  { weight: 2, choice: apiDown },
  { weight: 2, choice: detach },
  { weight: 1, choice: storageUnreachable },
  { weight: 2, choice: swap },
  { weight: 2, choice: onNode('kdumpSent') },
];

/** The trouble that starts it all, on one node, on several one after the other, or on all at once. */
export function troubles(stage: Stage, firstAt: number): Happening[] {
  const { chance, nodes } = stage;
  const many = chance.maybe(0.2) ? chance.between(2, nodes.length) : 1;
  const spread = chance.one([0, 3, 12]);
  const fault = chance.weighted(away);
  if (fault === undefined) return [];
  return chance.some(nodes, many).flatMap((node, index) => {
    const at = firstAt + index * spread;
    return lasting(stage, fault(stage, node), at);
  });
}

/** Beside it: another trouble, or what makes the first one harder to deal with. */
export function complication(stage: Stage, at: number, node: SwarmNode): Happening[] {
  const { chance, nodes } = stage;
  const fault = chance.weighted(chance.maybe(0.35) ? away : beside);
  const whom = chance.maybe(0.7) ? node : chance.one(nodes);
  return fault === undefined ? [] : lasting(stage, fault(stage, whom), at);
}

/**
 * The switch in front of the storage does not do as it is told, where there is one to tell. By a chance of its own: nothing else that
 * befalls the cluster of a seed is another one for it.
 */
export function portFaults(chance: Chance, stage: Stage, objects: readonly Manifest[]): Happening[] {
  const hasSwitch = /isolation=fc-off|"cuts":"Storage"/.test(JSON.stringify(objects));
  if (!hasSwitch || !chance.maybe(0.5)) return [];
  const fault = chance.one(['refuses', 'hangs', 'ignores', 'late', 'reportsFailure', 'saysOff', 'saysOn']);
  const at = chance.between(0, 2 * 60) / 2;
  return chance.some(stage.nodes, chance.one([1, 1, stage.nodes.length])).flatMap(({ name }) => {
    const port = { node: name, feed: 'port' };
    const of = { begin: { device: { ...port, fault } }, end: { device: { ...port, fault: 'none' } } };
    return lasting({ ...stage, chance }, of, at);
  });
}

function lasting({ chance, quietAt }: Stage, fault: ReturnType<Fault>, at: number): Happening[] {
  const { begin, end, leastSeconds = 0 } = fault;
  if (Object.keys(begin).length === 0) return [];
  const began = { at: seconds(at), ...begin };
  if (end === undefined) return [began];
  // Some are over in a moment, some when everything else is.
  const lasts = chance.one([1, 5, 10, 20, 40, 60, 90, 120, quietAt]);
  const until = Math.max(at + leastSeconds, Math.min(quietAt, at + lasts));
  return [began, { at: seconds(until), ...end }];
}
