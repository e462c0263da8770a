/**
 * What the project is compared with. None of it is a dependency: each peer is a small package of its own, installed or
 * built on demand into the cache in which the control plane lives, under the hash of what it is made from.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { withLock } from '../../control-plane/lock.ts';
import { findGo } from '../../control-plane/toolchain.ts';
import { resultsDir, root } from './report.ts';

const run = promisify(execFile);
const peersDir = join(import.meta.dirname, '..', 'peers');
const goVersion = '1.26';

/** Directory with the peer's files and its node_modules. */
export function ensureNpmPeer(name: string): Promise<string> {
  return ensure(name, async (dir) => {
    await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: dir });
  });
}

const banner = {
  js: `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`,
};

/**
 * A program of the benchmarks themselves as plain JavaScript: the stripping of types alone weighs more than most of what
 * is measured. What it imports at run time stays apart and is loaded only then.
 */
export async function bundleChild(file: string): Promise<string> {
  const name = basename(file, '.ts');
  const outdir = join(resultsDir, 'children', name);
  await build({
    entryPoints: { [name]: file },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'error',
    // As in build/bundle.ts.
    alias: { yaml: join(root, 'node_modules', 'yaml', 'browser', 'index.js') },
    banner,
  });
  return join(outdir, `${name}.mjs`);
}

/** Path of one of the peer's files, packed like the project itself: only what it uses is loaded. */
export async function ensureBundledPeer(name: string, file: string): Promise<string> {
  const dir = await ensureNpmPeer(name);
  const outfile = join(dir, 'bundled', file);
  if (await exists(outfile)) return outfile;
  await build({
    absWorkingDir: dir,
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'error',
    banner,
  });
  return outfile;
}

/** Path of the program. */
export async function ensureGoPeer(name: string): Promise<string> {
  const dir = await ensure(name, async (target) => {
    const go = await findGo(goVersion, cacheDir());
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'local' };
    const flags = ['-trimpath', '-buildvcs=false', '-ldflags', '-s -w'];
    await run(go, ['build', ...flags, '-o', 'program', '.'], { cwd: target, env, maxBuffer: 64 * 1024 * 1024 });
  });
  return join(dir, 'program');
}

async function ensure(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const source = join(peersDir, name);
  const root = join(cacheDir(), 'bench');
  const dir = join(root, `${name}-${await hashOf(source)}`);
  if (await exists(dir)) return dir;
  await mkdir(root, { recursive: true });
  await withLock(`${dir}.lock`, async () => {
    if (await exists(dir)) return;
    const unfinished = `${dir}.unfinished-${process.pid}`;
    try {
      await cp(source, unfinished, { recursive: true });
      await make(unfinished);
      await rename(unfinished, dir);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  });
  return dir;
}

async function hashOf(dir: string): Promise<string> {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${process.version}`);
  for (const name of (await readdir(dir)).sort()) hash.update(name).update(await readFile(join(dir, name)));
  return hash.digest('hex').slice(0, 12);
}

function cacheDir(): string {
  const { FENCELINE_CACHE, XDG_CACHE_HOME } = process.env;
  return FENCELINE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'fenceline');
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
