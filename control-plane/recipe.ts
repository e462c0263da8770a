/**
 * What a control plane, its nodes and helm are built from: pinned Go modules, kubernetes-<minor>/ and etcd/ for the first,
 * node-<minor>/ for the second, helm/ for the third, whose go.mod names the versions and the programs (its `tool` lines). Read without Go, so
 * that finding a finished build needs none.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

export interface Program {
  readonly name: string;
  readonly importPath: string;
}

export interface Module {
  readonly dir: string;
  readonly programs: readonly Program[];
  readonly ldflags: string;
}

export interface Recipe {
  /** Of Kubernetes, for instance 1.36.3; of helm. */
  readonly version: string;
  /** What is built, for people. */
  readonly title: string;
  /** The oldest Go that all modules accept. */
  readonly goVersion: string;
  readonly modules: readonly Module[];
  /** Of everything that decides what the binaries are. */
  readonly hash: string;
}

export interface ControlPlaneRecipe extends Recipe {
  readonly etcdVersion: string;
}

export const BUILD_FLAGS = ['-trimpath', '-buildvcs=false'] as const;

export async function readRecipe(minor: string): Promise<ControlPlaneRecipe> {
  const kubernetesDir = join(import.meta.dirname, `kubernetes-${minor}`);
  const etcdDir = join(import.meta.dirname, 'etcd');
  const files = await Promise.all(
    [kubernetesDir, etcdDir].flatMap((dir) => ['go.mod', 'go.sum'].map((file) => readFile(join(dir, file), 'utf8'))),
  ).catch((cause: unknown) => {
    throw new Error(`there is no recipe for a control plane of Kubernetes ${minor}`, { cause });
  });
  const [kubernetesMod = '', , etcdMod = ''] = files;
  const version = requiredVersion(kubernetesMod, 'k8s.io/kubernetes');
  const etcdVersion = requiredVersion(etcdMod, 'go.etcd.io/etcd/server/v3');
  const modules: readonly Module[] = [
    kubernetesModule(kubernetesDir, kubernetesMod, version),
    { dir: etcdDir, programs: [{ name: 'etcd', importPath: 'go.etcd.io/etcd/server/v3' }], ldflags: '-s -w' },
  ];
  return {
    version,
    title: `Kubernetes ${version} and etcd ${etcdVersion}`,
    etcdVersion,
    goVersion: [goLine(kubernetesMod), goLine(etcdMod)].sort(compareVersions).at(-1) ?? '',
    modules,
    hash: hashOf(files, modules),
  };
}

/** The kubelet, and the programs of ours that run beside it and in its pods: their source is part of what is hashed. */
export async function readNodeRecipe(minor: string): Promise<Recipe> {
  const dir = join(import.meta.dirname, `node-${minor}`);
  const sources = (await readdir(dir, { recursive: true }).catch(() => []))
    .filter((file) => file.endsWith('.go'))
    .sort();
  const files = await Promise.all(
    ['go.mod', 'go.sum', ...sources].map((file) => readFile(join(dir, file), 'utf8')),
  ).catch((cause: unknown) => {
    throw new Error(`there is no recipe for a node of Kubernetes ${minor}`, { cause });
  });
  const [goMod = ''] = files;
  const version = requiredVersion(goMod, 'k8s.io/kubernetes');
  const modules = [kubernetesModule(dir, goMod, version)];
  return { version, title: `the kubelet ${version}`, goVersion: goLine(goMod), modules, hash: hashOf(files, modules) };
}

/** With which users install the chart. */
export async function readHelmRecipe(): Promise<Recipe> {
  const dir = join(import.meta.dirname, 'helm');
  const files = await Promise.all(['go.mod', 'go.sum'].map((file) => readFile(join(dir, file), 'utf8')));
  const [goMod = ''] = files;
  const version = requiredVersion(goMod, 'helm.sh/helm/v3');
  const programs = tools(goMod).map((importPath) => ({ name: basename(importPath), importPath }));
  const modules = [{ dir, programs, ldflags: helmLdflags(version, requiredVersion(goMod, 'k8s.io/client-go')) }];
  return { version, title: `helm ${version}`, goVersion: goLine(goMod), modules, hash: hashOf(files, modules) };
}

function kubernetesModule(dir: string, goMod: string, version: string): Module {
  const programs = tools(goMod).map((importPath) => ({ name: basename(importPath), importPath }));
  return { dir, programs, ldflags: kubernetesLdflags(version) };
}

function hashOf(files: readonly string[], modules: readonly Module[]): string {
  const flags = [...BUILD_FLAGS, ...modules.map(({ ldflags }) => ldflags), process.platform, process.arch];
  return createHash('sha256')
    .update(JSON.stringify([files, flags]))
    .digest('hex')
    .slice(0, 12);
}

/** Dotted numbers, oldest first. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split('.').map(Number)) as [number[], number[]];
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A plain `go build` leaves these out, and the server would call itself v0.0.0, which clients take for ancient. */
function kubernetesLdflags(version: string): string {
  const [major, minor] = version.split('.');
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor };
  const stamps = Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  return ['-s', '-w', ...stamps].join(' ');
}

/** As its makefile has them. Without the latter it takes every cluster that it does not ask for Kubernetes 1.20. */
function helmLdflags(version: string, clientVersion: string): string {
  const [, minor] = clientVersion.split('.');
  const known = ['chartutil', 'lint/rules'].flatMap((room) => [
    `-X helm.sh/helm/v3/pkg/${room}.k8sVersionMajor=1`,
    `-X helm.sh/helm/v3/pkg/${room}.k8sVersionMinor=${minor}`,
  ]);
  return ['-s', '-w', `-X helm.sh/helm/v3/internal/version.version=v${version}`, ...known].join(' ');
}

function requiredVersion(goMod: string, module: string): string {
  const line = goMod.split('\n').find((candidate) => candidate.trim().startsWith(`${module} v`));
  const version = line?.match(/ v(\d+\.\d+\.\d+)/)?.[1];
  if (version === undefined) throw new Error(`go.mod requires no version of ${module}`);
  return version;
}

function goLine(goMod: string): string {
  const version = goMod.match(/^go (\S+)$/m)?.[1];
  if (version === undefined) throw new Error('go.mod has no go line');
  return version;
}

function tools(goMod: string): string[] {
  const block = goMod.match(/^tool \(\n([^)]*)\)/m)?.[1] ?? '';
  const single = [...goMod.matchAll(/^tool (\w\S*)$/gm)].map((match) => match[1] ?? '');
  return [...block.split('\n').map((line) => line.trim()), ...single].filter((path) => path !== '');
}
