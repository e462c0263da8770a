/**
 * How nodes are fenced, as it may be printed (S28). Nothing is kept but what a simulation needs and what is known to be harmless:
 * which methods there are, by which agent, and where a device is. Whatever else is written is replaced, whatever it is called, by
 * something that is as right or as wrong as it was, so that a configuration is still refused for the same lines.
 */
import { agentParameterProblems, canonicalKey } from '../../api/agent-parameters.ts';
import { whyNotAllowed } from '../../api/agents.ts';
import type { FenceDeviceSpec } from '../../api/fence-device.ts';
import type { NamedData } from '../../api/fence-config.ts';
import { METHOD_PREFIX, TEMPLATE_PREFIX } from '../../api/fence-names.ts';
import { parseLabelSelector } from '../../api/label-selector.ts';
import { PLACE_KEYS } from '../../api/plug.ts';
import type { Snapshot } from '../../api/snapshot.ts';
import { isSecretName } from '../../devices/agent-metadata.ts';
import { cloudDrivers } from '../../devices/clouds/index.ts';
import { BUILT_IN_METHODS } from '../../fence/config.ts';
import { parseProperties } from '../../fence/properties.ts';

type Scene = Pick<Snapshot, 'maps' | 'nodes'>;
type Values = Readonly<Record<string, string>>;

const hidden = 'redacted';
const unknown = 'unknown';
/** One of them is a right value of any parameter. */
const standIns = [hidden, '1', ',', '/redfish/', '/org-redacted', 'https://redacted', 'crn:'];
const wrong = '';
const placeholders = /\{\{\s*([\w.-]+)\s*\}\}/g;
const driverName = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;
const secretNames = /^[a-z0-9{}\s,.-]+$/;
/** Of a machine in a cloud; no agent looks at it. */
const instanceName = /^[\w./:-]+$/;
const shortValue = /^[\w.:@#,/-]{1,64}$/;

export function harmlessMaps(scene: Scene): NamedData[] {
  const tellable = tellableValues(scene.maps);
  const values = new Set(scene.nodes.map(({ name }) => `values.${name}`));
  return scene.maps.map((map) => harmlessMap(map, { ...scene, tellable, values }));
}

/** `values`: where those of a node are, of every node. */
interface Told extends Scene {
  tellable: Tellable;
  values: ReadonlySet<string>;
}

function harmlessMap({ name, data }: NamedData, scene: Told): NamedData {
  const entries = Object.entries(data).flatMap(([entry, text], index): [string, string][] => {
    if (entry.startsWith('values.')) {
      const { entries: values } = parseProperties(text);
      const kept = values.flatMap(({ key, value }) => {
        const told = scene.tellable(key, value);
        return told === undefined ? [] : `${key}=${told}`;
      });
      return scene.values.has(entry) ? [[entry, kept.join('\n')]] : [];
    }
    const isKnown = /^(?:config|template)\.properties$/.test(entry) || entry.startsWith(METHOD_PREFIX);
    return [isKnown ? [entry, harmlessText(text, data, scene)] : [`${unknown}-${index}`, '']];
  });
  return { name, data: Object.fromEntries(entries) };
}

/** Line by line: comments go, and a line that is no property stays one. */
function harmlessText(text: string, data: Values, scene: Scene): string {
  const driver = driverOf(text, scene.maps);
  const lines = text.split('\n').flatMap((raw, index): string[] => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) return [];
    const [property] = parseProperties(line).entries;
    if (property === undefined) return [unknown];
    const { key, value } = property;
    if (key === 'identity') return value === 'unchecked' ? [line] : [];
    const said = Object.hasOwn(wordsOf, key) ? wordsOf[key]?.(value, data, scene) : undefined;
    if (said !== undefined) return [`${key}=${said}`];
    return parameterOf([key, value], driver, index).map((pair) => pair.join('='));
  });
  return lines.join('\n');
}

/** What is not a parameter of a device: each with what of its value is kept. */
const wordsOf: Readonly<Record<string, (value: string, data: Values, scene: Scene) => string>> = {
  node_name: (value, _, { nodes }) =>
    value === '{{node}}' || nodes.some(({ name }) => name === value) ? value : unknown,
  selector: (value) => (parseLabelSelector(value).ok ? value : wrong),
  isolation: steps,
  power_management: steps,
  recovery: steps,
  template: (value, _, { maps }) => (maps.some(({ name }) => name === value) ? value : `${TEMPLATE_PREFIX}${unknown}`),
  action: (value) => (value === 'on' || value === 'off' ? value : unknown),
  agent: agentName,
  driver: cloudName,
  secret: (value) => (secretNames.test(value) ? hidden : '?'),
  storage: (value) =>
    value
      .split(/[\s,]+/)
      .map(storageName)
      .join(' '),
};

