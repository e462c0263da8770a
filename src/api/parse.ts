/** Objects from outside, checked as the API server checks them; a refusal is a value that says where and what. */
import type { z } from 'zod';

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Fields that the schema does not know are dropped, and null is nothing, as for the API server. */
export function parseObject<S extends z.ZodType>(schema: S, value: unknown): Parsed<z.output<S>> {
  const result = schema.safeParse(withoutNulls(value));
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, problems: result.error.issues.map((issue) => `${pathOf(issue.path)}: ${issue.message}`) };
}

/** In the spelling of the API server: `spec.thresholds[0].lease`, and `matchLabels[a/b]` for what is no identifier. */
function pathOf(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'string' && /^[A-Za-z_]\w*$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${String(part)}]`;
  }
  return text === '' ? 'object' : text;
}

/** `fence:` with nothing behind it is null in YAML. In a list it stays, and is refused. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutNulls(one)]));
}
