/** What is wrong with the parameters of a cloud's driver, found when they are written (FEN-7). */
import { X509Certificate } from 'node:crypto';
import { nearest } from '../../api/nearest.ts';
import type { DeviceParameters, ParameterProblem } from '../device.ts';

export interface ParameterRule {
  /** It may come from a Secret only. */
  isCredential?: boolean;
  isRequired?: boolean;
  pattern?: RegExp;
  /** What to write, for people. */
  hint: string;
  /** More than a pattern can say; answers the problem. */
  why?: (value: string) => string | undefined;
}

export type Values = (key: string) => string | undefined;

export function valuesOf({ plain, secret }: DeviceParameters): Values {
  return (key) => secret[key] ?? plain[key];
}

/** Of every cloud. */
const common: Readonly<Record<string, ParameterRule>> = {
  instance: { pattern: /^[\p{L}\p{N}][^\p{C}]*$|^\/[^\p{C}]+$/u, hint: 'write the name or ID of the instance' },
  endpoint: { hint: 'write an address such as https://cloud.example', why: whyNoEndpoint },
  ca: { hint: 'write certificates in PEM', why: whyNoCertificate },
};

/** An address to which credentials may go. */
export function whyNoEndpoint(value: string): string | undefined {
  const url = URL.parse(value);
  if (url === null) return 'write an address such as https://cloud.example';
  if (url.protocol !== 'https:') return 'credentials go there: write an address that begins with https://';
  if (url.username !== '' || url.password !== '') return 'write it without credentials';
  return url.search === '' && url.hash === '' ? undefined : 'write it without ? and #';
}

function whyNoCertificate(value: string): string | undefined {
  try {
    void new X509Certificate(value.replaceAll('\\n', '\n'));
    return undefined;
  } catch {
    return 'write certificates in PEM, with \\n for a line break where there is only one line';
  }
}

interface Described {
  name: string;
  rules: Readonly<Record<string, ParameterRule>>;
  problems?(value: Values): readonly ParameterProblem[];
}

export function checkParameters(cloud: Described, parameters: DeviceParameters): ParameterProblem[] {
  const { plain, secret } = parameters;
  const rules: Readonly<Record<string, ParameterRule>> = { ...common, ...cloud.rules };
  const problems: ParameterProblem[] = [];
  const report = (key: string, problem: string | undefined): void => {
    if (problem !== undefined) problems.push({ key, problem });
  };
  for (const [key, value] of [...Object.entries(plain), ...Object.entries(secret)]) {
    const rule = rules[key];
    report(
      key,
      rule === undefined
        ? `${cloud.name} does not know it: did you mean ${nearest(key, Object.keys(rules))}?`
        : whyWrong(rule, value),
    );
  }
  for (const key of Object.keys(plain)) {
    if (key in secret) report(key, 'it is written in the Secret as well: remove one of them');
    else if (rules[key]?.isCredential) report(key, 'it is a credential: put it into a Secret');
  }
  for (const [key, { isRequired, isCredential, hint }] of Object.entries(rules)) {
    if (!isRequired || key in plain || key in secret) continue;
    report(key, `${cloud.name} needs it${isCredential ? ' in a Secret' : ''}: ${hint}`);
  }
  // What depends on several makes no sense before each is right.
  if (problems.length === 0) problems.push(...(cloud.problems?.(valuesOf(parameters)) ?? []));
  return problems;
}

/** The value itself is never repeated: it may be a credential. */
function whyWrong({ pattern, hint, why }: ParameterRule, value: string): string | undefined {
  if (value === '') return 'it is empty';
  const problem = why?.(value);
  if (problem !== undefined || why !== undefined) return problem;
  if (/[\r\n]$/.test(value)) return 'it ends with a line break: write it without one, for example with printf';
  return pattern === undefined || pattern.test(value) ? undefined : hint;
}

/** Also those that were written where they do not belong. */
export function secretsIn({ rules }: Described, { plain, secret }: DeviceParameters): string[] {
  return [...Object.entries(secret), ...Object.entries(plain)]
    .filter(([key]) => rules[key]?.isCredential)
    .map(([, value]) => value);
}
