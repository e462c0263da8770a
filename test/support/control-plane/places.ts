import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LOG_ROOT = join(import.meta.dirname, '../../../logs/control-plane');

/** Data, keys and kubeconfigs: gone with the control plane. */
export function makeDataDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'fenceline-control-plane-'));
}

/** Logs: kept when a test fails, or when its process dies before it could say. */
export async function makeLogDir(name: string): Promise<string> {
  const base = `${name.replaceAll(/[^\w.-]+/g, '-').slice(0, 80)}-${process.pid}`;
  await mkdir(LOG_ROOT, { recursive: true });
  for (let number = 1; ; number++) {
    const dir = join(LOG_ROOT, number === 1 ? base : `${base}-${number}`);
    // A second control plane of one name, or an old one whose process had the same id.
    const made = await mkdir(dir).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return false;
        throw error;
      },
    );
    if (made) return dir;
  }
}

export function removeDir(dir: string): Promise<void> {
  return rm(dir, { recursive: true, force: true, maxRetries: 5 });
}
