/** Which nodes a policy is about, and how it ranks among others, from the object as it is stored. */

import { PRIORITY_DEFAULT } from './policy-defaults.ts';
import type { WrittenPolicy } from './written.ts';

export interface Selector {
  matchLabels: Readonly<Record<string, string>>;
  matchExpressions: readonly { key: string; operator: string; values: readonly string[] }[];
}

export interface NodeChoice {
  /** Without any requirement: every node. */
  selector: Selector;
  priority: number;
  /** Of two that rank the same the older one applies. */
  createdAt: string;
}

/** Of an object that does not say which nodes: it is told in its status that it has none. */
export const NOBODY: Selector = { matchLabels: {}, matchExpressions: [{ key: '', operator: '', values: [] }] };

/**
 * Undefined: it does not say which nodes, or says it twice. The API server refuses that; an object from before it did is
 * in force for nobody, because an empty selector may be all that is left of a mistyped one.
 */
export function choiceOf(
  {
    selector,
    allNodes = false,
    priority = PRIORITY_DEFAULT,
  }: Pick<WrittenPolicy, 'selector' | 'allNodes' | 'priority'>,
  { creationTimestamp = '' }: { creationTimestamp?: string },
): NodeChoice | undefined {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const isEmpty = Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
  if (allNodes !== (selector === undefined) || allNodes !== isEmpty) return undefined;
  const labels = Object.fromEntries(Object.entries(matchLabels).map(([key, value]) => [key, value ?? '']));
  // Whatever is missing of an expression selects nobody.
  const expressions = matchExpressions.map(({ key = '', operator = '', values = [] }) => ({ key, operator, values }));
  return { selector: { matchLabels: labels, matchExpressions: expressions }, priority, createdAt: creationTimestamp };
}
