/** `fenceline fence NODE`: asks the operator for a fence now, whatever it thinks of the node. */
import type { Command } from 'commander';
import { clockTime, isUnderFence } from '../api/facts.ts';
import { answerOf, hasEnded, isTakenUp, lapsesAtMs, lifeOf, requestOf } from '../api/fence-request.ts';
import type { Clock } from '../clock.ts';
import { realClock, sleep } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { liveNode } from '../observe/project-release.ts';
import { pauseOf } from '../api/pause.ts';
import type { PolicyFacts } from '../api/release-view.ts';
import { confirm } from './confirm.ts';
import { unheeded } from './leading.ts';
import type { ActFlags, Done, StoredFence } from './node-fence.ts';
import { createFence, newFence, nodeCommand, patchFence, readFence, whoAmI } from './node-fence.ts';
import { placeOf, readPause } from './operator-place.ts';
import { nodeWith } from './policy-of.ts';
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
    .option('-y, --yes', 'do not ask for the name of the node')
    .option(...withoutPolicyFlag);
}

async function fence(client: KubeClient, node: string, flags: FenceFlags): Promise<Done> {
  const by = await whoAmI(client);
  for (const note of await unheeded(client)) process.stderr.write(`${note}\n`);
  if (flags.yes !== true && flags.dryRun !== true) {
    await confirm(node, `The power of ${node} is cut while it runs; what runs there ends without a shutdown.`);
  }
  return fenceAs({ client, clock: realClock }, node, { by, flags });
}

const pollMs = 500;
/** An operator that runs answers within seconds. */
const answerMs = 15_000;

/** Asks, and says what came of it: whoever asks has to know at once if nothing happens now, why, and until when it might. */
export async function fenceAs(
  { client, clock }: { client: KubeClient; clock: Clock },
  node: string,
  { by, flags }: { by: string; flags: RequestFlags },
): Promise<Done> {
  const asked = await requestFence(client, node, by, flags);
  const what = 'fence requested';
  if (flags.dryRun === true) return { what, fence: asked, notes: [] };
  const startedMs = clock.monotonic();
  for (;;) {
    await sleep(clock, pollMs);
    const fence = await requestIn(client, node, asked);
    const isAnswered = answerOf(fence) !== undefined;
    if (isAnswered) return { what, fence, notes: notesOn(fence) };
    if (clock.monotonic() - startedMs >= answerMs) return { what, fence, notes: notesOn(fence), isUnanswered: true };
  }
}

/** The record in which it still stands; withdrawn or refused, it is an error. */
export async function requestIn(client: KubeClient, node: string, asked: StoredFence): Promise<StoredFence> {
  const { fence } = await readFence(client, node);
  if (fence?.spec.requested?.at !== asked.spec.requested?.at || fence === undefined) {
    throw new UserError('somebody has withdrawn the request');
  }
  const answer = answerOf(fence);
  if (answer === undefined || answer.reason === 'TakenUp') return fence;
  throw new UserError(`the operator has refused it (${answer.reason}): ${answer.message}`);
}

function notesOn(fence: StoredFence): string[] {
  const { hold } = fence.status ?? {};
  const lapses = `if nothing is begun for it by ${clockTime(lapsesAtMs(fence) ?? 0)}, it lapses, and nothing happens later`;
  if (answerOf(fence) === undefined) {
    return [
      `no operator has answered within ${answerMs / 1000} s (see fenceline explain ${fence.spec.node}); ${lapses}`,
    ];
  }
  if (hold === undefined) return [];
  const { reason, message, ends } = hold;
  const until = ends === undefined ? '' : `, until ${ends}`;
  return [`it is held back (${reason}): ${message}${until}`, lapses];
}

/** Answers with the record that holds the request. */
export async function requestFence(
  client: KubeClient,
  node: string,
  by: string,
  { dryRun, withoutPolicy, namespace }: RequestFlags,
): Promise<StoredFence> {
  const { fence: known, serverTime } = await readFence(client, node);
  await notPaused(client, namespace, serverTime);
  const seen = await nodeWith(client, node);
  mayBeAsked(node, seen.policy, withoutPolicy === true);
  if (serverTime === undefined) throw new UserError('the API server does not say what time it is');
  if (known?.spec.stop === true) throw new UserError(`${node} is stopped: fenceline resume ${node} comes first`);
  if (known !== undefined && isBegun(known)) throw new UserError(`${node} is being fenced already; ${watchIt(node)}`);
  const open = known && requestOf(known);
  const hasLapsed = known !== undefined && serverTime > (lapsesAtMs(known) ?? 0);
  if (open !== undefined && !hasLapsed) {
    throw new UserError(`a fence of ${node} was asked for already, by ${open.by} at ${open.at}; ${watchIt(node)}`);
  }
  const about = lifeOf(liveNode(seen.node));
  const requested = { by, at: clockTime(serverTime), about, ...(withoutPolicy === true ? { withoutPolicy } : {}) };
  if (known !== undefined && isTakenUp({ ...known, spec: { requested } })) {
    throw new UserError(`${node} has been fenced in this very second: try again`);
  }
  if (known === undefined) {
    const made = newFence(node, { requested });
    return createFence(client, made, dryRun);
  }
  return patchFence(client, known, [{ op: 'add', path: '/spec/requested', value: requested }], dryRun);
}

function watchIt(node: string): string {
  return `to see how it goes: fenceline drill ${node} --attach`;
}

/** One that has touched nothing, and waits or is held, is just what somebody does not want to wait for. */
function isBegun(known: StoredFence): boolean {
  const fence = known.status?.fence;
  if (fence === undefined || hasEnded(known)) return false;
  return isUnderFence(fence) || (fence.phase !== 'waiting' && fence.phase !== 'isolated');
}

/** The same for all nodes. Who may not read it finds the refusal on record. */
async function notPaused(client: KubeClient, given: string | undefined, nowMs: number | undefined): Promise<void> {
  const place = await placeOf(client, { given, nowMs });
  const pause = place && (await readPause(client, place));
  const found = pause && pauseOf(pause, nowMs ?? 0);
  if (found === undefined) return;
  throw new UserError(
    `${found.message}; nothing was asked for. When nobody needs the pause any more: fenceline pause --end -n ${pause?.namespace}`,
  );
}

/** What the operator would refuse is not written: nobody should have to look for the answer. */
function mayBeAsked(node: string, policy: PolicyFacts | undefined, withoutPolicy: boolean): void {
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
