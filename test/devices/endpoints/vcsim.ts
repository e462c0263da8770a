/** govmomi's vCenter simulator, built from its pinned module once per machine and kept outside the work tree. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../../../control-plane/lock.ts';
import { findGo } from '../../../control-plane/toolchain.ts';

const run = promisify(execFile);
const source = join(import.meta.dirname, 'vcsim');
const flags = ['-trimpath', '-buildvcs=false', '-ldflags', '-s -w'];

export async function ensureVcsim(): Promise<string> {
  const texts = await Promise.all(['go.mod', 'go.sum', 'main.go'].map((file) => readFile(join(source, file), 'utf8')));
  const hash = createHash('sha256')
    .update(JSON.stringify([texts, flags, process.platform, process.arch]))
    .digest('hex')
    .slice(0, 16);
  const { FENCELINE_CACHE, XDG_CACHE_HOME } = process.env;
  const root = join(FENCELINE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'fenceline'), 'devices');
  const program = join(root, `vcsim-${hash}`);
  if (await exists(program)) return program;
  await mkdir(root, { recursive: true });
  await withLock(`${program}.lock`, async () => {
    if (!(await exists(program))) await build(program, { root, goMod: texts[0] ?? '' });
  });
  return program;
}

async function build(program: string, { root, goMod }: { root: string; goMod: string }): Promise<void> {
  const go = await findGo(/^go (\S+)$/m.exec(goMod)?.[1] ?? '', root);
  process.stderr.write(`the device tests: building the vCenter simulator into ${program}, once\n`);
  const unfinished = `${program}.unfinished-${process.pid}`;
  try {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'local' };
    await run(go, ['build', ...flags, '-o', unfinished, '.'], { cwd: source, env, maxBuffer: 2 ** 26 });
    await rename(unfinished, program);
  } finally {
    await rm(unfinished, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
