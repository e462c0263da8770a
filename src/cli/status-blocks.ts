/** What stands below the table of `fenceline status`: one block for each thing that only some nodes have. */
import type { NodeStatus } from './node-status.ts';
import { renderTable } from './table.ts';

export function renderAlarms(statuses: NodeStatus[]): string {
  const rows = statuses.flatMap(({ node, alarm }) =>
    alarm === undefined ? [] : [[node, alarm.reason, alarm.since, alarm.message]],
  );
  return rows.length === 0 ? '' : `\n${renderTable(['ALARM OF', 'REASON', 'SINCE', 'WHY'], rows)}`;
}

/** Nothing of it was done. */
export function renderRehearsals(statuses: NodeStatus[]): string {
  const rows = statuses.flatMap(({ node, rehearsal: { steps = [], waitsFor } = {} }) => [
    ...steps.map(({ at, reason, message }) => [node, reason, at, message]),
    ...(waitsFor === undefined ? [] : [[node, '<next>', '<none>', `would wait: ${waitsFor}`]]),
  ]);
  return rows.length === 0 ? '' : `\n${renderTable(['DRY RUN OF', 'STEP', 'AT', 'WHAT'], rows)}`;
}

export function renderStuck(statuses: NodeStatus[]): string {
  const rows = statuses.flatMap(({ node, recovery }) =>
    (recovery?.stuck ?? []).map(({ namespace, name, reason, message, until }) => [
      `${namespace}/${name}`,
      node,
      reason,
      until ?? '<none>',
      message,
    ]),
  );
  return rows.length === 0 ? '' : `\n${renderTable(['STUCK POD', 'NODE', 'REASON', 'UNTIL', 'WHY'], rows)}`;
}

/** What `kubectl drain` does not tell: it only says that a budget forbids it. */
export function renderDrains(statuses: NodeStatus[]): string {
  const rows = statuses.flatMap(({ node, drain }) =>
    drain === undefined
      ? []
      : [
          [
            node,
            drain.blocked ? (drain.reason ?? '<unknown>') : '<nothing>',
            drain.autoEvicting ? 'yes' : 'no',
            drain.since ?? '<none>',
            drain.message ?? '',
          ],
        ],
  );
  return rows.length === 0 ? '' : `\n${renderTable(['DRAIN OF', 'WAITS FOR', 'AUTO-EVICTING', 'SINCE', 'WHY'], rows)}`;
}
