/** Whether this instance sees the cluster, and whether it would be of use to start it again. */
import type { JudgeLimits } from '../api/view.ts';
import type { Observer } from '../observe/observer.ts';

/** A view that stays old although the server answers is not going to recover by itself: a restart lists anew. */
const hopelessAgeMs = 600_000;

/** Why it cannot lead; undefined: it can. */
export function unready(observer: Observer, { silentForMs, viewAgeMs }: JudgeLimits): string | undefined {
  if (!observer.synced) return 'waiting for the first list of nodes and leases';
  for (const { name, silentMs, ageMs } of observer.watches) {
    if (silentMs > silentForMs) return `${name}: the API server has not answered for ${Math.round(silentMs / 1000)} s`;
    if (ageMs > viewAgeMs) return `${name}: the view is ${Math.round(ageMs / 1000)} s old`;
  }
  return undefined;
}

/** While the server is silent a restart would only throw the views away. */
export function unhealthy(observer: Observer, { silentForMs }: JudgeLimits): string | undefined {
  const hopeless = observer.watches.find(
    ({ synced, ageMs, silentMs }) => synced && ageMs > hopelessAgeMs && silentMs < silentForMs,
  );
  return (
    hopeless && `${hopeless.name}: the server answers, but the view stays ${Math.round(hopeless.ageMs / 1000)} s old`
  );
}
