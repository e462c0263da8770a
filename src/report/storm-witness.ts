/** Of a node in a storm that has no record of its own for that: what those say who have. */
import { HELD } from '../api/reasons.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { Known } from './explanation.ts';

type Stored = Pick<NodeFence, 'spec'> & { status?: Partial<NodeFence['status']> };

/** What is thought of the node, and what is stored of it. */
type Judged = Pick<Known, 'policy' | 'record'> & { judgement: Pick<Known['judgement'], 'verdict' | 'reason'> };

/** `zone`: that of the node; empty: none. */
export function stormWitness(
  { judgement, policy, record }: Judged,
  zone: string,
  records: readonly Stored[],
): Pick<Known, 'storm'> {
  const isInTrouble = judgement.verdict !== 'healthy' && judgement.reason !== 'NodeGone';
  if (policy === undefined || !isInTrouble || record?.status.incident !== undefined) return {};
  const found = records.find(({ spec, status }) => {
    if (spec.policy !== policy.name) return false;
    if (status?.hold?.reason === HELD.reason.StormLimit) return true;
    return status?.hold?.reason === HELD.reason.ZoneStormLimit && (status.storm?.zone ?? '') === zone;
  });
  const { hold } = found?.status ?? {};
  return hold === undefined || found === undefined ? {} : { storm: { node: found.spec.node, hold } };
}
