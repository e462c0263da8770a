/**
 * How often a node was in trouble, and when that is worth the attention of a person (ADM-2).
 *
 * Each incident counts once, under the condition that it began with, together with the pods that were on the node then.
 * A workload that takes machines down is the one whose count keeps up with that of the problem.
 */
import { MAX_PROBLEM_TIMES, MAX_PROBLEMS } from '../api/fence-names.ts';
import { formatDuration } from '../api/duration.ts';
import { belongsToNode, isOver } from '../api/facts.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { AlarmFacts, PodFacts } from '../api/release-view.ts';

export type Problem = NodeFenceStatus['problems'][number];

/** As the schema has it. */
const maxPods = 64;
/** More than these stand out no more than any other. */
const maxNamed = 3;
const maxMessage = 1000;
/** One incident more. */
export function counted(
  problems: readonly Problem[],
  { condition, at, pods }: { condition: string; at: string; pods: readonly PodFacts[] },
): Problem[] {
  const before = problems.find((problem) => problem.condition === condition);
  const problem: Problem = {
    condition,
    count: (before?.count ?? 0) + 1,
    times: [...(before?.times ?? []), at].slice(-MAX_PROBLEM_TIMES),
    pods: withPods(before?.pods ?? [], pods),
  };
  const others = problems.filter((one) => one !== before);
  // What has not happened for longest makes room.
  const kept = others.toSorted((a, b) => latestMs(b) - latestMs(a)).slice(0, MAX_PROBLEMS - 1);
  return [...others.filter((one) => kept.includes(one)), problem];
}

function latestMs({ times }: Problem): number {
  return Math.max(-Infinity, ...times.map((time) => Date.parse(time)));
}

/** The highest counts first, and of equal ones those that were there last. */
function withPods(before: Problem['pods'], pods: readonly PodFacts[]): Problem['pods'] {
  const here = new Set(pods.flatMap((pod) => nameFor(pod) ?? []));
  const countOf = new Map(before.map(({ pod, count }) => [pod, count]));
  const present = [...here].map((pod) => ({ pod, count: (countOf.get(pod) ?? 0) + 1 }));
  const absent = before.filter(({ pod }) => !here.has(pod));
  return [...present, ...absent].toSorted((a, b) => b.count - a.count).slice(0, maxPods);
}

/**
 * By what a pod is known again the next time: most controllers give their pods another name each time, so that it is the
 * owner that stands out. Those that every node has, from a file or by a DaemonSet, say nothing about this one.
 */
function nameFor(pod: PodFacts): string | undefined {
  const { namespace, name, owner } = pod;
  if (belongsToNode(pod) || isOver(pod)) return undefined;
  return `${namespace}/${owner === undefined || owner.kind === 'StatefulSet' ? name : owner.name}`;
}

export interface RepeatedTrouble {
  message: string;
  /** When that many are too long ago for one of the alarms, if nothing more happens. */
  untilMs: number;
}

/** The alarms that stand, as one; undefined: none does. */
export function repeatedTrouble(
  problems: readonly Problem[],
  alarms: readonly AlarmFacts[],
  nowMs: number,
): RepeatedTrouble | undefined {
  const standing = alarms.flatMap((alarm) => standingOf(problems, alarm, nowMs) ?? []);
  if (standing.length === 0) return undefined;
  return {
    message: standing
      .map(({ message }) => message)
      .join('; ')
      .slice(0, maxMessage),
    untilMs: Math.min(...standing.map(({ untilMs }) => untilMs)),
  };
}

function standingOf(
  problems: readonly Problem[],
  { condition, count, withinMs }: AlarmFacts,
  nowMs: number,
): RepeatedTrouble | undefined {
  const problem = problems.find((one) => one.condition === condition);
  const sinceMs = nowMs - withinMs;
  const recent = (problem?.times ?? []).map((time) => Date.parse(time)).filter((timeMs) => timeMs > sinceMs);
  // The one with which there are too few when it is too long ago.
  const decisiveMs = recent.toSorted((a, b) => b - a)[count - 1];
  if (problem === undefined || decisiveMs === undefined) return undefined;
  const incidents = recent.length === 1 ? '1 incident' : `${recent.length} incidents`;
  const message = `${incidents} of ${condition} within ${formatDuration(withinMs)}`;
  return { message: `${message}${suspects(problem, recent.length)}`, untilMs: decisiveMs + withinMs };
}

/** Who was there whenever it happened, or at least as often as it did lately. */
function suspects({ count, pods }: Problem, recently: number): string {
  const most = Math.max(0, ...pods.map((pod) => pod.count));
  // What was there once was there by chance.
  if (most < 2 || most < recently) return '';
  const all = pods.filter((pod) => pod.count === most).map(({ pod }) => pod);
  const others = all.length - maxNamed;
  const named = [...all.slice(0, maxNamed), ...(others > 0 ? [`${others} more`] : [])];
  const who = [named.slice(0, -1).join(', '), named.at(-1)].filter((part) => part !== '').join(' and ');
  const howOften = most === count ? 'each time' : `${most} times of ${count} in all`;
  return `; ${who} ${all.length === 1 ? 'was' : 'were'} there ${howOften}`;
}
