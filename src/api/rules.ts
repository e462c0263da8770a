/**
 * Rules that a plain schema cannot say, written once and enforced twice: by the API server as CEL when an object is
 * written, and by the parser when one is read from a file, a test or a server that does not know CEL. Two copies
 * would drift apart, and the laxer one would be found by the object that breaks something.
 */
import type { z } from 'zod';

export interface Rule<T> {
  /** CEL over `self`. Left out where the schema itself makes the API server check it (list types, formats). */
  readonly cel?: string;
  /** What to write instead. The path to the field is added by whoever reports it. */
  readonly message: string;
  /** CEL for a message that quotes the offending value; `message` remains as what is said if that fails. */
  readonly messageExpression?: string;
  /** The field to blame, below the one that carries the rule: `.spec.node`. */
  readonly fieldPath?: string;
  /** How the API server classes the refusal; by default as an invalid value. */
  readonly reason?: 'FieldValueRequired';
  readonly holds: (value: T) => boolean;
  /** The parser's counterpart of `messageExpression`. */
  readonly explain?: (value: T) => string;
}

export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
}

export const CEL_RULES = 'x-kubernetes-validations';

/** Rules only the API server can check, because they compare an object with the one it replaces. */
export interface TransitionRule {
  readonly cel: string;
  readonly message: string;
}

export function withRules<S extends z.ZodType>(schema: S, rules: readonly Rule<z.output<S>>[]): S {
  const checked = schema.check((payload) => {
    for (const rule of rules) {
      if (rule.holds(payload.value)) continue;
      payload.issues.push({
        code: 'custom',
        message: rule.explain?.(payload.value) ?? rule.message,
        input: payload.value,
        path: rule.fieldPath?.split('.').filter((part) => part !== '') ?? [],
        continue: true,
      });
    }
  });
  return addCel(
    checked,
    rules.flatMap((rule) => celOf(rule)),
  );
}

export function withTransitionRules<S extends z.ZodType>(schema: S, rules: readonly TransitionRule[]): S {
  return addCel(
    schema,
    rules.map((rule) => ({ rule: rule.cel, message: rule.message })),
  );
}

function addCel<S extends z.ZodType>(schema: S, added: readonly CelRule[]): S {
  if (added.length === 0) return schema;
  const before = (schema.meta()?.[CEL_RULES] ?? []) as readonly CelRule[];
  return schema.meta({ ...schema.meta(), [CEL_RULES]: [...before, ...added] });
}

function celOf<T>(rule: Rule<T>): CelRule[] {
  if (rule.cel === undefined) return [];
  return [
    {
      rule: rule.cel,
      message: rule.message,
      ...(rule.messageExpression === undefined ? {} : { messageExpression: rule.messageExpression }),
      ...(rule.reason === undefined ? {} : { reason: rule.reason }),
      ...(rule.fieldPath === undefined ? {} : { fieldPath: rule.fieldPath }),
    },
  ];
}

/** A list in which nothing occurs twice. The API server knows that by the type of the list and needs no rule. */
export function asSet<S extends z.ZodType<readonly unknown[]>>(schema: S): S {
  const once = { message: 'write each of them once', holds: (list: readonly unknown[]) => allDiffer(list) };
  return withRules(schema, [once]).meta({ 'x-kubernetes-list-type': 'set' });
}

/** A list whose elements are told apart by one field: written by several hands, it is merged element by element. */
export function asMap<S extends z.ZodType<readonly unknown[]>>(schema: S, key: string): S {
  const keys = (list: readonly unknown[]) => list.map((it) => (it as Record<string, unknown>)[key]);
  const once = {
    message: `each needs a ${key} of its own`,
    holds: (list: readonly unknown[]) => allDiffer(keys(list)),
  };
  return withRules(schema, [once]).meta({
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [key],
  });
}

const allDiffer = (list: readonly unknown[]): boolean => new Set(list).size === list.length;

/** A CEL string literal. Regular expressions carry backslashes, and CEL would read them as escapes. */
export function celString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** The commonest rule: the text has a certain form. A bare `pattern` would answer with the expression alone. */
export function matching(pattern: RegExp, message: string): Rule<string> {
  return { cel: `self.matches(${celString(pattern.source)})`, message, holds: (text) => pattern.test(text) };
}
