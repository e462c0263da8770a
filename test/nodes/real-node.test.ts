/** Real nodes must not outlive the tests that started them, however those end: nobody would find what is left. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { running } from '../support/real-node/commands.ts';
import { NodeNetwork } from '../support/real-node/network.ts';
import { removeAbandonedNodes } from '../support/real-node/real-node.ts';
import { waitFor } from '../support/wait.ts';

/** Names on this machine that a node of this process gave to something. */
async function traces(pid: number): Promise<string[]> {
  const places = [tmpdir(), '/sys/class/net', '/sys/fs/cgroup', '/sys/fs/cgroup/pids', '/sys/fs/cgroup/unified'];
  const found = await Promise.all(
    places.map(async (place) => (await readdir(place).catch(() => [])).map((name) => join(place, name))),
  );
  return found
    .flat()
    .filter((path) => path.includes(`fenceline-node-${pid}-`) || /fl-(br|st)-(\d+)$/.exec(path)?.[2] === `${pid}`);
}

describe('a real node', { timeout: 120_000 }, () => {
  test('dies with the process that started it, and the next one removes its traces', async (t) => {
    const logDir = await mkdtemp(join(tmpdir(), 'fenceline-lonely-'));
    t.after(() => rm(logDir, { recursive: true, force: true }));
    const program = join(import.meta.dirname, '../support/programs/lonely-node.ts');
    const child = spawn(process.execPath, [program, logDir], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const pid = child.pid ?? 0;
    const word = `fenceline-node-${pid}-`;
    await once(child.stdout, 'data');
    assert.ok((await running(word)).some((line) => line.includes('kubelet')));
    assert.ok((await running(word)).some((line) => line.startsWith('containerd')));

    child.kill('SIGKILL');
    await once(child, 'exit');
    await waitFor('its processes to end', async () => (await running(word)).length === 0);
    assert.notDeepEqual(await traces(pid), []);
    await NodeNetwork.removeAbandoned();
    await removeAbandonedNodes();
    assert.deepEqual(await traces(pid), []);
  });
});
