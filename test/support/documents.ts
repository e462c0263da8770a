/** The documents as their readers use them: what they tell people to type. */
import { readFileSync } from 'node:fs';

/** The commands of a document, or of one section of it, in the order in which they are read. */
export function commandsOf(file: string, section?: string): string[] {
  const text = readFileSync(file, 'utf8');
  const part = section === undefined ? text : sectionOf(text, file, section);
  const blocks = [...part.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  return blocks.flatMap(commandsIn);
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
