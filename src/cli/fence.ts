/** `fenceline fence NODE`: asks the operator for a fence now, whatever it thinks of the node. */
import type { Command } from 'commander';
import { clockTime, isUnderFence } from '../api/facts.ts';
import { hasEnded, isTakenUp, requestOf } from '../api/fence-request.ts';
import type { KubeClient } from '../kube/client.ts';
import { confirm } from './confirm.ts';
import type { ActFlags, Done, StoredFence } from './node-fence.ts';
import { createFence, newFence, nodeCommand, patchFence, readFence, whoAmI } from './node-fence.ts';
import { policyOfNode } from './policy-of.ts';
import { UserError } from './user-error.ts';

export interface RequestFlags extends ActFlags {
  withoutPolicy?: boolean;
}

interface FenceFlags extends RequestFlags {
  yes?: boolean;
}

export const withoutPolicyFlag = ['--without-policy', 'also where no policy selects the node'] as const;

export function fenceCommand(): Command {
  return nodeCommand('fence', 'cut the power of a node now, release what ran there, and switch it on again', fence)
    .option('--yes', 'do not ask for the name of the node')
    .option(...withoutPolicyFlag);
}

async function fence(client: KubeClient, node: string, flags: FenceFlags): Promise<Done> {
  const by = await whoAmI(client);
  if (flags.yes !== true && flags.dryRun !== true) {
    await confirm(node, `The power of ${node} is cut while it runs; what runs there ends without a shutdown.`);
  }
  return { what: 'fence requested', fence: await requestFence(client, node, by, flags), notes: [] };
}

/** Answers with the record that holds the request. */
export async function requestFence(
  client: KubeClient,
  node: string,
  by: string,
  { dryRun, withoutPolicy }: RequestFlags,
): Promise<StoredFence> {
  const { fence: known, serverTime } = await readFence(client, node);
  await mayBeAsked(client, node, withoutPolicy === true);
  if (serverTime === undefined) throw new UserError('the API server does not say what time it is');
  if (known?.spec.stop === true) throw new UserError(`${node} is stopped: fenceline resume ${node} comes first`);
  const open = known && requestOf(known);
  if (open !== undefined) throw new UserError(`a fence of ${node} was asked for already, by ${open.by} at ${open.at}`);
  if (known !== undefined && isBegun(known)) throw new UserError(`${node} is being fenced already`);
  const requested = { by, at: clockTime(serverTime), ...(withoutPolicy === true ? { withoutPolicy } : {}) };
  if (known !== undefined && isTakenUp({ ...known, spec: { requested } })) {
    throw new UserError(`${node} has been fenced in this very second: try again`);
  }
  if (known === undefined) {
    const made = newFence(node, { requested });
    return dryRun ? made : createFence(client, made);
  }
  if (dryRun) return { ...known, spec: { ...known.spec, requested } };
  return patchFence(client, known, [{ op: 'add', path: '/spec/requested', value: requested }]);
}

/** One that has touched nothing, and waits or is held, is just what somebody does not want to wait for. */
function isBegun(known: StoredFence): boolean {
  const fence = known.status?.fence;
  if (fence === undefined || hasEnded(known)) return false;
  return isUnderFence(fence) || (fence.phase !== 'waiting' && fence.phase !== 'isolated');
}

/** What the operator would refuse is not written: nobody should have to look for the answer. */
async function mayBeAsked(client: KubeClient, node: string, withoutPolicy: boolean): Promise<void> {
  const policy = await policyOfNode(client, node);
  if (policy === undefined) {
    if (withoutPolicy) return;
    throw new UserError(`no policy selects ${node}: if you mean it all the same, add --without-policy`);
  }
  const { name, mode } = policy;
  if (mode === 'DryRun' || mode === 'Paused') {
    throw new UserError(
      `policy ${name} has mode ${mode}: nothing is fenced, nothing was asked for, and nothing will happen when the mode changes; ` +
        `set it to Enforce or Approve (kubectl patch remedypolicy ${name} --type=merge -p '{"spec":{"mode":"Approve"}}') and ask again`,
    );
  }
}
