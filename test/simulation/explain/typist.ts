/** Types what an explanation says, through the same functions as the commands. */
import { parseDuration } from '../../../src/api/duration.ts';
import { approveAs } from '../../../src/cli/approve.ts';
import { requestFence } from '../../../src/cli/fence.ts';
import { pause } from '../../../src/cli/pause.ts';
import { resume } from '../../../src/cli/resume.ts';
import { stop } from '../../../src/cli/stop.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import type { ObjectRef } from '../../../src/kube/resources.ts';
import { nodeFences, nodes, remedyPolicies } from '../../../src/kube/resources.ts';
import { shellWords } from '../../support/typed.ts';

const who = 'jane';

export async function type(client: KubeClient, line: string): Promise<void> {
  const [program, verb = '', ...args] = shellWords(line);
  return program === 'kubectl' ? kubectl(client, verb, args) : fenceline(client, verb, args);
}

async function fenceline(client: KubeClient, verb: string, args: string[]): Promise<void> {
  const [node = '', flag, value = ''] = args;
  if (verb === 'approve' && flag === '--incident') await approveAs(client, node, who, { incident: value });
  else if (verb === 'resume') await resume(client, node, {});
  else if (verb === 'stop') await stop(client, node, {});
  else if (verb === 'fence') await requestFence(client, node, who, {});
  else if (verb === 'pause' && node === '--for' && args[2] === '-n') {
    await pause(client, { for: parseDuration(flag ?? '') ?? 0, namespace: args[3] ?? '' });
  } else throw new Error(`fenceline ${verb} is not typed here`);
}

/** As the stock kubectl does it, which test/control-plane/explain-commands.test.ts shows. */
async function kubectl(client: KubeClient, verb: string, args: string[]): Promise<void> {
  const isOver = args[0] === '--overwrite';
  const [kind, name = '', what = '', , patch = '{}'] = isOver ? args.slice(1) : args;
  if (verb === 'annotate' && kind === 'node' && what.endsWith('-')) {
    await change(client, { resource: nodes, name }, { op: 'remove', path: annotation(what.slice(0, -1)) });
  } else if (verb === 'annotate' && kind === 'node' && isOver) {
    const [key = '', value = ''] = what.split('=');
    await change(client, { resource: nodes, name }, { op: 'add', path: annotation(key), value });
  } else if (verb === 'patch' && kind === 'nodefence') {
    const [operation] = JSON.parse(patch) as [Operation];
    await change(client, { resource: nodeFences, name }, operation);
  } else if (verb === 'patch' && kind === 'remedypolicy') {
    const { spec } = JSON.parse(patch) as { spec: { mode: string } };
    await change(client, { resource: remedyPolicies, name }, { op: 'add', path: '/spec/mode', value: spec.mode });
  } else throw new Error(`kubectl ${verb} is not typed here`);
}

function annotation(key: string): string {
  return `/metadata/annotations/${key.replaceAll('/', '~1')}`;
}

type Operation = { op: 'remove'; path: string } | { op: 'add'; path: string; value: string };

async function change(client: KubeClient, ref: ObjectRef, operation: Operation): Promise<void> {
  const read = await client.get(ref);
  if (!read.ok) throw new Error(read.error.message);
  const written = await client.patch(ref, { uid: read.value.metadata.uid ?? '' }, [operation]);
  if (!written.ok) throw new Error(written.error.message);
}
