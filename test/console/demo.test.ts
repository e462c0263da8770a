/** `fenceline demo` as `make run` starts it: what a newcomer sees in the first minute. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { NodePicture } from '../../src/console/picture.ts';
import type { MachineSnapshot, StagePicture } from '../../src/console/snapshot.ts';
import { ConsoleStream } from '../support/console-stream.ts';
import { DemoProcess } from '../support/demo-process.ts';
import { waitFor } from '../support/wait.ts';

class Demo extends DemoProcess {
  seen: ConsoleStream | undefined;

  /** Follows the page's stream. */
  async follow(): Promise<ConsoleStream> {
    this.seen = await ConsoleStream.open(await this.url());
    return this.seen;
  }

  async act(node: string, action: string): Promise<number> {
    const headers = { 'x-fenceline-console': '1' };
    return (await fetch(new URL(`nodes/${node}/${action}`, await this.url()), { method: 'POST', headers })).status;
  }
}

test('six nodes, a database and a shop come up; a pulled plug is suspected; Ctrl-C leaves nothing behind', async () => {
  await using demo = new Demo('--port', '0');
  const url = await demo.url();
  assert.equal((await fetch(url)).status, 200);
  assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
  const seen = await demo.follow();
  await waitFor('everything to be well', () => {
    const { nodes, machines } = seen;
    const { waiting = [] } = (seen.parts.get('stage') as StagePicture | undefined) ?? {};
    const ready = machines.flatMap((machine) => machine.pods).filter((pod) => pod.ready);
    return (
      nodes.length === 6 &&
      waiting.length === 0 &&
      ready.filter(({ namespace }) => namespace === 'default').length === 4 &&
      nodes.every(({ verdict }) => verdict === 'healthy')
    );
  });
  assert.equal(new Set(seen.nodes.map(({ zone }) => zone)).size, 3);

  const victim = seen.machines.find(({ pods }) => pods.some(({ name }) => name === 'database-0'));
  assert.ok(victim);
  assert.equal(await demo.act(victim.name, 'power-off'), 202);
  const found = await waitFor('suspicion', () => seen.nodes.find((node) => node.verdict === 'suspect'), {
    timeoutMs: 40_000,
  });
  assert.deepEqual(
    [found.name, seen.machine(found.name)?.power, found.ready],
    [victim.name, 'off', 'True'],
    'before Kubernetes says a word',
  );
  assert.match(seen.story.join('\n'), /healthy → suspect \(LeaseStale\)\n.*pulled the plug/s);

  assert.ok(existsSync(demo.kubeconfig));
  demo.interrupt();
  assert.equal(await demo.ended, 0);
  assert.ok(!existsSync(demo.kubeconfig), 'nothing is left');
});

test('[DRN-14] a drain: auto-evicting, the last replica made elsewhere, drained; Ctrl-C ends one that waits', async () => {
  await using demo = new Demo('--port', '0');
  const seen = await demo.follow();
  const holder = (state: string): MachineSnapshot | undefined =>
    seen.machines.find(({ replicas }) => replicas.some((one) => one.volume === 'photos' && one.state === state));
  const first = await waitFor('the storage', () => {
    const pods = seen.machines.flatMap((machine) => machine.pods);
    return (
      pods.filter(({ name, ready }) => ready && name.startsWith('instance-manager-')).length === 6 && holder('healthy')
    );
  });
  const now = (): NodePicture | undefined => seen.node(first.name);
  const podsThere = (): MachineSnapshot['pods'] => seen.machine(first.name)?.pods ?? [];
  const evicting = (): boolean => now()?.cordoned === true && now()?.drain?.autoEvicting === true;
  assert.equal(await demo.act(first.name, 'drain'), 202);
  await waitFor('auto-evicting', evicting);
  assert.deepEqual(
    [now()?.schedulable, now()?.drain?.blocked, now()?.drain?.reason],
    [false, true, 'EvictingReplicas'],
  );
  assert.match(now()?.drain?.message ?? '', /volume photos has to be rebuilt elsewhere first/);
  const target = await waitFor('the copy', () => holder('building'));
  const flags = ['status', first.name, '--kubeconfig', demo.kubeconfig];
  assert.match(
    (await promisify(execFile)('bin/fenceline', flags)).stdout,
    / no, auto-evicting\n[^]* EvictingReplicas +yes /,
  );

  await waitFor('the end', () => podsThere().length === 0, { timeoutMs: 60_000 });
  assert.deepEqual([now()?.drain?.autoEvicting, now()?.drain?.blocked, now()?.cordoned], [false, false, true]);
  assert.equal(holder('healthy')?.name, target.name);
  await waitFor('the story', () => seen.story.includes(`${first.name}: drained`));
  assert.equal(await demo.act(first.name, 'uncordon'), 202);
  await waitFor('the uncordon', () => now()?.cordoned === false && podsThere().some(({ ready }) => ready));

  assert.equal(await demo.act(target.name, 'drain'), 202);
  await waitFor('the next one', () => seen.node(target.name)?.drain?.autoEvicting === true);
  demo.interrupt();
  assert.equal(await demo.ended, 0);
});

test('a port that is taken: said plainly if it was asked for, another one if it was not', async () => {
  const holder = http.createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address() as AddressInfo;
  await using refused = new Demo('--port', String(port));
  assert.equal(await refused.ended, 1);
  assert.equal(refused.output, `fenceline: port ${port} is taken; write another --port, or 0 for any that is free\n`);
  holder.close();
  await using first = new Demo();
  await first.url();
  await using second = new Demo();
  assert.notEqual((await second.url()).port, (await first.url()).port);
});
