/** Types what an explanation says, through the same functions as the commands. */
import { approveAs } from '../../../src/cli/approve.ts';
import { requestFence } from '../../../src/cli/fence.ts';
import { resume } from '../../../src/cli/resume.ts';
import { stop } from '../../../src/cli/stop.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import type { ObjectRef } from '../../../src/kube/resources.ts';
import { nodes, remedyPolicies } from '../../../src/kube/resources.ts';
import { shellWords } from '../../support/typed.ts';

const who = 'jane';

export async function type(client: KubeClient, line: string): Promise<void> {
  const [program, verb = '', ...args] = shellWords(line);
  return program === 'kubectl' ? kubectl(client, verb, args) : fenceline(client, verb, args);
}

async function fenceline(client: KubeClient, verb: string, [node = '', flag, value = '']: string[]): Promise<void> {
  if (verb === 'approve' && flag === '--incident') await approveAs(client, node, who, { incident: value });
  else if (verb === 'resume') await resume(client, node, {});
  else if (verb === 'stop') await stop(client, node, {});
  else if (verb === 'fence') await requestFence(client, node, who, {});
  else throw new Error(`fenceline ${verb} is not typed here`);
}

/** As the stock kubectl does it, which test/control-plane/explain-commands.test.ts shows. */
async function kubectl(client: KubeClient, verb: string, args: string[]): Promise<void> {
  const [kind, name = '', what = '', , patch = '{}'] = args;
  if (verb === 'annotate' && kind === 'node' && what.endsWith('-')) {
    const path = `/metadata/annotations/${what.slice(0, -1).replaceAll('/', '~1')}`;
    await change(client, { resource: nodes, name }, { op: 'remove', path });
  } else if (verb === 'patch' && kind === 'remedypolicy') {
    const { spec } = JSON.parse(patch) as { spec: { mode: string } };
    await change(client, { resource: remedyPolicies, name }, { op: 'add', path: '/spec/mode', value: spec.mode });
  } else throw new Error(`kubectl ${verb} is not typed here`);
}

type Operation = { op: 'remove'; path: string } | { op: 'add'; path: string; value: string };

async function change(client: KubeClient, ref: ObjectRef, operation: Operation): Promise<void> {
  const read = await client.get(ref);
  if (!read.ok) throw new Error(read.error.message);
  const written = await client.patch(ref, { uid: read.value.metadata.uid ?? '' }, [operation]);
  if (!written.ok) throw new Error(written.error.message);
}
