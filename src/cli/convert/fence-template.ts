/** Reads a FenceAgentsRemediationTemplate: which agent is run for a node, with which parameters, and where the secrets are. */
import { isMap } from 'yaml';
import { whyNotAllowed } from '../../api/agents.ts';
import { keyProblem, whyNeverGiven } from '../../api/agent-parameters.ts';
import { isSecretName } from '../../devices/agent-metadata.ts';
import type { Entry, Place, Read } from '../../scenario/reader.ts';
import { entriesOf, plain, problem, record, resolved, text, textMap, whole } from '../../scenario/reader.ts';
import type { CloudAgent } from './cloud-agents.ts';
import { cloudAgents } from './cloud-agents.ts';
import { nameOf } from './documents.ts';
import { anyText, documentOf, time } from './health-check.ts';
import type { Notes, Settings } from './result.ts';

export interface FenceTemplate {
  name: string;
  place: Place;
  /** `agent=fence_ipmilan`, `driver=aws`. */
  device: string;
  /** What its methods are called after. */
  method: string;
  /** Whether it stays off. */
  isOffOnly: boolean;
  shared: ReadonlyMap<string, string>;
  byNode: ReadonlyMap<string, ReadonlyMap<string, string>>;
  secrets: readonly string[];
  nodeSecrets: ReadonlyMap<string, readonly string[]>;
  retries?: number;
}

interface Written {
  agent: string;
  retrycount?: number;
  retryinterval?: number;
  timeout?: number;
  sharedparameters?: Place;
  nodeparameters?: Place;
  remediationStrategy?: string;
  nodeSecretNames?: Place;
  sharedSecretName?: Place;
}

const itself: Read<Place> = (place) => place;
/** Of the other operator, where nothing is written; not worth a note. */
const [agentTimeoutMs, usualIntervalMs] = [60_000, 5000];

const specOf: Read<Written> = record<Written>(
  {
    agent: (place) => {
      const agent = text(place);
      const why = agent in cloudAgents ? undefined : whyNotAllowed(agent);
      return why === undefined ? agent : problem(place, `${agent} is not run: ${why}`);
    },
    retrycount: whole(1),
    retryinterval: time,
    timeout: time,
    sharedparameters: itself,
    nodeparameters: itself,
    remediationStrategy: text,
    nodeSecretNames: itself,
    sharedSecretName: itself,
  },
  ['agent'],
);

const read = documentOf<{ template: { spec: Written }; statusValidationSample?: unknown }>(
  record({ template: record({ spec: specOf }, ['spec']), statusValidationSample: plain }, ['template']),
);

export function fenceTemplateOf(place: Place, settings: Settings, notes: Notes): FenceTemplate {
  const name = nameOf(place) ?? problem(place, 'it has no name: write metadata: {name: …}');
  const { spec } = read(place).template;
  const cloud = cloudAgents[spec.agent];
  const reader = new ParameterReader(name, cloud, settings, notes);
  if (spec.sharedparameters !== undefined) reader.readShared(spec.sharedparameters);
  if (spec.nodeparameters !== undefined) reader.readNodes(spec.nodeparameters);
  reader.readSecrets(spec, place);
  if (![undefined, agentTimeoutMs].includes(spec.timeout)) {
    notes.add(place, 'timeout has no counterpart: a device has 60 s to answer');
  }
  if (![undefined, usualIntervalMs].includes(spec.retryinterval)) {
    notes.add(place, 'retryinterval has no counterpart: how long is waited before the next try is not a setting');
  }
  const method = cloud?.driver ?? spec.agent.replace(/^fence_/, '').replaceAll('_', '-');
  return {
    name,
    place,
    device: cloud === undefined ? `agent=${spec.agent}` : `driver=${cloud.driver}`,
    method,
    ...reader.result(),
    ...(spec.retrycount === undefined ? {} : { retries: spec.retrycount - 1 }),
  };
}

/** Sorts parameters into those that may be seen and those that belong into a Secret. The latter are never repeated. */
class ParameterReader {
  readonly #template: string;
  readonly #cloud: CloudAgent | undefined;
  readonly #settings: Settings;
  readonly #notes: Notes;
  readonly #shared = new Map<string, string>();
  readonly #byNode = new Map<string, Map<string, string>>();
  readonly #secrets: string[] = [];
  readonly #nodeSecrets = new Map<string, string[]>();
  readonly #actions = new Set<string>();

  constructor(template: string, cloud: CloudAgent | undefined, settings: Settings, notes: Notes) {
    this.#template = template;
    this.#cloud = cloud;
    this.#settings = settings;
    this.#notes = notes;
  }

  result(): Pick<FenceTemplate, 'shared' | 'byNode' | 'secrets' | 'nodeSecrets' | 'isOffOnly'> {
    return {
      shared: this.#shared,
      byNode: this.#byNode,
      secrets: this.#secrets,
      nodeSecrets: this.#nodeSecrets,
      isOffOnly: this.#actions.has('off'),
    };
  }

