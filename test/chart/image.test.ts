/** The Containerfile says what the rest of the project says. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { nodeEnv, nodeFlags } from '../../build/bundle.ts';
import { commandsOf } from '../support/documents.ts';
import { manifestsIn, specOf } from './helm.ts';

const text = readFileSync('Containerfile', 'utf8').replaceAll(/\\\n/g, ' ');
const lines = text.split('\n').filter((line) => /^[A-Z]+ /.test(line));
const those = (word: string): string[] =>
  lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));

/** What is copied from the checkout. */
const sources = those('COPY')
  .filter((line) => !line.startsWith('--from'))
  .flatMap((line) => line.split(' ').slice(0, -1));

describe('the image', () => {
  test('runs the bundle with the settings that are measured', () => {
    assert.deepEqual(JSON.parse(those('ENTRYPOINT')[0] ?? ''), ['node', ...nodeFlags, '/opt/fenceline/fenceline.mjs']);
    const [, ...said] =
      those('ENV')
        .join(' ')
        .match(/^(.*) HOME=\/tmp$/) ?? [];
    assert.deepEqual(
      Object.fromEntries(
        said
          .join(' ')
          .split(' ')
          .map((one) => one.split('=')),
      ),
      nodeEnv,
    );
  });

  test('[SEC-4] runs as the user of the chart, in every flavour', () => {
    const { securityContext } = specOf<{
      template: { spec: { securityContext: { runAsUser: number; runAsGroup: number } } };
    }>(manifestsIn(readFileSync('deploy/operator.yaml', 'utf8')), 'Deployment').template.spec;
    const { runAsUser, runAsGroup } = securityContext;
    const flavours = text.split(/^FROM .* AS (?:slim|agents)$/m).slice(1);
    assert.equal(flavours.length, 2);
    for (const flavour of flavours) {
      assert.equal(flavour.match(/^USER .*$/gm)?.at(-1), `USER ${runAsUser}:${runAsGroup}`);
    }
  });

  test('is built as the documents say, for the tags that the chart asks for', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const targets = [...text.matchAll(/^FROM .* AS (\w+)$/gm)].map(([, name = '']) => name);
    const builds = ['README.md', 'docs/install.md'].flatMap((file) =>
      commandsOf(file).filter((line) => line.startsWith('docker build')),
    );
    assert.equal(builds.length, 2);
    for (const line of builds) {
      const [, target = '', tag, suffix] =
        /^docker build --target (\w+) --tag registry\.example\.com\/fenceline:([\d.]+)(\S*) --file Containerfile \.$/.exec(
          line,
        ) ?? [];
      assert.ok(targets.includes(target), line);
      assert.deepEqual([tag, suffix], [version, target === 'agents' ? '-agents' : '']);
    }
  });

  test('has what it copies, and the bundle needs nothing else of the checkout', { timeout: 120_000 }, async (t) => {
    const ignored = readFileSync('.dockerignore', 'utf8').split('\n');
    for (const source of sources) assert.ok(existsSync(source) && ignored.includes(`!${source}`), source);
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-image-'));
    t.after(() => rmSync(dir, { recursive: true }));
    for (const source of sources) cpSync(source, join(dir, source), { recursive: true });
    symlinkSync(resolve('node_modules'), join(dir, 'node_modules'));
    const run = promisify(execFile);
    await run(process.execPath, ['build/bundle.ts'], { cwd: dir });
    const entry = join(dir, 'dist/bundle/fenceline.mjs');
    const { stdout } = await run(process.execPath, [...nodeFlags, entry, '--version'], {
      env: { PATH: '', ...nodeEnv },
    });
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });
});
