/** The third document: whoever sets a taint asserts that nothing runs on the node any more. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { productOperator } from '../../../src/scenario/operators.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import { failuresOf, scenarioOf, variation } from '../run-file.ts';
import { eventsOf, first, firstWrite, observe, runFolder, statusAt, stuckAt } from './observed.ts';

const web = { nodeOf: 'default/web-0' };
const key = 'fenceline.dev/force-eviction';

runFolder('fev', {
  'scenario-1-heartbeat-after-eviction':
    '[FEV-1, FEV-4, FEV-5, FEV-6] scenario 1: evicted, detached, untainted, then booted',
  'scenario-1-heartbeat-in-the-middle':
    '[FEV-3, FEV-5, FEV-6] scenario 1: back in the middle, the eviction finishes first',
  'scenario-2-no-way-to-the-api': '[FEV-6] scenario 2: booted without a way to the API',
  'scenario-3-heartbeat-before-the-check': '[FEV-3, FEV-6] scenario 3: Ready before anybody looks, the taint goes',
  'ready-node': '[FEV-3] a node that is well: nothing by force, and the taint goes',
  'tainted-too-early': '[FEV-3] a taint that came too early is set again',
  tolerations: '[FEV-2] tolerating pods stay, those with tolerationSeconds until then',
  'belongs-to-the-node': '[FEV-2] DaemonSet pods and static pods stay',
  deployment: '[FEV-2, FEV-4] a Deployment with a volume',
  'out-of-service': '[FEV-8] the standard taint is taken as the same word, and never removed',
  'out-of-service-not-listed': '[FEV-8] without the policy it is left to Kubernetes',
  'cloud-shutdown': '[FEV-7] the taint of the cloud is taken as the word, if the policy says so',
  'cloud-shutdown-not-listed': '[FEV-7] otherwise it is not',
  'wrong-effect': '[FEV-1] another effect asserts nothing',
  'gate-off': '[FEV-9] without the gate the taint means nothing to us',
});

describe('what the operator writes and says', () => {
  test('[FEV-3, FEV-4, FEV-5] record, quarantine, volumesInUse, pod, and at last the taint', async () => {
    const seen = await observe(scenarioOf('release/fev/scenario-1-heartbeat-after-eviction'));
    const order = [
      firstWrite(seen, /^update nodefences\/.*\/status$/, /Asserted/),
      firstWrite(seen, /^patch nodes\/node-\d$/, /quarantine/),
      firstWrite(seen, /^patch nodes\/node-\d\/status$/, /volumesInUse/),
      firstWrite(seen, /^delete pods\/default\/web-0$/, /"gracePeriodSeconds":0/),
      firstWrite(seen, /^patch nodes\/node-\d$/, /force-eviction.*remove|remove.*force-eviction/),
    ];
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    assert.ok(
      seen.writes.every(({ body }) => !body.includes('volumesAttached')),
      'that list is not ours to write',
    );
    const [record] = statusAt(seen, 300_000).releases;
    assert.equal(record?.basis, 'Asserted');
    assert.match(record?.by ?? '', /^taint fenceline\.dev\/force-eviction/);
    const evidence = statusAt(seen, 300_000).evidence.find(({ source }) => source === 'ForceEvictionTaint');
    assert.deepEqual([evidence?.says, evidence?.by], ['Dead', record?.by]);
  });

  test('[FEV-4] at the end neither list of the node names the released volume', async () => {
    const seen = await observe(first(5, 'release/fev/scenario-1-heartbeat-after-eviction'));
    const { node } = statusAt(seen).incident === undefined ? { node: '' } : { node: nodeOf(seen.writes) };
    const stored = seen.world.server.peek('', 'nodes', node) as unknown as {
      status: { volumesInUse?: string[]; volumesAttached?: { name: string }[] };
    };
    assert.deepEqual(stored.status.volumesInUse ?? [], []);
    assert.deepEqual(stored.status.volumesAttached ?? [], []);
  });

  test('[FEV-2] a pod that tolerates the taint for a while says until when', async () => {
    const seen = await observe(first(10, 'release/fev/tolerations'));
    const patient = stuckAt(seen, 'patient-0', 120_000);
    assert.equal(patient.reason, 'Tolerated');
    assert.match(patient.message, /tolerates the taint fenceline\.dev\/force-eviction until /);
    const due = Date.parse(patient.until ?? '') - Date.parse(statusAt(seen, 120_000).releases[0]?.recordedAt ?? '');
    assert.equal(due, 120_000);
    assert.ok(
      statusAt(seen, 120_000).stuck.every(({ name }) => name !== 'calm-0'),
      'who tolerates it for ever is not missed',
    );
    assert.deepEqual(eventsOf(seen, 'Released').length, 2);
  });

  test('[FEV-1] another effect: the reason says what to write', async () => {
    const seen = await observe(first(10, 'release/fev/wrong-effect'));
    assert.deepEqual(eventsOf(seen, 'Released'), []);
    assert.equal(stuckAt(seen, 'web-0').reason, 'TaintEffect');
    assert.match(stuckAt(seen, 'web-0').message, /effect NoSchedule: write fenceline\.dev\/force-eviction:NoExecute/);
  });

  test('[FEV-9] without the gate the reason says so', async () => {
    const seen = await observe(first(10, 'release/fev/gate-off'));
    assert.equal(stuckAt(seen, 'web-0').reason, 'GateOff');
    assert.match(stuckAt(seen, 'web-0').message, /the feature gate ForceEviction is off/);
  });

  test('[FEV-8] the taint of an administrator is written by nobody else', async () => {
    const seen = await observe(scenarioOf('release/fev/out-of-service'));
    const removed = seen.writes.filter(
      ({ what, body }) => /^patch nodes\/node-\d$/.test(what) && body.includes('"remove"'),
    );
    assert.ok(removed.every(({ body }) => !body.includes('out-of-service')));
    assert.match(statusAt(seen).releases[0]?.by ?? '', /^taint node\.kubernetes\.io\/out-of-service/);
  });
});

function nodeOf(writes: readonly { what: string }[]): string {
  const found = writes.map(({ what }) => /^patch nodes\/(node-\d)$/.exec(what)?.[1]).find((name) => name !== undefined);
  assert.ok(found);
  return found;
}

describe('the gate is switched', () => {
  /** Another gate from the first crash on, which comes when `when` is seen. */
  function switchedOff(when: (object: object) => boolean): RunOptions & { readonly off: boolean } {
    let on = true;
    let crash = (): void => {};
    return {
      get off() {
        return !on;
      },
      onOperator: (operator) => (crash = operator.crash),
      onWorld: (world) => {
        world.server.onChange(({ version: { object } }) => {
          if (!on || !when(object)) return;
          on = false;
          crash();
        });
      },
      program: (context) => productOperator({ ...context, featureGates: { ForceEviction: on } }),
    };
  }

  const events = [
    { at: '0s', powerOff: web },
    { at: '1m', taint: { node: web, key, effect: 'NoExecute' } },
    { at: '20m', powerOn: web },
  ];

  test('[FEV-9] off before the first deletion: nothing goes by force, and all marks go when the node is back', async () => {
    const scenario = variation('release/fev/gate-off', {
      events,
      expect: [
        { at: '20m', pod: { name: 'web-0', terminating: true, deleted: false } },
        { event: { reason: 'Released', count: 0 } },
        { by: '24m', node: { name: web, ready: true, schedulable: true, taints: [] } },
        { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
      ],
      runFor: '25m',
    });
    for (const kind of ['NodeFence', 'Node']) {
      const options = switchedOff((object) => {
        const isIt = (object as { kind?: string }).kind === kind;
        return isIt && JSON.stringify(object).includes('"key":"fenceline.dev/quarantine"');
      });
      const seen = await observe(scenario, options);
      assert.ok(options.off);
      assert.deepEqual(failuresOf(seen.report), [], `off once the ${kind} was written`);
    }
  });

  test('[FEV-9] off after the pods have gone: the taint that we acted on is still taken away', async () => {
    const scenario = variation('release/fev/gate-off', {
      events,
      expect: [
        { by: '1m10s', pod: { name: 'web-0', deleted: true, running: true, moved: true } },
        { by: '2m', node: { name: web, taints: ['fenceline.dev/quarantine', 'node.kubernetes.io/unreachable'] } },
        { by: '24m', node: { name: web, ready: true, schedulable: true, taints: [] } },
        { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
      ],
      runFor: '25m',
    });
    const options = switchedOff((object) => {
      const { kind, metadata } = object as { kind?: string; metadata: { deletionTimestamp?: string } };
      return kind === 'VolumeAttachment' && metadata.deletionTimestamp !== undefined;
    });
    const seen = await observe(scenario, options);
    assert.ok(options.off);
    assert.deepEqual(failuresOf(seen.report), []);
  });

  test('[FEV-9] on again: what was left goes', async () => {
    let on = false;
    let crash = (): void => {};
    const scenario = variation('release/fev/gate-off', {
      events: events.slice(0, 2),
      expect: [
        { at: '9m', pod: { name: 'web-0', terminating: true, deleted: false } },
        { by: '11m', pod: { name: 'web-0', deleted: true, running: true, moved: true } },
      ],
      runFor: '12m',
    });
    let zero = (): void => {};
    const seen = await observe(scenario, {
      onOperator: (operator) => (crash = operator.crash),
      onWorld: (_, clock) => {
        zero = () =>
          void clock.after(600_000, () => {
            on = true;
            crash();
          });
      },
      onZero: () => zero(),
      program: (context) => productOperator({ ...context, featureGates: { ForceEviction: on } }),
    });
    assert.deepEqual(failuresOf(seen.report), []);
  });
});
