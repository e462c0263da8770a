/** A rehearsal as the page asks for it, on the cluster of `make run`: in a process of its own, which ends whatever happens. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { RehearsalNews, RehearsalPicture, RehearsePage } from '../../src/console/picture.ts';
import { ConsoleStream } from '../support/console-stream.ts';
import { DemoProcess } from '../support/demo-process.ts';
import { waitFor } from '../support/wait.ts';

let demo: DemoProcess;
let url: URL;
/** That of the first member of the database. */
let node = '';

before(async () => {
  demo = new DemoProcess('--port', '0');
  url = await demo.url();
  using seen = await ConsoleStream.open(url);
  await waitFor('everything to be well', () => {
    const ready = seen.machines.flatMap(({ pods }) => pods).filter((pod) => pod.ready && pod.namespace === 'default');
    const host = seen.machines.find(({ pods }) => pods.some(({ name }) => name === 'database-0'));
    node = host?.name ?? '';
    return ready.length === 4 && seen.nodes.length === 6 && seen.nodes.every(({ verdict }) => verdict === 'healthy');
  });
});
after(() => demo[Symbol.asyncDispose]());

const headers = { 'x-fenceline-console': '1', 'content-type': 'application/json' };

function ask(asked: object, signal?: AbortSignal): Promise<Response> {
  const body = JSON.stringify(asked);
  return fetch(new URL('rehearsals', url), {
    method: 'POST',
    headers,
    body,
    ...(signal === undefined ? {} : { signal }),
  });
}

async function rehearsed(asked: object): Promise<RehearsalNews[]> {
  const answer = await ask(asked);
  assert.equal(answer.status, 200);
  const text = await answer.text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RehearsalNews);
}

function pictureOf(news: readonly RehearsalNews[]): RehearsalPicture {
  const last = news.at(-1);
  assert.ok(last?.state === 'done', JSON.stringify(last));
  return last.picture;
}

/** Processes that rehearse for this console. */
function children(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
        const isOurs = readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('--for-console');
        return isOurs && Number(parent) === demo.pid ? [Number(name)] : [];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}

async function policyInForce(): Promise<string> {
  using seen = await ConsoleStream.open(url, 'rehearse');
  const page = await waitFor('the page', () => seen.parts.get('page') as RehearsePage | undefined);
  return page.inForce[0]?.text ?? '';
}

/** Everything of ours, as it is stored. */
async function stored(): Promise<string> {
  const run = promisify(execFile);
  const { stdout } = await run('bin/fenceline', ['status', '-o', 'json', `--kubeconfig=${demo.kubeconfig}`]);
  return JSON.stringify((JSON.parse(stdout) as { nodes?: { fence?: unknown }[] }).nodes?.map(({ fence }) => fence));
}

describe('[EXP-2] rehearse', () => {
  test('two policies side by side: told while it runs, and at the end who is released when; nothing is done to the cluster', async () => {
    const before = await stored();
    // Without a ladder nobody is fenced.
    const bare = (await policyInForce()).replace(/ {2}thresholds:\n( {4}.*\n)+/, '');
    const news = await rehearsed({ what: 'node', which: node, runFor: '10m', policy: bare });
    assert.deepEqual([...new Set(news.map(({ state }) => state))], ['reads', 'runs', 'done']);
    const told = news.flatMap((one) => (one.state === 'runs' ? [one.policies] : []));
    assert.deepEqual([...new Set(told)], ['in force', 'proposed']);
    const { said, runs, nodes, warnings, notes, virtualMs } = pictureOf(news);
    const later = / is released after .* instead of 1\d(\.\d)? s; nobody else is touched$/;
    assert.ok(said.startsWith(`proposed: ${node} is`) && later.test(said), said);
    assert.deepEqual(
      runs.map((run) => run.policies),
      ['in force', 'proposed'],
    );
    assert.ok(runs[0]?.marks.some(({ label }) => label === 'found off'));
    assert.ok(runs[1]?.marks.every(({ label }) => label !== 'found off'));
    assert.deepEqual(nodes[0], ['NODE', 'IN FORCE', 'PROPOSED']);
    assert.deepEqual([warnings, virtualMs], [[], 600_000]);
    assert.ok(notes.some((note) => /devices answer as simulated ones do/.test(note)));
    assert.doesNotMatch(JSON.stringify(news), /2026-01-01T/, 'times of a clock that is nobody else’s');
    assert.equal(await stored(), before);
  });

  test('what is in force has nothing beside it; a switch that breaks, and a BMC that lies', async () => {
    const broken = pictureOf(await rehearsed({ what: 'switch', which: 'z1', runFor: '5m', endsAfter: '2m' }));
    assert.match(broken.said, /^in force: both nodes are released after /);
    assert.equal(broken.runs.length, 1);
    const lying = pictureOf(await rehearsed({ what: 'bmc', which: 'node-2', runFor: '5m' }));
    assert.match(lying.said, /^in force: node-2 is .*; nobody else is touched$/);
    assert.ok(lying.runs[0]?.marks.every(({ label }) => label !== 'confirmed off'));
  });

  test('mistakes are told with their lines, a node that is not there with the nearest', async () => {
    const policy = (await policyInForce()).replace('thresholds:', 'treshholds:');
    const [last] = (await rehearsed({ what: 'node', which: 'node-3', policy })).slice(-1);
    assert.ok(last?.state === 'wrong');
    const [first] = last.mistakes;
    assert.equal(first?.text, 'spec.treshholds: there is no such field; did you mean thresholds?');
    assert.equal(policy.split('\n')[(first?.line ?? 0) - 1]?.trim(), 'treshholds:');
    const gone = await rehearsed({ what: 'node', which: 'node-33' });
    assert.deepEqual(gone.at(-1), { state: 'failed', text: 'no such node: node-33; did you mean node-3?' });
  });

  test('[SEC-5] what is written to harm the parser harms nobody else', async () => {
    const alias = Array.from(
      { length: 30 },
      (_, at) => `a${at}: &a${at} [${at === 0 ? 'x' : '*a'.concat(String(at - 1), ',').repeat(9)}]`,
    );
    const all = [
      '['.repeat(32_000),
      '"'.repeat(32_000),
      alias.join('\n'),
      'a: &a {b: *a}',
      '\0'.repeat(9),
      '- '.repeat(16_000),
    ];
    for (const policy of all) {
      const [last] = (await rehearsed({ what: 'node', which: 'node-3', policy })).slice(-1);
      assert.equal(last?.state, 'wrong', policy.slice(0, 40));
      assert.equal((await fetch(new URL('healthz', url))).status, 200);
    }
  });

  test('[SEC-5] whoever leaves ends it: no process is left', async () => {
    const left = new AbortController();
    const answer = await ask({ what: 'node', which: 'node-3', runFor: '24h' }, left.signal);
    const reader = answer.body?.getReader();
    await reader?.read();
    await waitFor('the process', () => children().length === 1);
    left.abort();
    await waitFor('its end', () => children().length === 0);
    assert.equal((await fetch(new URL('healthz', url))).status, 200);
  });
});
