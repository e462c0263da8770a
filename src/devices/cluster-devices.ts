/**
 * Devices of a real cluster: fence agents and clouds, with what the templates say and the Secrets hold. A Secret is read
 * when its device is used; only what is asked all the time is kept, for a minute, and never told anything.
 */
import type { DeviceProvider, FoundDevice, NoDevice } from './provider.ts';
import { instanceId, noInstance } from './provider.ts';
import type { AllowedParameter } from '../api/agent-parameters.ts';
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/power.ts';
import { plugOf } from '../api/plug.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { AgentSettings } from './agent.ts';
import { AgentCatalogue } from './agent.ts';
import { cloudDrivers } from './clouds/index.ts';
import { HOSTS_ANNOTATION, whyNotSent } from './credential-hosts.ts';
import type { Device, DeviceDriver, DeviceParameters, ParameterProblem } from './device.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { secrets } from '../kube/resources.ts';
import { REDFISH_AGENT, RedfishDriver } from './redfish.ts';

interface WireSecret extends KubeObject {
  data?: Record<string, string>;
}

const readTimeoutMs = 10_000;
/** Whoever is asked every second is not worth a read of its Secret each time. */
const keptForMs = 60_000;
const agentPrefix = 'agent:';
const cloudPrefix = 'driver:';
const builtIn = 'built-in';
/** Of `restart-instance`, for which nothing is written but credentials: one Secret for each provider. */
export const providerSecret = (provider: string): string => `fence-provider-${provider}`;

export class ClusterDevices implements DeviceProvider {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #namespace: string;
  readonly #agents: AgentCatalogue;
  readonly #redfish: RedfishDriver;
  /** Devices that are asked all the time, by node and what is written about them. */
  readonly #kept = new Map<string, { found: FoundDevice; atMs: number }>();
  readonly allowed: readonly AllowedParameter[];

