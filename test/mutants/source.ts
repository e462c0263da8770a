/**
 * A source file as text, with enough of its structure to find lists, calls and statements in it. The house is formatted by
 * machine, so that text is enough; what does not have the expected form throws, and never goes unnoticed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..', '..');

/** From `start` to before `end`. */
export interface Span {
  start: number;
  end: number;
}

export interface Source {
  /** From the top of the repository. */
  file: string;
  text: string;
  /** The text with comments and the insides of strings blanked, each character in its place. */
  code: string;
}

const closing: Record<string, string> = { '(': ')', '[': ']', '{': '}' };

export function sourceOf(file: string): Source {
  return sourceFrom(file, readFileSync(join(root, file), 'utf8'));
}

export function sourceFrom(file: string, text: string): Source {
  return { file, text, code: blanked(text) };
}

/** Comments, strings and regular expressions, the first that begins is the one that counts. */
const notCode =
  /\/\*[\s\S]*?\*\/|\/\/.*$|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|(?<=[(,=:[!&|?{};]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/gm;

function blanked(text: string): string {
  return text.replaceAll(notCode, (found) => {
    if (found.startsWith('//') || found.startsWith('/*')) return found.replaceAll(/[^\n]/g, ' ');
    return found[0] + found.slice(1, -1).replaceAll(/[^\n]/g, ' ') + found.at(-1);
  });
}

/** After the bracket that closes the one at `open`. */
export function endOf({ file, code }: Source, open: number): number {
  const stack: string[] = [];
  for (let at = open; at < code.length; at += 1) {
    const one = code[at] ?? '';
    const close = closing[one];
    if (close !== undefined) stack.push(close);
    else if (one === stack.at(-1)) stack.pop();
    if (stack.length === 0) return at + 1;
  }
  throw new Error(`${file}: the bracket at ${open} is never closed`);
}

/** What stands between the commas of a list, of arguments, or of the properties of an object; `open` is its bracket. */
export function partsOf(source: Source, open: number): Span[] {
  const end = endOf(source, open) - 1;
  const parts: Span[] = [];
  let start = open + 1;
  for (let at = open + 1; at <= end; at += 1) {
    const one = source.code[at] ?? '';
    if (closing[one] !== undefined) at = endOf(source, at) - 1;
    else if (at === end || one === ',') {
      const part = trimmed(source, { start, end: at });
      if (part.start < part.end) parts.push(part);
      start = at + 1;
    }
  }
  return parts;
}

function trimmed({ code }: Source, { start, end }: Span): Span {
  const inside = code.slice(start, end);
  return { start: end - inside.trimStart().length, end: start + inside.trimEnd().length };
}

export function textOf({ text }: Source, { start, end }: Span): string {
  return text.slice(start, end);
}

/** Everything that fits, in the code alone. */
export function matchesIn({ code }: Source, pattern: RegExp): RegExpExecArray[] {
  return [...code.matchAll(pattern)] as RegExpExecArray[];
}

/** Puts other text in place of some of it. */
export function edited({ text }: Source, edits: readonly (Span & { instead: string })[]): string {
  let result = text;
  for (const { start, end, instead } of edits.toSorted((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + instead + result.slice(end);
  }
  return result;
}

/** Without one part of a list; the comma goes with it. */
export function without(source: Source, part: Span): string {
  const after = /^\s*,/.exec(source.code.slice(part.end))?.[0].length ?? 0;
  const before = after > 0 ? 0 : (/,\s*$/.exec(source.code.slice(0, part.start))?.[0].length ?? 0);
  return edited(source, [{ start: part.start - before, end: part.end + after, instead: '' }]);
}

/** The function or method in which something stands; at the top level the name of the constant. */
export function homeOf({ file, text }: Source, at: number): string {
  const before = text.slice(0, at);
  const top = [...before.matchAll(/^(?:export )?(?:(?:async )?function|const|class) (\w+)/gm)].at(-1);
  const name = top?.[1];
  if (name === undefined) throw new Error(`${file}: nothing is declared before ${at}`);
  if (!top?.[0].includes('class ')) return name;
  const method = [...before.slice(top.index).matchAll(/^ {2}(?:async |get )?(#?\w+)(?:<.*>)?\(/gm)].at(-1);
  return method?.[1] ?? name;
}
