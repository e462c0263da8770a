/** `fenceline stop NODE`: nothing more is done to the node, across restarts of the operator, until `resume` (FEN-13). */
import type { Command } from 'commander';
import { OUR_OUT_OF_SERVICE } from '../api/out-of-service.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ActFlags, Done, StoredFence } from './node-fence.ts';
import { createFence, newFence, nodeCommand, patchFence, readFence, whoAmI } from './node-fence.ts';
import { UserError } from './user-error.ts';

export function stopCommand(): Command {
  return nodeCommand('stop', 'stop whatever is being done about a node, until resume', stop);
}

export async function stop(client: KubeClient, node: string, { dryRun }: ActFlags): Promise<Done> {
  const { fence } = await readFence(client, node);
  if (fence?.spec.stop === true) return { what: 'stopped already', fence, notes: notesOf(fence) };
  const what = 'stopped';
  const stoppedBy = await whoStops(client);
  const by = stoppedBy === undefined ? {} : { stoppedBy };
  if (fence === undefined) {
    const made = newFence(node, { stop: true, ...by });
    return { what, fence: await createFence(client, made, dryRun), notes: [] };
  }
  const notes = notesOf(fence);
  const named = stoppedBy === undefined ? [] : [{ op: 'add' as const, path: '/spec/stoppedBy', value: stoppedBy }];
  const stopped = await patchFence(client, fence, [{ op: 'add', path: '/spec/stop', value: true }, ...named], dryRun);
  return { what, fence: stopped, notes };
}

/** To stop must not fail because a name is not to be had. */
async function whoStops(client: KubeClient): Promise<string | undefined> {
  try {
    return await whoAmI(client);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** An operator that leads takes it away at once; where none does, nobody else will. */
function unmarkFirst(node: string): string {
  const { key, value, effect } = OUR_OUT_OF_SERVICE;
  const command = `kubectl taint node ${node} ${key}=${value}:${effect}-`;
  return `before you switch it on, see that its Node does not have the taint ${key}=${value} any more: ${command}`;
}

/** Whoever stops a fence half-way has to know where it stands. */
function notesOf({ spec, status }: StoredFence): string[] {
  switch (status?.fence?.phase) {
    case 'poweringOff':
    case 'off':
    case 'poweringOn':
      return [`${spec.node} may be off, and stays so: switch it on yourself, or resume`, unmarkFirst(spec.node)];
    case 'isolating':
    case 'isolated':
      return [`${spec.node} may be cut off from its storage, and stays so until resume`];
    case 'waiting':
    case 'booting':
    case 'recovering':
    case 'finished':
    case 'failed':
    case undefined:
      return [];
  }
}
