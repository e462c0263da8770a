/**
 * The case as if what is decided about ladders and fence were stored already: it is, before anything rests on it. Whoever reads
 * the case after that reads of one fence only, also in the pass that begins it and makes its record (S3).
 */
import { emptyRecord } from '../api/empty-status.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { RemedyDecision } from './decide-remedy.ts';
import { statusWithFence } from './record.ts';

export function asDecided(
  nodeCase: NodeCase,
  { fence, ladders, jobs }: Pick<RemedyDecision, 'fence' | 'ladders' | 'jobs'>,
): NodeCase {
  const record = nodeCase.fence ?? emptyRecord(nodeCase.name);
  const status = { ...statusWithFence(record.status, fence), ladders: [...ladders], jobs: [...jobs] };
  return { ...nodeCase, fence: { ...record, status } };
}
