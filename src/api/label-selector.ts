/** Selectors of labels: as Kubernetes writes them in one line, and whom they select. */
import type { Selector } from './node-choice.ts';
import { ownOf } from './own.ts';

type Labels = Readonly<Record<string, string>>;
type Requirement = Selector['matchExpressions'][number];

export type ParsedSelector = { ok: true; selector: Selector } | { ok: false; problem: string };

const labelKey = String.raw`(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?`;
const labelValue = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?`;
const equality = new RegExp(String.raw`^(${labelKey})\s*(==|=|!=)\s*(${labelValue})$`);
const membership = new RegExp(
  String.raw`^(${labelKey})\s+(in|notin)\s*\(\s*(${labelValue}(?:\s*,\s*${labelValue})*)\s*\)$`,
);
const existence = new RegExp(`^(!?)\\s*(${labelKey})$`);
/** At commas that are not between parentheses. */
const between = /,(?![^(]*\))/;

/** All of the grammar that `kubectl get -l` takes but for > and <, or what is wrong. Nothing at all selects everybody there, and is refused here. */
export function parseLabelSelector(text: string): ParsedSelector {
  if (text.trim() === '') return { ok: false, problem: 'it selects by nothing: write label=value' };
  const requirements: Requirement[] = [];
  for (const term of text.split(between).map((one) => one.trim())) {
    const found = requirementOf(term);
    if (found === undefined) {
      const hint = 'write label=value, label!=value, label in (a, b), label notin (a, b), label or !label';
      return { ok: false, problem: `"${term.slice(0, 80)}" cannot be read: ${hint}` };
    }
    requirements.push(found);
  }
  return { ok: true, selector: { matchLabels: {}, matchExpressions: requirements } };
}

function requirementOf(term: string): Requirement | undefined {
  const [, equalKey, sign, value = ''] = equality.exec(term) ?? [];
  if (equalKey !== undefined) return { key: equalKey, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] };
  const [, setKey, word, list = ''] = membership.exec(term) ?? [];
  if (setKey !== undefined) {
    const values = list.split(',').map((one) => one.trim());
    return { key: setKey, operator: word === 'in' ? 'In' : 'NotIn', values };
  }
  const [, not, key] = existence.exec(term) ?? [];
  return key === undefined ? undefined : { key, operator: not === '!' ? 'DoesNotExist' : 'Exists', values: [] };
}

/** What all selectors of Kubernetes ask alike. */
export function meets(
  { operator, values = [] }: { operator: string; values?: readonly string[] | undefined },
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    // An operator of a newer version: whom it selects is not known, so it selects nobody.
    default:
      return false;
  }
}

export function selects({ matchLabels, matchExpressions }: Selector, labels: Labels): boolean {
  const valueOf = (key: string): string | undefined => ownOf(labels, key);
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every((requirement) => meets(requirement, valueOf(requirement.key)))
  );
}
