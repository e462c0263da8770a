/**
 * ClusterLabs' fence agents as devices (FEN-8). An agent is a program: parameters and credentials go to it as lines on
 * its stdin, never as arguments (S28), and only `status`, `off` and `on` are asked of it. Its own `reboot` says success
 * although switching on failed, and `method=cycle` says success although nothing happened, so neither is ever used.
 *
 * An agent's word is taken for little: exit codes are shared by failures of all kinds, so "off" needs the code and the
 * text that goes with it, and a failed action counts as not carried out only where its message proves that.
 */
import { join } from 'node:path';
import type { AllowedParameter } from '../api/agent-parameters.ts';
import { whyNotAllowed } from '../api/agents.ts';
import { checkAgentParameters, truth } from './agent-check.ts';
import { readIdentity, whyRedfishRefuses, type IdentityQuestion } from './agent-identity.ts';
import { provesNothingDone, saysOffByDefault } from './agent-list.ts';
import { isSecretName, parseMetadata, type AgentMetadata } from './agent-metadata.ts';
import { runProgram, type ProgramEnd } from './agent-process.ts';
import type { Device, DeviceAction, DeviceAnswer, DeviceDriver, DeviceParameters, DeviceWorld } from './device.ts';
import { redactor } from './redact.ts';

export interface AgentSettings {
  /** Where the agents are; nothing outside of it is run. */
  directory: string;
  /** How long a single action may take. Agents wait for the machine to follow, by themselves up to 20 s. */
  timeoutMs: number;
  outputLimitBytes: number;
  /** Certificates of the authorities that devices are trusted by, in PEM; the system's where absent. */
  trustFile?: string;
  /** What agents may be given beyond what is harmless for all of them (SEC-1). */
  allowed: readonly AllowedParameter[];
}

export const defaultAgentSettings: AgentSettings = {
  directory: '/usr/sbin',
  timeoutMs: 60_000,
  outputLimitBytes: 256 * 1024,
  allowed: [],
};

const MESSAGE_LIMIT = 500;
const METADATA_TIMEOUT_MS = 30_000;

/** What an agent needs of its surroundings, and nothing of ours: neither our credentials nor our proxies. */
export function agentEnvironment({ trustFile }: AgentSettings): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: 'C',
    LC_ALL: 'C',
    // They are printed before what matters, and nobody here can act on them.
    PYTHONWARNINGS: 'ignore',
    ...(trustFile !== undefined && { REQUESTS_CA_BUNDLE: trustFile, SSL_CERT_FILE: trustFile }),
  };
}

export type AgentResult = { kind: 'driver'; driver: DeviceDriver } | { kind: 'problem'; problem: string };

/** The agents that are there, each asked once what it knows. */
export class AgentCatalogue {
  readonly #settings: AgentSettings;
  readonly #world: DeviceWorld;
  readonly #known = new Map<string, Promise<AgentResult>>();

  constructor(settings: AgentSettings, world: DeviceWorld) {
    this.#settings = settings;
    this.#world = world;
  }

  /** The driver for an agent, such as `fence_ipmilan`; a problem says why there is none, and what to do. */
  async driver(name: string): Promise<AgentResult> {
    const why = whyNotAllowed(name);
    if (why !== undefined) return { kind: 'problem', problem: `${shown(name)} is not run: ${why}` };
    const known = this.#known.get(name) ?? this.#load(name);
    this.#known.set(name, known);
    const result = await known;
    // It may be installed by the next time.
    if (result.kind === 'problem') this.#known.delete(name);
    return result;
  }

