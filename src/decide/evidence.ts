/** What is kept of what was said for and against the verdict on a node, and for how long. */
import { MAX_EVIDENCE } from '../api/fence-names.ts';
import { signsOf, stillCounts } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Judgement } from '../api/view.ts';
import { crashHeard } from '../release/by-kernel-crash.ts';
import type { ReleaseDecision } from './decide-release.ts';

interface Seen {
  nodeCase: NodeCase;
  decision: ReleaseDecision;
  judgement: Judgement;
}

const assertions: ReadonlySet<string> = new Set(['ForceEvictionTaint', 'OutOfServiceTaint', 'CloudShutdownTaint']);

/**
 * What the verdict rested on when the trouble began, and the assertion that stands, since it was first seen. One that was
 * withdrawn counts anew when it comes back: what tolerates it for a time would otherwise go too early.
 */
export function evidenceOf(
  { nodeCase, decision, judgement }: Seen,
  before: NodeFenceStatus['evidence'],
  now: string,
): NodeFenceStatus['evidence'] {
  const bootId = nodeCase.node?.bootId;
  const boot = bootId === undefined ? {} : { bootId };
  const stands = decision.assertion?.source;
  // What was released on its word keeps it: we take that taint away ourselves when all is gone.
  const restsOnIt = (by: string | undefined): boolean => decision.records.some((record) => record.by === by);
  const items = before.flatMap((item): NodeFenceStatus['evidence'] => {
    const { source, by } = item;
    if (source === 'Kdump') return item.bootId === bootId && stillCounts(item, nodeCase) ? [item] : [];
    if (!assertions.has(source) || source === stands) return [item];
    // Withdrawn: without the signs of its time it is a memory, and says nothing of a taint that is set later.
    const { signs: _, ...memory } = item;
    return restsOnIt(by) ? [memory] : [];
  });
  if (items.length === 0) {
    for (const { source, says, detail } of judgement.evidence) {
      if (source !== 'View') items.push({ source, says, detail: detail.slice(0, 512), observedAt: now, ...boot });
    }
  }
  const { assertion } = decision;
  if (
    assertion !== undefined &&
    !items.some(({ source, signs }) => source === assertion.source && signs !== undefined)
  ) {
    const detail = `${assertion.taint.key}:${assertion.taint.effect}`;
    const signs = signsOf(nodeCase);
    items.push({ source: assertion.source, says: 'Dead', detail, observedAt: now, by: assertion.by, ...boot, signs });
  }
  const crash = crashHeard(nodeCase);
  if (crash !== undefined && crash.observedAt === undefined) {
    const { by, signs } = crash;
    items.push({
      source: 'Kdump',
      says: 'Dead',
      detail: 'its kernel has crashed',
      observedAt: now,
      by,
      ...boot,
      signs,
    });
  }
  return items.slice(-MAX_EVIDENCE);
}
