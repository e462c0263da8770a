/**
 * Packs the command into a few files of plain JavaScript. Node then neither strips types nor looks for packages, and
 * with one chunk per command `fenceline run` loads nothing that only the other commands need. Run it with
 *
 *     node build/bundle.ts
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { pageFiles } from './page.ts';

const root = join(import.meta.dirname, '..');

// Dependencies in CommonJS call `require`, which modules do not have.
const banner = `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`;

/**
 * With which Node runs the operator best. Its objects live for the ten seconds between two heartbeats and then die, so
 * that a large young generation only fills memory, and V8 would let the heap double before it cleans up. Only the first
 * is accepted in NODE_OPTIONS. bin/fenceline and docs/benchmarks.md have the same.
 */
export const nodeFlags: readonly string[] = [
  '--max-semi-space-size=1',
  '--heap-growing-percent=20',
  '--optimize-for-size',
];

/**
 * For the C library. Every read from a connection takes 64 KiB and gives most of it back; out of the common heap that
 * leaves holes, as mappings of their own it does not.
 */
export const nodeEnv: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '16384',
  MALLOC_TRIM_THRESHOLD_: '65536',
};

/** Answers the path of the entry. */
export async function bundle(outdir: string = join(root, 'dist', 'bundle')): Promise<string> {
  await rm(outdir, { recursive: true, force: true });
  await build({
    absWorkingDir: root,
    entryPoints: { fenceline: 'src/cli/main.ts' },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    charset: 'utf8',
    // Its CommonJS form, which Node would take, loses its names when it is imported at run time from a chunk.
    alias: { yaml: join(root, 'node_modules', 'yaml', 'browser', 'index.js') },
    banner: { js: banner },
    // Names stay: a stack trace from a cluster must be readable, and they cost next to nothing.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  // Where src/console/assets.ts looks first.
  await mkdir(join(outdir, 'console'));
  for (const [name, text] of Object.entries(await pageFiles())) await writeFile(join(outdir, 'console', name), text);
  return join(outdir, 'fenceline.mjs');
}

if (import.meta.main) console.log(await bundle());
