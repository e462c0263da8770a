/**
 * Redfish without a program in between (EVD-4): what is written for `fence_redfish` is served here, where everything in it is
 * understood, over a connection that is kept. Starting the agent costs half a second for each question, and this a few
 * milliseconds. What only the agent knows is left to it: whoever writes one of its own options gets the agent.
 *
 * The credential goes with every request and no session is opened: a controller has room for a handful, and those of a process
 * that was killed would stay.
 */
import { canonicalKey } from '../api/agent-parameters.ts';
import { checkAgentParameters } from './agent-check.ts';
import { isSecretName, type AgentMetadata, type AgentParameter } from './agent-metadata.ts';
import { secretValues, type AgentSettings } from './agent.ts';
import { Failure, Turn } from './clouds/turn.ts';
import type { Device, DeviceAction, DeviceAnswer, DeviceDriver, DeviceParameters, DeviceWorld } from './device.ts';
import { redactor } from './redact.ts';
import { RedfishConnections } from './redfish-connections.ts';
import { bmcOf, BODY_LIMIT_BYTES, identityOf, powerOf, readSystem, reset, type Bmc } from './redfish-system.ts';

export const REDFISH_AGENT = 'fence_redfish';

const CALL_TIMEOUT_MS = 20_000;
const MESSAGE_LIMIT = 500;

/** Those of the agent that mean something without it; `ssl` and `redfish_uri` say what is so anyway. */
const understood: Readonly<Record<string, Partial<AgentParameter>>> = {
  ip: {},
  ipport: { type: 'integer' },
  username: { isRequired: true },
  password: { isRequired: true },
  systems_uri: {},
  redfish_uri: {},
  ssl: { type: 'boolean' },
  ssl_secure: { type: 'boolean' },
  ssl_insecure: { type: 'boolean' },
};

export type RedfishSettings = Pick<AgentSettings, 'timeoutMs' | 'trustFile' | 'allowed'>;

export class RedfishDriver implements DeviceDriver {
  readonly name = 'redfish';
  readonly #settings: RedfishSettings;
  readonly #connections: RedfishConnections;

  constructor(settings: RedfishSettings) {
    this.#settings = settings;
    this.#connections = new RedfishConnections(settings.trustFile);
  }

  /** Whether everything that is written has a meaning here; otherwise it is the agent's. */
  understands(parameters: DeviceParameters): boolean {
    const keys = Object.keys({ ...parameters.plain, ...parameters.secret });
    if (!keys.every((key) => Object.hasOwn(understood, canonicalKey(key)))) return false;
    // What is wrong is said here, whether there is an agent or not.
    return bmcOf(parameters) !== undefined || this.check(parameters).length > 0;
  }

  check(parameters: DeviceParameters) {
    return checkAgentParameters(metadataFor(parameters), parameters, this.#settings.allowed);
  }

  device(parameters: DeviceParameters, world: DeviceWorld): Device {
    const [problem] = this.check(parameters);
    const bmc = bmcOf(parameters);
    const why = problem === undefined ? undefined : `${problem.key}: ${problem.problem}`;
    return new RedfishDevice({
      parameters,
      world,
      settings: this.#settings,
      connections: this.#connections,
      bmc: why ?? bmc ?? 'ip: write an address or a host name',
    });
  }

  /** Its connection is kept anyway. */
  watched(parameters: DeviceParameters, world: DeviceWorld): Device {
    return this.device(parameters, world);
  }
}

/** As the agent would tell them, by each name under which they are written here. */
function metadataFor({ plain, secret }: DeviceParameters): AgentMetadata {
  const parameters = new Map<string, AgentParameter>();
  for (const key of [...Object.keys(understood), ...Object.keys({ ...plain, ...secret })]) {
    const name = canonicalKey(key);
    const known = Object.hasOwn(understood, name) ? understood[name] : undefined;
    if (known === undefined) continue;
    const isSecret = isSecretName(name);
    parameters.set(key, { name, type: 'string', options: [], isRequired: false, isSecret, ...known });
  }
  return { agent: REDFISH_AGENT, parameters, actions: new Set(['status', 'off', 'on']) };
}

interface Parts {
  parameters: DeviceParameters;
  world: DeviceWorld;
  settings: RedfishSettings;
  connections: RedfishConnections;
  /** Or why there is none. */
  bmc: Bmc | string;
}

class RedfishDevice implements Device {
  readonly name: string;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { bmc } = parts;
    const place = typeof bmc === 'string' ? [] : [new URL(bmc.origin).host, bmc.path];
    this.name = this.#redacted(['redfish', ...place].join(' '));
  }

  async ask(action: DeviceAction, signal: AbortSignal): Promise<DeviceAnswer> {
    try {
      const bmc = this.#bmc();
      return await this.#answer(action, bmc, this.#turn(bmc, signal));
    } catch (error) {
      const message = this.#redacted(error instanceof Error ? error.message : String(error));
      return { kind: error instanceof Failure ? error.kind : 'unknown', message };
    }
  }

  async #answer(action: DeviceAction, bmc: Bmc, turn: Turn): Promise<DeviceAnswer> {
    const system = await readSystem(bmc, turn);
    if (action === 'status') {
      const identity = identityOf(system);
      return { kind: 'status', power: powerOf(system), ...(identity !== undefined && { identity }) };
    }
    // Many refuse what is so already; that is success.
    if (system['PowerState'] !== stateOf[action]) await reset(action, system, bmc, turn);
    return { kind: 'accepted' };
  }

  #bmc(): Bmc {
    const { bmc } = this.#parts;
    if (typeof bmc === 'string') throw new Failure('refused', bmc);
    return bmc;
  }

  #turn({ isUnverified }: Bmc, signal: AbortSignal): Turn {
    const { world, settings, connections } = this.#parts;
    return new Turn({
      trustedBy: '--agent-trust-file',
      world,
      signal,
      deadline: world.monotonic() + settings.timeoutMs,
      callTimeoutMs: CALL_TIMEOUT_MS,
      way: { kept: this.#kept(connections, world), isUnverified, bodyLimitBytes: BODY_LIMIT_BYTES },
      hide: () => {},
    });
  }

  #kept(connections: RedfishConnections, world: DeviceWorld) {
    try {
      return connections.open(world);
    } catch (error) {
      throw new Failure(
        'refused',
        `whom to trust cannot be read: ${error instanceof Error ? error.message : 'failed'}`,
      );
    }
  }

  /** Redacted before it is cut: half a credential would not be found any more. */
  #redacted(message: string): string {
    const text = redactor(secretValues(this.#parts.parameters))(message);
    return text.length <= MESSAGE_LIMIT ? text : `${text.slice(0, MESSAGE_LIMIT)}…`;
  }
}

const stateOf = { off: 'Off', on: 'On' } as const;
