/**
 * `fenceline approve NODE`: a person lets an incident go past the point of no return, under `mode: Approve` (ADM-8). It
 * counts for this incident alone; who gave it is asked of the API server and kept.
 */
import type { Command } from 'commander';
import { clockTime } from '../api/facts.ts';
import { HELD } from '../api/reasons.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ActFlags, Done, StoredFence } from './node-fence.ts';
import { nodeCommand, readFence, refOf, whoAmI } from './node-fence.ts';
import { policyOfNode } from './policy-of.ts';
import { apiFailure } from './taken.ts';
import { UserError } from './user-error.ts';

/** The operator writes the same status; it is read again and tried again. */
const maxTries = 10;

export interface ApproveFlags extends ActFlags {
  incident?: string;
}

export function approveCommand(): Command {
  return nodeCommand(
    'approve',
    'let the incident of a node go past the point of no return (mode: Approve)',
    approve,
  ).option('--incident <id>', 'only if this is still the incident, as status.incident.id of the NodeFence says');
}

async function approve(client: KubeClient, node: string, flags: ApproveFlags): Promise<Done> {
  return approveAs(client, node, await whoAmI(client), flags);
}

export async function approveAs(client: KubeClient, node: string, by: string, flags: ApproveFlags): Promise<Done> {
  let wanted = flags.incident;
  for (let tries = 1; ; tries += 1) {
    const { fence, serverTime } = await readFence(client, node);
    const { incident, approval } = fence?.status ?? {};
    if (fence === undefined || incident === undefined) throw new UserError(`${node} has no incident to approve`);
    if (wanted !== undefined && wanted !== incident.id) {
      throw new UserError(`the incident of ${node} is ${incident.id} (${incident.trouble}), not ${wanted}`);
    }
    wanted = incident.id;
    const what = `approved: ${incident.trouble} since ${incident.startedAt} (${incident.id})`;
    if (approval?.incident === incident.id) {
      return { what: `was approved by ${approval.by} at ${approval.at}`, fence, notes: [] };
    }
    if (serverTime === undefined) throw new UserError('the API server does not say what time it is');
    const given = { by, at: clockTime(serverTime), incident: incident.id };
    const next: StoredFence = { ...fence, status: { ...fence.status, approval: given } };
    await awaited(client, node);
    const notes = stillHeld(fence);
    const written = await client.replace(refOf(node), next, 'status', { dryRun: flags.dryRun === true });
    if (written.ok) return { what, fence: written.value, notes };
    if (written.error.kind !== 'conflict' || tries === maxTries) throw apiFailure(written.error);
  }
}

/** What it waited for until now is what was just given. */
function stillHeld({ status }: StoredFence): string[] {
  const hold = status?.hold;
  return hold === undefined || hold.reason === HELD.reason.AwaitingApproval ? [] : [`it is held: ${hold.message}`];
}

/** What is said under another mode would count when somebody changes that mode: it is not written. */
async function awaited(client: KubeClient, node: string): Promise<void> {
  const policy = await policyOfNode(client, node);
  if (policy?.mode === 'Approve') return;
  const why = policy === undefined ? `no policy selects ${node}` : `policy ${policy.name} has mode ${policy.mode}`;
  throw new UserError(`${why}: nothing waits for an approval, and none was given`);
}