  async #load(name: string): Promise<AgentResult> {
    const metadata = await readMetadata(name, this.#settings, this.#world);
    if (typeof metadata === 'string') return { kind: 'problem', problem: metadata };
    return { kind: 'driver', driver: agentDriver(name, metadata, this.#settings) };
  }
}

/** Asks an agent what it knows; answers with the problem where it does not tell. */
export async function readMetadata(
  name: string,
  settings: AgentSettings,
  world: DeviceWorld,
): Promise<AgentMetadata | string> {
  const end = await runProgram(
    {
      file: join(settings.directory, name),
      input: 'action=metadata\n',
      environment: agentEnvironment(settings),
      signal: new AbortController().signal,
      timeoutMs: METADATA_TIMEOUT_MS,
      outputLimitBytes: settings.outputLimitBytes,
    },
    world,
  );
  if (end.kind === 'not-started') return `${name} cannot be run: ${end.why}. Is it installed?`;
  const metadata = end.kind === 'exited' && end.code === 0 ? parseMetadata(end.stdout) : undefined;
  // An agent under another name tells the name that it was called by; either way it is this one.
  if (metadata !== undefined) return { ...metadata, agent: name };
  return `${name} does not say what it knows: ${end.kind === 'exited' ? `exit code ${end.code}` : end.why}`;
}

/** Not as it was written: it may be anything. */
function shown(name: string): string {
  return JSON.stringify(name.slice(0, 60));
}

export function agentDriver(name: string, metadata: AgentMetadata, settings: AgentSettings): DeviceDriver {
  return {
    name,
    check: (parameters) => checkAgentParameters(metadata, parameters, settings.allowed),
    device: (parameters, world) => {
      const redact = redactor(secretValues(parameters));
      return new AgentDevice({ metadata, settings, parameters, world, redact });
    },
  };
}

/** Also those that were written where they do not belong. */
export function secretValues({ plain, secret }: DeviceParameters): string[] {
  const misplaced = Object.entries(plain).filter(([key]) => isSecretName(key));
  return [...Object.values(secret), ...misplaced.map(([, value]) => value)];
}

interface AgentParts {
  metadata: AgentMetadata;
  settings: AgentSettings;
  parameters: DeviceParameters;
  world: DeviceWorld;
  redact: (text: string) => string;
}

interface Turn {
  signal: AbortSignal;
  /** On the monotonic clock. */
  deadline: number;
}

class AgentDevice implements Device {
  readonly name: string;
  readonly #parts: AgentParts;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    const value = (...keys: string[]): string | undefined =>
      keys.map((key) => parts.parameters.plain[key]).find((text) => text !== undefined);
    const place = [value('ip', 'ipaddr'), value('ipport'), value('systems_uri', 'systems-uri'), value('plug', 'port')];
    this.name = parts.redact([parts.metadata.agent, ...place.filter((part) => part !== undefined)].join(' '));
  }

  async ask(action: DeviceAction, signal: AbortSignal): Promise<DeviceAnswer> {
    const { metadata, settings, world } = this.#parts;
    if (!metadata.actions.has(action)) return this.#refused(`${metadata.agent} has no action ${action}`);
    // One limit for all that a question takes: the agent, its list, the identity.
    const turn = { signal, deadline: world.monotonic() + settings.timeoutMs };
    const end = await this.#run(action, turn);
    if (end.kind === 'not-started') return signal.aborted ? this.#unknown(end.why) : this.#refused(end.why);
    if (end.kind === 'cut-off') return this.#unknown(end.why);
    if (action === 'status') return this.#status(end, turn);
    return end.code === 0 ? { kind: 'accepted' } : this.#failed(end);
  }

  /**
   * Both the code and the text have to say it: an interpreter that cannot find its program ends with code 2 as well,
   * which alone would mean that the machine is off.
   */
  async #status(end: ProgramEnd & { kind: 'exited' }, turn: Turn): Promise<DeviceAnswer> {
    if (end.code !== 0 && end.code !== 2) return this.#failedStatus(end, turn);
    const said = new Set([...end.stdout.matchAll(/^Status: (ON|OFF)\s*$/gm)].map(([, power]) => power));
    const power = end.code === 0 ? 'on' : 'off';
    if (said.size !== 1 || !said.has(power.toUpperCase())) {
      return this.#unknown(`exit code ${end.code} does not go with what it said: ${this.#excerpt(end)}`);
    }
    if (power === 'off' && saysOffByDefault(this.#parts.metadata.agent)) {
      const doubt = await this.#whyNotListed(turn);
      if (doubt !== undefined) return this.#unknown(doubt);
    }
    const identity = await readIdentity(this.#question(turn));
    return { kind: 'status', power, ...(identity !== undefined && { identity }) };
  }

  /** An "off" of an agent that calls everything off that is not on: is there such a plug at all? */
  async #whyNotListed(turn: Turn): Promise<string | undefined> {
    const { plain, secret } = this.#parts.parameters;
    const all = { ...plain, ...secret };
    const plug = all['plug'] ?? all['port'] ?? '';
    const end = await this.#run('list', turn);
    if (end.kind !== 'exited') return `it says off, and whether there is such a plug is not known: ${end.why}`;
    if (end.code !== 0) return `it says off, and cannot say which plugs there are: ${this.#excerpt(end)}`;
    const listed = new Set(end.stdout.split('\n').flatMap((line) => line.trim().split(',')));
    const absent = plug
      .split(all['plug_separator'] ?? ',')
      .filter((one) => !listed.has(one) && !listed.has(afterColon(one)));
    return absent.length === 0 ? undefined : `it says off, but there is no plug ${this.#redacted(absent.join(', '))}`;
  }

  #run(action: DeviceAction | 'list', turn: Turn): Promise<ProgramEnd> {
    const { metadata, parameters, settings, world } = this.#parts;
    const [problem] = checkAgentParameters(metadata, parameters, settings.allowed);
    // The door: whoever made these parameters, and of what, nothing starts with what the table does not have (SEC-1).
    if (problem !== undefined) {
      return Promise.resolve({ kind: 'not-started', why: `${problem.key}: ${problem.problem}` });
    }
    return runProgram(
      {
        file: join(settings.directory, metadata.agent),
        input: inputLines(action, metadata, parameters),
        environment: agentEnvironment(settings),
        signal: turn.signal,
        timeoutMs: this.#left(turn),
        outputLimitBytes: settings.outputLimitBytes,
      },
      world,
    );
  }

