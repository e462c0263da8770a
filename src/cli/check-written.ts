/** What is wrong with how nodes are fenced, as it is written in one namespace, whether or not a node has it (EXP-3). */
import type { NamedData } from '../api/fence-config.ts';
import { placeOf } from '../api/fence-config.ts';
import { CONFIG_PREFIX, TEMPLATE_PREFIX, isFenceConfig } from '../api/fence-names.ts';
import { distance, likeliest, nearest } from '../api/nearest.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { WrittenConfigs } from '../decide/policy-nodes.ts';
import { configFor } from '../decide/policy-nodes.ts';
import { selectorProblem } from '../fence/config.ts';
import type { KubeObject } from '../kube/client.ts';
import { configMaps } from '../kube/resources.ts';
import { taken } from './taken.ts';
import type { WhereWritten } from './written.ts';

export async function writtenProblems(
  { client, namespace }: WhereWritten,
  nodes: readonly LiveNode[],
  configs: WrittenConfigs,
): Promise<string[]> {
  const { items } = taken(await client.list<KubeObject>(configMaps, { namespace }));
  const names = nodes.map(({ name }) => name);
  const used = new Set<string>();
  const said = nodes.flatMap((node) => {
    const result = configFor(node, configs);
    if (result.ok) {
      if (result.config.source !== undefined) used.add(result.config.source);
      return [];
    }
    for (const { file } of result.problems) used.add(file);
    return result.problems.map((one) => `${placeOf(one)}: ${one.reason}`);
  });
  const own = configs.maps.filter(({ name }) => name.startsWith(CONFIG_PREFIX));
  const unused = own.filter(({ name }) => !used.has(name) && !names.includes(name.slice(CONFIG_PREFIX.length)));
  const all = [
    ...said,
    ...own.flatMap((map) => selectorProblem(map) ?? []).map((one) => `${placeOf(one)}: ${one.reason}`),
    ...unused.filter((map) => selectorProblem(map) === undefined).map((map) => unusedText(map, names)),
    ...configs.devices.flatMap(({ name, spec: { node } }) =>
      node === undefined || names.includes(node) ? [] : [`FenceDevice ${name}: ${noNode(node, names)}`],
    ),
    ...items.flatMap(({ metadata: { name } }) => misspelt(name)),
  ];
  return [...new Set(all)].sort();
}

const entry = 'config.properties';

function unusedText({ name, data }: NamedData, nodes: readonly string[]): string {
  const instead = data[entry] === undefined ? likeliest(entry, Object.keys(data)) : undefined;
  if (instead !== undefined) return `ConfigMap ${name}, ${instead}: nobody reads it: did you mean ${entry}?`;
  const isSelecting = /^\s*selector\s*[=:]/m.test(data[entry] ?? '');
  const why = isSelecting
    ? 'its selector selects no node that has none of its own'
    : noNode(name.slice(CONFIG_PREFIX.length), nodes);
  return `ConfigMap ${name}: no node uses it: ${why}`;
}

function noNode(name: string, nodes: readonly string[]): string {
  return `there is no node ${name}${nodes.length === 0 ? '' : `: did you mean ${nearest(name, nodes)}?`}`;
}

const furthest = 2;

/** Nearly called as those that are read. */
function misspelt(name: string): string[] {
  if (isFenceConfig(name)) return [];
  for (const prefix of [TEMPLATE_PREFIX, CONFIG_PREFIX]) {
    for (let length = prefix.length - furthest; length <= prefix.length + furthest; length += 1) {
      const rest = name.slice(length);
      if (rest === '' || rest.startsWith('-') || distance(name.slice(0, length), prefix) > furthest) continue;
      if (!name.slice(0, length).endsWith('-')) continue;
      return [`ConfigMap ${name}: nobody reads it: did you mean ${prefix}${rest}?`];
    }
  }
  return [];
}