  constructor(options: { client: KubeClient; clock: Clock; namespace: string; agents: AgentSettings }) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#namespace = options.namespace;
    this.#agents = new AgentCatalogue(options.agents, options.clock);
    this.#redfish = new RedfishDriver(options.agents);
    this.allowed = options.agents.allowed;
  }

  async device(node: LiveNode, method: Method, { isKept = false } = {}): Promise<FoundDevice> {
    if (!isKept) return this.#find(node, method, isKept);
    const key = `${node.name} ${deviceHash(method)}`;
    const known = this.#kept.get(key);
    if (known !== undefined && this.#clock.monotonic() - known.atMs < keptForMs) return known.found;
    const found = await this.#find(node, method, isKept);
    this.#kept.delete(key);
    if (!found.ok || found.isCheap !== true) return found;
    // What does not answer may have another address or credential by now.
    const forget = (): boolean => this.#kept.delete(key);
    const kept = { ...found, device: forgettable(found.device, forget) };
    this.#kept.set(key, { found: kept, atMs: this.#clock.monotonic() });
    return kept;
  }

  async #find(node: LiveNode, method: Method, isKept: boolean): Promise<FoundDevice> {
    const wanted = method.driver === builtIn ? byProvider(node, method) : { ok: true as const, method };
    if (!wanted.ok) return wanted;
    const secret = await this.#secretOf(wanted.method);
    if (!secret.ok) return secret;
    const { values, from } = secret;
    const isCloud = wanted.method.driver.startsWith(cloudPrefix);
    const given = isCloud
      ? withInstance(node, wanted.method, values)
      : { ok: true as const, of: wanted.method.parameters };
    if (!given.ok) return given;
    const plain = given.of;
    const unsent = notSent(plain, secret);
    if (unsent !== undefined) return unsent;
    const parameters = { plain, secret: values };
    const found = await this.#driver(wanted.method.driver, parameters);
    if (!found.ok) return found;
    const [wrong] = found.driver.check(parameters);
    if (wrong !== undefined) return wrongParameter(wrong, parameters.plain, from);
    const plug = plugOf(wanted.method.driver, { ...plain, ...values });
    const watched = isKept ? found.driver.watched?.(parameters, this.#clock) : undefined;
    const device = watched ?? found.driver.device(parameters, this.#clock);
    return { ok: true, device, isCheap: watched !== undefined, ...(plug === undefined ? {} : { plug }) };
  }

  async #driver(name: string, parameters: DeviceParameters): Promise<{ ok: true; driver: DeviceDriver } | NoDevice> {
    const isRedfish = name === `${agentPrefix}${REDFISH_AGENT}`;
    if (isRedfish && this.#redfish.understands(parameters)) return { ok: true, driver: this.#redfish };
    if (name.startsWith(agentPrefix)) {
      const found = await this.#agents.driver(name.slice(agentPrefix.length));
      if (found.kind === 'problem') return { ok: false, problem: found.problem, key: 'agent' };
      return { ok: true, driver: found.driver };
    }
    const cloud = name.slice(cloudPrefix.length);
    const driver = cloudDrivers.get(cloud);
    if (driver !== undefined) return { ok: true, driver };
    const problem = `there is no driver ${cloud}: write one of ${[...cloudDrivers.keys()].join(', ')}`;
    return { ok: false, problem, key: 'driver' };
  }

  async #secretOf({ secrets: names }: Method): Promise<HeldBySecrets | NoDevice> {
    const values: Record<string, string> = {};
    const [from, forHosts] = [new Map<string, string>(), new Map<string, string>()];
    for (const name of names) {
      const ref = { resource: secrets, namespace: this.#namespace, name };
      const read = await this.#client.get<WireSecret>(ref, { timeoutMs: readTimeoutMs });
      if (!read.ok) {
        const isMissing = read.error.kind === 'notFound';
        const missing = `there is no Secret ${name} in namespace ${this.#namespace}: create it, or correct the name`;
        return { ok: false, problem: isMissing ? missing : read.error.message, key: 'secret' };
      }
      const hosts = read.value.metadata.annotations?.[HOSTS_ANNOTATION];
      if (hosts !== undefined) forHosts.set(name, hosts);
      for (const [key, value] of Object.entries(read.value.data ?? {})) {
        values[key] = Buffer.from(value, 'base64').toString('utf8');
        from.set(key, name);
      }
    }
    return { ok: true, values, from, forHosts };
  }
}

function forgettable(device: Device, forget: () => void): Device {
  return {
    name: device.name,
    async ask(action, signal) {
      const answer = await device.ask(action, signal);
      if (answer.kind !== 'status') forget();
      return answer;
    },
  };
}

interface HeldBySecrets {
  ok: true;
  values: Record<string, string>;
  /** Which Secret a key comes from. */
  from: ReadonlyMap<string, string>;
  /** Those that say which hosts they are for. */
  forHosts: ReadonlyMap<string, string>;
}

/** Whoever names a Secret beside an address of their own is not brought what is in it. */
function notSent(
  plain: Readonly<Record<string, string>>,
  { values, from, forHosts }: HeldBySecrets,
): NoDevice | undefined {
  for (const [name, written] of forHosts) {
    const [own, others] = [true, false].map((isOwn) =>
      Object.fromEntries(Object.entries(values).filter(([key]) => (from.get(key) === name) === isOwn)),
    );
    for (const told of [plain, others]) {
      const unsent = whyNotSent(written, told ?? {}, own);
      if (unsent !== undefined)
        return { ok: false, problem: `Secret ${name}: ${unsent.problem}`, key: unsent.key ?? 'secret' };
    }
  }
  return undefined;
}

/** What is wrong in a Secret is corrected there, and not where the Secret is named; what is written beside it, where it is written. */
function wrongParameter(
  { key, problem }: ParameterProblem,
  plain: Readonly<Record<string, string>>,
  from: ReadonlyMap<string, string>,
): NoDevice {
  const secret = Object.hasOwn(plain, key) ? undefined : from.get(key);
  if (secret !== undefined) return { ok: false, problem: `Secret ${secret}, key ${key}: ${problem}` };
  return { ok: false, problem: `${key}: ${problem}`, key };
}

/** The provider knows its instances by the ID that it gave their nodes. */
function byProvider(node: LiveNode, method: Method): { ok: true; method: Method } | NoDevice {
  const none = noInstance(node, method);
  if (none !== undefined) return none;
  const { name } = node;
  const providerId = instanceId(node);
  const provider = providerId.split('://', 1)[0] ?? '';
  if (providerId === '' || !cloudDrivers.has(provider)) {
    const has = providerId === '' ? 'no provider ID' : `the provider ID ${providerId}`;
    const problem = `${name} has ${has}: write a ConfigMap fence-config-${name} that says how it is fenced`;
    return { ok: false, problem };
  }
  return { ok: true, method: { ...method, driver: `${cloudPrefix}${provider}`, secrets: [providerSecret(provider)] } };
}

function withInstance(
  node: LiveNode,
  method: Method,
  secret: Readonly<Record<string, string>>,
): { ok: true; of: Readonly<Record<string, string>> } | NoDevice {
  const { parameters } = method;
  if (Object.hasOwn(parameters, 'instance') || Object.hasOwn(secret, 'instance')) return { ok: true, of: parameters };
  const providerId = instanceId(node);
  const instance = providerId === '' ? node.name : providerId;
  return noInstance(node, method) ?? { ok: true, of: { ...parameters, instance } };
}
