/**
 * Which policy is in force for which node, and whether those that would be fenced could be, as far as is written. Apart from
 * decisions about nodes in trouble: this is told in the status of policies, so that a mistake is found when it is made (FEN-7).
 */
import type { AllowedParameter } from '../api/agent-parameters.ts';
import type {
  ConfigProblem,
  ConfigResult,
  FenceConfig,
  Method,
  NamedData,
  WrittenDevice,
} from '../api/fence-config.ts';
import { DEVICE_FILE } from '../api/fence-config.ts';
import { CONFIG_PREFIX } from '../api/fence-names.ts';
import type { Forbiddable } from '../api/forbidden.ts';
import { outletsOf, plugOf } from '../api/plug.ts';
import type { Outlets } from '../api/power.ts';
import { deviceHash, firstPowerMethods, outletLevels, storageMethods, UNCHECKED } from '../api/power.ts';
import type { LiveNode, PolicyFacts } from '../api/release-view.ts';
import { configOf, selectorProblem } from '../fence/config.ts';
import { devicesFor, readDevices } from '../fence/device-config.ts';
import type { CheckSources } from '../fence/method-checks.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import { ownOf } from '../api/own.ts';

type By<T> = ReadonlyMap<string, readonly T[]>;

/** A node that its policy would fence, with how. */
export interface FencedNode {
  policy: string;
  node: LiveNode;
  config: ConfigResult;
}

/** By the name of the policy. */
export interface PolicyNodes {
  inForce: By<string>;
  conflicts: By<{ node: string; winner: string }>;
  fenced: readonly FencedNode[];
}

/** How a Secret is; what is in it is nobody's business here. */
export type SecretState = { kind: 'there' } | { kind: 'missing' } | { kind: 'unknown'; why: string };

/** How nodes are fenced, as far as it is written: ConfigMaps, FenceDevices, and what holds where nothing is written. */
export interface WrittenConfigs {
  maps: readonly NamedData[];
  devices: readonly WrittenDevice[];
  unwritten: (node: LiveNode) => FenceConfig | undefined;
  /** Where Secrets are looked for. */
  namespace?: string;
  /** What agents may be given beyond what is harmless for all of them. */
  allowed?: readonly AllowedParameter[] | undefined;
  /** What nobody may write. */
  forbidden?: readonly Forbiddable[] | undefined;
}

/** By the name of the policy, but for `targets`. */
export interface ConfigFindings {
  configProblems: By<ConfigProblem>;
  unreadableSecrets: By<{ name: string; why: string }>;
  /** All nodes that would be fenced, with how. */
  targets: readonly { node: LiveNode; config: ConfigResult }[];
}

/** Whether a ladder of the policy fences. */
export function fencesBy({ remedy }: PolicyFacts): boolean {
  return (remedy?.thresholds ?? []).some(({ remedies }) =>
    remedies.some(({ name }) => ownOf(remedy?.kinds ?? {}, name) === 'fence'),
  );
}