  #left({ deadline }: Turn): number {
    return Math.max(1, deadline - this.#parts.world.monotonic());
  }

  /** A status changes nothing, so that it is enough to hear why there is none. */
  async #failedStatus(end: ProgramEnd & { kind: 'exited' }, turn: Turn): Promise<DeviceAnswer> {
    const isRedfish = this.#parts.metadata.agent === 'fence_redfish';
    const why = isRedfish ? await whyRedfishRefuses(this.#question(turn)) : undefined;
    return why === undefined ? this.#failed(end) : this.#refused(why);
  }

  #question(turn: Turn): IdentityQuestion {
    const { metadata, parameters, settings, world } = this.#parts;
    const limits = { signal: turn.signal, timeoutMs: this.#left(turn) };
    return { agent: metadata.agent, parameters, settings, environment: agentEnvironment(settings), world, ...limits };
  }

  #failed(end: ProgramEnd & { kind: 'exited' }): DeviceAnswer {
    const message = this.#excerpt(end);
    return provesNothingDone(this.#parts.metadata.agent, end.stderr) ? this.#refused(message) : this.#unknown(message);
  }

  #refused(message: string): DeviceAnswer {
    return { kind: 'refused', message: this.#redacted(message) };
  }

  #unknown(message: string): DeviceAnswer {
    return { kind: 'unknown', message: this.#redacted(message) };
  }

  #excerpt({ code, stdout, stderr }: ProgramEnd & { kind: 'exited' }): string {
    const lines = `${stderr}\n${stdout}`.split('\n');
    const telling = lines
      .map((line) => line.replace(/^\d{4}-\d\d-\d\d [\d:,]+ (?:ERROR|WARNING): /, '').trim())
      .filter((line) => line !== '' && !line.startsWith('Please use '));
    return telling.length === 0 ? `exit code ${code}` : telling.slice(-4).join('; ');
  }

  /** Redacted before it is cut: half a credential would not be found any more. */
  #redacted(message: string): string {
    const text = this.#parts.redact(message);
    return text.length <= MESSAGE_LIMIT ? text : `${text.slice(0, MESSAGE_LIMIT)}…`;
  }
}

function afterColon(plug: string): string {
  return plug.slice(plug.indexOf(':') + 1);
}

/**
 * The agents take a switch that is there for one that is on, whatever its value: `ssl_insecure=0` would switch the
 * checking of certificates off. So a switch that is off is left out, unless the agent has it on by itself.
 */
function inputLines(
  action: DeviceAction | 'list',
  metadata: AgentMetadata,
  { plain, secret }: DeviceParameters,
): string {
  const lines = Object.entries({ ...plain, ...secret })
    .filter(([key, value]) => {
      const parameter = metadata.parameters.get(key);
      return parameter?.type !== 'boolean' || truth(value) === true || truth(parameter.default ?? '0') === true;
    })
    .map(([key, value]) => `${key}=${value}`);
  return `${[`action=${action}`, ...lines].join('\n')}\n`;
}
