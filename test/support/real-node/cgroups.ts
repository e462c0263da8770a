/** A node's own corner of the cgroups, of either version. Names are relative to the root of every hierarchy. */
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../wait.ts';

const mountPoint = '/sys/fs/cgroup';

/** Version 2 has one hierarchy; version 1 one for each controller, and perhaps version 2 beside them. */
async function hierarchies(): Promise<string[]> {
  const entries = await readdir(mountPoint);
  if (entries.includes('cgroup.controllers')) return [mountPoint];
  return entries.map((name) => join(mountPoint, name));
}

export async function makeCgroup(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    const dir = join(hierarchy, name);
    await mkdir(dir, { recursive: true });
    // Version 1 gives a new group no processors and no memory, and what has none can hold no process.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      const content = await readFile(join(hierarchy, file), 'utf8').catch(() => '');
      if (content.trim() !== '') await writeFile(join(dir, file), content).catch(() => {});
    }
  }
}

export async function cgroupsNamed(prefix: string): Promise<string[]> {
  const found = await Promise.all((await hierarchies()).map((hierarchy) => readdir(hierarchy)));
  return [...new Set(found.flat())].filter((name) => name.startsWith(prefix));
}

/** With all groups below it; nothing may run there any more. */
export async function removeCgroup(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    // A process that was just killed may still be counted for a moment.
    await waitFor(`cgroup ${name} to be removed`, () => removeTree(join(hierarchy, name)), { timeoutMs: 10_000 });
  }
}

async function removeTree(dir: string): Promise<boolean> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return true;
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(dir, entry.name));
  await rmdir(dir);
  return true;
}

export interface Contained {
  pid: number;
  /** Of its container. */
  id: string;
}

/** What runs for a pod under the cgroup of a node, by the names that kubelets give: `pod<uid>` and below the containers. */
export async function processesOfPod(name: string, podUid: string): Promise<Contained[]> {
  const all = await hierarchies();
  const hierarchy = all.find((dir) => dir.endsWith('/pids')) ?? all[0] ?? mountPoint;
  const root = join(hierarchy, name, 'kubepods');
  for (const service of [root, join(root, 'burstable'), join(root, 'besteffort')]) {
    const dir = join(service, `pod${podUid}`);
    if (await isDirectory(dir)) return containedIn(dir);
  }
  return [];
}

async function containedIn(dir: string): Promise<Contained[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries
      .filter((entry) => entry.isDirectory())
      .map(async ({ name: id }) => {
        const text = await readFile(join(dir, id, 'cgroup.procs'), 'utf8').catch(() => '');
        return text.split('\n').flatMap((line) => (line === '' ? [] : [{ pid: Number(line), id }]));
      }),
  );
  return found.flat();
}

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
