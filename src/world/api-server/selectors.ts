/** Label and field selectors of lists and watches. */
import type { ApiObject } from './object.ts';
import { badRequest } from './status-error.ts';

export type LabelTest = (labels: Record<string, string> | undefined) => boolean;

interface Requirement {
  key: string;
  operator: 'in' | 'notin' | 'exists' | '!exists' | '=' | '!=' | 'gt' | 'lt';
  values: string[];
}

const labelTerm =
  /^\s*(?:(?<set>[^\s!=,<>()]+)\s+(?<op>in|notin)\s*\((?<values>[^)]*)\)|(?<key>[^\s!=,<>()]+)\s*(?<eq>==|=|!=|>|<)\s*(?<value>[^\s,()]*)|(?<not>!)?\s*(?<only>[^\s!=,<>()]+))\s*(?:,|$)/;

/** Undefined where everything matches. */
export function labelSelector(text: string): LabelTest | undefined {
  if (text.trim() === '') return undefined;
  const requirements: Requirement[] = [];
  let rest = text;
  while (rest !== '') {
    const found = labelTerm.exec(rest);
    if (found === null) throw badRequest(`unable to parse requirement: found '${rest}', expected: identifier`);
    requirements.push(requirementOf(found.groups ?? {}));
    rest = rest.slice(found[0].length);
  }
  return (labels) => requirements.every((requirement) => holds(requirement, labels?.[requirement.key]));
}

function requirementOf(groups: Record<string, string | undefined>): Requirement {
  const { set, op, values = '', key, eq, value = '', not, only = '' } = groups;
  if (set !== undefined) {
    const list = values.split(',').map((one) => one.trim());
    return { key: set, operator: op === 'in' ? 'in' : 'notin', values: list };
  }
  if (key !== undefined) {
    const operators = { '=': '=', '==': '=', '!=': '!=', '>': 'gt', '<': 'lt' } as const;
    return { key, operator: operators[eq as keyof typeof operators], values: [value] };
  }
  return { key: only, operator: not === undefined ? 'exists' : '!exists', values: [] };
}

function holds({ operator, values }: Requirement, actual: string | undefined): boolean {
  switch (operator) {
    case 'exists':
      return actual !== undefined;
    case '!exists':
      return actual === undefined;
    case '=':
      return actual === values[0];
    case '!=':
      return actual !== values[0];
    case 'in':
      return actual !== undefined && values.includes(actual);
    case 'notin':
      return actual === undefined || !values.includes(actual);
    case 'gt':
      return actual !== undefined && Number(actual) > Number(values[0]);
    case 'lt':
      return actual !== undefined && Number(actual) < Number(values[0]);
    default:
      return false;
  }
}

/** `matchLabels` and `matchExpressions` of an object such as a budget; nothing given matches everything. */
export function objectSelector(selector: unknown): LabelTest {
  const { matchLabels = {}, matchExpressions = [] } = (selector ?? {}) as {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
  };
  const requirements: Requirement[] = Object.entries(matchLabels).map(([key, value]) => ({
    key,
    operator: '=',
    values: [value],
  }));
  const operators = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!exists' } as const;
  for (const { key, operator, values = [] } of matchExpressions) {
    requirements.push({ key, operator: operators[operator as keyof typeof operators] ?? 'exists', values });
  }
  return (labels) => requirements.every((requirement) => holds(requirement, labels?.[requirement.key]));
}

export interface FieldTerm {
  path: string;
  equal: boolean;
  value: string;
}

/** How a resource reads the fields that may be selected by; undefined: that field may not. */
export type FieldReader = (path: string) => ((object: ApiObject) => string) | undefined;

export interface FieldSelection {
  test: (object: ApiObject) => boolean;
  /** Terms that pin a field to one value: a watch can be found by them. */
  pins: { path: string; value: string }[];
}

/** `special`: whether the resource has fields of its own to select by, which changes how it refuses. */
export function fieldSelector(text: string, read: FieldReader, special: boolean): FieldSelection | undefined {
  const terms = splitTerms(text).map(termOf);
  if (terms.length === 0) return undefined;
  const tests = terms.map(({ path, equal, value }) => {
    const reader = read(path);
    if (reader === undefined) {
      throw badRequest(
        special
          ? `field label not supported: ${path}`
          : `"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
      );
    }
    return (object: ApiObject) => (reader(object) === value) === equal;
  });
  return {
    test: (object) => tests.every((test) => test(object)),
    pins: terms.filter(({ equal }) => equal).map(({ path, value }) => ({ path, value })),
  };
}

/** Commas and equal signs inside a value are escaped by a backslash. */
function splitTerms(text: string): string[] {
  return text.split(/(?<!\\),/).filter((term) => term !== '');
}

function termOf(term: string): FieldTerm {
  const found = /^(?<path>[^=!]+)(?<operator>==|=|!=)(?<value>.*)$/.exec(term);
  if (found?.groups === undefined) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  const { path = '', operator, value = '' } = found.groups;
  return { path: path.trim(), equal: operator !== '!=', value: value.replaceAll(/\\([\\,=])/g, '$1') };
}
