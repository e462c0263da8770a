/**
 * `fenceline drill NODE`: fences one node for real and shows how it goes, until the node is back (EXP-3). A drill that only
 * pretends would prove the rehearsal. Its devices are asked first: a node that could not be switched on again is left alone.
 */
import type { Command } from 'commander';
import { Command as Subcommand, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../api/duration.ts';
import type { Clock } from '../clock.ts';
import { realClock, sleep } from '../clock.ts';
import { answerOf, hasEnded } from '../api/fence-request.ts';
import { checkDevices, withDevices, type CheckContext } from './check.ts';
import { confirm } from './confirm.ts';
import type { RequestFlags } from './fence.ts';
import { requestFence, requestIn, withoutPolicyFlag } from './fence.ts';
import type { AgentFlags } from './agent-flags.ts';
import { addAgentFlags } from './agent-flags.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import { unheeded } from './leading.ts';
import { nodeArgument } from './node-argument.ts';
import type { StoredFence } from './node-fence.ts';
import { patchFence, readFence, tell, whoAmI } from './node-fence.ts';
import { UserError } from './user-error.ts';
import { heard } from './watching.ts';

interface DrillFlags extends RequestFlags, AgentFlags {
  yes?: boolean;
  attach?: boolean;
  timeout: number;
}

const pollMs = 1000;
/** An operator that runs takes up a request within seconds. */
const takeUpMs = 60_000;
const defaultTimeoutMs = 1_800_000;

export function drillCommand(): Command {
  const command = new Subcommand('drill').description('fence one node for real, and show how it goes until it is back');
  return nodeArgument(addAgentFlags(addKubeFlags(command)), '<node>', 'the name of the node')
    .option('-y, --yes', 'do not ask for the name of the node')
    .option('--attach', 'ask for nothing: show how a fence goes that is under way, whoever has asked for it')
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
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  if (flags.attach === true) {
    await withClient(flags, async (client) => {
      const interrupted = sayWhenInterrupted(node);
      const fence = await attach({ client, clock: realClock }, node, { flags, say }).finally(interrupted);
      await tell({ what: 'the node is back', fence, notes: [] }, flags);
    });
    return;
  }
  await withDevices(flags, async (context) => {
    const by = await whoAmI(context.client);
    for (const note of await unheeded(context.client)) process.stderr.write(`${note}\n`);
    await checkFirst(context, node);
    if (flags.dryRun !== true && flags.yes !== true) {
      await confirm(node, `The power of ${node} is cut while it runs; what runs there ends without a shutdown.`);
    }
    const interrupted = flags.dryRun === true ? (): void => {} : sayWhenInterrupted(node);
    const fence = await drill(context, node, { by, flags, say }).finally(interrupted);
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
  const told = new Set<string>((asked.status?.history ?? []).map(lineOf));
  return follow(clock, node, {
    told,
    say,
    timeoutMs: flags.timeout,
    read: () => requestIn(client, node, asked),
    async isOver(fence, waitedMs) {
      if (answerOf(fence) !== undefined) return hasEnded(fence) && fence.status?.incident === undefined;
      if (waitedMs >= takeUpMs) await withdraw(client, fence);
      return false;
    },
  });
}

/** Whoever has lost sight of a fence, or finds one that somebody else has asked for: nothing is written. */
export async function attach(
  { client, clock }: Pick<CheckContext, 'client' | 'clock'>,
  node: string,
  { flags, say }: Pick<DrillOptions, 'flags' | 'say'>,
): Promise<StoredFence> {
  const read = async (): Promise<StoredFence> => {
    const { fence } = await readFence(client, node);
    if (fence === undefined) throw new UserError(`${node} has no record: nothing is known of a fence`);
    return fence;
  };
  const found = await read();
  const { requested } = found.spec;
  const { incident } = found.status ?? {};
  const isAsked = requested !== undefined && !hasEnded(found) && answerOf(found) === undefined;
  if (!isAsked && incident === undefined) {
    throw new UserError(`nothing is under way at ${node}: it has no incident, and no request is open`);
  }
  if (requested !== undefined) say(`${requested.at}  fence requested by ${requested.by}`);
  const earlier = (found.status?.history ?? []).filter(({ at }) => at < (incident?.startedAt ?? requested?.at ?? ''));
  return follow(clock, node, {
    told: new Set(earlier.map(lineOf)),
    say,
    timeoutMs: flags.timeout,
    read,
    isOver: async (fence) => {
      const isWaiting = fence.spec.requested !== undefined && answerOf(fence) === undefined;
      return !isWaiting && fence.status?.incident === undefined;
    },
  });
}

interface Following {
  /** Lines that are known. */
  told: Set<string>;
  say: (line: string) => void;
  timeoutMs: number;
  read: () => Promise<StoredFence>;
  isOver: (fence: StoredFence, waitedMs: number) => Promise<boolean>;
}

/** Tells what comes to be on record until it is over. A connection that is lost ends nothing: the fence goes on without us. */
async function follow(
  clock: Clock,
  node: string,
  { told, say, timeoutMs, read, isOver }: Following,
): Promise<StoredFence> {
  const startedMs = clock.monotonic();
  let standsAt = 'nothing was heard of it yet';
  for (let isLost = false; ;) {
    await sleep(clock, pollMs);
    const waitedMs = clock.monotonic() - startedMs;
    const answer = await heard(read);
    if ('problem' in answer) {
      if (!isLost) say(`no answer (${answer.problem}): the fence goes on without us; asking again`);
      isLost = true;
    } else {
      if (isLost) say('the API server answers again');
      isLost = false;
      const seen = answer.value;
      for (const line of (seen.status?.history ?? []).map(lineOf)) {
        if (!told.has(line)) say(line);
        told.add(line);
      }
      const isAnswered = seen.spec.requested === undefined || answerOf(seen) !== undefined;
      if (isAnswered && seen.status?.fence?.phase === 'failed') {
        throw new UserError(`the fence of ${node} has failed: ${seen.status.fence.message ?? 'see its history'}`);
      }
      if (await isOver(seen, waitedMs)) return seen;
      standsAt = standing(seen);
    }
    if (waitedMs >= timeoutMs) throw new UserError(`${node} is not back yet: ${standsAt}; ${again(node)}`);
  }
}

function again(node: string): string {
  return `it goes on without us, and fenceline drill ${node} --attach shows how`;
}

/** Whoever stops watching has not stopped the fence, and should not believe so. Answers how to be silent again. */
function sayWhenInterrupted(node: string): () => void {
  const interrupted = (): void => {
    process.stderr.write(`\nnot watching any more: ${again(node)}; fenceline stop ${node} ends it where it is\n`);
    process.exit(130);
  };
  process.once('SIGINT', interrupted);
  return () => process.off('SIGINT', interrupted);
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
