/**
 * How a node is fenced, as administrators write it into ConfigMaps, read and checked the moment it is written (FEN-6,
 * FEN-7). Three steps, each a sequence of methods; a method is an instance of a template with values of its own.
 *
 *   isolation=fc-off
 *   power_management=ipmi-off ipmi-on | pdu-off pdu-on
 *   recovery=fc-on
 *
 * `|` separates levels: the methods of a level all have to succeed, and where one fails the next level is tried
 * (FEN-14). With `selector=type=compute` one ConfigMap serves every node with that label; `{{node}}` in any value stands
 * for the name of the node, and `{{plug}}` for what the entry `values.<node>` says of it. `storage=driver.example.com` of a
 * template says which CSI driver's volumes a node cannot reach while the method is off.
 */
import type {
  ConfigProblem,
  ConfigResult,
  FenceConfig,
  Level,
  Method,
  MethodAction,
  NamedData,
  WrittenDevice,
} from '../api/fence-config.ts';
import { DEVICE_FILE } from '../api/fence-config.ts';
import { CONFIG_PREFIX, CORDON_METHOD, METHOD_PREFIX, TEMPLATE_PREFIX } from '../api/fence-names.ts';
import { parseLabelSelector, selects } from '../api/label-selector.ts';
import { nearest } from '../api/nearest.ts';
import { devicesFor, readDevices } from './device-config.ts';
import type { CheckSources, NodeIdentity, Parameter } from './method-checks.ts';
import { AGENT_PREFIX, MethodChecks } from './method-checks.ts';
import type { Property } from './properties.ts';
import { parseProperties } from './properties.ts';

const configEntry = 'config.properties';
const templateEntry = 'template.properties';
const valuesPrefix = 'values.';

/** What needs no template: the node is told apart by its name alone. */
export const BUILT_IN_METHODS = [CORDON_METHOD, 'mark-schedulable', 'restart-instance'] as const;

export interface ConfigSources extends CheckSources {
  /** How a node is fenced for which nothing is written; absent: as the cloud provider does it. */
  unwritten?: FenceConfig;
  /** The ConfigMaps of fences and of their templates. */
  maps: readonly NamedData[];
  /** The FenceDevices that people have written. */
  devices?: readonly WrittenDevice[];
}

const stepKeys = { isolation: 'isolation', power_management: 'powerManagement', recovery: 'recovery' } as const;
const configKeys = ['node_name', 'selector', ...Object.keys(stepKeys)];

/** The provider knows its instances by name and needs nothing written. */
export const defaultConfig: FenceConfig = {
  isolation: [{ off: [builtIn(CORDON_METHOD)], on: [] }],
  powerManagement: [{ off: [builtIn('restart-instance', 'off')], on: [builtIn('restart-instance', 'on')] }],
  recovery: [{ off: [], on: [builtIn('mark-schedulable')] }],
};

function builtIn(name: string, action?: MethodAction): Method {
  const fixed: Record<string, MethodAction> = { [CORDON_METHOD]: 'cordon', 'mark-schedulable': 'uncordon' };
  return { name, action: action ?? fixed[name] ?? 'off', driver: 'built-in', parameters: {}, secrets: [] };
}

/**
 * The configuration of one node: its FenceDevices, or its ConfigMap, else the provider's default. Where both are written, nobody
 * chooses between them.
 */
export function configOf(node: NodeIdentity, sources: ConfigSources): ConfigResult {
  const devices = devicesFor(node, sources.devices ?? []);
  if (devices.length === 0) return mapConfigOf(node, sources);
  const map = mapFor(node, sources);
  if (map === undefined) return readDevices(node, devices, sources);
  const reason = `ConfigMap ${map} is about node ${node.name} as well: remove one of them`;
  return { ok: false, problems: devices.map(({ name }) => ({ file: `${DEVICE_FILE}${name}`, key: 'spec', reason })) };
}

/** The ConfigMap that is, or may be, about a node. */
function mapFor(node: NodeIdentity, { maps }: ConfigSources): string | undefined {
  const configs = maps.filter(({ name }) => name.startsWith(CONFIG_PREFIX));
  const own = configs.find(({ name }) => name === `${CONFIG_PREFIX}${node.name}`);
  return (own ?? configs.find((config) => selectorFit(config, node) !== 'other'))?.name;
}

