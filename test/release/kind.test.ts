/**
 * docs/kind.md from top to bottom, on a real control plane: nodes that share a boot ID, as containers do. Where it says `kind` or `docker`,
 * machines are made, lose their power and get it back.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stepsOf } from '../support/documents.ts';
import { Newcomer } from './newcomer.ts';

const names = ['kind-worker', 'kind-worker2', 'kind-worker3'];

describe('docs/kind.md', { timeout: 600_000 }, () => {
  let newcomer: Newcomer | undefined;

  before(async () => {
    newcomer = await Newcomer.start({
      name: 'kind',
      nodes: names.map((name) => ({ name, bootId: 'one-for-all' })),
      drivers: ['csi.example.test'],
      graceSeconds: 20,
    });
  });
  after(() => newcomer?.[Symbol.asyncDispose]());

  test('[USE-1, FEN-16] a stuck pod goes on the word of an administrator, and the node comes back by its kubelet', async () => {
    assert.ok(newcomer);
    const { cluster, reader, fleet } = newcomer;
    let victim = '';
    const done: string[] = [];
    for (const step of stepsOf('docs/kind.md')) {
      const text = victim === '' ? step.text : step.text.replaceAll(/\bkind-worker\b/g, victim);
      done.push(text.split(' ').slice(0, 2).join(' '));
      if (text.startsWith('docker stop')) {
        victim = (await cluster.pod('web-0'))?.spec.nodeName ?? '';
        fleet.machine(victim).powerOff();
      } else if (text.startsWith('docker start')) fleet.machine(victim).powerOn();
      else if (!/^kind |\| kind /.test(text)) {
        const said = await reader.do({ ...step, text });
        if (text.includes('explain')) assert.match(said, /nothing by itself/);
        if (text.includes('jsonpath')) assert.match(said, /^Asserted$/);
      }
    }
    assert.equal(done.filter((what) => what.startsWith('docker ')).length, 2);
    const ids = await reader.type(`kubectl get nodes -o 'jsonpath={.items[*].status.nodeInfo.bootID}'`);
    assert.deepEqual(new Set(ids.trim().split(' ')), new Set(['one-for-all']));
    await cluster.inService(victim);
    assert.notEqual((await cluster.pod('web-0'))?.spec.nodeName, victim);
  });
});
