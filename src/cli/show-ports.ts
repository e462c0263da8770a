/** `fenceline check --shown NODE`: somebody has closed the switch ports of a node, and seen it lose its storage. */
import type { KubeClient } from '../kube/client.ts';
import { fenceDevices } from '../kube/resources.ts';
import { taken } from './taken.ts';
import { UserError } from './user-error.ts';
import { readDevices } from './written.ts';

/** Says of the ports of these nodes that they are theirs, as they are configured now; answers with which these are. */
export async function showPorts(
  { client, namespace }: { client: KubeClient; namespace: string },
  names: readonly string[],
  by: string,
): Promise<string[]> {
  if (names.length === 0) throw new UserError('name the nodes whose ports you have closed: check --shown NODE');
  const ports = (await readDevices(client, namespace)).flatMap(({ metadata, spec, status }) => {
    const { cuts, identity, configuration, machine, place } = status ?? {};
    const isPort = names.includes(spec.node ?? '') && cuts === 'Storage' && identity === undefined;
    const where = place === undefined ? {} : { place };
    return isPort && configuration !== undefined && machine !== undefined
      ? [{ metadata, seen: { configuration, machine, ...where } }]
      : [];
  });
  if (ports.length === 0) {
    throw new UserError(
      `no port of ${names.join(', ')} to its storage is known that cannot say whose it is; the operator asks each within ten minutes`,
    );
  }
  for (const { metadata, seen } of ports) {
    const ref = { resource: fenceDevices, namespace, name: metadata.name };
    const shown = { by, ...seen };
    taken(await client.patch(ref, { uid: metadata.uid ?? '' }, [{ op: 'add', path: '/spec/shown', value: shown }]));
  }
  return ports.map(
    ({ metadata }) => `${metadata.name}: shown by ${by}, until its configuration or its machine changes`,
  );
}
