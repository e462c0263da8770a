/** How it is told who else is set up to act on the nodes that a policy fences (ADM-6). */
import type { Unread } from '../observe/others-set-up.ts';

export interface Others {
  findings: readonly string[];
  unread: readonly Unread[];
}

export function renderOthers({ findings }: Pick<Others, 'findings'>): string {
  return findings.length === 0 ? '' : `\nWHO ELSE ACTS ON THESE NODES\n${findings.map((one) => `  ${one}\n`).join('')}`;
}

/** The API server says "forbidden" of what is not installed as well: in one line, because for most people there are none of them. */
export function renderUnread({ unread }: Pick<Others, 'unread'>): string {
  const byReason = Map.groupBy(unread, ({ why }) => why);
  return [...byReason]
    .map(([why, of]) => `fenceline: ${of.map(({ what }) => what).join(', ')} are not looked at: ${why}\n`)
    .join('');
}
