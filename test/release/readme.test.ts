/**
 * The way of a newcomer: what the README says under "Switch it on", word for word, on a real control plane with a real
 * IPMI device for each machine. Then a machine loses its power, and its database has to run elsewhere.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureFenceAgents } from '../devices/needs.ts';
import { stepsOf } from '../support/documents.ts';
import { Newcomer } from './newcomer.ts';

const workers = ['worker-1', 'worker-2', 'worker-3'];

describe('README.md, "Switch it on"', { timeout: 600_000 }, () => {
  const passes = mkdtempSync(join(tmpdir(), 'fenceline-passes-'));
  let newcomer: Newcomer | undefined;

  before(async () => {
    await ensureFenceAgents();
    newcomer = await Newcomer.start({
      name: 'newcomer',
      nodes: workers.map((name) => ({ name })),
      drivers: ['csi.example.test'],
      graceSeconds: 50,
      flags: ['--trace-passes', passes],
    });
    await newcomer.reader.wire(newcomer.fleet, workers);
  });

  after(async () => {
    await newcomer?.[Symbol.asyncDispose]();
    rmSync(passes, { recursive: true });
  });

  test('[USE-1, USE-2] after its commands, a node that loses power is fenced and its pod runs elsewhere', async () => {
    assert.ok(newcomer);
    const { cluster, reader } = newcomer;
    const web = await cluster.statefulSet('web');
    const { machine } = web;
    for (const step of stepsOf('README.md', 'Switch it on')) {
      const said = await reader.do(step);
      if (!step.text.includes('fenceline check')) continue;
      for (const name of workers) assert.match(said, new RegExp(`^${name} +\\S+ +yes `, 'm'));
    }

    machine.powerOff();
    const offAtMs = performance.now();
    await cluster.movedFrom(web);
    console.log(`# ${((performance.now() - offAtMs) / 1000).toFixed(1)} s until it runs elsewhere`);
    const released = `kubectl get nodefence node-fence-${machine.name} -o jsonpath='{.status.releases[*].basis}'`;
    assert.equal(await reader.type(released), 'PowerOff');

    await cluster.inService(machine.name);
    const replayed = await reader.type(`bin/fenceline replay ${passes}/*.jsonl`);
    assert.match(replayed, /^([1-9]\d*) passes: \1 decided as recorded, 0 otherwise$/m);
  });
});
