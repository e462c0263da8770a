/**
 * By the word of a remedy (REM-2): whoever put cleanResources beside a Job says that its success makes the node harmless.
 * Nobody else can know what such a Job did, so that it is an assertion like any other, and recorded as one.
 */
import { stillCounts } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Check, Objection } from './checks.ts';
import { notInMaintenance } from './maintenance.ts';
import { knownVolumes, kubeletSilent, nodeDown, nodeExists, notDaemon, notMirror, objection } from './checks.ts';
import type { Way } from './way.ts';
import { never } from './way.ts';

type Ladder = NodeFenceStatus['ladders'][number];

const checks: readonly Check[] = [
  notMirror,
  notDaemon,
  nodeExists,
  remedied,
  notInMaintenance,
  sameBoot,
  nodeDown,
  kubeletSilent,
];

/** Who says so; undefined: no remedy that should clean up has succeeded. */
function remediedBy(nodeCase: NodeCase): string | undefined {
  const ladders = nodeCase.fence?.status.ladders ?? [];
  return ladders.map((ladder) => wordOf(nodeCase, ladder)).find((word) => word !== undefined);
}

/** What the last remedy of a ladder says. */
function wordOf(nodeCase: NodeCase, { phase, threshold, position }: Ladder): string | undefined {
  const { policy, fence } = nodeCase;
  if (policy.kind !== 'one' || (phase !== 'waiting' && phase !== 'exhausted')) return undefined;
  const { thresholds = [], kinds = {}, templates = {} } = policy.policy.remedy ?? {};
  const rung = thresholds.find(({ key }) => key === threshold)?.remedies[position];
  if (rung?.cleanResources !== true || kinds[rung.name] !== 'podTemplate') return undefined;
  const job = fence?.status.jobs.findLast(({ purpose }) => purpose === rung.name);
  // The word is about the Job that its policy has: another one of that name, of before an edit or of another policy, did
  // something else.
  if (job?.template === undefined || job.template !== templates[rung.name]) return undefined;
  // A kubelet that has shown since that it lives is what the Job should have ended.
  if (!stillCounts(job, nodeCase)) return undefined;
  return job.outcome === 'Succeeded' ? `remedy ${rung.name}, Job ${job.namespace}/${job.name}` : undefined;
}

function remedied(nodeCase: NodeCase): Objection | undefined {
  if (remediedBy(nodeCase) !== undefined) return undefined;
  return objection('NotRemedied', 'no remedy that cleans resources has succeeded');
}

/** A rebooted kubelet starts the same pods again. */
function sameBoot({ node, fence }: NodeCase): Objection | undefined {
  if (node?.bootId === fence?.status.incident?.bootId) return undefined;
  return objection('NotRemedied', 'the machine was booted again since the trouble began');
}

export const byRemedy: Way = {
  name: 'remedy',
  basis: 'Asserted',
  checks,
  by: remediedBy,
  frees: knownVolumes,
  podStays: false,
  restsOnVolumes: false,
  toleratesLife: never,
  grounds: () => ({ basis: 'Asserted' }),
  stillStands: (nodeCase, { by }) => remediedBy(nodeCase) === by,
  unopened: ['NotRemedied'],
};
