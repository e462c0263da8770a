/** Operators that run on the nodes that they look after: whoever leads is on node-1, and node-1 is to be fenced, beside others. */
import type { Scenario } from '../../../src/scenario/format.ts';
import { everywhere, fenced } from './fenced.ts';

const fence = { name: 'fence', period: '10s' };
const thresholds = [
  { condition: { type: 'KernelDeadlock', status: 'True', for: '10s' }, remedies: [fence] },
  { lease: { staleFor: '12s' }, remedies: [fence] },
];

export function onOwnNode(name: string, operators: number, stuck: readonly string[] = ['node-1']): Scenario {
  return fenced(name, {
    cluster: { nodes: 6, operators: { count: operators, onNodes: true } },
    policy: { thresholds },
    objects: [everywhere(6)],
    events: stuck.map((node) => ({ at: '5s', condition: { node, type: 'KernelDeadlock', status: 'True' } })),
    runFor: '3m',
  });
}
