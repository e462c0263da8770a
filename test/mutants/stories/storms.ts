/** Limits over all nodes, and operators that have just begun to lead: what was before them counts. */
import type { Transport } from '../../../src/kube/transport.ts';
import type { Clock } from '../../../src/clock.ts';
import { sleep } from '../../../src/clock.ts';
import { byCondition, fenced, everywhere } from '../../simulation/fencing/fenced.ts';
import type { Story, StoryOptions } from '../story.ts';
import { together } from './kit.ts';
import { job } from './ways.ts';

const cut = (at: string, ...nodes: string[]): object[] => nodes.map((partition) => ({ at, partition }));

/** From so many seconds on it takes long until an operator gets what it asks for here. */
function slow(path: RegExp, { takesMs, fromSeconds = 0 }: { takesMs: number; fromSeconds?: number }): StoryOptions {
  let clock: Clock | undefined;
  let fromMs = Infinity;
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      const isIt = user.startsWith('operator-') && request.method === 'GET' && path.test(request.path);
      if (isIt && clock !== undefined && clock.monotonic() >= fromMs) await sleep(clock, takesMs);
      return inner.send(request);
    },
    close: () => inner.close(),
  });
  return {
    wire,
    onWorld: (_, virtual) => (clock = virtual),
    onZero: () => (fromMs = (clock?.monotonic() ?? 0) + fromSeconds * 1000),
  };
}

function noJobs(): StoryOptions {
  const made: string[] = [];
  return {
    onWorld: ({ server }) =>
      void server.onAudit(({ verb, resource, name }) => {
        if (verb === 'create' && resource === 'jobs') made.push(`Job ${name} is made`);
      }),
    wrong: () => made,
  };
}

export const stormStories: readonly Story[] = [
  {
    name: 'storm, one at a time, and the operator is started again',
    // Of the one that is being fenced already nothing is known here when the other one is decided about.
    scenario: () =>
      fenced('storm-restarted', {
        cluster: { nodes: 5 },
        policy: { thresholds: byCondition },
        objects: [everywhere(5)],
        events: [
          { at: '0s', device: { node: 'node-2', fault: 'ignores' } },
          ...cut('0s', 'node-2'),
          ...cut('30s', 'node-1'),
          { at: '45s', crashOperator: 1 },
        ],
        expect: [{ always: { fencesAtMost: 1 } }],
        runFor: '95s',
      }),
    options: () => slow(/\/nodes\/node-2$/, { takesMs: 30_000, fromSeconds: 45 }),
  },
  {
    name: 'storm, and another operator has just begun to lead',
    // A fence would look around first; a Job does not.
    scenario: () =>
      fenced('storm-led', {
        cluster: { nodes: 6, operators: 2 },
        policy: {
          thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'clean' }] }],
          remedies: [job('clean')],
        },
        events: [...cut('0s', 'node-1', 'node-2', 'node-3', 'node-4'), { at: '5s', crashOperator: 1 }],
        runFor: '40s',
      }),
    options: () => together(slow(/\/kube-node-lease\/leases\/node-[2-6]$/, { takesMs: 4000 }), noJobs()),
  },
];
