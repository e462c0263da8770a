/** What goes on for as long as somebody looks: a connection that is lost ends nothing. */
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import { NO_ANSWER, UserError } from './user-error.ts';

/** `problem`: why nobody has answered. Everything else that goes wrong is for whoever typed. */
export async function heard<T>(read: () => Promise<T>): Promise<{ value: T } | { problem: string }> {
  try {
    return { value: await read() };
  } catch (error) {
    if (error instanceof UserError && error.exitCode === NO_ANSWER) return { problem: error.message };
    throw error;
  }
}

export interface Watching {
  clock: Clock;
  signal: AbortSignal;
  write: (text: string) => void;
  /** What is not part of the answer. */
  say: (line: string) => void;
}

const everyMs = 2000;

/** Writes what is read, and from then on each line that was not there before, as `kubectl get --watch` does. */
export async function watchText(read: () => Promise<string>, { clock, signal, write, say }: Watching): Promise<void> {
  const first = await read();
  write(first);
  let known = new Set(linesOf(first));
  for (let isLost = false; ;) {
    await sleep(clock, everyMs, signal);
    if (signal.aborted) return;
    const answer = await heard(read);
    if ('problem' in answer) {
      if (!isLost) say(`no answer (${answer.problem}); what stands above may not be so any more; asking again`);
      isLost = true;
      continue;
    }
    if (isLost) say('the API server answers again');
    isLost = false;
    const lines = linesOf(answer.value);
    const fresh = lines.filter((line) => !known.has(line));
    if (fresh.length > 0) write(`${fresh.join('\n')}\n`);
    known = new Set(lines);
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
