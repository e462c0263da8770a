/** Packs the page of the console into one script. `node build/bundle.ts` puts it beside the program; in a checkout it is made when it is asked for. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '..');
const page = join(root, 'src', 'console', 'page');

/** By name. */
export async function pageFiles(): Promise<Record<string, string>> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { page: join(page, 'main.tsx') },
    outdir: 'page',
    write: false,
    bundle: true,
    platform: 'browser',
    target: 'es2023',
    format: 'esm',
    charset: 'utf8',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const script = outputFiles.find(({ path }) => path.endsWith('.js'))?.text ?? '';
  return {
    'page.js': script,
    'page.css': await readFile(join(page, 'page.css'), 'utf8'),
    'index.html': await readFile(join(page, 'index.html'), 'utf8'),
  };
}
