/** What is stored of a node after one pass, and after several. */
import type { NodeFenceStatus } from '../../src/api/node-fence.ts';
import type { NodeCase } from '../../src/api/release-view.ts';
import type { Judgement } from '../../src/api/view.ts';
import { decideRelease } from '../../src/decide/decide-release.ts';
import type { RemedyDecision } from '../../src/decide/decide-remedy.ts';
import { asItStands } from '../../src/decide/decide-remedy.ts';
import { epochOf, nextStatus } from '../../src/decide/record.ts';
import { aFence } from './release-case.ts';

const judgement: Judgement = {
  verdict: 'down',
  reason: 'ReadyUnknown',
  evidence: [
    { source: 'Condition', says: 'Unknown', detail: 'Ready is Unknown' },
    { source: 'View', says: 'Unknown', detail: 'left out' },
  ],
  recheckInMs: 1000,
};

/** `undefined`: that it is taken away. */
type Decided = { [Part in keyof RemedyDecision]?: RemedyDecision[Part] | undefined };

export function next(nodeCase: NodeCase, decided: Decided = {}): NodeFenceStatus {
  const taken = { ...nodeCase, identity: 'me' };
  const remedy = { ...asItStands(taken), ...decided } as RemedyDecision;
  const epoch = epochOf(taken, remedy);
  return nextStatus({ nodeCase: taken, decision: decideRelease(taken, remedy, epoch), remedy, judgement, epoch });
}

/** As it is stored after each pass, over and over. */
export function afterwards(nodeCase: NodeCase, ...later: ((nodeCase: NodeCase) => NodeCase)[]): NodeFenceStatus {
  let status = next(nodeCase);
  for (const change of later) status = next({ ...change(nodeCase), fence: aFence(status) });
  return status;
}
