import type { KubeClient, KubeObject } from '../../../src/kube/client.ts';
import { pods } from '../../../src/kube/resources.ts';

/** Where the database runs. */
export async function nodeOfVictim(client: KubeClient): Promise<string> {
  const read = await client.get<KubeObject & { spec?: { nodeName?: string } }>({
    resource: pods,
    namespace: 'default',
    name: 'web-0',
  });
  if (!read.ok || read.value.spec?.nodeName === undefined) throw new Error('web-0 runs nowhere');
  return read.value.spec.nodeName;
}
