/**
 * FenceDevices as people write them, read into the same configuration as ConfigMaps and by the same checks. Each is one device,
 * which switches off and on; those of one level have to succeed together, and the next level is tried where one fails.
 */
import type { ConfigResult, Level, Method, WrittenDevice } from '../api/fence-config.ts';
import { DEVICE_FILE } from '../api/fence-config.ts';
import { selects } from '../api/label-selector.ts';
import { nearest } from '../api/nearest.ts';
import type { CheckSources, NodeIdentity, Parameter } from './method-checks.ts';
import { AGENT_PREFIX, MethodChecks } from './method-checks.ts';
import { ownOf } from '../api/own.ts';

/** Those that are about a node, by name or by its labels. */
export function devicesFor({ name, labels }: NodeIdentity, devices: readonly WrittenDevice[]): WrittenDevice[] {
  return devices
    .filter(({ spec: { node, selector } }) => node === name || (selector !== undefined && selects(selector, labels)))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

export function readDevices(
  node: NodeIdentity,
  devices: readonly WrittenDevice[],
  sources: CheckSources,
): ConfigResult {
  const read = devices.map((device) => readDevice(node, device, sources));
  const problems = read.flatMap((one) => one.problems);
  if (problems.length > 0) return { ok: false, problems };
  const levels = (cuts: WrittenDevice['spec']['cuts']): Level[] => {
    const ofKind = read.filter(({ device }) => device.spec.cuts === cuts);
    const byLevel = [...Map.groupBy(ofKind, ({ device }) => device.spec.level)].toSorted(([a], [b]) => a - b);
    return byLevel.map(([, together]) => ({
      off: together.map(({ method }) => ({ ...method, action: 'off' })),
      on: together.map(({ method }) => ({ ...method, action: 'on' })),
    }));
  };
  const source = devices.map(({ name }) => `${DEVICE_FILE}${name}`).join(', ');
  // What has cut a node off connects it again, the last one first.
  const isolation = levels('Storage').map(({ off }) => ({ off, on: [] }));
  return { ok: true, config: { source, isolation, powerManagement: levels('Power'), recovery: [] } };
}

interface Read extends Pick<MethodChecks, 'problems'> {
  device: WrittenDevice;
  method: Omit<Method, 'action'>;
}

function readDevice(node: NodeIdentity, device: WrittenDevice, sources: CheckSources): Read {
  const { name, spec } = device;
  const place = (key: string): { file: string; key: string } => ({ file: `${DEVICE_FILE}${name}`, key: `spec.${key}` });
  const known = Object.keys(spec.values);
  const hint = (wanted: string): string => {
    const entry = known.includes(node.name)
      ? `add ${wanted} to its entry in spec.values`
      : `add an entry for it to spec.values, with ${wanted}`;
    const near = known.includes(node.name) || known.length === 0 ? undefined : nearest(node.name, known);
    return near === undefined ? entry : `${entry} (there is one for ${near})`;
  };
  const checks = new MethodChecks(node, { of: ownOf(spec.values, node.name) ?? {}, hint }, sources);
  if (spec.driver.startsWith(AGENT_PREFIX)) checks.isAllowed(spec.driver.slice(AGENT_PREFIX.length), place('agent'));
  const written = new Map<string, Parameter>();
  for (const [key, value] of Object.entries(spec.parameters)) {
    const where = place(`parameters.${key}`);
    written.set(key, { value: checks.filled(value, where), place: where });
  }
  const secrets = spec.secrets.map((secret) => checks.filled(secret, place('secrets')));
  checks.secrets(secrets, place('secrets'));
  const identity = spec.identity === undefined ? undefined : checks.filled(spec.identity, place('identity'));
  checks.identity(identity, place('identity'));
  const method = {
    name,
    driver: spec.driver,
    parameters: checks.parameters(spec.driver, written),
    secrets,
    ...(spec.storage.length === 0 ? {} : { storage: spec.storage }),
    ...(identity === undefined || identity === '' ? {} : { identity }),
    ...(spec.node === undefined ? {} : { object: name }),
  };
  return { device, method, problems: checks.problems };
}
