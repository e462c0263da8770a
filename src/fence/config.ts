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
} from '../api/fence-config.ts';
import { CONFIG_PREFIX, METHOD_PREFIX, TEMPLATE_PREFIX } from '../api/fence-names.ts';
import type { AllowedParameter } from '../api/agent-parameters.ts';
import { agentParameterProblems } from '../api/agent-parameters.ts';
import { whyNotAllowed } from '../api/agents.ts';
import { parseLabelSelector, selects } from '../api/label-selector.ts';
import { nearest } from '../api/nearest.ts';
import type { Property } from './properties.ts';
import { parseProperties } from './properties.ts';

const configEntry = 'config.properties';
const templateEntry = 'template.properties';
const valuesPrefix = 'values.';
const agentPrefix = 'agent:';
const placeholder = /\{\{\s*([\w.-]+)\s*\}\}/;
const placeholders = new RegExp(placeholder, 'g');
const objectName = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;

/** What needs no template: the node is told apart by its name alone. */
export const BUILT_IN_METHODS = ['mark-unschedulable', 'mark-schedulable', 'restart-instance'] as const;

export interface ConfigSources {
  /** How a node is fenced for which nothing is written; absent: as the cloud provider does it. */
  unwritten?: FenceConfig;
  /** The ConfigMaps of fences and of their templates. */
  maps: readonly NamedData[];
  /** Which Secrets there are; absent: that is not looked at here. */
  secrets?: ReadonlySet<string>;
  /** What agents may be given beyond what is harmless for all of them, as the operator was started. */
  allowed?: readonly AllowedParameter[];
}

export interface NodeIdentity {
  name: string;
  labels: Readonly<Record<string, string>>;
}

const stepKeys = { isolation: 'isolation', power_management: 'powerManagement', recovery: 'recovery' } as const;
const configKeys = ['node_name', 'selector', ...Object.keys(stepKeys)];

/** The provider knows its instances by name and needs nothing written. */
export const defaultConfig: FenceConfig = {
  isolation: [{ off: [builtIn('mark-unschedulable')], on: [] }],
  powerManagement: [{ off: [builtIn('restart-instance', 'off')], on: [builtIn('restart-instance', 'on')] }],
  recovery: [{ off: [], on: [builtIn('mark-schedulable')] }],
};

function builtIn(name: string, action?: MethodAction): Method {
  const fixed: Record<string, MethodAction> = { 'mark-unschedulable': 'cordon', 'mark-schedulable': 'uncordon' };
  return { name, action: action ?? fixed[name] ?? 'off', driver: 'built-in', parameters: {}, secrets: [] };
}

/** The configuration of one node: its own ConfigMap, else the one whose selector fits, else the provider's default. */
export function configOf(node: NodeIdentity, sources: ConfigSources): ConfigResult {
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
  const { entries } = parseProperties(data[configEntry] ?? '');
  const written = entries.find(({ key }) => key === 'selector');
  if (written === undefined) return 'other';
  const parsed = parseLabelSelector(written.value);
  if (parsed.ok) return selects(parsed.selector, labels) ? 'fits' : 'other';
  return { file: name, key: `${configEntry}:${written.line} selector`, reason: parsed.problem };
}

function readConfig(node: NodeIdentity, source: NamedData, sources: ConfigSources): ConfigResult {
  const reader = new ConfigReader(node, source, sources);
  const config = reader.read();
  return reader.problems.length > 0 ? { ok: false, problems: reader.problems } : { ok: true, config };
}

interface Template {
  driver: string;
  parameters: ReadonlyMap<string, Parameter>;
  secrets: string[];
  storage?: string;
  /** What its device answers, or `unchecked`. */
  identity: string | undefined;
}

/** With where it is written. */
interface Parameter {
  value: string;
  file: string;
  place: string;
}

class ConfigReader {
  readonly problems: ConfigProblem[] = [];
  readonly #node: NodeIdentity;
  readonly #source: NamedData;
  readonly #sources: ConfigSources;
  readonly #values: Readonly<Record<string, string>>;