/** Its own ConfigMap, else the one whose selector fits. */
function mapConfigOf(node: NodeIdentity, sources: ConfigSources): ConfigResult {
  const configs = sources.maps.filter(({ name }) => name.startsWith(CONFIG_PREFIX));
  const own = configs.find(({ name }) => name === `${CONFIG_PREFIX}${node.name}`);
  if (own !== undefined) return readConfig(node, own, sources);
  const fits = configs.map((config) => ({ config, fit: selectorFit(config, node) }));
  const fitting = fits.flatMap(({ config, fit }) => (fit === 'fits' ? config : []));
  const [only, second] = fitting;
  if (only === undefined) {
    // Whom they select nobody can say: perhaps this node, which then is not fenced as if nothing were written.
    const unreadable = fits.flatMap(({ fit }) => (typeof fit === 'object' ? fit : []));
    if (unreadable.length > 0) return { ok: false, problems: unreadable };
    return { ok: true, config: sources.unwritten ?? defaultConfig };
  }
  if (second === undefined) return readConfig(node, only, sources);
  const names = fitting.map(({ name }) => name).sort();
  const reason = `${names.join(' and ')} both select node ${node.name}: make their selectors exclude each other`;
  return { ok: false, problems: names.map((file) => ({ file, key: `${configEntry}: selector`, reason })) };
}

/** A selector that nobody can read selects nobody, and says so. */
export function selectorProblem(config: NamedData): ConfigProblem | undefined {
  const fit = selectorFit(config, { name: '', labels: {} });
  return typeof fit === 'object' ? fit : undefined;
}

function selectorFit({ name, data }: NamedData, { labels }: NodeIdentity): 'fits' | 'other' | ConfigProblem {
  const { entries, problems } = parseProperties(data[configEntry] ?? '');
  const written = entries.find(({ key }) => key === 'selector');
  const broken = problems.find(({ key }) => key === 'selector');
  if (broken !== undefined) return { file: name, key: `${configEntry}:${broken.line}`, reason: broken.problem };
  if (written === undefined) return 'other';
  const parsed = parseLabelSelector(written.value);
  if (parsed.ok) return selects(parsed.selector, labels) ? 'fits' : 'other';
  return { file: name, key: `${configEntry}:${written.line} selector`, reason: parsed.problem };
}

function readConfig(node: NodeIdentity, source: NamedData, sources: ConfigSources): ConfigResult {
  const reader = new ConfigReader(node, source, sources);
  const config = reader.read();
  const { problems } = reader.checks;
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config };
}

interface Template {
  driver: string;
  parameters: ReadonlyMap<string, Parameter>;
  secrets: string[];
  storage?: string;
  /** What its device answers, or `unchecked`. */
  identity: string | undefined;
}

class ConfigReader {
  readonly checks: MethodChecks;
  readonly #node: NodeIdentity;
  readonly #source: NamedData;
  readonly #sources: ConfigSources;

  constructor(node: NodeIdentity, source: NamedData, sources: ConfigSources) {
    this.#node = node;
    this.#source = source;
    this.#sources = sources;
    const entry = `${valuesPrefix}${node.name}`;
    const { entries, problems } = parseProperties(source.data[entry] ?? '');
    const values = Object.fromEntries(entries.map(({ key, value }) => [key, value]));
    const hint = (name: string): string => `write ${name}=… into the entry ${entry} of ${source.name}`;
    this.checks = new MethodChecks(node, { of: values, hint }, sources);
    for (const { line, problem } of problems) this.#problem(`${entry}:${line}`, problem);
  }

  read(): FenceConfig {
    this.#unknownEntries();
    const entries = this.#properties(this.#source, configEntry, true);
    const config: { -readonly [Key in keyof FenceConfig]: FenceConfig[Key] } = {
      source: this.#source.name,
      isolation: [],
      powerManagement: [],
      recovery: [],
    };
    for (const { key, value, line } of entries) {
      if (key === 'node_name') this.#checkNodeName(value, line);
      else if (isStep(key)) config[stepKeys[key]] = this.#levels(key, value);
      else if (key !== 'selector') this.#unknownKey(this.#source.name, `${configEntry}:${line}`, key, configKeys);
    }
    if (config.powerManagement.length === 0 && config.isolation.length === 0 && this.checks.problems.length === 0) {
      this.#problem(configEntry, 'there is nothing to fence with: write power_management=… or isolation=…');
    }
    return config;
  }

