/** Which policy is in force for which node, and whether those that would be fenced could be, as far as is written. */
import type { DeviceProvider } from '../devices/provider.ts';
import type { ConfigProblem, ConfigResult, FenceConfig, Method, NamedData } from '../api/fence-config.ts';
import { CONFIG_PREFIX } from '../api/fence-names.ts';
import type { LiveNode, PolicyFacts } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import { configOf } from '../fence/config.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { KubeClient } from '../kube/client.ts';
import { secrets } from '../kube/resources.ts';
import type { PolicyFindings } from '../report/policy-conditions.ts';
import type { DeviceTarget } from '../act/device-rounds.ts';

type By<T> = ReadonlyMap<string, readonly T[]>;

/** By the name of the policy. */
export interface NodeFindings {
  nodes: By<string>;
  conflicts: By<PolicyFindings['conflicts'][number]>;
  configProblems: By<ConfigProblem>;
  unconfigured: By<PolicyFindings['unconfigured'][number]>;
  unreadableSecrets: By<PolicyFindings['unreadableSecrets'][number]>;
  /** All nodes that would be fenced, with how. */
  targets: readonly DeviceTarget[];
}

export interface PolicyFinderOptions {
  client: KubeClient;
  clock: Clock;
  provider: DeviceProvider;
  namespace: string;
  /** For how long a Secret that was there is taken to be there. */
  knownForMs: number;
}

type SecretState = { kind: 'there' } | { kind: 'missing' } | { kind: 'unknown'; why: string };

const callTimeoutMs = 10_000;
/** Of whatever is asked for many nodes, so many at a time. */
const atATime = 8;

/** Whether a ladder of the policy fences. */
export function fencesBy({ remedy }: PolicyFacts): boolean {
  return (remedy?.thresholds ?? []).some(({ remedies }) =>
    remedies.some(({ name }) => remedy?.kinds[name] === 'fence'),
  );
}

/** As the fence of the node would read it, but for Secrets, where they are known. */
export function configFor(
  node: LiveNode,
  maps: readonly NamedData[],
  provider: DeviceProvider,
  existing?: ReadonlySet<string>,
): ConfigResult {
  const unwritten = provider.defaultConfig?.(node);
  return configOf(node, {
    maps,
    ...(existing === undefined ? {} : { secrets: existing }),
    ...(unwritten === undefined ? {} : { unwritten }),
  });
}

export class PolicyFinder {
  readonly #options: PolicyFinderOptions;
  /** When each Secret was last seen to be there. */
  readonly #there = new Map<string, number>();

  constructor(options: PolicyFinderOptions) {
    this.#options = options;
  }

  async find(
    nodes: readonly LiveNode[],
    policies: readonly PolicyFacts[],
    maps: readonly NamedData[],
  ): Promise<NodeFindings> {
    const { provider } = this.#options;
    const inForce = new Map<string, string[]>();
    const conflicts = new Map<string, { node: string; winner: string }[]>();
    const fenced: { policy: string; node: LiveNode; config: ConfigResult }[] = [];
    for (const node of nodes) {
      const match = matchPolicy(policies, node.labels);
      if (match.kind === 'none') continue;
      const { name } = match.policy;
      for (const loser of match.over) add(conflicts, loser, { node: node.name, winner: name });
      add(inForce, name, node.name);
      if (fencesBy(match.policy)) fenced.push({ policy: name, node, config: configFor(node, maps, provider) });
    }
    const states = await this.#secretStates(fenced.map(({ config }) => config));
    const existing = new Set([...states].flatMap(([name, { kind }]) => (kind === 'missing' ? [] : [name])));
    const configProblems = new Map<string, ConfigProblem[]>();
    const unreadableSecrets = new Map<string, { name: string; why: string }[]>();
    const targets: DeviceTarget[] = [];
    for (const { policy, node, config } of fenced) {
      // Read again with what is known of the Secrets, so that a missing one is told with its file and key.
      const checked = config.ok ? configFor(node, maps, provider, existing) : config;
      targets.push({ node, config: checked });
      if (!checked.ok) for (const problem of checked.problems) add(configProblems, policy, problem);
      for (const name of secretsOf(config)) {
        const state = states.get(name);
        const told = unreadableSecrets.get(policy)?.some((one) => one.name === name) === true;
        if (state?.kind === 'unknown' && !told) add(unreadableSecrets, policy, { name, why: state.why });
      }
    }
    const strayProblems = straysOf(nodes, maps);
    for (const policy of new Set(policies.filter(fencesBy).map(({ name }) => name))) {
      for (const problem of strayProblems) add(configProblems, policy, problem);
    }
    const unconfigured = await this.#unconfigured(fenced);
    return { nodes: inForce, conflicts, configProblems, unconfigured, unreadableSecrets, targets };
  }