  constructor(node: NodeIdentity, source: NamedData, sources: ConfigSources) {
    this.#node = node;
    this.#source = source;
    this.#sources = sources;
    const own = this.#properties(source, `${valuesPrefix}${node.name}`, false);
    this.#values = { ...Object.fromEntries(own.map(({ key, value }) => [key, value])), node: node.name };
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
    if (config.powerManagement.length === 0 && config.isolation.length === 0 && this.problems.length === 0) {
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
    if (step === 'power_management' && methods.length > 0 && methods.every(isOn)) {
      this.#problem(`${configEntry} ${step}`, 'it only switches on: name a method with action=off before it');
    }
    return { off: methods.filter((method) => !isOn(method)), on: methods.filter(isOn) };
  }

  #methods(step: string, name: string): Method[] {
    if (name === 'restart-instance') return [builtIn(name, 'off'), builtIn(name, 'on')];
    // The source writes it so for recovery, where nothing else can be meant than the end of the first.
    if (step === 'recovery' && name === 'mark-unschedulable') return [builtIn('mark-schedulable')];
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
      const place = `${entry}:${line} ${key}`;
      written.set(key, { value: this.#filled(value, place), file: this.#source.name, place });
    }
    const { driver, secrets } = inherited;
    const parameters = Object.fromEntries([...written].map(([key, { value }]) => [key, value]));
    this.#checkParameters(driver, parameters, written);
    const storage = wordsOf(valueOf('storage') ?? inherited.storage);
    const pinned = valueOf('identity');
    const identity = pinned === undefined ? inherited.identity : this.#filled(pinned, `${entry}: identity`);
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

  /** What is in a Secret is checked when the device is used; here it is not known. */
  #checkParameters(
    driver: string,
    parameters: Readonly<Record<string, string>>,
    written: ReadonlyMap<string, Parameter>,
  ): void {
    if (!driver.startsWith(agentPrefix)) return;
    const found = agentParameterProblems(driver.slice(agentPrefix.length), parameters, this.#sources.allowed ?? []);
    for (const { key, problem } of found) {
      const { value = '', file, place = key } = written.get(key) ?? {};
      // A placeholder that nobody has filled has been told already.
      if (!placeholder.test(value)) this.#problem(place, problem, file);
    }
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
    const why = agent === undefined ? undefined : whyNotAllowed(agent);
    if (why !== undefined) {
      this.#problem(`${templateEntry}: agent`, `it is not run: ${why}`, name);
      return undefined;
    }
    const secrets = wordsOf(this.#filled(valueOf('secret') ?? '', `${templateEntry}: secret`, name));
    for (const secret of secrets) {
      if (!objectName.test(secret)) {
        if (!placeholder.test(secret)) {
          this.#problem(`${templateEntry}: secret`, 'write names of Secrets: lower case, digits, - and .', name);
        }
      } else if (this.#sources.secrets?.has(secret) === false) {
        this.#problem(`${templateEntry}: secret`, `there is no Secret ${secret}: create it, or correct the name`, name);
      }
    }
    const parameters = new Map<string, Parameter>();
    for (const { key, value, line } of entries) {
      if (['agent', 'driver', 'secret', 'storage', 'identity'].includes(key)) continue;
      const place = `${templateEntry}:${line} ${key}`;
      parameters.set(key, { value: this.#filled(value, place, name), file: name, place });
    }
    const storage = valueOf('storage');
    const pinned = valueOf('identity');
    const identity = pinned === undefined ? undefined : this.#filled(pinned, `${templateEntry}: identity`, name);
    const common = { parameters, secrets, identity, ...(storage === undefined ? {} : { storage }) };
    return { driver: agent === undefined ? `driver:${driver}` : `${agentPrefix}${agent}`, ...common };
  }

  get #templates(): NamedData[] {
    return this.#sources.maps.filter(({ name }) => name.startsWith(TEMPLATE_PREFIX));
  }

  #filled(value: string, key: string, file?: string): string {
    return value.replaceAll(placeholders, (whole, name: string) => {
      const known = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
      if (known !== undefined) return known;
      const hint = `write ${name}=… into the entry ${valuesPrefix}${this.#node.name} of ${this.#source.name}`;
      this.#problem(key, `{{${name}}} has no value for node ${this.#node.name}: ${hint}`, file);
      return whole;
    });
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
    this.problems.push({ file, key, reason });
  }
}

function wordsOf(text: string | undefined): string[] {
  return (text ?? '').split(/[\s,]+/).filter(Boolean);
}

function isStep(key: string): key is keyof typeof stepKeys {
  return Object.hasOwn(stepKeys, key);
}
