/** What all conversions have in common: what comes out of them, what they are told, and how the outcome is checked. */
import { isMap, isSeq } from 'yaml';
import type { z } from 'zod';
import type { NodeSelector } from '../../api/common.ts';
import { parseObject } from '../../api/parse.ts';
import type { Place } from '../../scenario/reader.ts';
import { entriesOf, ScenarioError, whereOf } from '../../scenario/reader.ts';

/** Which nodes a policy is about, as the policy says it. */
export type Nodes = { allNodes: true } | { selector: NodeSelector };

export interface Settings {
  /** Of a policy whose document gives none. */
  name?: string;
  /** Of the operator, in which the fence configurations belong. */
  namespace: string;
  /** Instead of labels of machines, which nodes do not have. */
  nodes?: Nodes;
  mode?: string;
}

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

export interface ConfigMap extends Manifest {
  data: Record<string, string>;
}

export interface Made {
  manifest: Manifest;
  /** The document that it was made of. */
  place: Place;
}

/** What was understood otherwise than it is written, for the reader to confirm. */
export class Notes {
  readonly lines: string[] = [];

  add(place: Place, message: string): void {
    const line = `${whereOf(place)}: ${place.path === '' ? '' : `${place.path}: `}${message}`;
    if (!this.lines.includes(line)) this.lines.push(line);
  }
}

/**
 * `said`: by the document. Of what was written for another operator nobody has seen yet what it does here, and that one may
 * still run: it is rehearsed first, unless somebody says otherwise.
 */
export function modeOf(place: Place, settings: Settings, notes: Notes, said?: string): string {
  const mode = settings.mode ?? said;
  if (mode !== undefined) return mode;
  const message =
    'became mode: DryRun, which only says what it would do; when you have seen that: mode: Enforce, or convert with --mode Enforce';
  notes.add(place, message);
  return 'DryRun';
}

/** As the API server would check it; `placeOf` leads from a path in the policy to what it was made of. */
export function checked(
  schema: z.ZodType,
  manifest: Manifest,
  place: Place,
  placeOf: (path: string) => Place | undefined = () => undefined,
): Manifest {
  const parsed = parseObject(schema, manifest);
  if (parsed.ok) return manifest;
  throw new ScenarioError(parsed.problems.map((message) => `${whereOf(placeOf(message) ?? place)}: ${message}`));
}

/** What stands in the document under a path such as `spec.thresholds[0].condition`, as deep as the document goes. */
export function placeAt(place: Place, path: string): Place {
  let found = place;
  for (const [, name, index] of path.matchAll(/([A-Za-z_]\w*)|\[(\d+)\]/g)) {
    const { node } = found;
    const inner = isMap(node)
      ? entriesOf(found).find(({ key }) => key === name)?.value
      : isSeq(node) && index !== undefined && node.items[Number(index)] !== undefined
        ? { ...found, node: node.items[Number(index)] as Place['node'], path: `${found.path}[${index}]` }
        : undefined;
    if (inner?.node === undefined || inner.node === null) return found;
    found = inner;
  }
  return found;
}

export function isEmpty({ matchLabels = {}, matchExpressions = [] }: NodeSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}