  readShared(place: Place): void {
    const credentials: string[] = [];
    for (const entry of parametersIn(place)) {
      const key = this.#key(entry);
      if (key === undefined) continue;
      if (key === 'action') this.#action(entry.value);
      else if (this.#isCredential(key)) credentials.push(key);
      else this.#shared.set(key, this.#value(key, withNode(entry.value)));
    }
    if (credentials.length > 0) {
      const secret = `${this.#template}-credentials`;
      this.#secrets.push(secret);
      this.#inPlain(place, credentials, secret);
    }
  }

  readNodes(place: Place): void {
    const credentials = new Map<string, string[]>();
    for (const entry of parametersIn(place)) {
      const key = this.#key(entry);
      if (key === undefined) continue;
      for (const { key: node, value } of parametersIn(entry.value)) {
        if (key === 'action') this.#action(value);
        else if (this.#isCredential(key)) credentials.set(node, [...(credentials.get(node) ?? []), key]);
        else this.#ofNode(node).set(key, this.#value(key, literal(value)));
      }
    }
    for (const [node, keys] of credentials) {
      const secret = `${this.#template}-${node}-credentials`;
      this.#nodeSecrets.set(node, [secret]);
      this.#inPlain(place, keys, secret);
    }
  }

  readSecrets({ sharedSecretName, nodeSecretNames }: Written, place: Place): void {
    if (sharedSecretName !== undefined) {
      const name = text(sharedSecretName);
      this.#secrets.unshift(name);
      this.#byReference(sharedSecretName, name);
    }
    if (nodeSecretNames !== undefined) {
      const names = textMap(text)(nodeSecretNames);
      for (const [node, name] of Object.entries(names)) {
        this.#nodeSecrets.set(node, [name, ...(this.#nodeSecrets.get(node) ?? [])]);
      }
      this.#byReference(nodeSecretNames, [...new Set(Object.values(names))].join(', '));
    }
    if (this.#cloud !== undefined && this.#secrets.length === 0 && this.#nodeSecrets.size === 0) {
      const name = `${this.#template}-credentials`;
      this.#secrets.push(name);
      const from = 'neither the environment nor a metadata service is looked at';
      const keys = this.#cloud.credentials.join(', ');
      this.#notes.add(place, `credentials come from a Secret alone, ${from}: ${this.#create(name)}, with ${keys}`);
    }
  }

  #ofNode(node: string): Map<string, string> {
    const own = this.#byNode.get(node) ?? new Map<string, string>();
    this.#byNode.set(node, own);
    return own;
  }

  /** On the command line an agent's parameters are written with hyphens, in its input with underscores. */
  #key({ key, keyPlace }: Entry): string | undefined {
    if (!/^(?:--)?[A-Za-z][\w-]+$/.test(key)) problem(keyPlace, 'write the long name of the parameter, such as --ip');
    const name = key.replace(/^--/, '').replaceAll('-', '_');
    if (name === 'action') return name;
    if (this.#cloud !== undefined) return this.#cloudKey(name, keyPlace, this.#cloud);
    const never = whyNeverGiven(name);
    if (never !== undefined) return problem(keyPlace, never);
    const why = keyProblem(name);
    if (why !== undefined) this.#notes.add(keyPlace, why);
    return name;
  }

  #cloudKey(name: string, keyPlace: Place, { driver, keys, without }: CloudAgent): string | undefined {
    const own = keys[name];
    if (own !== undefined) return own;
    if (without.includes(name)) {
      this.#notes.add(keyPlace, `left out: driver=${driver} does not need it`);
      return undefined;
    }
    return problem(keyPlace, `driver=${driver}, which takes the place of the agent, has no such parameter: remove it`);
  }

  #value(key: string, value: string): string {
    if (key === 'endpoint' && !/^https?:/.test(value)) return `https://${value}`;
    return value === '' ? '1' : value;
  }

  #isCredential(key: string): boolean {
    return this.#cloud === undefined ? isSecretName(key) : this.#cloud.credentials.includes(key);
  }

  #action(place: Place): void {
    const action = anyText(place) === '' ? 'reboot' : anyText(place);
    if (action !== 'reboot' && action !== 'off') problem(place, 'write reboot or off');
    this.#actions.add(action);
    if (this.#actions.size > 1) problem(place, 'it is off for some nodes and reboot for others: make two templates');
  }

  #inPlain(place: Place, keys: readonly string[], secret: string): void {
    const what = keys.length === 1 ? 'is written here in plain text and is' : 'are written here in plain text and are';
    this.#notes.add(
      place,
      `${keys.join(' and ')} ${what} not repeated: ${this.#create(secret)}, with ${keys.join(', ')}`,
    );
  }

  #byReference(place: Place, secret: string): void {
    const keys = Object.entries(this.#cloud?.keys ?? {}).filter(([, own]) => this.#isCredential(own));
    const renamed = keys.map(([theirs, own]) => `${own} for --${theirs.replaceAll('_', '-')}`).join(', ');
    const how =
      renamed === '' ? 'its keys are the parameters without hyphens in front: password for --password' : renamed;
    this.#notes.add(place, `${this.#create(secret)}; ${how}`);
  }

  #create(secret: string): string {
    return `create the Secret ${secret} in namespace ${this.#settings.namespace}`;
  }
}

/** A wrong value is not repeated in the message: it may be a password in the wrong place. */
function parametersIn(place: Place): Entry[] {
  return isMap(resolved(place).node)
    ? entriesOf(place)
    : problem(place, 'a map is expected here, of parameters or nodes');
}

/** Shared parameters are templates of Go, in which there is nothing but the name of the node. */
function withNode(place: Place): string {
  const value = oneLine(place).replaceAll(/\{\{-?\s*\.NodeName\s*-?\}\}/g, '{{node}}');
  const rest = value.replaceAll('{{node}}', '');
  return rest.includes('{{') ? problem(place, 'of templates only {{.NodeName}} can be expressed: write it out') : value;
}

function literal(place: Place): string {
  const value = oneLine(place);
  return value.includes('{{') ? problem(place, '{{ would be a placeholder here: write the value itself') : value;
}

function oneLine(place: Place): string {
  const value = anyText(place);
  return /[\r\n]/.test(value) ? problem(place, 'a parameter is one line: write it without a line break') : value;
}