  /** For whom nothing is written has to be known to the provider. */
  async #unconfigured(
    fenced: readonly { policy: string; node: LiveNode; config: ConfigResult }[],
  ): Promise<Map<string, { node: string; why: string }[]>> {
    const found = new Map<string, { node: string; why: string }[]>();
    const bare = fenced.filter(({ config }) => config.ok && config.config.source === undefined);
    await inTurns(bare, async ({ policy, node, config }) => {
      const method = config.ok ? powerMethods(config.config)[0] : undefined;
      const device = method === undefined ? undefined : await this.#options.provider.device(node, method);
      if (device?.ok === false) add(found, policy, { node: node.name, why: device.problem });
    });
    return found;
  }

  async #secretStates(configs: readonly ConfigResult[]): Promise<Map<string, SecretState>> {
    const states = new Map<string, SecretState>();
    const names = new Set(configs.flatMap((config) => [...secretsOf(config)]));
    for (const name of this.#there.keys()) if (!names.has(name)) this.#there.delete(name);
    await inTurns([...names], async (name) => states.set(name, await this.#secretState(name)));
    return states;
  }

  async #secretState(name: string): Promise<SecretState> {
    const { client, clock, namespace, knownForMs } = this.#options;
    const seenMs = this.#there.get(name);
    if (seenMs !== undefined && clock.monotonic() - seenMs < knownForMs) return { kind: 'there' };
    // What is in it is nobody's business here, and does not come over the wire.
    const read = await client.get(
      { resource: secrets, namespace, name },
      { timeoutMs: callTimeoutMs, metadataOnly: true },
    );
    if (read.ok) this.#there.set(name, clock.monotonic());
    else this.#there.delete(name);
    if (read.ok) return { kind: 'there' };
    return read.error.kind === 'notFound' ? { kind: 'missing' } : { kind: 'unknown', why: read.error.message };
  }
}

/** Configurations of nodes that are not there (yet): a mistake in one is found now, not when the node has joined. */
function straysOf(nodes: readonly LiveNode[], maps: readonly NamedData[]): ConfigProblem[] {
  const names = new Set(nodes.map(({ name }) => name));
  return maps.flatMap((map) => {
    const name = map.name.slice(CONFIG_PREFIX.length);
    // One for several nodes has values of its own for each: without a node there is nothing to read it for.
    const isForMany = /^\s*selector\s*=/m.test(map.data['config.properties'] ?? '');
    if (!map.name.startsWith(CONFIG_PREFIX) || names.has(name) || isForMany) return [];
    const read = configOf({ name, labels: {} }, { maps });
    return read.ok ? [] : read.problems;
  });
}

function powerMethods({ powerManagement }: FenceConfig): Method[] {
  return powerManagement.flatMap(({ off, on }) => [...off, ...on]);
}

function secretsOf(config: ConfigResult): Set<string> {
  if (!config.ok) return new Set();
  const { isolation, powerManagement, recovery } = config.config;
  const methods = [...isolation, ...powerManagement, ...recovery].flatMap(({ off, on }) => [...off, ...on]);
  return new Set(methods.flatMap((method) => method.secrets));
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

export async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: Math.min(atATime, queue.length) }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    }),
  );
}
