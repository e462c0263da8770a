/** What the commands about one node have in common: its NodeFence, read and written, and how the outcome is told. */
import type { Command } from 'commander';
import { Command as Subcommand, Option } from 'commander';
import { nodeFenceName } from '../api/fence-names.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { JsonPatchOperation, KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';
import { nodeFences, nodes } from '../kube/resources.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import { unheard } from './leading.ts';
import { nodeArgument } from './node-argument.ts';
import { apiFailure, taken } from './taken.ts';
import { UserError } from './user-error.ts';

/** As it is stored: one that was just made has no status. */
export type StoredFence = KubeObject & Pick<NodeFence, 'spec'> & { status?: Partial<NodeFence['status']> };

export interface ActFlags extends Overrides {
  output?: 'json' | 'yaml' | 'wide';
  dryRun?: boolean;
}

export interface Done {
  /** `stopped`, `not stopped, nothing to do`. */
  what: string;
  /** As it is now, or with `--dry-run` as it would be. */
  fence: StoredFence;
  /** What somebody ought to know besides. */
  notes: readonly string[];
  /** It is written, and nobody has taken it up: no success to a script. */
  isUnanswered?: true;
}

/** A command `NAME NODE` that changes the NodeFence of a node and tells. */
export function nodeCommand(
  name: string,
  description: string,
  act: (client: KubeClient, node: string, flags: ActFlags) => Promise<Done>,
): Command {
  const command = addKubeFlags(new Subcommand(name).description(description));
  return nodeArgument(command, '<node>', 'the name of the node')
    .option('--dry-run', 'ask the API server whether it would take it, and do nothing')
    .addOption(new Option('-o, --output <format>', 'print the NodeFence').choices(['json', 'yaml', 'wide']))
    .action(async (node: string, flags: ActFlags) => {
      await withClient(flags, async (client) => {
        const done = await act(client, node, flags);
        await tell({ ...done, notes: [...done.notes, ...(await unheard(client))] }, flags);
      });
    });
}

export async function tell({ what, fence, notes, isUnanswered }: Done, { output, dryRun }: ActFlags): Promise<void> {
  for (const note of notes) process.stderr.write(`${note}\n`);
  if (output === 'json') process.stdout.write(`${JSON.stringify(fence, null, 2)}\n`);
  else if (output === 'yaml') process.stdout.write((await import('./yaml.ts')).toYaml(fence));
  else process.stdout.write(`nodefence.fenceline.dev/${fence.metadata.name} ${what}${dryRun ? ' (dry run)' : ''}\n`);
  if (isUnanswered === true) process.exitCode = 1;
}

export interface ReadFence {
  /** Undefined: there is none. */
  fence: StoredFence | undefined;
  serverTime: number | undefined;
}

/** A node that was never there is a mistake; one that is gone may have left its record. */
export async function readFence(client: KubeClient, node: string): Promise<ReadFence> {
  const read = await client.get<StoredFence>(refOf(node));
  if (read.ok) return { fence: read.value, serverTime: read.serverTime };
  if (read.error.kind !== 'notFound') throw apiFailure(read.error);
  const there = await client.get({ resource: nodes, name: node });
  if (!there.ok) throw apiFailure(there.error, there.error.kind === 'notFound' ? `no such node: ${node}` : undefined);
  return { fence: undefined, serverTime: there.serverTime };
}

export function newFence(node: string, spec: Partial<NodeFence['spec']>): StoredFence {
  return { metadata: { name: nodeFenceName(node) }, spec: { node, stop: false, ...spec } };
}

/** `dryRun`: the API server is asked whether it would take it: rights, schema and guards are its own. */
export async function createFence(client: KubeClient, fence: StoredFence, dryRun = false): Promise<StoredFence> {
  const created = await client.create(nodeFences, fence, { dryRun });
  if (created.ok) return created.value;
  const { kind, message } = created.error;
  const install = 'the CRDs are not installed: fenceline crds | kubectl apply --server-side -f -';
  throw apiFailure(created.error, kind === 'notFound' ? `${install} (${message})` : message);
}

/** Of the spec only: the operator writes the status at any time, and neither is in the other's way. */
export async function patchFence(
  client: KubeClient,
  { metadata, spec }: StoredFence,
  operations: JsonPatchOperation[],
  dryRun = false,
): Promise<StoredFence> {
  const uid = metadata.uid ?? '';
  return taken(await client.patch<StoredFence>(refOf(spec.node), { uid }, operations, { dryRun }));
}

export function refOf(node: string): ObjectRef {
  return { resource: nodeFences, name: nodeFenceName(node) };
}

const selfSubjectReviews: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'selfsubjectreviews',
  kind: 'SelfSubjectReview',
  namespaced: false,
};

/** Who the API server takes us for: what is in a kubeconfig is only what somebody called it. */
export async function whoAmI(client: KubeClient): Promise<string> {
  return (await asked(client)).who;
}

/** And what time it is there. */
export async function whoAndWhen(client: KubeClient): Promise<{ who: string; nowMs: number }> {
  const { who, nowMs } = await asked(client);
  if (nowMs === undefined) throw new UserError('the API server does not say what time it is');
  return { who, nowMs };
}

async function asked(client: KubeClient): Promise<{ who: string; nowMs: number | undefined }> {
  const answer = await client.create(selfSubjectReviews, { metadata: {} } as KubeObject);
  if (!answer.ok) throw apiFailure(answer.error, `the API server does not say who you are: ${answer.error.message}`);
  const { status } = answer.value as { status?: { userInfo?: { username?: string } } };
  return { who: (status?.userInfo?.username ?? 'unknown').slice(0, 253), nowMs: answer.serverTime };
}
