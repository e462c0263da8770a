/** One reading of the API server's clock for the whole operator, and what is said when a server's clock is off. */
import type { Clock } from '../clock.ts';
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
