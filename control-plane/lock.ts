import { link, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface LockOptions {
  /** Called once, with the process that holds it, before waiting. */
  readonly onWait?: (holder: number) => void;
  readonly pollMs?: number;
}

/**
 * Runs `work` while no other process of this machine runs under the same lock; others wait. The lock is a file with the
 * holder's pid, and a holder that died loses it. Two waiters that find a dead holder at the same moment may both get
 * in, so `work` must be correct without the lock: it only saves doing a long thing twice.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  let waited = false;
  for (;;) {
    if (await take(path)) break;
    const holder = await holderOf(path);
    if (holder === undefined) continue;
    if (!isAlive(holder)) {
      await rm(path, { force: true });
      continue;
    }
    if (!waited) options.onWait?.(holder);
    waited = true;
    await delay(options.pollMs ?? 200);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

/** A link to a file that is already written, so that nobody ever reads a lock without its pid. */
async function take(path: string): Promise<boolean> {
  const dir = await mkdtemp(join(dirname(path), '.lock-'));
  try {
    const draft = join(dir, 'pid');
    await writeFile(draft, `${process.pid}\n`);
    await link(draft, path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function holderOf(path: string): Promise<number | undefined> {
  try {
    return Number(await readFile(path, 'utf8'));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
