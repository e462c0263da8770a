/** Two nodes that say that they are the same machine: nobody is switched off, written off or removed for the other one. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { askedOf, elsewhere, fenced, fenceOf, inPlace, place } from '../fencing/fenced.ts';

const names = ['node-1', 'node-2', 'node-3'];
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline' } };
const byCloud = names.map((node) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `fence-config-${node}`, namespace: 'fenceline' },
  data: {
    'config.properties': `node_name=${node}
power_management=restart-instance`,
  },
}));
const says = (node: string, providerID: string): object => ({
  at: '0s',
  apply: { apiVersion: 'v1', kind: 'Node', metadata: { name: node }, spec: { providerID } },
});

/** Who was cut off. */
function victimOf({ report }: Observed): string {
  const cut = report.timeline.find(({ actor, what }) => actor === 'scenario' && what.includes('partition'));
  return cut?.object.slice('node/'.length) ?? '';
}

describe('a provider ID that two nodes have', () => {
  test('[SAF-2, SEC-2] S44: nobody is switched off by the ID of another, nor released by it', async () => {
    for (const id of ['sim://node-1', 'sim://NODE-1']) {
      const seen = await observe(
        fenced('shared-provider-id', {
          objects: [namespace, ...byCloud],
          // Whichever of them is cut off: the one that the ID is about, or one that was cloned from it.
          events: [
            says('node-1', 'sim://node-1'),
            says('node-2', 'sim://node-2'),
            says('node-3', id),
            { at: '1m', partition: place },
          ],
          expect: [inPlace, { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } }],
          runFor: '5m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual(askedOf(seen), []);
      const { message = '' } = fenceOf(seen.world, victimOf(seen))?.status.fence ?? {};
      assert.match(message, /has the same provider ID/);
    }
  });

  test('[SAF-2, FEN-9] one of its own is all that restart-instance needs', async () => {
    const seen = await observe(
      fenced('own-provider-id', {
        objects: [namespace, ...byCloud],
        events: [...names.map((node) => says(node, `sim://${node}`)), { at: '1m', partition: place }],
        expect: [elsewhere('3m'), { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } }],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const victim = victimOf(seen);
    assert.deepEqual(
      askedOf(seen).map(({ what }) => what),
      askedOf(seen, victim).map(({ what }) => what),
    );
    assert.equal(askedOf(seen, victim)[0]?.what, 'off');
  });
});