function steps(value: string, data: Values): string {
  const isKnown = (word: string): boolean =>
    word === '|' || Object.hasOwn(data, `${METHOD_PREFIX}${word}`) || BUILT_IN_METHODS.some((one) => one === word);
  const words = value.replaceAll('|', ' | ').split(/\s+/).filter(Boolean);
  return words.map((word) => (isKnown(word) ? word : unknown)).join(' ');
}

function agentName(name: string): string {
  return whyNotAllowed(name) === undefined ? name : unknown;
}

function cloudName(name: string): string {
  return cloudDrivers.has(name) ? name : unknown;
}

function storageName(name: string): string {
  return driverName.test(name) ? name : unknown;
}

/** Undefined: a cloud's, of which nothing is checked before it is asked. */
function driverOf(text: string, maps: readonly NamedData[]): string | undefined {
  const valueOf = (of: string, key: string): string | undefined =>
    parseProperties(of).entries.find((one) => one.key === key)?.value;
  const template = maps.find(({ name }) => name === valueOf(text, 'template'));
  const written = template?.data['template.properties'] ?? text;
  return valueOf(written, 'driver') === undefined ? (valueOf(written, 'agent') ?? '') : undefined;
}

/** Of a FenceDevice that somebody has written. */
export function harmlessDevice(spec: FenceDeviceSpec, { nodes }: Scene): object {
  const { node, selector, agent, driver, level, cuts, storage, identity, secrets, parameters, values } = spec;
  const tellable = tellableParameters(Object.entries(parameters ?? {}));
  const kept = Object.entries({
    node,
    selector,
    level,
    cuts,
    identity: identity === 'unchecked' ? identity : undefined,
  });
  const given = Object.entries(parameters ?? {}).flatMap((pair, index) => parameterOf(pair, agent, index));
  const ofNodes = values?.filter((one) => nodes.some(({ name }) => name === one.node) || one.node === node);
  return {
    ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)),
    ...(agent === undefined ? {} : { agent: agentName(agent) }),
    ...(driver === undefined ? {} : { driver: cloudName(driver) }),
    ...(storage === undefined ? {} : { storage: storage.map(storageName) }),
    ...(secrets === undefined ? {} : { secrets: secrets.map((name) => (secretNames.test(name) ? hidden : '?')) }),
    ...(parameters === undefined ? {} : { parameters: Object.fromEntries(given) }),
    ...(ofNodes === undefined
      ? {}
      : { values: ofNodes.map((one) => ({ node: one.node, values: toldValues(one.values, tellable) })) }),
  };
}

function toldValues(values: Values, tellable: Tellable): Values {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const told = tellable(name, value);
      return told === undefined ? [] : [[name, told]];
    }),
  );
}

/** A parameter as it is told. Its place among the others stands for a name that nobody knows. */
function parameterOf([key, value]: [string, string], agent: string | undefined, index: number): [string, string][] {
  const isPlace = isOpen(key);
  if (agent === undefined) return isPlace && instanceName.test(filled(value)) ? [[key, value]] : [];
  const isRight = (said: string, beside: Values = {}): boolean =>
    agentParameterProblems(agent, { ...beside, [key]: said }, []).length === 0;
  const standIn = standIns.find((one) => isRight(one));
  if (standIn === undefined) return [[`${unknown}-${index}`, hidden]];
  const isFilled = value.replaceAll(placeholders, '') === '' && value !== '';
  const isFine = isFilled || isRight(filled(value));
  if (isPlace && (isFine || isRight(filled(value), { port_as_ip: '1' }))) return [[key, value]];
  return [[key, isFine ? standIn : wrong]];
}

/** By these two nodes are found to have the same device. */
function isOpen(key: string): boolean {
  const name = canonicalKey(key);
  return PLACE_KEYS.includes(name) || name === 'port_as_ip';
}

function filled(value: string): string {
  return value.replaceAll(placeholders, '1');
}

/** What is told of the value of a node that stands in brackets; undefined: nothing that is told has it. */
type Tellable = (name: string, value: string) => string | undefined;

function tellableValues(maps: readonly NamedData[]): Tellable {
  const texts = maps.flatMap(({ data }) =>
    Object.entries(data).flatMap(([entry, text]) => (entry.startsWith('values.') ? [] : text)),
  );
  const pairs = texts.flatMap((text) => parseProperties(text).entries);
  return tellableParameters(pairs.map(({ key, value }) => [key, value]));
}

function tellableParameters(pairs: readonly (readonly [string, string])[]): Tellable {
  const namesIn = (isTold: boolean): Set<string> =>
    new Set(
      pairs
        .filter(([key]) => isOpen(key) === isTold)
        .flatMap(([, value]) => [...value.matchAll(placeholders)].map(([, name = '']) => name)),
    );
  const [told, untold] = [namesIn(true), namesIn(false)];
  return (name, value) => {
    if (!told.has(name)) return undefined;
    return untold.has(name) || isSecretName(name) || !shortValue.test(value) ? hidden : value;
  };
}
