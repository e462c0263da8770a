/** `fenceline resume NODE`: takes back `stop`. What was under way goes on from where it stood (FEN-13). */
import type { Command } from 'commander';
import type { KubeClient } from '../kube/client.ts';
import type { ActFlags, Done } from './node-fence.ts';
import { newFence, nodeCommand, patchFence, readFence } from './node-fence.ts';

export function resumeCommand(): Command {
  return nodeCommand('resume', 'go on with what was stopped', resume);
}

export async function resume(client: KubeClient, node: string, { dryRun }: ActFlags): Promise<Done> {
  const { fence } = await readFence(client, node);
  if (fence?.spec.stop !== true) {
    return { what: 'was not stopped', fence: fence ?? newFence(node, {}), notes: [] };
  }
  const { phase, step } = fence.status?.fence ?? {};
  const isOpen = phase !== undefined && phase !== 'finished' && phase !== 'failed';
  const notes = isOpen ? [`the fence of ${node} goes on with ${step} (${phase})`] : [];
  const named = fence.spec.stoppedBy === undefined ? [] : [{ op: 'remove' as const, path: '/spec/stoppedBy' }];
  const resumed = await patchFence(client, fence, [{ op: 'add', path: '/spec/stop', value: false }, ...named], dryRun);
  return { what: 'resumed', fence: resumed, notes };
}
