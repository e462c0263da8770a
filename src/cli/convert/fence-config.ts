/**
 * Makes the ConfigMaps of a fence of FenceAgentsRemediationTemplates. Where the nodes are told apart by labels, one
 * configuration serves them all, with an entry of values for each node that the template names; otherwise every named node
 * gets one of its own.
 */
import type { NodeSelector } from '../../api/common.ts';
import { CONFIG_PREFIX, METHOD_PREFIX, TEMPLATE_PREFIX } from '../../api/fence-names.ts';
import type { Place } from '../../scenario/reader.ts';
import { problem } from '../../scenario/reader.ts';
import type { FenceTemplate } from './fence-template.ts';
import type { ConfigMap, Nodes } from './result.ts';

export interface FenceWanted {
  /** One level each, in this order. */
  templates: readonly FenceTemplate[];
  nodes: Nodes | undefined;
  /** What the configuration of all nodes is called after. */
  name: string;
  namespace: string;
  /** Where the nodes are chosen. */
  place: Place;
}

/** A template as one level of a configuration. */
interface Level {
  template: FenceTemplate;
  method: string;
  /** What each named node has a value of its own for, and only then. */
  placeholders: ReadonlyMap<string, string>;
}

export function fenceConfigsOf(wanted: FenceWanted): ConfigMap[] {
  const levels = levelsOf(wanted.templates);
  const named = [...new Set(levels.flatMap(({ template }) => namedBy(template)))].sort();
  const selector = selectorText(wanted.nodes);
  if (selector !== undefined && levels.every((level) => isUniform(level, named))) {
    return [
      ...levels.map((level) => templateMap(level, wanted)),
      configMap(wanted, wanted.name, levels, { selector, nodes: named }),
    ];
  }
  if (named.length === 0) unselectable(wanted);
  const ownMaps = named.flatMap((node) => mapsOfNode(node, levels, wanted));
  const others =
    selector === undefined || levels.some(needsNode)
      ? []
      : [
          ...levels.map((level) => templateMap(level, wanted)),
          configMap(wanted, wanted.name, levels, { selector, nodes: [] }),
        ];
  return [...new Map([...ownMaps, ...others].map((map) => [map.metadata.name, map])).values()];
}

function unselectable({ place, nodes }: FenceWanted): never {
  if (nodes === undefined) {
    return problem(
      place,
      'nothing says which nodes this is for: give the NodeHealthCheck that names it, or --selector',
    );
  }
  const how = 'a fence configuration selects nodes by label=value, or names them';
  return problem(place, `${how}: write matchLabels with the value of the label, or nodeparameters for each node`);
}

function levelsOf(templates: readonly FenceTemplate[]): Level[] {
  return templates.map((template) => {
    const isAlone = templates.every((other) => other === template || other.method !== template.method);
    const method = isAlone ? template.method : template.name;
    const keys = isUniformWithin(template) ? nodeKeys(template) : [];
    const placeholder = (key: string): string => (templates.length === 1 ? key : `${method}.${key}`);
    return { template, method, placeholders: new Map(keys.map((key) => [key, placeholder(key)])) };
  });
}

function namedBy({ byNode, nodeSecrets }: FenceTemplate): string[] {
  return [...byNode.keys(), ...nodeSecrets.keys()];
}

function nodeKeys({ byNode }: FenceTemplate): string[] {
  return [...new Set([...byNode.values()].flatMap((own) => [...own.keys()]))];
}

/** Every node that it names has a value for every key, and none of them overrides a shared one. */
function isUniformWithin(template: FenceTemplate): boolean {
  const { byNode, shared } = template;
  return nodeKeys(template).every(
    (key) => !shared.has(key) && namedBy(template).every((node) => byNode.get(node)?.has(key)),
  );
}

function isUniform({ template }: Level, named: readonly string[]): boolean {
  const own = namedBy(template);
  if (template.nodeSecrets.size > 0 || !isUniformWithin(template)) return false;
  return own.length === 0 || named.every((node) => own.includes(node));
}

