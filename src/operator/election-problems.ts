/** What goes wrong with the election, for people. */
import type { LeaderProblem } from '../kube/leader.ts';
import type { Log } from '../report/log.ts';
import type { Metrics } from '../report/metrics.ts';

export function tellElection(problem: LeaderProblem, { log, metrics }: { log: Log; metrics: Metrics }): void {
  if (problem.kind === 'request') {
    metrics.problem('election', problem.error.kind);
    const { message } = problem.error;
    const isNowhere = /namespaces? .* not found/.test(message);
    const toDo = isNowhere ? { toDo: 'make the namespace, or write another --leader-elect-namespace' } : {};
    log.warn({ during: problem.during, problem: message, ...toDo }, 'leader election problem');
  } else log.warn(problem, 'leader election');
}
