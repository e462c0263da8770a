/** One reading of the API server's clock for the whole operator, and what is said when a server's clock is off. */
import type { NodeView } from '../api/view.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { nodes } from '../kube/resources.ts';
import { ServerTime } from '../kube/server-time.ts';
import type { Log } from '../report/log.ts';

export function serverTimeFor({ clock, log }: { clock: Clock; log: Pick<Log, 'warn'> }): ServerTime {
  const serverTime = new ServerTime(clock);
  serverTime.onAstray = ({ byMs, isFollowed, isFirst }) => {
    const seconds = Math.round(Math.abs(byMs) / 1000);
    const since = isFirst ? 'the clock here' : 'what it was a moment ago';
    const off = `an API server says a time that is ${seconds} s ${byMs > 0 ? 'ahead of' : 'behind'} ${since}`;
    const unknown = isFirst ? 'nothing is decided until it is known which is right' : 'it is not believed';
    const what = isFollowed ? 'nobody has said anything else for minutes: it is believed' : unknown;
    const toDo = `look after the clocks of the control plane${isFirst ? ', and of this node' : ''}`;
    log.warn({ offSeconds: Math.round(byMs / 1000), toDo }, `${off}: ${what}`);
  };
  return serverTime;
}

/** Between two questions what time it is, and how long one may take. */
const settlingMs = 2000;
const callTimeoutMs = 10_000;

/** Nothing is decided by a clock of which nobody knows whether it is right: by and by an answer says so. */
export async function timeSettled(
  { client, clock, log }: { client: KubeClient; clock: Clock; log: Pick<Log, 'warn'> },
  serverTime: ServerTime,
  signal: AbortSignal,
): Promise<void> {
  if (serverTime.isSettled) return;
  log.warn({}, 'what time it is is found out first: nothing is decided until then');
  while (!serverTime.isSettled && !signal.aborted) {
    // Whatever it answers, it says what time it is; whether it answers at all is told by the watches.
    await client.list(nodes, { limit: 1 }, { timeoutMs: callTimeoutMs });
    if (!serverTime.isSettled) await sleep(clock, settlingMs, signal);
  }
}

/** It was seen to renew its Lease, and says when that was; what is found in a list was renewed at any time before. */
export function witnessed(serverTime: ServerTime, { name, lease }: Pick<NodeView, 'name' | 'lease'>): void {
  const renewedMs = Date.parse(lease?.renewTime ?? '');
  if (!Number.isNaN(renewedMs)) serverTime.witness(name, renewedMs);
}
