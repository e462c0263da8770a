/** `fenceline replay`: decides recorded passes again, and says what this version decides otherwise. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { Command as Subcommand, Option } from 'commander';
import { timeOf } from '../api/facts.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { NodeDecision } from '../decide/decide-node.ts';
import { decideNode } from '../decide/decide-node.ts';
import { UserError } from './user-error.ts';

interface Flags {
  output?: 'json';
}

interface RecordedPass {
  case: NodeCase;
  decision: NodeDecision;
}

/** Where a decision is another one now. */
export interface Difference {
  /** Such as `steps[0].acts`. */
  path: string;
  /** Absent: it was not there. */
  recorded?: unknown;
  /** Absent: it is not there any more. */
  now?: unknown;
}

export interface ReplayedPass {
  file: string;
  line: number;
  node: string;
  at: string;
  differences: Difference[];
}

const shownDifferences = 5;
const shownLength = 200;

export function replayCommand(write: (text: string) => void = (text) => process.stdout.write(text)): Command {
  return new Subcommand('replay')
    .description(
      'decide recorded passes again (run --trace-passes); exits 1 if one is decided otherwise, 2 if a file is wrong',
    )
    .argument('<file...>', 'files of passes; - is the standard input')
    .addOption(new Option('-o, --output <format>', 'instead of a list').choices(['json']))
    .action((files: string[], { output }: Flags) => {
      const passes = files.flatMap((file) => replayFile(file));
      const different = passes.filter(({ differences }) => differences.length > 0);
      write(output === 'json' ? `${JSON.stringify(different, null, 2)}\n` : render(passes.length, different));
      process.exitCode = different.length === 0 ? 0 : 1;
    });
}

function replayFile(file: string): ReplayedPass[] {
  return replayText(file, textOf(file));
}

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw wrongFile(`${file}: ${(error as Error).message}`);
  }
}

export function replayText(file: string, text: string): ReplayedPass[] {
  return text.split('\n').flatMap((line, index) => (line === '' ? [] : [replayLine(line, { file, line: index + 1 })]));
}

function replayLine(text: string, at: { file: string; line: number }): ReplayedPass {
  const { case: nodeCase, decision } = passOf(text, at);
  try {
    const again = JSON.parse(JSON.stringify(decideNode(nodeCase))) as NodeDecision;
    const differences = differencesOf(decision, again, '');
    return { ...at, node: nodeCase.name, at: timeOf(nodeCase.serverNowMs), differences };
  } catch (error) {
    // A case that lacks what a decision reads, as of another version or of nobody.
    throw wrongFile(`${at.file}:${at.line}: nothing can be decided from it (${(error as Error).message})`);
  }
}

function passOf(text: string, { file, line }: { file: string; line: number }): RecordedPass {
  const where = `${file}:${line}`;
  let value: Partial<RecordedPass> | null;
  try {
    value = JSON.parse(text) as Partial<RecordedPass> | null;
  } catch (error) {
    throw wrongFile(
      `${where}: not a line of JSON (${(error as Error).message}); give files that run --trace-passes has made`,
    );
  }
  const nodeCase = value?.case;
  const isPass = typeof nodeCase?.name === 'string' && Array.isArray(nodeCase.pods) && value?.decision !== undefined;
  if (!isPass) throw wrongFile(`${where}: no pass, which has a case with a name and pods, and a decision`);
  return value as RecordedPass;
}

function wrongFile(message: string): UserError {
  return new UserError(message, 2);
}

export function differencesOf(recorded: unknown, now: unknown, path: string): Difference[] {
  if (Object.is(recorded, now)) return [];
  if (!isObject(recorded) || !isObject(now) || Array.isArray(recorded) !== Array.isArray(now)) {
    return [{ path, ...(recorded === undefined ? {} : { recorded }), ...(now === undefined ? {} : { now }) }];
  }
  const keys = [...new Set([...Object.keys(recorded), ...Object.keys(now)])];
  return keys.flatMap((key) => differencesOf(recorded[key], now[key], below(path, key, recorded)));
}

function below(path: string, key: string, parent: object): string {
  if (Array.isArray(parent)) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function render(count: number, different: readonly ReplayedPass[]): string {
  const lines = different.flatMap(({ file, line, node, at, differences }) => [
    `${file}:${line}: ${node} at ${at} is decided otherwise:`,
    ...differences
      .slice(0, shownDifferences)
      .map(({ path, recorded, now }) => `  ${path}: ${short(recorded)} → ${short(now)}`),
    ...(differences.length > shownDifferences ? [`  and ${differences.length - shownDifferences} more`] : []),
  ]);
  const same = count - different.length;
  return [...lines, `${count} passes: ${same} decided as recorded, ${different.length} otherwise`, ''].join('\n');
}

function short(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
}
