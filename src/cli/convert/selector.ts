/** Label selectors as text, `type=compute,tier!=test`, as the older document and kubectl write them. */
import type { NodeSelector } from '../../api/common.ts';

export type SelectorResult = { ok: true; selector: NodeSelector } | { ok: false; problem: string };

type Requirement = NonNullable<NodeSelector['matchExpressions']>[number];

const word = '[^\\s=!,()]+';
const equals = new RegExp(`^(${word})\\s*==?\\s*([^\\s=!,()]*)$`);
const differs = new RegExp(`^(${word})\\s*!=\\s*([^\\s=!,()]*)$`);
const among = new RegExp(`^(${word})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const exists = new RegExp(`^(!?)\\s*(${word})$`);

export function parseSelector(text: string): SelectorResult {
  const matchLabels: Record<string, string> = {};
  const matchExpressions: Requirement[] = [];
  // A comma between brackets separates values.
  for (const part of text.split(/,(?![^(]*\))/).map((one) => one.trim())) {
    const [, key, value = ''] = equals.exec(part) ?? [];
    const requirement = key === undefined ? requirementOf(part) : undefined;
    if (key !== undefined && !Object.hasOwn(matchLabels, key)) matchLabels[key] = value;
    else if (key !== undefined) matchExpressions.push({ key, operator: 'In', values: [value] });
    else if (requirement === undefined) {
      return { ok: false, problem: `"${part}" is no part of a selector: write label=value, such as type=compute` };
    } else matchExpressions.push(requirement);
  }
  return {
    ok: true,
    selector: {
      ...(Object.keys(matchLabels).length > 0 && { matchLabels }),
      ...(matchExpressions.length > 0 && { matchExpressions }),
    },
  };
}

function requirementOf(part: string): Requirement | undefined {
  const [, unlike, value = ''] = differs.exec(part) ?? [];
  if (unlike !== undefined) return { key: unlike, operator: 'NotIn', values: [value] };
  const [, key, operator, values = ''] = among.exec(part) ?? [];
  if (key !== undefined) {
    return {
      key,
      operator: operator === 'in' ? 'In' : 'NotIn',
      values: values.split(',').map((one) => one.trim()),
    };
  }
  const [, not, name] = exists.exec(part) ?? [];
  return name === undefined ? undefined : { key: name, operator: not === '!' ? 'DoesNotExist' : 'Exists' };
}
