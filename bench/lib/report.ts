/** Where figures go: tables to the terminal, everything as JSON to dist/bench/, which is not kept. */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..', '..');
export const resultsDir = join(root, 'dist', 'bench');

export interface Report {
  name: string;
  /** Markdown. */
  text: string;
}

export async function keep(report: Report, figures: unknown): Promise<Report> {
  await mkdir(resultsDir, { recursive: true });
  await writeFile(
    join(resultsDir, `${report.name}.json`),
    `${JSON.stringify({ machine: machine(), figures }, null, 2)}\n`,
  );
  await writeFile(join(resultsDir, `${report.name}.md`), `${report.text}\n`);
  return report;
}

export function machine(): string {
  const [load] = readFileSync('/proc/loadavg', 'utf8').split(' ');
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${availableParallelism()} cores (${model}), ${gib} GiB, Linux, Node ${process.version}; load before the run: ${load}`;
}

/** Progress goes to stderr: stdout has the tables. */
export function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}
