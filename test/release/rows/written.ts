/** How devices are told of in these rows, and what is known of them. */
import type { KubeObject } from '../../../src/kube/client.ts';
import { configMaps, fenceDevices, secrets } from '../../../src/kube/resources.ts';
import { operatorNamespace } from '../../support/operator-rights.ts';
import type { Row } from '../row.ts';
import type { WiredBmc } from '../wiring.ts';

export async function configMap(row: Row, name: string, data: Record<string, string>): Promise<void> {
  await row.world.create(configMaps, { metadata: { name, namespace: operatorNamespace }, data });
}

/** What the devices of one kind have in common, and the credential for them. */
export async function template(
  row: Row,
  name: string,
  { agent, plain, secret }: { agent: string; plain: Record<string, string>; secret: Record<string, string> },
): Promise<void> {
  const metadata = { name: `${name}-login`, namespace: operatorNamespace };
  await row.world.create(secrets, { metadata, stringData: secret });
  const lines = Object.entries({ agent, secret: metadata.name, ...plain }).map(([key, value]) => `${key}=${value}`);
  await configMap(row, `fence-method-template-${name}`, { 'template.properties': lines.join('\n') });
}

export async function asConfigMaps(row: Row, { plain: parameters, secret }: WiredBmc): Promise<void> {
  const { name } = row;
  await template(row, name, { agent: 'fence_ipmilan', plain: { ...parameters }, secret: { ...secret } });
  await configMap(row, `fence-config-${name}`, {
    'config.properties': `node_name=${name}\npower_management=ipmi-off ipmi-on`,
    'fence-method-ipmi-off': `template=fence-method-template-${name}\naction=off`,
    'fence-method-ipmi-on': `template=fence-method-template-${name}\naction=on`,
  });
}

export async function asFenceDevice(row: Row, { plain: parameters, secret }: WiredBmc): Promise<void> {
  const { name } = row;
  const login = `${name}-login`;
  const metadata = { name: login, namespace: operatorNamespace };
  await row.world.create(secrets, { metadata, stringData: { ...secret } });
  const spec = { node: name, agent: 'fence_ipmilan', parameters: { ...parameters }, secrets: [login] };
  await row.world.create(fenceDevices, { metadata: { name: `${name}-bmc`, namespace: operatorNamespace }, spec });
}

interface FenceDeviceFacts {
  spec?: { node?: string };
  status?: { seenOn?: string };
}

export async function devicesOf(row: Row): Promise<(KubeObject & FenceDeviceFacts)[]> {
  const options = { namespace: operatorNamespace };
  const read = await row.world.client.list<KubeObject & FenceDeviceFacts>(fenceDevices, options);
  return read.ok ? read.value.items.filter(({ spec }) => spec?.node === row.name) : [];
}