  #checkNodeName(value: string, line: number): void {
    const name = this.#filled(value, `${configEntry}:${line} node_name`);
    if (name === this.#node.name) return;
    this.#problem(`${configEntry}:${line} node_name`, `it says ${name}, and the node is ${this.#node.name}`);
  }

  #levels(step: string, text: string): Level[] {
    return text
      .split('|')
      .map((level) => level.trim().split(/\s+/).filter(Boolean))
      .filter((names) => names.length > 0)
      .map((names) => this.#level(step, names));
  }

  #level(step: string, names: readonly string[]): Level {
    const methods = names.flatMap((name) => this.#methods(step, name));
    const isOn = ({ action }: Method): boolean => action === 'on' || action === 'uncordon';
    const firstOn = methods.findIndex(isOn);
    const late = methods.findIndex((method, index) => firstOn !== -1 && index > firstOn && !isOn(method));
    if (late !== -1) {
      const key = `${configEntry} ${step}`;
      this.#problem(key, `${methods[late]?.name} switches off after something was switched on: put it first`);
    }
    // A cordon cuts no power: a fence would count as done by it, or never end.
    if (step === 'power_management' && methods.length > 0 && !methods.some(({ action }) => action === 'off')) {
      const key = `${configEntry} ${step}`;
      this.#problem(key, `nothing in "${names.join(' ')}" switches the power off: name a method with action=off first`);
    }
    return { off: methods.filter((method) => !isOn(method)), on: methods.filter(isOn) };
  }

