/** Policies that are not in force yet, as somebody has written them, with what the API server would refuse, or drop, about each. */
import type { Document } from 'yaml';
import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import { structuralSchemaOf } from '../../api/crds.ts';
import { KINDS } from '../../api/kinds.ts';
import { parseObject } from '../../api/parse.ts';
import { RemedyPolicySchema } from '../../api/remedy-policy.ts';
import type { SnapshotObject } from '../../api/snapshot.ts';
import { unknownFields } from '../../api/unknown-fields.ts';
import { policySpec } from '../../observe/project-snapshot.ts';

export interface PolicyMistake {
  /** Of which policy; absent: the text is none. */
  policy?: string;
  /** Where, by the path of the field, and what to write instead. */
  text: string;
  /** From 1. */
  line: number;
}

export type WrittenPolicies =
  | { ok: true; policies: readonly SnapshotObject[] }
  | { ok: false; mistakes: readonly PolicyMistake[] };

const kind = 'RemedyPolicy';

export function readPolicies(text: string): WrittenPolicies {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines });
  const documents = [...parsed].filter(
    ({ contents }) => contents !== null && !(isScalar(contents) && contents.value === null),
  );
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const wrong = documents.flatMap(({ errors }) =>
    errors.map(({ message, pos }) => ({ text: message.split('\n', 1)[0] ?? '', line: lineAt(pos[0]) })),
  );
  if (wrong.length > 0) return { ok: false, mistakes: wrong };
  if (documents.length === 0) return { ok: false, mistakes: [{ text: `write a ${kind}; there is none`, line: 1 }] };
  const read = documents.map((document) => readPolicy(document, lineAt));
  const mistakes = read.flatMap((one) => (Array.isArray(one) ? one : []));
  const policies = read.flatMap((one) => (Array.isArray(one) ? [] : [one]));
  return mistakes.length > 0 ? { ok: false, mistakes } : { ok: true, policies };
}

function readPolicy(document: Document.Parsed, lineAt: (offset: number) => number): SnapshotObject | PolicyMistake[] {
  const line = lineAt(document.contents?.range[0] ?? 0);
  let value: Partial<SnapshotObject>;
  try {
    value = (document.toJS() ?? {}) as Partial<SnapshotObject>;
    JSON.stringify(value);
  } catch {
    return [{ text: 'an alias stands for too much, or for what it is part of: write it out', line }];
  }
  const name = value.metadata?.name;
  if (value.kind !== kind || typeof name !== 'string') {
    return [{ text: `every document has to be a ${kind} with a name`, line }];
  }
  const policy = value as SnapshotObject;
  const problems = policyProblems(policy);
  if (problems.length > 0) {
    return problems.map((text) => ({ policy: name, text, line: lineAt(offsetOf(document, text) ?? 0) || line }));
  }
  return { ...policy, spec: policySpec(policy['spec'] ?? {}) };
}

/** What the API server would drop, or refuse: a rehearsal of something else than what is written would be worse than none. */
function policyProblems(policy: SnapshotObject): string[] {
  const unknown = KINDS.filter((one) => one.kind === policy.kind).flatMap((one) =>
    unknownFields(structuralSchemaOf(one), withoutMetadata(policy)),
  );
  const parsed = parseObject(RemedyPolicySchema, policy);
  return [...unknown, ...(parsed.ok ? [] : parsed.problems)];
}

/** Which has fields of Kubernetes' own. */
function withoutMetadata({ metadata: _metadata, ...rest }: SnapshotObject): object {
  return rest;
}

/** Where the field stands that a problem begins with; of one that is missing, where it would be. */
function offsetOf(document: Document.Parsed, problem: string): number | undefined {
  const [path = ''] = problem.split(': ', 1);
  let node: unknown = document.contents;
  let offset = document.contents?.range[0];
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)) {
    const key = name ?? index ?? '';
    if (isSeq(node)) node = node.items[Number(key)];
    else if (isMap(node)) {
      const pair = node.items.find((one) => isPair(one) && isScalar(one.key) && String(one.key.value) === key);
      if (pair === undefined) return offset;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
      continue;
    } else return offset;
    if (!isNode(node)) return offset;
    offset = node.range?.[0] ?? offset;
  }
  return offset;
}
