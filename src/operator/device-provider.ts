/**
 * Devices of a real cluster: fence agents, with what the templates say and the Secrets hold. A Secret is read when its
 * device is used and kept nowhere.
 */
import type { DeviceProvider, FoundDevice } from '../act/device-tasks.ts';
import type { Method } from '../api/fence-config.ts';
import type { Clock } from '../clock.ts';
import type { AgentSettings } from '../devices/agent.ts';
import { AgentCatalogue } from '../devices/agent.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import { secrets } from '../kube/resources.ts';

interface WireSecret extends KubeObject {
  data?: Record<string, string>;
}

const readTimeoutMs = 10_000;
const agentPrefix = 'agent:';

export class ClusterDevices implements DeviceProvider {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #namespace: string;
  readonly #agents: AgentCatalogue;

  constructor(options: { client: KubeClient; clock: Clock; namespace: string; agents: AgentSettings }) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#namespace = options.namespace;
    this.#agents = new AgentCatalogue(options.agents, options.clock);
  }

  async device(_node: unknown, method: Method): Promise<FoundDevice> {
    if (!method.driver.startsWith(agentPrefix)) {
      return { ok: false, problem: `there is no driver ${method.driver}: write a template with an agent` };
    }
    const found = await this.#agents.driver(method.driver.slice(agentPrefix.length));
    if (found.kind === 'problem') return { ok: false, problem: found.problem };
    const secret = await this.#secretOf(method);
    if (!secret.ok) return { ok: false, problem: secret.error.message };
    const parameters = { plain: method.parameters, secret: secret.value };
    const [wrong] = found.driver.check(parameters);
    if (wrong !== undefined) return { ok: false, problem: `${wrong.key}: ${wrong.problem}` };
    return { ok: true, device: found.driver.device(parameters, this.#clock) };
  }

  async #secretOf({ secrets: names }: Method): Promise<Result<Record<string, string>>> {
    const values: Record<string, string> = {};
    for (const name of names) {
      const ref = { resource: secrets, namespace: this.#namespace, name };
      const read = await this.#client.get<WireSecret>(ref, { timeoutMs: readTimeoutMs });
      if (!read.ok) return read;
      for (const [key, value] of Object.entries(read.value.data ?? {})) {
        values[key] = Buffer.from(value, 'base64').toString('utf8');
      }
    }
    return { ok: true, value: values };
  }
}
