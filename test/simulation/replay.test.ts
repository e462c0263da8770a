/**
 * A pass is a value: what was decided in a run is decided again, byte for byte, from nothing but the recorded cases. That is
 * what makes a bug report a file, and a case of one a row in a table of tests.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { passLine, PassTrace } from '../../src/cli/pass-trace.ts';
import type * as replay from '../../src/cli/replay.ts';
import { replayCommand, replayText } from '../../src/cli/replay.ts';
import type { NodeCase } from '../../src/api/release-view.ts';
import type { NodeDecision } from '../../src/decide/decide-node.ts';
import { decideNode } from '../../src/decide/decide-node.ts';
import type { Pass } from '../../src/report/pass.ts';
import { fenced, place } from './fencing/fenced.ts';
import { mutant } from './mutant.ts';
import { run, scenarioOf } from './run-file.ts';

const names = [
  'statefulset-released',
  'fence/device-refuses',
  'fence/maintenance',
  'fence/partition',
  'fence/power-loss',
  'fence/storm',
  'fence/two-operators',
  'release/fev/scenario-1-heartbeat-in-the-middle',
  'release/ngs/detach-errors-while-back',
  'release/ngs/power-off',
  'release/pod/deployment-do-nothing-wait',
  'release/pod/node-deleted-policy-recorded',
];

async function passesOf(name: string): Promise<string[]> {
  const lines: string[] = [];
  await run(scenarioOf(name), { onPass: (pass) => void lines.push(passLine(pass)) });
  return lines;
}

describe('recorded passes', () => {
  for (const name of names) {
    test(`${name}: every decision is made again, byte for byte`, async () => {
      const lines = await passesOf(name);
      assert.ok(lines.length > 5, `only ${lines.length} passes`);
      for (const line of lines) {
        const { case: nodeCase, decision } = JSON.parse(line) as { case: NodeCase; decision: NodeDecision };
        assert.equal(JSON.stringify(decideNode(nodeCase)), JSON.stringify(decision));
      }
      const differing = replayText(name, lines.join('\n')).filter(({ differences }) => differences.length > 0);
      assert.deepEqual(differing, []);
    });
  }

  test('also one about a remedy that is called as a password is', async () => {
    const lines: string[] = [];
    const container = { name: 'main', image: 'example/remedy:1' };
    const remedies = [{ name: 'rotate-token', podTemplate: { spec: { containers: [container] } } }];
    const condition = { type: 'Ready', status: 'NotTrue', for: '5s' };
    const thresholds = [{ condition, remedies: [{ name: 'rotate-token', cleanResources: true }] }];
    const scenario = fenced('token', { policy: { thresholds, remedies }, events: [{ at: '0s', powerOff: place }] });
    await run(scenario, { onPass: (pass) => void lines.push(passLine(pass)) });
    assert.ok(lines.some((line) => line.includes('"forceDelete"')));
    const differing = replayText('token', lines.join('\n')).filter(({ differences }) => differences.length > 0);
    assert.deepEqual(differing, []);
  });

  test('a rule that was changed shows, with where and what', async () => {
    const text = (await passesOf('fence/partition')).join('\n');
    const line = "if (stored.phase !== 'off' || powerFacts(nodeCase).length === 0)";
    const sabotaged = mutant({ file: 'src/release/by-power.ts', line, instead: 'if (1 > 2)' });
    const changed = await sabotaged.load<typeof replay>('src/cli/replay.ts');
    const differing = changed.replayText('passes', text).filter(({ differences }) => differences.length > 0);
    assert.notEqual(differing.length, 0);
    const paths = differing.flatMap(({ differences }) => differences.map(({ path }) => path));
    assert.ok(paths.some((path) => path.startsWith('findings.fates')));
  });
});

function unexpected(error: Error): never {
  throw error;
}

describe('the files of passes', () => {
  const nodeCase = { name: 'node-1', serverNowMs: 0, pods: [] } as unknown as NodeCase;
  const aPass = (padding: number): Pick<Pass, 'nodeCase' | 'decision'> => ({
    nodeCase: { ...nodeCase, identity: 'x'.repeat(padding) },
    decision: {} as NodeDecision,
  });

  test('S28: are bounded, private, go on after a restart, and hold no password', () => {
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-passes-'));
    try {
      const limits = { fileBytes: 1000, files: 3 };
      for (let number = 0; number < 20; number += 1) new PassTrace(dir, unexpected, limits).keep(aPass(400));
      const files = readdirSync(dir);
      assert.equal(files.length, 3);
      for (const file of files) {
        const { size, mode } = statSync(join(dir, file));
        assert.ok(size <= 1000);
        assert.equal(mode & 0o077, 0);
      }
      const parameters = { ip: '192.0.2.1', password: 'canary', credentials: '{"private_key": "canary"}' };
      const config = { ok: true, config: { recovery: [{ off: [], on: [{ parameters }] }] } } as never;
      const line = passLine({ nodeCase: { ...nodeCase, config }, decision: {} as NodeDecision });
      assert.match(line, /192\.0\.2\.1/);
      assert.doesNotMatch(line, /canary/);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test('S27: a disk that is full, or a directory that is gone, is told once and ends nothing', () => {
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-passes-'));
    try {
      const told: string[] = [];
      const file = join(dir, 'passes-000001.jsonl');
      symlinkSync('/dev/full', file);
      const trace = new PassTrace(dir, ({ message }) => told.push(message), { fileBytes: 10, files: 2 });
      trace.keep(aPass(1));
      trace.keep(aPass(1));
      assert.match(told.join('\n'), /^ENOSPC[^\n]*$/);
      rmSync(file);
      trace.keep(aPass(1));
      rmSync(dir, { recursive: true });
      trace.keep(aPass(1));
      assert.match(told.join('\n'), /^ENOSPC[^\n]*\nENOENT[^\n]*$/, 'it was well in between');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test('what somebody puts beside them stays, and is in nobody’s way', () => {
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-passes-'));
    try {
      const others = ['passes-.jsonl', 'passes-1.jsonl', 'passes--5.jsonl', 'passes-000001.jsonl.gz'];
      for (const name of others) writeFileSync(join(dir, name), 'mine');
      const trace = new PassTrace(dir, unexpected, { fileBytes: 10, files: 2 });
      for (let number = 0; number < 5; number += 1) trace.keep(aPass(1));
      const files = readdirSync(dir).filter((name) => !others.includes(name));
      assert.deepEqual(files.toSorted(), ['passes-000004.jsonl', 'passes-000005.jsonl']);
      for (const name of others) assert.equal(readFileSync(join(dir, name), 'utf8'), 'mine');
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test('what is no pass is refused, with the line and what to write', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-passes-'));
    try {
      const file = join(dir, 'passes');
      for (const [text, says] of [
        ['{"case":', /passes:1: not a line of JSON .*--trace-passes/],
        ['{"case":{"name":"a","pods":[]},"decision":{}}\n{}'.slice(-2), /passes:1: no pass/],
        ['null', /passes:1: no pass/],
        ['{"case":{"name":"a","pods":[]},"decision":{}}', /passes:1: nothing can be decided from it/],
      ] as const) {
        writeFileSync(file, text);
        await assert.rejects(replayCommand(() => {}).parseAsync([file], { from: 'user' }), (error: Error) => {
          assert.match(error.message, says);
          assert.equal((error as Error & { exitCode?: number }).exitCode, 2);
          return true;
        });
      }
      const missing = replayCommand(() => {}).parseAsync([join(dir, 'none')], { from: 'user' });
      await assert.rejects(missing, { exitCode: 2, message: /none: ENOENT/ });
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test('simulate keeps them, and replay says that nothing differs', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-passes-'));
    const exitCode = process.exitCode;
    try {
      const trace = new PassTrace(dir, unexpected);
      await run(scenarioOf('fence/power-loss'), { onPass: (pass) => trace.keep(pass) });
      const files = readdirSync(dir).map((name) => join(dir, name));
      assert.ok(files.every((file) => readFileSync(file, 'utf8').length > 1000));
      let said = '';
      await replayCommand((text) => (said += text)).parseAsync(files, { from: 'user' });
      assert.match(said, /^\d+ passes: (\d+) decided as recorded, 0 otherwise\n$/);
    } finally {
      process.exitCode = exitCode;
      rmSync(dir, { recursive: true });
    }
  });
});
