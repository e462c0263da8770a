/** Looks for a credential where it could be read by others while a device is asked: in the processes that we started. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface Exposure {
  program: string;
  where: 'arguments' | 'environment';
}

export interface WatchOptions {
  /** Below which process is looked, itself included if it is not this one; asked each time. Default: this one. */
  root?: () => number | undefined;
  everyMs?: number;
}

const LOOK_EVERY_MS = 5;

/** Runs `work` and looks at every process below this one all the while. */
export async function watchForCanary<T>(
  canary: string,
  work: () => Promise<T>,
  { root = () => process.pid, everyMs = LOOK_EVERY_MS }: WatchOptions = {},
): Promise<{ result: T; exposures: Exposure[] }> {
  const found = new Map<string, Exposure>();
  const seen = new Set<string>();
  const end = new AbortController();
  const watch = async (): Promise<void> => {
    while (!end.signal.aborted) {
      for (const pid of await familyOf(root())) {
        for (const exposure of await exposuresOf(pid, canary, seen)) {
          found.set(`${exposure.program} ${exposure.where}`, exposure);
        }
      }
      await delay(everyMs);
    }
  };
  const watching = watch();
  const result = await work().finally(() => end.abort());
  await watching;
  if (seen.size === 0) throw new Error('no process was seen at all: the watch proves nothing');
  return { result, exposures: [...found.values()] };
}

async function exposuresOf(pid: string, canary: string, seen: Set<string>): Promise<Exposure[]> {
  const read = (file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  const [cmdline, environ] = await Promise.all([read('cmdline'), read('environ')]);
  if (cmdline !== '') seen.add(pid);
  const exposed: Exposure[] = [];
  if (!cmdline.includes(canary) && !environ.includes(canary)) return exposed;
  const program = await readlink(`/proc/${pid}/exe`).then(
    (path) => basename(path),
    // It has ended meanwhile; what it called itself is all that is left of it.
    () => basename(cmdline.split('\0', 1)[0] ?? ''),
  );
  if (cmdline.includes(canary)) exposed.push({ program, where: 'arguments' });
  if (environ.includes(canary)) exposed.push({ program, where: 'environment' });
  return exposed;
}

async function familyOf(pid: number | undefined): Promise<string[]> {
  if (pid === undefined) return [];
  const below = await descendants(pid);
  return pid === process.pid ? below : [String(pid), ...below];
}

async function descendants(pid: number | string): Promise<string[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  const children = lists.flatMap((list) => list.split(' ')).filter((child) => child !== '');
  return [...children, ...(await Promise.all(children.map((child) => descendants(child)))).flat()];
}
