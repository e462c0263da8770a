/** Programs that tests need and that a machine may lack. */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDir } from '../../control-plane/build.ts';
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

/**
 * One program of a package that is not installed, because that would start a service: found on the machine, or unpacked once per
 * machine beside the control plane. Answers its path; throws, with one line why, where there is neither.
 */
export async function unpackedProgram(name: string, program: string): Promise<string> {
  for (const dir of searchPath()) if (await isThere(join(dir, program))) return join(dir, program);
  const root = join(cacheDir(), 'debian');
  const path = join(root, name, 'usr', 'bin', program);
  if (await isThere(path)) return path;
  await mkdir(root, { recursive: true });
  await withLock(join(root, `${name}.lock`), async () => {
    if (!(await isThere(path))) await unpack(name, root);
  });
  return path;
}

/** All files of a package, into a directory of its name below `root`. */
export async function unpack(name: string, root: string): Promise<void> {
  const dir = await mkdtemp(join(root, `${name}.unfinished-`));
  try {
    const download = (): Promise<unknown> => run('apt-get', ['-qq', 'download', name], { cwd: dir });
    // The list of packages may be missing on a fresh machine, or name versions that are gone.
    await download().catch(async () => {
      await run('apt-get', ['-qq', 'update']);
      await download();
    });
    const archive = (await readdir(dir)).find((file) => file.endsWith('.deb')) ?? '';
    await run('dpkg-deb', ['--extract', join(dir, archive), join(dir, 'root')]);
    await rename(join(dir, 'root'), join(root, name));
  } catch (error) {
    throw new Error(`${name} is not on this machine, and could not be unpacked from Debian: ${lastLine(error)}`, {
      cause: error,
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function lastLine(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
  return output.split('\n').at(-1) ?? '';
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
    throw new Error(`apt-get could not install ${names.join(', ')}: ${lastLine(error)}`, { cause: error });
  }
}
