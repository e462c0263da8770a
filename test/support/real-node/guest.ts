/**
 * What a virtual machine starts from: Debian's kernel, a first process in memory with its modules, and a disk that all machines read, with
 * containerd, the kubelet and what they need. Made once per machine, of its own packages, and kept outside the work tree under the
 * hash of what it was made of.
 */
import { access, chmod, copyFile, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { cacheDir, ensureNodePrograms, type NodeBinaries } from '../../../control-plane/build.ts';
import { isAlive, withLock } from '../../../control-plane/lock.ts';
import { unpack } from '../debian.ts';
import { fillDebianRoot } from '../image-root.ts';
import { command } from './commands.ts';

export interface Guest {
  kernel: string;
  initramfs: string;
  /** The disk that all machines read. */
  root: string;
}

const packages =
  'containerd runc containernetworking-plugins iproute2 libnbd-bin fuse3 e2fsprogs mount util-linux'.split(' ');

/** In the words of the kernel; what they need comes with them. It loads nothing by itself afterwards. */
const modules =
  'virtio_pci virtio_blk virtio_net 9pnet_virtio 9p crc32c_generic ext4 overlay fuse loop veth bridge sch_tbf sch_netem'.split(
    ' ',
  );

/** Where they are in the guest. */
export const guestPrograms = { kubelet: '/usr/bin/kubelet', 'csi-plugin': '/usr/bin/csi-plugin' } as const;

export async function ensureGuest(): Promise<Guest> {
  const programs = await ensureNodePrograms();
  const cache = join(cacheDir(), 'guest');
  const dir = join(cache, await hashOfRecipe(programs));
  if (!(await isThere(dir))) {
    await mkdir(cache, { recursive: true });
    await withLock(`${dir}.lock`, async () => {
      if (!(await isThere(dir))) await build(dir, cache, programs);
    });
  }
  return { kernel: join(dir, 'kernel'), initramfs: join(dir, 'initramfs'), root: join(dir, 'root.img') };
}

async function hashOfRecipe({ dir }: NodeBinaries): Promise<string> {
  const scripts = ['early-init', 'init'].map((name) => readFile(scriptNamed(name), 'utf8'));
  const own = await Promise.all([readFile(import.meta.filename, 'utf8'), ...scripts]);
  const installed = await command('dpkg-query', '--show', ...packages, 'busybox-static');
  const parts = JSON.stringify([own, installed, basename(dir)]);
  return createHash('sha256').update(parts).digest('hex').slice(0, 12);
}

async function build(dir: string, cache: string, programs: NodeBinaries): Promise<void> {
  const startedAt = performance.now();
  process.stderr.write(`virtual machines: making what they start from in ${dir}, once\n`);
  for (const name of await readdir(cache)) {
    const pid = /\.unfinished-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(cache, name), { recursive: true, force: true });
  }
  const unfinished = `${dir}.unfinished-${process.pid}`;
  const work = join(unfinished, 'work');
  await mkdir(work, { recursive: true });
  try {
    await makeKernel(work, unfinished);
    await makeRoot(work, join(unfinished, 'root.img'), programs);
    await rm(work, { recursive: true });
    await rename(unfinished, dir);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  process.stderr.write(`virtual machines: made it in ${Math.round((performance.now() - startedAt) / 1000)} s\n`);
}

/** The kernel is not installed: it is none for this machine. */
async function makeKernel(work: string, target: string): Promise<void> {
  const wanted = /Depends: (linux-image-\S+)/;
  const ask = (): Promise<string> => command('apt-cache', 'depends', 'linux-image-amd64');
  let found = wanted.exec(await ask());
  if (found === null) {
    await command('apt-get', '-qq', 'update');
    found = wanted.exec(await ask());
  }
  const name = found?.[1];
  if (name === undefined) throw new Error('Debian has no linux-image-amd64 for this machine');
  await unpack(name, work);
  const files = join(work, name);
  const release = name.slice('linux-image-'.length);
  await copyFile(join(files, 'boot', `vmlinuz-${release}`), join(target, 'kernel'));
  await command('depmod', '--basedir', files, release);
  await makeInitramfs(join(files, 'lib', 'modules', release), join(work, 'initramfs'), join(target, 'initramfs'));
}

async function makeInitramfs(library: string, dir: string, target: string): Promise<void> {
  for (const one of ['bin', 'proc', 'sys', 'dev', 'disk', 'modules']) await mkdir(join(dir, one), { recursive: true });
  const [busybox = ''] = (await command('which', 'busybox')).split('\n');
  await copyFile(busybox, join(dir, 'bin', 'busybox'));
  const order = inOrder(await readFile(join(library, 'modules.dep'), 'utf8'));
  for (const path of order) await copyFile(join(library, path), join(dir, 'modules', basename(path)));
  await writeFile(join(dir, 'modules', 'order'), order.map((path) => `${basename(path)}\n`).join(''));
  await install('early-init', join(dir, 'init'));
  await command('bash', '-c', 'cd "$0" && find . | busybox cpio -o -H newc > "$1"', dir, target);
}

/** Each after those that it needs. */
function inOrder(dependencies: string): string[] {
  const needs = new Map(
    dependencies.split('\n').map((line) => {
      const [path = '', rest = ''] = line.split(':');
      return [path, rest.split(' ').filter((one) => one !== '')];
    }),
  );
  const order = new Set<string>();
  const add = (path: string): void => {
    for (const needed of needs.get(path) ?? []) add(needed);
    order.add(path);
  };
  for (const name of modules) {
    const path = [...needs.keys()].find((one) => basename(one).replaceAll('-', '_') === `${name}.ko`);
    if (path === undefined) throw new Error(`the kernel has no module ${name}`);
    add(path);
  }
  return [...order];
}

async function makeRoot(work: string, target: string, programs: NodeBinaries): Promise<void> {
  const root = join(work, 'root');
  await fillDebianRoot(root, packages);
  const dirs = ['proc', 'sys', 'dev', 'run', 'tmp', 'root', 'var/lib', 'var/log', 'machine'];
  // They would be made at the first start, and nothing can be written here by then.
  const missed = ['opt/containerd', 'usr/libexec/kubernetes/kubelet-plugins/volume/exec'];
  for (const dir of ['etc', ...dirs, ...missed]) await mkdir(join(root, dir), { recursive: true });
  await symlink('/proc/mounts', join(root, 'etc', 'mtab'));
  await writeFiles(join(root, 'etc'), {
    passwd: 'root:x:0:0:root:/root:/bin/bash\n',
    group: 'root:x:0:\n',
    // Of which every pod gets a copy.
    hosts: '127.0.0.1 localhost\n',
    'resolv.conf': '',
  });
  await install('init', join(root, 'sbin', 'guest'));
  for (const [name, path] of Object.entries(guestPrograms)) {
    await copyFile(programs[name as keyof typeof guestPrograms], join(root, path));
  }
  const kilobytes = Number((await command('du', '--summarize', '--block-size=1K', root)).split('\t')[0]);
  const size = `${Math.ceil(kilobytes * 1.1) + 65_536}K`;
  await command('mke2fs', '-q', '-t', 'ext4', '-O', '^has_journal', '-d', root, target, size);
}

async function writeFiles(dir: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
}

function scriptNamed(name: string): string {
  return join(import.meta.dirname, 'guest', name);
}

async function install(script: string, target: string): Promise<void> {
  await copyFile(scriptNamed(script), target);
  await chmod(target, 0o755);
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
