/**
 * The real control plane that tests run against, what a real node needs, and helm, each built from its pinned recipe once per
 * machine and kept outside the work tree, under the hash of what it was built from. Run it to build ahead of the tests:
 *
 *     node control-plane/build.ts [minor]
 */
import { execFile } from 'node:child_process';
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isAlive, withLock } from './lock.ts';
import { BUILD_FLAGS, readHelmRecipe, readNodeRecipe, readRecipe, type Module, type Recipe } from './recipe.ts';
import { ControlPlaneUnavailable, findGo } from './toolchain.ts';

export { ControlPlaneUnavailable } from './toolchain.ts';

const BINARIES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'] as const;
const NODE_BINARIES = ['csi-plugin', 'kubelet', 'workload'] as const;

export const DEFAULT_VERSION = '1.36';

/** Supported too: one test of each kind runs on it in `make test`, all of them in `make test-skew` (NGS-12). */
export const SECOND_VERSION = '1.34';

export type BinaryName = (typeof BINARIES)[number];

/** Where the binaries are, each by its name. */
export type ControlPlaneBinaries = Readonly<Record<BinaryName, string>> & { readonly dir: string };

export type NodeBinaries = Readonly<Record<(typeof NODE_BINARIES)[number], string>> & { readonly dir: string };

const run = promisify(execFile);

/**
 * Throws `ControlPlaneUnavailable` where there is neither a Go to build with nor a way to get one. A directory in
 * FENCELINE_CONTROL_PLANE_BIN is taken as it is instead of building.
 */
export async function ensureControlPlane(version: string = DEFAULT_VERSION): Promise<ControlPlaneBinaries> {
  const given = process.env['FENCELINE_CONTROL_PLANE_BIN'];
  if (given) return binariesIn(given, BINARIES);
  const recipe = await readRecipe(version);
  return binariesIn(await ensureBuilt(recipe, `${recipe.version}-${recipe.hash}`), BINARIES);
}

/** Apart from the control plane, so that only the tests that run a real node pay for it. Throws as above. */
export async function ensureNodePrograms(version: string = DEFAULT_VERSION): Promise<NodeBinaries> {
  const recipe = await readNodeRecipe(version);
  return binariesIn(await ensureBuilt(recipe, `node-${recipe.version}-${recipe.hash}`), NODE_BINARIES);
}

/** Answers its path. Throws as above. */
export async function ensureHelm(): Promise<string> {
  const recipe = await readHelmRecipe();
  return join(await ensureBuilt(recipe, `helm-${recipe.version}-${recipe.hash}`), 'helm');
}

async function ensureBuilt(recipe: Recipe, name: string): Promise<string> {
  const root = join(cacheDir(), 'control-plane');
  const dir = join(root, name);
  if (await exists(dir)) return dir;
  await mkdir(root, { recursive: true });
  await withLock(
    `${dir}.lock`,
    async () => {
      if (!(await exists(dir))) await build(recipe, root, dir);
    },
    { onWait: (holder) => say(`process ${holder} is building ${recipe.title}; waiting for it`) },
  );
  return dir;
}

async function build(recipe: Recipe, root: string, dir: string): Promise<void> {
  const go = await findGo(recipe.goVersion, root);
  const started = performance.now();
  say(`building ${recipe.title} into ${dir}, which takes minutes, once`);
  const unfinished = `${dir}.unfinished-${process.pid}`;
  await removeAbandoned(root);
  await mkdir(unfinished);
  try {
    for (const module of recipe.modules) await buildModule(go, module, unfinished);
    await rename(unfinished, dir).catch(async (error: unknown) => {
      // Somebody else built the same thing: the lock is only a courtesy.
      if (!(await exists(dir))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  say(`built ${recipe.title} in ${Math.round((performance.now() - started) / 1000)} s`);
}

/** What builds that were killed left behind: hundreds of megabytes each. */
async function removeAbandoned(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    const pid = name.match(/\.unfinished-(\d+)$/)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(root, name), { recursive: true, force: true });
  }
}

async function buildModule(go: string, module: Module, target: string): Promise<void> {
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'local' };
  const flags = [...BUILD_FLAGS, '-ldflags', module.ldflags];
  const [only] = module.programs;
  // One call for all programs of a module, which share most of their packages; a file name can only be chosen for one.
  const output = module.programs.length === 1 && only ? join(target, only.name) : `${target}/`;
  const packages = module.programs.map(({ importPath }) => importPath);
  await run(go, ['build', ...flags, '-o', output, ...packages], {
    cwd: module.dir,
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** Where what is built or unpacked once per machine is kept. */
export function cacheDir(): string {
  const { FENCELINE_CACHE, XDG_CACHE_HOME } = process.env;
  return FENCELINE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'fenceline');
}

function binariesIn<Name extends string>(
  dir: string,
  names: readonly Name[],
): Readonly<Record<Name, string>> & { readonly dir: string } {
  const paths = Object.fromEntries(names.map((name) => [name, join(dir, name)])) as Record<Name, string>;
  return { dir, ...paths };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function say(line: string): void {
  process.stderr.write(`control plane: ${line}\n`);
}

if (import.meta.main) {
  try {
    const [, , minor] = process.argv;
    console.log((await ensureControlPlane(minor)).dir);
    // Of other versions no nodes are run.
    if (minor === undefined) console.log((await ensureNodePrograms()).dir);
    console.log(await ensureHelm());
  } catch (error) {
    if (!(error instanceof ControlPlaneUnavailable)) throw error;
    say(error.message);
    process.exitCode = 1;
  }
}
