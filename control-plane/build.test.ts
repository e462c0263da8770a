import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { DEFAULT_VERSION, SECOND_VERSION } from './build.ts';
import { withLock } from './lock.ts';
import { compareVersions, readHelmRecipe, readNodeRecipe, readRecipe } from './recipe.ts';
import { ControlPlaneUnavailable, findGo } from './toolchain.ts';

async function temporaryDir(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'fenceline-build-'));
  t.after(() => rm(dir, { recursive: true }));
  return dir;
}

describe('the recipe of a control plane', () => {
  test('[NGS-12] there is one for a second minor version, on which make soak runs all releases again', async () => {
    const makefile = await readFile(join(import.meta.dirname, '..', 'Makefile'), 'utf8');
    const recipeOf = (target: string): string =>
      new RegExp(`^${target}:.*\\n((?:\\t.*\\n)+)`, 'm').exec(makefile)?.[1] ?? '';
    assert.match(recipeOf('soak'), /\$\(MAKE\) test-skew$/m);
    const [, second = ''] =
      /^\tFENCELINE_KUBERNETES=(\S+) node test\/run\.ts release$/m.exec(recipeOf('test-skew')) ?? [];
    assert.equal(second, SECOND_VERSION);
    assert.notEqual(second, DEFAULT_VERSION);
    const [minor, usual] = [await readRecipe(second), await readRecipe(DEFAULT_VERSION)];
    assert.ok(minor.version.startsWith(`${second}.`) && usual.version.startsWith(`${DEFAULT_VERSION}.`));
    assert.notEqual(minor.hash, usual.hash);
  });

  test('names what is built, from go.mod alone', async () => {
    const { version, etcdVersion, goVersion, modules, hash } = await readRecipe('1.36');
    assert.match(version, /^1\.36\.\d+$/);
    assert.match(etcdVersion, /^3\.\d+\.\d+$/);
    assert.match(goVersion, /^1\.\d+/);
    assert.match(hash, /^[0-9a-f]{12}$/);
    assert.deepEqual(
      modules.map(({ programs }) => programs.map(({ name }) => name)),
      [['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'], ['etcd']],
    );
    assert.ok(modules[0]?.ldflags.includes(`version.gitVersion=v${version}`));
    assert.ok(modules[0]?.ldflags.includes('version.gitMinor=36'));
  });

  test('exists for a second minor, with the same programs and the same etcd', async () => {
    const [older, newer] = await Promise.all([readRecipe('1.34'), readRecipe('1.36')]);
    assert.match(older.version, /^1\.34\.\d+$/);
    assert.equal(older.etcdVersion, newer.etcdVersion);
    assert.notEqual(older.hash, newer.hash);
    const programs = ({ modules }: typeof older): unknown => modules.map((module) => module.programs);
    assert.deepEqual(programs(older), programs(newer));
  });

  test('has the node of the same version beside it', async () => {
    const [node, { version }] = await Promise.all([readNodeRecipe('1.36'), readRecipe('1.36')]);
    assert.equal(node.version, version);
    assert.match(node.hash, /^[0-9a-f]{12}$/);
    assert.deepEqual(
      node.modules.map(({ programs }) => programs.map(({ name }) => name)),
      [['csi-plugin', 'workload', 'kubelet']],
    );
    assert.ok(node.modules[0]?.ldflags.includes(`version.gitVersion=v${version}`));
  });

  test('has helm beside it, which knows a Kubernetes of today', async () => {
    const { version, modules, hash } = await readHelmRecipe();
    assert.match(version, /^3\.\d+\.\d+$/);
    assert.match(hash, /^[0-9a-f]{12}$/);
    assert.deepEqual(
      modules.map(({ programs }) => programs.map(({ name }) => name)),
      [['helm']],
    );
    assert.match(modules[0]?.ldflags ?? '', /chartutil\.k8sVersionMinor=3\d /);
  });

  test('is refused for a version that has none', async () => {
    await assert.rejects(readRecipe('1.2'), /no recipe for a control plane of Kubernetes 1\.2/);
    await assert.rejects(readNodeRecipe('1.2'), /no recipe for a node of Kubernetes 1\.2/);
  });

  test('orders versions by number', () => {
    assert.deepEqual(['1.26.10', '1.9', '1.26.9', '1.26'].sort(compareVersions), ['1.9', '1.26', '1.26.9', '1.26.10']);
  });
});

describe('the lock on a build', () => {
  test('lets one in at a time and leaves nothing behind', async (t) => {
    const dir = await temporaryDir(t);
    let inside = 0;
    const waits: number[] = [];
    const work = async () => {
      inside++;
      await new Promise(setImmediate);
      assert.equal(inside, 1);
      inside--;
    };
    const options = { pollMs: 1, onWait: (holder: number) => waits.push(holder) };
    await Promise.all(Array.from({ length: 5 }, () => withLock(join(dir, 'lock'), work, options)));
    assert.ok(waits.every((holder) => holder === process.pid));
    assert.deepEqual(await readdir(dir), []);
  });

  test('is taken from a holder that died', async (t) => {
    const lock = join(await temporaryDir(t), 'lock');
    const { pid } = spawnSync(process.execPath, ['--version']);
    await writeFile(lock, `${pid}\n`);
    assert.equal(await withLock(lock, () => Promise.resolve('mine')), 'mine');
  });

  test('is free again after a failure', async (t) => {
    const lock = join(await temporaryDir(t), 'lock');
    await assert.rejects(
      withLock(lock, () => Promise.reject(new Error('broken'))),
      /broken/,
    );
    assert.equal(await withLock(lock, () => Promise.resolve('mine')), 'mine');
  });
});

test('a machine without Go and without pip is told what to install', async (t) => {
  const dir = await temporaryDir(t);
  const { PATH } = process.env;
  t.after(() => {
    process.env['PATH'] = PATH;
  });
  process.env['PATH'] = dir;
  await assert.rejects(findGo('1.26.0', dir), (error) => {
    assert.ok(error instanceof ControlPlaneUnavailable);
    assert.match(error.message, /^the test control plane needs Go 1\.26\.0 or newer: install it, or python3 with pip/);
    return true;
  });
});
