/** What was confirmed off is asked for once more before its pods go: that has a word, a bound and a way out. */
import { describe, test } from 'node:test';
import { asExpected } from '../fencing/fenced.ts';
import { runHoles } from './files.ts';

runHoles('a machine that was off', {
  'off-then-silent':
    '[SAF-10, STM-4, SAF-19] and whose device is silent now takes nobody the turn, and is let go and switched on when it answers',
  'off-then-hanging': '[SAF-10, SAF-19] and whose device hangs now is let go and switched on when it answers',
  'off-then-disputed': '[SAF-19, SEC-2] and which another node says to be is switched on, and nothing of it is let go',
  'off-said-after-the-failure':
    '[EVD-2, SAF-10] and whose device says so only when its fence has failed for good is let go all the same',
  'off-then-on-while-stopped':
    '[SAF-5, SAF-18, FEN-13] is not put on record as that when somebody has switched it on while its fence was stopped',
  'told-then-on-while-stopped':
    '[SAF-5, SAF-18, FEN-13] by our command is not either, and is not cut again: it has the time of a boot',
  'off-then-disputed-briefly':
    '[SEC-2, SAF-2] and which another node said to be is let go when nobody says so any more',
});

runHoles('a way to the storage that was closed', {
  'port-silent-after-it-was-closed': '[FEN-3, FEN-11, SAF-5] and is silent now: nothing goes, and that is said',
  'port-open-after-it-was-closed':
    '[FEN-11, SAF-5] and says open now: nothing goes before its power is cut, when that is due',
});

const podOn = (node: string, number: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `${node}-${number}`, namespace: 'default' },
  spec: { nodeName: node, containers: [{ name: 'main', image: 'example/any:1' }] },
});

/** Machines of which nobody can say any more that they are off, at the very moment when their pods are to go, and one that is. */
async function silentBeside({ silent, pods }: { silent: number; pods: number }): Promise<void> {
  const others = Array.from({ length: silent }, (_, index) => `node-${index + 1}`);
  const lost = `node-${silent + 1}`;
  await asExpected('silent-beside', {
    cluster: { nodes: silent + 10 },
    policy: { storm: { maxUnresponsive: '100%', maxConcurrent: 100 } },
    workload: 'Deployment',
    objects: [
      podOn(lost, 1),
      ...others.flatMap((node) => Array.from({ length: pods }, (_, index) => podOn(node, index))),
    ],
    events: [
      ...others.map((powerOff) => ({ at: '0s', powerOff })),
      { at: '11s', powerOff: lost },
      ...others.map((node) => ({ at: '12600ms', device: { node, fault: 'hangs' } })),
    ],
    expect: [{ by: '35s', pod: { name: `${lost}-1`, deleted: true } }],
    runFor: '50s',
  });
}

describe('devices that fall silent when the pods of their nodes are to go', () => {
  test('[EVD-2] S27: keep no other machine from being let go, however many pods wait for them', () =>
    silentBeside({ silent: 4, pods: 32 }));
  test('[EVD-2] S27: nor from being looked at, however many there are', () => silentBeside({ silent: 66, pods: 1 }));
});
