/** The documents as their readers use them: what they tell people to type. */
import { readFileSync } from 'node:fs';

/** What a reader comes to: a command to type, or YAML to write. A block of no language is what is printed. */
export interface Step {
  language: 'sh' | 'yaml';
  text: string;
}

/** The commands of a document, or of one section of it, in the order in which they are read. */
export function commandsOf(file: string, section?: string): string[] {
  return stepsOf(file, section)
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text);
}

/** Its commands and its YAML, in that order. */
export function stepsOf(file: string, section?: string): Step[] {
  const text = readFileSync(file, 'utf8');
  const part = section === undefined ? text : sectionOf(text, file, section);
  return [...part.matchAll(/```(sh|yaml)\n([\s\S]*?)```/g)].flatMap(([, language, block = '']): Step[] =>
    language === 'yaml'
      ? [{ language, text: block }]
      : commandsIn(block).map((command) => ({ language: 'sh', text: command })),
  );
}

function sectionOf(text: string, file: string, section: string): string {
  const from = text.indexOf(`\n## ${section}\n`);
  if (from === -1) throw new Error(`${file} has no section ${section}`);
  const to = text.indexOf('\n## ', from + 1);
  return text.slice(from, to === -1 ? undefined : to);
}

/** A line is a command, but for a here-document, which is one up to its end. */
function commandsIn(block: string): string[] {
  const commands: string[] = [];
  let open: { lines: string[]; end: string } | undefined;
  for (const line of block.split('\n')) {
    const end = /<<'?(\w+)'?/.exec(line)?.[1];
    if (open !== undefined) {
      open.lines.push(line);
      if (line === open.end) {
        commands.push(open.lines.join('\n'));
        open = undefined;
      }
    } else if (end !== undefined) open = { lines: [line], end };
    else if (line.trim() !== '') commands.push(line);
  }
  return commands;
}
