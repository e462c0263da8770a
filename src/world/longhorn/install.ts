/** The definitions and the namespace, as its chart brings them, and its settings. */
import type { Clock } from '../../clock.ts';
import { sleep } from '../../clock.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import type { KubeError } from '../../kube/errors.ts';
import type { Resource } from '../../kube/resources.ts';
import { customResourceDefinitions } from '../../kube/resources.ts';
import { namespaces } from '../controllers/resources.ts';
import type { SettingObject } from './objects.ts';
import { longhornDefinitions, longhornNamespace, settings } from './objects.ts';

const retryMs = 1000;

export async function install(
  client: KubeClient,
  { clock, softAntiAffinity }: { clock: Clock; softAntiAffinity: boolean },
  onProblem: (error: KubeError) => void,
  signal: AbortSignal,
): Promise<void> {
  const antiAffinity: SettingObject = {
    metadata: { name: 'replica-soft-anti-affinity', namespace: longhornNamespace },
    value: String(softAntiAffinity),
  };
  const objects: [Resource, KubeObject][] = [
    [namespaces, { metadata: { name: longhornNamespace } }],
    ...longhornDefinitions().map((one): [Resource, KubeObject] => [customResourceDefinitions, one]),
    [settings, antiAffinity],
  ];
  for (const [resource, object] of objects) {
    while (!signal.aborted) {
      const created = await client.create(resource, object, { signal });
      if (created.ok || created.error.kind === 'alreadyExists') break;
      onProblem(created.error);
      await sleep(clock, retryMs, signal);
    }
  }
}
