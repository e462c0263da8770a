/**
 * The images of the Containerfile without a container builder: the same bundle, Node and settings. The slim one is on the C library of
 * this machine in place of Debian's base; the one with agents on the packages of Debian that it names, as this machine has them.
 */
import { execFile } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from '../../build/bundle.ts';
import { makeArchive, type ImageConfig } from './real-node/images.ts';

const run = promisify(execFile);

/** The lines of a stage, by their first word. */
async function stageNamed(name: 'slim' | 'agents'): Promise<(word: string) => string> {
  const text = (await readFile('Containerfile', 'utf8')).replaceAll(/\\\n/g, ' ');
  const [, stage = ''] =
    new RegExp(`^FROM \\S+ AS ${name}\\n([\\s\\S]*?)(?:^FROM |$(?![\\s\\S]))`, 'm').exec(text) ?? [];
  return (word) => {
    const found = [...stage.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map(([, rest = '']) => rest);
    if (found.length !== 1 || found[0] === undefined)
      throw new Error(`the Containerfile has not one ${word} for ${name}`);
    return found[0];
  };
}

async function configOf(line: (word: string) => string): Promise<ImageConfig> {
  return {
    Entrypoint: JSON.parse(line('ENTRYPOINT')) as string[],
    Cmd: JSON.parse(line('CMD')) as string[],
    Env: line('ENV').split(' '),
    User: line('USER'),
  };
}

/** Writes an archive into `dir`; answers its path. */
export async function makeSlimImage(dir: string, name: string): Promise<string> {
  const root = join(dir, 'root');
  const line = await fillSlimRoot(root);
  return makeArchive(dir, root, [{ name, config: await configOf(line) }]);
}

/** As above, with Debian's fence agents; for the same user. */
export async function makeAgentsImage(dir: string, name: string): Promise<string> {
  const root = join(dir, 'root');
  const agents = await stageNamed('agents');
  const [, wanted = ''] = /apt-get install --yes --no-install-recommends ([^&]*)/.exec(agents('RUN')) ?? [];
  await fillDebianRoot(root, wanted.trim().split(/\s+/));
  const line = await fillSlimRoot(root);
  return makeArchive(dir, root, [{ name, config: await configOf(line) }]);
}

async function fillSlimRoot(root: string): Promise<(word: string) => string> {
  const line = await stageNamed('slim');
  await bundle(join(root, 'opt/fenceline'));
  for (const file of [process.execPath, ...(await librariesOf(process.execPath))]) {
    const target = join(root, file === process.execPath ? '/usr/local/bin/node' : file);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(file, target);
  }
  await mkdir(join(root, 'etc'), { recursive: true });
  await mkdir(join(root, 'tmp'), { mode: 0o1777, recursive: true });
  const written = [...line('RUN').matchAll(/echo '([^']*)' >> (\/etc\/\w+)/g)];
  for (const [, entry = '', file = ''] of written) await writeFile(join(root, file), `${entry}\n`);
  return line;
}

/** What even the smallest Debian has, as far as an agent may call it. */
const base = ['base-files', 'dash', 'bash', 'coreutils', 'grep', 'sed'];

/** These packages and all that they depend on, without what Debian's slim image leaves out too. */
export async function fillDebianRoot(root: string, names: readonly string[]): Promise<void> {
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map((kind) => `--no-${kind}`);
  const { stdout: tree } = await run('apt-cache', ['depends', '--recurse', '--installed', ...kinds, ...base, ...names]);
  const packages = [...new Set(tree.split('\n').filter((line) => /^\w/.test(line)))];
  const listed = await Promise.all(packages.map(filesOf));
  const files = listed.flat().filter((path) => /^\/(?!\.$|usr\/share\/(doc|man|locale|info)\/)/.test(path));
  await mkdir(root, { recursive: true });
  for (const dir of ['bin', 'sbin', 'lib', 'lib64']) {
    await mkdir(join(root, 'usr', dir), { recursive: true });
    await symlink(`usr/${dir}`, join(root, dir));
  }
  await copyPaths(root, await withCompiled(files));
}

/** None of a package that is not there: it is one of several that would do. */
async function filesOf(name: string): Promise<string[]> {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  for (const list of [`${name}.list`, `${name}:${architecture}.list`]) {
    const text = await readFile(join('/var/lib/dpkg/info', list), 'utf8').catch(() => undefined);
    if (text !== undefined) return text.split('\n');
  }
  return [];
}

/** What Python compiled when the packages were installed: on a root that is read-only it would do so at every start. */
async function withCompiled(files: readonly string[]): Promise<string[]> {
  const dirs = new Set(files.filter((path) => path.endsWith('.py')).map((path) => join(dirname(path), '__pycache__')));
  return [...files, ...[...dirs].filter((dir) => existsSync(dir))];
}

async function copyPaths(root: string, paths: readonly string[]): Promise<void> {
  // A path below a link to a directory, such as /bin, is one below what that leads to.
  const real = paths.map((path) => path.replace(/^\/(bin|sbin|lib|lib64)(?=\/)/, '/usr/$1'));
  const there = [...new Set(real)].filter((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found !== undefined && (!found.isDirectory() || path.endsWith('__pycache__'));
  });
  const list = join(root, '..', 'files');
  await writeFile(list, there.map((path) => `.${path}\n`).join(''));
  const archive = join(root, '..', 'debian.tar');
  await run('tar', ['--create', '--file', archive, '--directory', '/', '--files-from', list]);
  await run('tar', ['--extract', '--file', archive, '--directory', root]);
  await rm(archive);
}

/** Where the loader finds them. */
async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run('ldd', [program]);
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
}
