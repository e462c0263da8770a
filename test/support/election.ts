/** Candidates for one Lease, each a process of its own with its own clock and network. */
import { KubeClient } from '../../src/kube/client.ts';
import type { LeaderProblem } from '../../src/kube/leader.ts';
import { LeaderElector } from '../../src/kube/leader.ts';
import type { Term } from '../../src/kube/term.ts';
import { MemoryLeaseServer } from './memory-lease-server.ts';
import { ProcessWorld, WorldProcess } from './process-world.ts';

export const lease = { namespace: 'fenceline', name: 'operator' };

export interface Candidate {
  identity: string;
  process: WorldProcess;
  elector: LeaderElector;
  terms: Term[];
  problems: LeaderProblem[];
  shutdown: AbortController;
  ended: Promise<void>;
}

export class Election {
  readonly world = new ProcessWorld();
  readonly server = new MemoryLeaseServer();
  readonly candidates: Candidate[] = [];

  join(
    identity: string,
    options: { rate?: number; wallOffsetMs?: number; work?: (term: Term) => Promise<void> | void } = {},
  ): Candidate {
    const { rate = 1, wallOffsetMs = 0 } = options;
    const process = new WorldProcess(this.world, ({ method, path, body }) => this.server.handle(method, path, body), {
      rate,
      wallOffsetMs,
    });
    const { clock, transport } = process;
    const problems: LeaderProblem[] = [];
    const elector = new LeaderElector({
      client: new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' }),
      clock,
      random: () => 0.5,
      lease,
      identity,
      onProblem: (problem) => problems.push(problem),
    });
    const terms: Term[] = [];
    const shutdown = new AbortController();
    const ended = elector.run(shutdown.signal, (term) => {
      terms.push(term);
      return options.work?.(term);
    });
    ended.catch(() => {});
    const candidate = { identity, process, elector, terms, problems, shutdown, ended };
    this.candidates.push(candidate);
    return candidate;
  }

  /** Who could act now. */
  leaders(): string[] {
    return this.candidates
      .filter(({ process, elector }) => !process.stopped && elector.isLeading())
      .map(({ identity }) => identity);
  }

  spec(): Record<string, unknown> {
    return this.server.lease(lease.namespace, lease.name)?.spec ?? {};
  }
}