/** As the fence of the node would read it, but for Secrets, where they are known. */
export function configFor(
  node: LiveNode,
  { maps, devices, unwritten, namespace, ...limits }: WrittenConfigs,
  existing?: ReadonlySet<string>,
): ConfigResult {
  const own = unwritten(node);
  return configOf(node, {
    maps,
    devices,
    ...limitsOf(limits),
    ...(existing === undefined ? {} : { secrets: existing }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(own === undefined ? {} : { unwritten: own }),
  });
}

/** By which every method is checked, whoever has written it. */
function limitsOf({ allowed, forbidden }: Pick<WrittenConfigs, 'allowed' | 'forbidden'>): CheckSources {
  return { ...(allowed === undefined ? {} : { allowed }), ...(forbidden === undefined ? {} : { forbidden }) };
}

export function policyNodes(
  nodes: readonly LiveNode[],
  policies: readonly PolicyFacts[],
  configs: WrittenConfigs,
): PolicyNodes {
  const inForce = new Map<string, string[]>();
  const conflicts = new Map<string, { node: string; winner: string }[]>();
  const fenced: FencedNode[] = [];
  for (const node of nodes) {
    const match = matchPolicy(policies, node.labels);
    if (match.kind === 'none') continue;
    const { name } = match.policy;
    for (const loser of match.over) add(conflicts, loser, { node: node.name, winner: name });
    add(inForce, name, node.name);
    if (fencesBy(match.policy)) fenced.push({ policy: name, node, config: configFor(node, configs) });
  }
  return { inForce, conflicts, fenced };
}

/** `secrets`: how each of those that the configurations name is. */
export function configFindings(
  { fenced }: Pick<PolicyNodes, 'fenced'>,
  configs: WrittenConfigs,
  secrets: ReadonlyMap<string, SecretState>,
): ConfigFindings {
  const existing = new Set([...secrets].flatMap(([name, { kind }]) => (kind === 'missing' ? [] : [name])));
  const configProblems = new Map<string, ConfigProblem[]>();
  const unreadableSecrets = new Map<string, { name: string; why: string }[]>();
  const targets: { node: LiveNode; config: ConfigResult }[] = [];
  for (const { policy, node, config } of fenced) {
    // Read again with what is known of the Secrets, so that a missing one is told with its file and key.
    const checked = config.ok ? configFor(node, configs, existing) : config;
    targets.push({ node, config: checked });
    if (!checked.ok) for (const problem of checked.problems) add(configProblems, policy, problem);
    for (const name of secretsOf(config)) {
      const state = secrets.get(name);
      const told = unreadableSecrets.get(policy)?.some((one) => one.name === name) === true;
      if (state?.kind === 'unknown' && !told) add(unreadableSecrets, policy, { name, why: state.why });
    }
  }
  return { configProblems, unreadableSecrets, targets };
}

/** Configurations of nodes that are not there (yet): a mistake in one is found now, not when the node has joined. */
export function strayProblems(
  nodes: readonly LiveNode[],
  { maps, ...limits }: Pick<WrittenConfigs, 'maps' | 'allowed' | 'forbidden'>,
): ConfigProblem[] {
  const names = new Set(nodes.map(({ name }) => name));
  return maps.flatMap((map) => {
    const name = map.name.slice(CONFIG_PREFIX.length);
    // One for several nodes has values of its own for each: without a node there is nothing to read it for.
    const isForMany = /^\s*selector\s*[=:]/m.test(map.data['config.properties'] ?? '');
    if (!map.name.startsWith(CONFIG_PREFIX) || names.has(name)) return [];
    if (isForMany) return selectorProblem(map) ?? [];
    const read = configOf({ name, labels: {} }, { maps, ...limitsOf(limits) });
    return read.ok ? [] : read.problems;
  });
}

/** What is known of a FenceDevice that somebody has written: whom it is about, and what is wrong with it. */
export interface DeviceFinding {
  nodes: number;
  problem?: ConfigProblem;
}

/** By its name. One that is about nobody yet is read all the same: a mistake in it is found when it is made. */
export function deviceFindings(
  nodes: readonly LiveNode[],
  configs: WrittenConfigs,
  existing?: ReadonlySet<string>,
): Map<string, DeviceFinding> {
  return new Map(
    configs.devices.map((device): [string, DeviceFinding] => {
      const mine = nodes.filter((node) => devicesFor(node, [device]).length > 0);
      const { node: name = Object.keys(device.spec.values)[0] ?? '' } = device.spec;
      const read =
        mine.length > 0
          ? mine.map((node) => configFor(node, configs, existing))
          : [readDevices({ name, labels: {} }, [device], limitsOf(configs))];
      const problem = read
        .flatMap((one) => (one.ok ? [] : one.problems))
        .find(({ file }) => file === `${DEVICE_FILE}${device.name}`);
      return [device.name, { nodes: mine.length, ...(problem === undefined ? {} : { problem }) }];
    }),
  );
}

/** For whom nothing is written: the provider has to know the machine, and would be asked by this method. */
export function unwrittenMethod({ config }: FencedNode): Method | undefined {
  if (!config.ok || config.config.source !== undefined) return undefined;
  return config.config.powerManagement.flatMap(({ off, on }) => [...off, ...on])[0];
}

export function secretsOf(config: ConfigResult): ReadonlySet<string> {
  return new Set(methodsOf(config).flatMap((method) => method.secrets));
}

export function methodsOf(config: ConfigResult): Method[] {
  if (!config.ok) return [];
  const { isolation, powerManagement, recovery } = config.config;
  return [...isolation, ...powerManagement, ...recovery].flatMap(({ off, on }) => [...off, ...on]);
}

/**
 * Nodes that have a level of power devices of which each is unproven, by policy: they may be let go by the word of these alone. One that
 * says whose power it is, beside an outlet, is proof enough for both.
 */
export function unprovenNodes(
  fenced: readonly FencedNode[],
  isUnproven: (node: string, method: Method) => boolean,
): By<string> {
  const found = fenced.filter(({ node, config }) => {
    const levels = config.ok ? config.config.powerManagement : [];
    const devices = levels.map(({ off }) => off.filter(({ action }) => action === 'off'));
    return devices.some((level) => level.length > 0 && level.every((method) => isUnproven(node.name, method)));
  });
  return namesBy(found);
}

/** Nodes that are cut off from their storage by a port of which nobody can know whose it is, by policy. */
export function unshownNodes(
  fenced: readonly FencedNode[],
  isUnshown: (node: string, method: Method) => boolean,
): By<string> {
  const found = fenced.filter(({ node, config }) =>
    storageMethods(config).some((method) => (method.storage ?? []).length > 0 && isUnshown(node.name, method)),
  );
  return namesBy(found);
}

function namesBy(found: readonly FencedNode[]): By<string> {
  return new Map(
    [...Map.groupBy(found, ({ policy }) => policy)].map(([policy, of]) => [policy, of.map(({ node }) => node.name)]),
  );
}

/** Nodes whose configuration says that nobody looks whose machine a device answers for, by policy. */
export function uncheckedNodes(fenced: readonly FencedNode[]): By<string> {
  const found = fenced.filter(({ config }) => methodsOf(config).some(({ identity }) => identity === UNCHECKED));
  return namesBy(found);
}

/**
 * Devices with which two nodes are configured: by `node hash`, as a device is known, the other node. Where the address is in a
 * Secret, that shows when the devices are asked, or is known to `plugFor`.
 */
export function sharedDevices(
  fenced: readonly Pick<FencedNode, 'node' | 'config'>[],
  plugFor: (node: LiveNode, method: Method) => string | undefined = writtenPlug,
): Map<string, string> {
  const all = fenced.flatMap(({ node, config }) =>
    methodsOf(config).flatMap((method) => {
      const plug = plugFor(node, method);
      const key = `${node.name} ${deviceHash(method)}`;
      return plug === undefined ? [] : outletsOf(plug).map((outlet) => ({ outlet, node: node.name, key }));
    }),
  );
  const shared = new Map<string, string>();
  for (const users of Map.groupBy(all, ({ outlet }) => outlet).values()) {
    for (const { node, key } of users) {
      const other = users.find((one) => one.node !== node);
      if (other !== undefined) shared.set(key, other.node);
    }
  }
  return shared;
}

function writtenPlug(_: LiveNode, { driver, parameters }: Method): string | undefined {
  return plugOf(driver, parameters);
}

/** Whose devices are asked all the time, as their policies want it. One that is paused wants nothing. */
export function watchedNodes(
  fenced: readonly FencedNode[],
  policies: readonly PolicyFacts[],
): { node: LiveNode; methods: Method[]; everyMs: number }[] {
  const wanted = new Map(
    policies.flatMap(({ name, mode, remedy }) =>
      remedy?.fence.powerWatch === undefined || mode === 'Paused' ? [] : [[name, remedy.fence.powerWatch] as const],
    ),
  );
  return fenced.flatMap(({ node, config, policy }) => {
    const [watch, methods] = [wanted.get(policy), firstPowerMethods(config)];
    return watch === undefined || methods.length === 0 ? [] : [{ node, methods, everyMs: watch.everyMs }];
  });
}

/** What each node is switched off by, level by level; not where nobody can read what is written about it. */
export function configuredDevices(fenced: readonly Pick<FencedNode, 'node' | 'config'>[]): Map<string, Outlets[][]> {
  const readable = fenced.filter(({ config }) => config.ok);
  return new Map(readable.map(({ node, config }) => [node.name, outletLevels(config)]));
}

/** What each node is fenced by, in every step; not where nobody can read what is written about it. */
export function namedDevices(fenced: readonly Pick<FencedNode, 'node' | 'config'>[]): Map<string, Set<string>> {
  const readable = fenced.filter(({ config }) => config.ok);
  return new Map(
    readable.map(({ node, config }) => [
      node.name,
      new Set(methodsOf(config).flatMap((method) => deviceHash(method) ?? [])),
    ]),
  );
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}