/** What every named node has of its own a node that is not named would lack. */
function needsNode({ template }: Level): boolean {
  const { byNode, nodeSecrets, shared } = template;
  const named = namedBy(template);
  const isEssential = (key: string): boolean => !shared.has(key) && named.every((node) => byNode.get(node)?.has(key));
  return nodeKeys(template).some(isEssential) || (named.length > 0 && named.every((node) => nodeSecrets.has(node)));
}

function mapsOfNode(node: string, all: readonly Level[], wanted: FenceWanted): ConfigMap[] {
  const levels = all.filter(({ template }) => namedBy(template).length === 0 || namedBy(template).includes(node));
  return [
    ...levels.map((level) => templateMap(level, wanted, node)),
    configMap(wanted, node, levels, { nodes: [node], node }),
  ];
}

/** Which Secrets there are is said by a template and nowhere else, so a node with its own has a template of its own. */
function templateName({ template: { name, nodeSecrets } }: Level, node?: string): string {
  const isOwn = node !== undefined && nodeSecrets.has(node);
  return `${TEMPLATE_PREFIX}${name}${isOwn ? `-${node}` : ''}`;
}

function templateMap(level: Level, { namespace }: FenceWanted, node?: string): ConfigMap {
  const { device, shared, secrets, nodeSecrets } = level.template;
  const all = [...secrets, ...(node === undefined ? [] : (nodeSecrets.get(node) ?? []))];
  const lines = [
    device,
    ...(all.length === 0 ? [] : [`secret=${all.join(' ')}`]),
    ...[...shared].map(([key, value]) => `${key}=${value}`),
    ...[...level.placeholders].map(([key, name]) => `${key}={{${name}}}`),
  ];
  return mapOf(templateName(level, node), namespace, { 'template.properties': lines.join('\n') });
}

interface Scope {
  selector?: string;
  /** Whose values it has. */
  nodes: readonly string[];
  /** The only one. */
  node?: string;
}

function configMap({ namespace }: FenceWanted, name: string, levels: readonly Level[], scope: Scope): ConfigMap {
  const power = levels.map(({ method, template }) => `${method}-off${template.isOffOnly ? '' : ` ${method}-on`}`);
  const whom = scope.node === undefined ? `selector=${scope.selector}` : `node_name=${scope.node}`;
  const data: Record<string, string> = { 'config.properties': `${whom}\npower_management=${power.join(' | ')}` };
  for (const level of levels) {
    const own = scope.node === undefined ? undefined : level.template.byNode.get(scope.node);
    const literal = [...(own ?? [])].filter(([key]) => !level.placeholders.has(key));
    for (const action of level.template.isOffOnly ? ['off'] : ['off', 'on']) {
      data[`${METHOD_PREFIX}${level.method}-${action}`] = [
        `template=${templateName(level, scope.node)}`,
        `action=${action}`,
        ...literal.map(([key, value]) => `${key}=${value}`),
      ].join('\n');
    }
  }
  for (const node of scope.nodes) {
    const values = levels.flatMap(({ template, placeholders }) =>
      [...placeholders].map(([key, placeholder]) => `${placeholder}=${template.byNode.get(node)?.get(key)}`),
    );
    if (values.length > 0) data[`values.${node}`] = values.join('\n');
  }
  return mapOf(`${CONFIG_PREFIX}${name}`, namespace, data);
}

function mapOf(name: string, namespace: string, data: Record<string, string>): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
}

/** As `config.properties` writes it; undefined for what it cannot. */
function selectorText(nodes: Nodes | undefined): string | undefined {
  if (nodes === undefined || 'allNodes' in nodes) return undefined;
  const { matchLabels = {}, matchExpressions = [] }: NodeSelector = nodes.selector;
  const parts = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values = [] } of matchExpressions) {
    if (operator !== 'In' || values.length !== 1) return undefined;
    parts.push(`${key}=${values[0]}`);
  }
  return parts.join(',');
}
