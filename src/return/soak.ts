/** How long a node has to stay well before pods may come back to it: longer the more often it has failed (RET-1). */
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { SoakFacts } from '../api/release-view.ts';

const dayMs = 86_400_000;
/** Beyond that every soak has reached its limit, and the power would no longer be a number. */
const maxPower = 64;

/** How often it has failed within a day, the trouble that it comes back from left out, the relapses into it not. */
export function failuresOf(status: Pick<NodeFenceStatus, 'problems' | 'incident'> | undefined, nowMs: number): number {
  if (status === undefined) return 0;
  const { problems, incident } = status;
  const beforeMs = incident === undefined ? Infinity : Date.parse(incident.startedAt);
  const times = problems.flatMap((problem) => problem.times.map((time) => Date.parse(time)));
  const earlier = times.filter((timeMs) => timeMs > nowMs - dayMs && timeMs < beforeMs);
  return earlier.length + (incident?.flaps ?? 0);
}

export function soakFor({ soakMs, backoff, maxSoakMs }: SoakFacts, failures: number): number {
  const grownMs = Math.round(soakMs * backoff ** Math.min(failures, maxPower));
  return Math.min(Math.max(soakMs, maxSoakMs), grownMs);
}
