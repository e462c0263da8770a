/**
 * What happens to many nodes at once, and to the one that looks at them: who is cut although nothing is wrong with it, and who is not
 * let go although its machine is dead. `make soak` has the day of the flapping node, and the API server of 500 nodes.
 */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import type { Scenario } from '../../src/scenario/format.ts';
import { runFiles } from './holes/files.ts';
import { failuresOf, run, scenarioDirectory, scenariosOf } from './run-file.ts';

const isExhaustive = process.env['FENCELINE_EXHAUSTIVE'] === '1';
const atMostMs = 3_600_000;

/** The first hour of a day. */
function beginning(scenario: Scenario): Scenario {
  if (isExhaustive || scenario.runForMs <= atMostMs) return scenario;
  const events = scenario.events.filter(({ atMs }) => atMs < atMostMs - 60_000);
  return { ...scenario, events, runForMs: atMostMs };
}

const situations: Record<string, string> = {
  'switch-failure': '[STM-1, STM-7] the switch of a rack: nobody is fenced, and nothing is let go',
  'management-network':
    '[STM-2, STM-7] the network of the operator, of the control plane or of the devices: nobody is fenced who is well',
  'zone-loss': '[STM-1, EVD-2] a zone without power: let go where devices say so, and held where nobody answers',
  'rolling-reboot': '[SAF-18] a zone is rebooted machine by machine: nobody is cut',
  'api-server-restart': '[STM-2, EVD-2] the API server of a hundred nodes is restarted: only who died is let go',
  'leases-stale': '[STM-1, STM-2] nobody renews for a minute: nobody is fenced, and who is dead is let go',
  'four-of-ten-lost': '[EVD-2, STM-1] four of ten: a storm holds back cuts, and nothing is cut where nothing runs',
  'flapping-node': '[RET-1, SAF-8] a node that comes and goes all day is not fenced once',
  'node-that-lies':
    '[EVD-2, SAF-3, SAF-14] a kubelet that reports and does not renew lives; when it dies, it is let go',
  'own-side':
    '[STM-2, STM-8] where only the zone of the operator is heard of, or its own node is silent too, what is silent may be well',
  'clock-skew': '[STM-1, EVD-2] clocks of API servers that differ: nobody is fenced, and who is dead is let go',
};

runFiles('storms', 'what happens to many at once', situations, beginning);

describe('situations', () => {
  test('each of them is run', () => {
    const files = globSync(`${scenarioDirectory}/storms/*.yaml`).map((file) => basename(file, '.yaml'));
    assert.deepEqual(files.sort(), Object.keys(situations).sort());
  });

  if (!isExhaustive) return;
  test('[STM-2, EVD-2] the API server of 500 nodes is restarted: only who died is let go', async () => {
    const [scenario] = scenariosOf('storms/api-server-restart');
    assert.ok(scenario);
    const nodes = Array.from({ length: 500 }, (_, index) => {
      const like = scenario.cluster.nodes[index % 99];
      assert.ok(like);
      return { ...like, name: `node-${index + 1}` };
    });
    const large = { ...scenario, cluster: { ...scenario.cluster, nodes } };
    assert.deepEqual(failuresOf(await run(large)), []);
  });
});