  #methods(step: string, name: string): Method[] {
    if (name === 'restart-instance') return [builtIn(name, 'off'), builtIn(name, 'on')];
    // The source writes it so for recovery, where nothing else can be meant than the end of the first.
    if (step === 'recovery' && name === CORDON_METHOD) return [builtIn('mark-schedulable')];
    if ((BUILT_IN_METHODS as readonly string[]).includes(name)) return [builtIn(name)];
    const entry = `${METHOD_PREFIX}${name}`;
    if (this.#source.data[entry] === undefined) {
      const known = this.#methodNames();
      const add = `add the entry ${entry}`;
      const hint = known.length === 0 ? add : `did you mean ${nearest(name, known)}? Otherwise ${add}`;
      this.#problem(configEntry, `there is no method ${name}: ${hint}`);
      return [];
    }
    return this.#instance(name, entry);
  }

  #instance(name: string, entry: string): Method[] {
    const own = this.#properties(this.#source, entry, true);
    const valueOf = (key: string): string | undefined => own.find((property) => property.key === key)?.value;
    const template = valueOf('template');
    if (template === undefined) {
      this.#problem(entry, `it names no template: write template=${TEMPLATE_PREFIX}…`);
      return [];
    }
    const action = valueOf('action');
    if (action !== 'on' && action !== 'off') {
      const hint =
        action === 'reboot' ? 'write two methods, one with action=off and one with action=on' : 'write off or on';
      this.#problem(
        `${entry}: action`,
        `${action === undefined ? 'it is missing' : `"${action}" is not known`}: ${hint}`,
      );
      return [];
    }
    const inherited = this.#template(template, entry);
    if (inherited === undefined) return [];
    const written = new Map(inherited.parameters);
    for (const { key, value, line } of own) {
      if (['template', 'action', 'storage', 'identity'].includes(key)) continue;
      const place = { file: this.#source.name, key: `${entry}:${line} ${key}` };
      written.set(key, { value: this.checks.filled(value, place), place });
    }
    const { driver, secrets } = inherited;
    const parameters = this.checks.parameters(driver, written);
    const storage = wordsOf(valueOf('storage') ?? inherited.storage);
    const pinned = valueOf('identity');
    const identity = pinned === undefined ? inherited.identity : this.#filled(pinned, `${entry}: identity`);
    this.checks.identity(identity, { file: this.#source.name, key: `${entry}: identity` });
    return [
      {
        name,
        action,
        driver,
        parameters,
        secrets,
        ...(storage.length === 0 ? {} : { storage }),
        ...(identity === undefined || identity === '' ? {} : { identity }),
      },
    ];
  }

  #template(name: string, usedIn: string): Template | undefined {
    const template = this.#templates.find((one) => one.name === name);
    if (template === undefined) {
      const known = this.#templates.map((one) => one.name);
      const hint = known.length === 0 ? 'create it' : `did you mean ${nearest(name, known)}?`;
      this.#problem(`${usedIn}: template`, `there is no ConfigMap ${name}: ${hint}`);
      return undefined;
    }
    const entries = this.#properties(template, templateEntry, true);
    const valueOf = (key: string): string | undefined => entries.find((property) => property.key === key)?.value;
    const [agent, driver, nested] = [valueOf('agent'), valueOf('driver'), valueOf('template')];
    if (nested !== undefined) {
      this.#problem(`${templateEntry}: template`, 'a template is not made from another one: write its agent', name);
      return undefined;
    }
    if ((agent === undefined) === (driver === undefined)) {
      this.#problem(templateEntry, 'write exactly one of agent and driver, such as agent=fence_ipmilan', name);
      return undefined;
    }
    const place = (key: string) => ({ file: name, key: `${templateEntry}: ${key}` });
    if (agent !== undefined && !this.checks.isAllowed(agent, place('agent'))) return undefined;
    const secrets = wordsOf(this.#filled(valueOf('secret') ?? '', `${templateEntry}: secret`, name));
    this.checks.secrets(secrets, place('secret'));
    const parameters = new Map<string, Parameter>();
    for (const { key, value, line } of entries) {
      if (['agent', 'driver', 'secret', 'storage', 'identity'].includes(key)) continue;
      const written = { file: name, key: `${templateEntry}:${line} ${key}` };
      parameters.set(key, { value: this.checks.filled(value, written), place: written });
    }
    const storage = valueOf('storage');
    const pinned = valueOf('identity');
    const identity = pinned === undefined ? undefined : this.#filled(pinned, `${templateEntry}: identity`, name);
    const common = { parameters, secrets, identity, ...(storage === undefined ? {} : { storage }) };
    return { driver: agent === undefined ? `driver:${driver}` : `${AGENT_PREFIX}${agent}`, ...common };
  }

  get #templates(): NamedData[] {
    return this.#sources.maps.filter(({ name }) => name.startsWith(TEMPLATE_PREFIX));
  }

  #filled(value: string, key: string, file: string = this.#source.name): string {
    return this.checks.filled(value, { file, key });
  }

  #methodNames(): string[] {
    return Object.keys(this.#source.data)
      .filter((key) => key.startsWith(METHOD_PREFIX))
      .map((key) => key.slice(METHOD_PREFIX.length));
  }

  #unknownEntries(): void {
    for (const key of Object.keys(this.#source.data)) {
      if (key === configEntry || key.startsWith(METHOD_PREFIX) || key.startsWith(valuesPrefix)) continue;
      this.#unknownKey(this.#source.name, key, key, [configEntry, METHOD_PREFIX, valuesPrefix]);
    }
  }

  #properties({ name, data }: NamedData, entry: string, isNeeded: boolean): readonly Property[] {
    const text = data[entry];
    if (text === undefined) {
      if (isNeeded) this.#problem(entry, `the entry is missing: write it, with key=value lines`, name);
      return [];
    }
    const { entries, problems } = parseProperties(text);
    for (const { line, problem } of problems) this.#problem(`${entry}:${line}`, problem, name);
    return entries;
  }

  #unknownKey(file: string, where: string, key: string, valid: readonly string[]): void {
    this.#problem(where, `"${key}" is not known: did you mean ${nearest(key, valid)}?`, file);
  }

  #problem(key: string, reason: string, file: string = this.#source.name): void {
    this.checks.problem({ file, key }, reason);
  }
}

function wordsOf(text: string | undefined): string[] {
  return (text ?? '').split(/[\s,]+/).filter(Boolean);
}

function isStep(key: string): key is keyof typeof stepKeys {
  return Object.hasOwn(stepKeys, key);
}
