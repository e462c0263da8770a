/** What ends a hold, and what somebody can type about it: kept with it, so that `kubectl describe` is enough at night. */
import { commandsOf, filledSentence, HELD_ADVICE } from '../api/advice.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { HELD } from '../api/reasons.ts';
import type { NodeCase } from '../api/release-view.ts';

type Hold = NonNullable<NodeFenceStatus['hold']>;

export function holdAdvice(
  { name, policy, pause }: NodeCase,
  reason: keyof typeof HELD.reason,
  incident: string,
): Pick<Hold, 'ends' | 'to' | 'command'> {
  const advice = HELD_ADVICE[reason];
  const ofPolicy = policy.kind === 'one' ? policy.policy.name : undefined;
  const names = { node: name, policy: ofPolicy, namespace: pause.namespace, incident };
  const [first] = commandsOf(advice, names);
  return { ends: filledSentence(advice.ends, names), ...first };
}
