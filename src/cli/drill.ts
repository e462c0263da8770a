/**
 * `fenceline drill NODE`: fences one node for real and shows how it goes, until the node is back (EXP-3). A drill that only
 * pretends would prove the rehearsal. Its devices are asked first: a node that could not be switched on again is left alone.
 */
import type { Command } from 'commander';
import { Command as Subcommand, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../api/duration.ts';
import { sleep } from '../clock.ts';
import { answerOf, hasEnded } from '../api/fence-request.ts';
import { checkDevices, withDevices, type CheckContext } from './check.ts';
import { confirm } from './confirm.ts';
import type { RequestFlags } from './fence.ts';
import { requestFence, requestIn, withoutPolicyFlag } from './fence.ts';
import type { AgentFlags } from './agent-flags.ts';
import { addAgentFlags } from './agent-flags.ts';
import { addKubeFlags } from './kube-flags.ts';
import { unheeded } from './leading.ts';
import { nodeArgument } from './node-argument.ts';
import type { StoredFence } from './node-fence.ts';
import { patchFence, tell, whoAmI } from './node-fence.ts';
import { UserError } from './user-error.ts';

interface DrillFlags extends RequestFlags, AgentFlags {
  yes?: boolean;
  timeout: number;
}

const pollMs = 1000;
/** An operator that runs takes up a request within seconds. */
const takeUpMs = 60_000;
const defaultTimeoutMs = 1_800_000;

export function drillCommand(): Command {
  const command = new Subcommand('drill').description('fence one node for real, and show how it goes until it is back');
  return nodeArgument(addAgentFlags(addKubeFlags(command)), '<node>', 'the name of the node')
    .option('--yes', 'do not ask for the name of the node')
    .option(...withoutPolicyFlag)
    .option('--dry-run', 'ask its devices, and do nothing')
    .addOption(
      new Option('--timeout <duration>', 'how long to watch; the fence goes on without us')
        .argParser(timeoutOf)
        .default(defaultTimeoutMs, '30m'),
    )
    .addOption(new Option('-o, --output <format>', 'print the NodeFence in the end').choices(['json', 'yaml', 'wide']))
    .action(run);
}

async function run(node: string, flags: DrillFlags): Promise<void> {
  await withDevices(flags, async (context) => {
    const by = await whoAmI(context.client);
    for (const note of await unheeded(context.client)) process.stderr.write(`${note}\n`);
    await checkFirst(context, node);
    if (flags.dryRun !== true && flags.yes !== true) {
      await confirm(node, `The power of ${node} is cut while it runs; what runs there ends without a shutdown.`);
    }
    const say = (line: string): void => void process.stderr.write(`${line}\n`);
    const fence = await drill(context, node, { by, flags, say });
    await tell({ what: flags.dryRun ? 'drilled' : 'drilled: the node is back', fence, notes: [] }, flags);
  });
}

async function checkFirst(context: CheckContext, node: string): Promise<void> {
  const [checked] = await checkDevices(context, [node], { isForNow: true });
  if (checked?.fenceable === true) return;
  throw new UserError(`${node} could not be fenced (${checked?.reason}: ${checked?.message}); nothing was done`);
}

export interface DrillOptions {
  by: string;
  flags: Pick<DrillFlags, 'dryRun' | 'timeout' | 'withoutPolicy'>;
  say: (line: string) => void;
}

/** Answers with the record when the node is back; whatever else comes of it is an error. */
export async function drill(
  { client, clock }: Pick<CheckContext, 'client' | 'clock'>,
  node: string,
  { by, flags, say }: DrillOptions,
): Promise<StoredFence> {
  const asked = await requestFence(client, node, by, flags);
  if (flags.dryRun === true) return asked;
  say(`${asked.spec.requested?.at}  fence requested by ${by}`);
  const startedMs = clock.monotonic();
  const told = new Set<string>((asked.status?.history ?? []).map(lineOf));
  for (;;) {
    await sleep(clock, pollMs);
    const fence = await requestIn(client, node, asked);
    for (const line of (fence.status?.history ?? []).map(lineOf)) {
      if (!told.has(line)) say(line);
      told.add(line);
    }
    const waitedMs = clock.monotonic() - startedMs;
    if (answerOf(fence) === undefined) {
      if (waitedMs >= takeUpMs) await withdraw(client, fence);
    } else if (fence.status?.fence?.phase === 'failed') {
      throw new UserError(`the fence of ${node} has failed: ${fence.status.fence.message ?? 'see its history'}`);
    } else if (hasEnded(fence) && fence.status?.incident === undefined) return fence;
    if (waitedMs >= flags.timeout) throw new UserError(`${node} is not back yet: ${standing(fence)}`);
  }
}

/** A request that somebody takes up in an hour would be a surprise. */
async function withdraw(client: CheckContext['client'], fence: StoredFence): Promise<never> {
  await patchFence(client, fence, [
    { op: 'test', path: '/spec/requested', value: fence.spec.requested },
    { op: 'remove', path: '/spec/requested' },
  ]);
  const hold = fence.status?.hold === undefined ? 'is an operator running?' : fence.status.hold.message;
  throw new UserError(`nobody has begun the fence within ${takeUpMs / 1000} s (${hold}); the request is withdrawn`);
}

function standing({ status }: StoredFence): string {
  const { phase, message } = status?.fence ?? {};
  return [phase, message, status?.hold?.message].filter((part) => part !== undefined).join(', ');
}

function lineOf({ at, reason, message }: { at: string; reason: string; message?: string | undefined }): string {
  return `${at}  ${reason}${message === undefined ? '' : `: ${message}`}`;
}

function timeoutOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('write a duration such as 90s, 5m or 1h30m.');
  return ms;
}
