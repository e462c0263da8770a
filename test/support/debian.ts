/** Programs that tests need and that a machine may lack. */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../../control-plane/lock.ts';

const run = promisify(execFile);

export interface DebianPackage {
  name: string;
  /** Where it shows that it is there: a program, or a path. */
  file: string;
}

/**
 * Throws, with one line why, where something is missing. Where CI says that it has to be there it is installed; a
 * person's machine is left as it is.
 */
export async function ensurePackages(purpose: string, packages: readonly DebianPackage[]): Promise<void> {
  const missing = await missingOf(packages);
  if (missing.length === 0) return;
  if (process.env['CI'] !== 'true') throw new Error(`${purpose} needs ${missing.join(', ')}: install them`);
  // Tiers run side by side, and apt-get does not wait for another.
  await withLock(join(tmpdir(), 'fenceline-apt.lock'), async () => {
    const wanted = await missingOf(packages);
    if (wanted.length > 0) await install(purpose, wanted);
  });
  const still = await missingOf(packages);
  if (still.length > 0) throw new Error(`installed ${missing.join(', ')}, and ${still.join(', ')} is still not there`);
}

async function missingOf(packages: readonly DebianPackage[]): Promise<string[]> {
  const found = await Promise.all(packages.map(async ({ name, file }) => ({ name, there: await isThere(file) })));
  return [...new Set(found.filter(({ there }) => !there).map(({ name }) => name))];
}

async function isThere(file: string): Promise<boolean> {
  const places = file.startsWith('/') ? [file] : searchPath().map((dir) => join(dir, file));
  const looks = await Promise.allSettled(places.map((place) => access(place, constants.X_OK)));
  return looks.some(({ status }) => status === 'fulfilled');
}

/** A shell of a user who is not root may not look into the directories of the administrator. */
export function searchPath(): string[] {
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'].filter((dir) => dir !== '');
}

async function install(purpose: string, names: readonly string[]): Promise<void> {
  process.stderr.write(`${purpose}: installing ${names.join(', ')}\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const aptGet = (...args: string[]): Promise<unknown> => run('apt-get', ['-qq', ...args], { env, maxBuffer: 2 ** 26 });
  const wanted = ['install', '--yes', '--no-install-recommends', ...names];
  try {
    // The list of packages may be missing on a fresh machine, or name versions that are gone.
    await aptGet(...wanted).catch(async () => {
      await aptGet('update');
      await aptGet(...wanted);
    });
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`apt-get could not install ${names.join(', ')}: ${output.split('\n').at(-1)}`, { cause: error });
  }
}
