/** `key=value` lines, as the entries of fence ConfigMaps hold them. `#` begins a comment line. */
export interface Property {
  key: string;
  value: string;
  line: number;
}

export interface Properties {
  entries: readonly Property[];
  problems: readonly PropertyProblem[];
}

/** `key`: which property was meant, where that can be told. */
export interface PropertyProblem {
  line: number;
  problem: string;
  key?: string;
}

export function parseProperties(text: string): Properties {
  const entries: Property[] = [];
  const problems: PropertyProblem[] = [];
  const seen = new Map<string, number>();
  for (const [index, raw] of text.split('\n').entries()) {
    const line = index + 1;
    const content = raw.trim();
    if (content === '' || content.startsWith('#')) continue;
    const at = content.indexOf('=');
    const key = content.slice(0, at).trim();
    const [, withColon] = /^([\w.-]+)\s*:/.exec(at === -1 ? content : key) ?? [];
    if (withColon !== undefined) {
      const problem = `after ${withColon} stands a colon: write ${withColon}=…, with an equals sign`;
      problems.push({ line, problem, key: withColon });
      continue;
    }
    if (at <= 0 || key === '') {
      // Not repeated: `password hunter2` is such a line too (S28).
      problems.push({ line, problem: 'the line is no property: write key=value' });
      continue;
    }
    const before = seen.get(key);
    if (before !== undefined) problems.push({ line, problem: `${key} was written in line ${before} already` });
    seen.set(key, line);
    entries.push({ key, value: content.slice(at + 1).trim(), line });
  }
  return { entries, problems };
}
