/** Operators that run on the nodes that they look after: whoever leads is on node-1, and node-1 is to be fenced, beside others. */
import type { Scenario } from '../../../src/scenario/format.ts';
import { everywhere, fenced } from './fenced.ts';

const fence = { name: 'fence', period: '10s' };
const thresholds = [
  { condition: { type: 'KernelDeadlock', status: 'True', for: '10s' }, remedies: [fence] },
  { lease: { staleFor: '12s' }, remedies: [fence] },
];

interface Course {
  /** By node: when its kernel is stuck. */
  stuck?: Readonly<Record<string, string>>;
  runFor?: string;
}

export function onOwnNode(
  name: string,
  operators: number,
  { stuck = { 'node-1': '5s' }, runFor = '3m' }: Course = {},
): Scenario {
  return fenced(name, {
    cluster: { nodes: 6, operators: { count: operators, onNodes: true } },
    policy: { thresholds },
    objects: [everywhere(6)],
    events: Object.entries(stuck).map(([node, at]) => ({
      at,
      condition: { node, type: 'KernelDeadlock', status: 'True' },
    })),
    runFor,
  });
}
