/** Why nothing would be done about a node whatever happens to it: told of nodes that are well too, or nobody would find out in time. */
import type { SeenPause } from '../api/seen-pause.ts';
import { pauseOf } from '../api/pause.ts';
import type { Mode, PolicyFacts } from '../api/release-view.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { LeftAlone } from '../report/explanation.ts';
import { renderTable } from './table.ts';

export interface Quiet {
  /** No operator leads: who did last, and when. */
  unled?: string;
  /** Everything is paused: by whom, until when, why. */
  paused?: { message: string; since?: string; until?: string; namespace: string };
  /** Somebody has stopped it. */
  stopped?: true;
  /** Somebody works on it, or has paused it by a name. */
  leftAlone?: readonly LeftAlone[];
  /** Its policy does not act. */
  inactive?: { policy: string; mode: Mode };
}

interface QuietFacts {
  unled: string | undefined;
  pause: SeenPause | undefined;
  stopped: ReadonlySet<string>;
  policies: readonly PolicyFacts[];
  nowMs: number;
}

/** Does not act by itself. */
const silent: ReadonlySet<Mode> = new Set(['Paused', 'DryRun']);

export function quietOf(node: string, labels: Record<string, string>, facts: QuietFacts): Quiet {
  const { unled, pause, stopped, policies, nowMs } = facts;
  const match = matchPolicy(policies, labels);
  const isInactive = match.kind === 'one' && silent.has(match.policy.mode);
  return {
    ...(unled === undefined ? {} : { unled }),
    ...(pause === undefined ? {} : pausedBy(pause, nowMs)),
    ...(stopped.has(node) ? { stopped: true } : {}),
    ...(isInactive ? { inactive: { policy: match.policy.name, mode: match.policy.mode } } : {}),
  };
}

function pausedBy(pause: SeenPause, nowMs: number): Pick<Quiet, 'paused'> {
  const found = pauseOf(pause, nowMs);
  if (found === undefined) return {};
  const { namespace, written: { since, until } = {} } = pause;
  return {
    paused: {
      message: found.message,
      ...(since === undefined ? {} : { since }),
      ...(found.untilMs === undefined || until === undefined ? {} : { until }),
      namespace,
    },
  };
}

/** Before everything else: whoever forgets it reads the rest in vain. */
export function renderPause(statuses: readonly Quiet[]): string {
  const { unled } = statuses[0] ?? {};
  const nobody = unled === undefined ? '' : `NOTHING IS DONE ABOUT ANY NODE: ${unled}\n\n`;
  const paused = statuses.find((one) => one.paused !== undefined)?.paused;
  if (paused === undefined) return nobody;
  const since = paused.since === undefined ? '' : ` (since ${paused.since})`;
  const end = `  when nobody needs it any more: fenceline pause --end -n ${paused.namespace}`;
  return `${nobody}NOTHING IS DONE ABOUT ANY NODE${since}: ${paused.message}\n${end}\n\n`;
}

export function renderQuiet(statuses: readonly (Quiet & { node: string })[]): string {
  const stopped = statuses.flatMap(({ node, stopped: is }) =>
    is === true ? [[node, 'it is stopped, until fenceline resume']] : [],
  );
  const left = statuses.flatMap(({ node, leftAlone = [] }) => leftAlone.map(({ message }) => [node, message]));
  const policies = Map.groupBy(
    statuses.filter(({ inactive }) => inactive !== undefined),
    ({ inactive }) => `${inactive?.policy} ${inactive?.mode}`,
  );
  const inactive = [...policies.values()].map((nodes) => {
    const { policy, mode } = nodes[0]?.inactive ?? {};
    const who = nodes.length <= 3 ? nodes.map(({ node }) => node).join(', ') : `${nodes.length} nodes`;
    return [who, `policy ${policy} has mode ${mode}`];
  });
  const rows = [...stopped, ...left, ...inactive];
  return rows.length === 0 ? '' : `\n${renderTable(['NOTHING IS DONE ABOUT', 'WHY'], rows)}`;
}
