/** The second document: pods whose drivers detach safely leave a node that is not Ready, and the node comes back clean. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Program, ProgramContext } from '../../../src/scenario/operators.ts';
import { productOperator } from '../../../src/scenario/operators.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import type { VirtualClock } from '../../../src/world/time/virtual-clock.ts';
import { failuresOf, scenarioOf, variation } from '../run-file.ts';
import { eventsOf, first, firstWrite, observe, runFolder, statusAt, stuckAt } from './observed.ts';

const web = { nodeOf: 'default/web-0' };

runFolder('ngs', {
  'power-off':
    '[NGS-4, NGS-6, NGS-7] a node without power: released at once, in quarantine until it is booted and clean',
  partition: '[NGS-4, NGS-7, NGS-8] a node that is cut off is treated alike, and stops its old pods first',
  'partition-slow-stop': '[NGS-7, NGS-8] a node whose old pod takes its time to stop is in quarantine until it has',
  reboot: '[NGS-7] a new boot is clean',
  'hang-and-resume': '[NGS-7, NGS-8] a machine that goes on where it stopped is clean when its pods are gone',
  'back-before-eviction': '[NGS-2] a node that is back before its pods have to go keeps them',
  'shared-volume': '[NGS-2] a ReadWriteMany volume makes its pod ineligible',
  'mixed-volumes': '[NGS-1, NGS-2] one volume of another driver makes the pod ineligible',
  'mixed-with-in-tree': '[NGS-2, NGS-3] one in-tree volume makes the pod ineligible',
  'in-tree-volume': '[NGS-3] in-tree volumes are never covered',
  'local-volume': '[NGS-3] local volumes are never covered',
  'direct-volume': '[NGS-2, NGS-3] storage without a claim makes the pod ineligible',
  'no-persistent-volume': '[NGS-2] a pod without a persistent volume is left alone',
  'declared-by-policy': '[NGS-1] a policy says what the annotation would',
  'annotation-missing': '[NGS-1] no annotation means no',
  'annotation-false': '[NGS-1] "false" means no',
  'annotation-yes': '[NGS-1] a malformed annotation means no',
  'no-csidriver': '[NGS-1] no CSIDriver means no',
  'annotation-set-while-stuck': '[NGS-1] an annotation that is set later takes effect at once',
  'only-the-eligible': '[NGS-2, NGS-4] of several pods only the eligible go',
  'unpublish-fence': '[NGS-5] a driver that can fence is asked to',
  'detach-errors': '[NGS-5] a driver that refuses to detach is respected, and reported',
  'detach-errors-partition':
    '[NGS-5, NGS-8] a node that is cut off and writes: the driver refuses, and there is one writer',
  'detach-errors-while-back': '[NGS-5, NGS-7] a node stays in quarantine until the detach is finished',
  'detach-hangs': '[NGS-5] a detach that never ends is waited for',
  'gate-off': '[NGS-9] without the gate Kubernetes is alone',
  'gate-off-with-policy': '[NGS-9] nor where a policy has us look at the node',
  'api-down': '[NGS-11] while the API server is away nothing goes; then it goes on',
  'two-operators': '[NGS-6, NGS-11] two operators that die in turn release once',
  'operator-cut-off': '[NGS-11] a leader that is cut off is replaced, and finds nothing to do when it is back',
});

describe('what the operator writes and says', () => {
  test('[NGS-4, NGS-5, NGS-6] record, quarantine, fence wish, volumesInUse, pod: in this order', async () => {
    const seen = await observe(scenarioOf('release/ngs/unpublish-fence'));
    const order = [
      firstWrite(seen, /^update nodefences\/.*\/status$/, /StorageSafeDetach/),
      firstWrite(seen, /^patch nodes\/node-\d$/, /fenceline\.dev\/quarantine/),
      firstWrite(seen, /^patch volumeattachments\/csi-/, /fenceline\.dev~?1?\/?unpublish-fence/),
      firstWrite(seen, /^patch nodes\/node-\d\/status$/, /volumesInUse/),
      firstWrite(seen, /^delete pods\/default\/web-0$/),
    ];
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    assert.deepEqual(
      seen.writes.filter(({ what }) => what.startsWith('delete volumeattachments')),
      [],
      'Kubernetes itself detaches',
    );
  });

  test('[NGS-5] without the capability nothing is asked of the attacher', async () => {
    const seen = await observe(scenarioOf('release/ngs/power-off'));
    assert.deepEqual(
      seen.writes.filter(({ what }) => what.includes('volumeattachments')),
      [],
    );
  });

  for (const [name, reason, message] of [
    ['shared-volume', 'VolumeShared', /pv-0 is ReadWriteMany/],
    [
      'mixed-volumes',
      'VolumeNotProtected',
      /volume pv-1: CSIDriver other\.example\.com has no fenceline\.dev\/safe-detach/,
    ],
    ['mixed-with-in-tree', 'VolumeNotProtected', /volume pv-1 is not a CSI volume/],
    ['in-tree-volume', 'VolumeNotProtected', /volume pv-0 is not a CSI volume/],
    ['local-volume', 'VolumeNotProtected', /volume pv-0 is local to a node/],
    ['direct-volume', 'VolumeNotProtected', /volume extra \(nfs\)/],
    ['no-persistent-volume', 'NoPersistentVolume', /no persistent volume/],
    ['annotation-missing', 'VolumeNotProtected', /has no fenceline\.dev\/safe-detach/],
    ['annotation-yes', 'VolumeNotProtected', /is "yes": write "true" or "false"/],
    ['no-csidriver', 'VolumeNotProtected', /there is no CSIDriver driver\.longhorn\.io/],
  ] as const) {
    test(`[NGS-1, NGS-2, NGS-3] ${name}: the reason names the volume, once`, async () => {
      const seen = await observe(first(10, `release/ngs/${name}`));
      assert.equal(stuckAt(seen, 'web-0').reason, reason);
      assert.match(stuckAt(seen, 'web-0').message, message);
      assert.equal(eventsOf(seen, 'NotReleased').length, 1);
      assert.deepEqual(statusAt(seen).releases, []);
      assert.deepEqual(statusAt(seen).applied, [], 'and no quarantine');
    });
  }

  test('[NGS-5] a refusal stands in the NodeFence with the words of the driver, no finalizer is touched', async () => {
    const seen = await observe(scenarioOf('release/ngs/detach-errors'));
    const refused = statusAt(seen, 800_000).conditions.find(({ type }) => type === 'Released');
    assert.deepEqual([refused?.status, refused?.reason], ['False', 'DetachRefused']);
    assert.match(refused?.message ?? '', /^volume pv-0: detach failed/);
    assert.equal(eventsOf(seen, 'DetachRefused').length, 1, 'said once');
    const after = statusAt(seen, 950_000).conditions.find(({ type }) => type === 'Released');
    assert.deepEqual([after?.status, after?.reason], ['True', 'Complete']);
    assert.deepEqual(
      seen.writes.filter(({ body }) => body.includes('finalizers')),
      [],
    );
    assert.deepEqual(
      seen.writes.filter(({ what }) => what.startsWith('delete volumeattachments')),
      [],
    );
  });

  test('[NGS-7] the way back: what each stage waits for', async () => {
    const seen = await observe(scenarioOf('release/ngs/detach-errors-while-back'));
    const waiting = statusAt(seen, 19 * 60_000).return;
    assert.equal(waiting?.stage, 'seen');
    assert.match(waiting?.waitsFor ?? '', /pv-0 was released and is still attached: the driver says detach failed/);
    const soaking = statusAt(seen, 20 * 60_000 + 10_000).return;
    assert.equal(soaking?.stage, 'clean');
    assert.match(soaking?.waitsFor ?? '', /stay Ready and clean for 30s/);
    assert.equal(statusAt(seen).return, undefined);
    assert.deepEqual(statusAt(seen).applied, []);
  });

  test('[NGS-7] nothing new is scheduled to the node while it is in quarantine', async () => {
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'many' },
      spec: {
        replicas: 6,
        selector: { matchLabels: { app: 'many' } },
        template: { metadata: { labels: { app: 'many' } }, spec: { containers: [{ name: 'main', image: 'x' }] } },
      },
    };
    const scenario = variation('release/ngs/partition', {
      events: [
        { at: '0s', partition: web },
        { at: '10m', heal: web },
        { at: '10m10s', apply: deployment },
      ],
      expect: [
        { at: '10m25s', node: { name: web, ready: true, schedulable: false } },
        { never: { pod: { label: 'app=many', node: web, running: true } } },
        { by: '11m', node: { name: web, schedulable: true, taints: [] } },
      ],
      runFor: '12m',
    });
    assert.deepEqual(failuresOf((await observe(scenario)).report), []);
  });
});

/** The operator as it is started at some times with the gate and at others without. */
function switching(gateAt: (atMs: number) => boolean, restartsAt: number[]): RunOptions {
  let now = (): number => 0;
  let zeroMs = 0;
  const crash: { now?: () => void } = {};
  let clockOf: VirtualClock | undefined;
  return {
    onWorld: (_, clock) => {
      clockOf = clock;
      now = () => clock.monotonic() - zeroMs;
    },
    onOperator: (operator) => (crash.now = operator.crash),
    onZero: () => {
      zeroMs = now();
      for (const atMs of restartsAt) clockOf?.after(atMs, () => crash.now?.());
    },
    program: (context: ProgramContext): Program =>
      productOperator({ ...context, featureGates: { NonGracefulFailover: gateAt(now()) } }),
  };
}

describe('the gate is switched', () => {
  const minutes = (count: number): number => count * 60_000;

  /** One more pod with a volume on node-1, which has to go so many seconds after the node was found away. */
  function lateAfter(seconds: number): object[] {
    const second = { driver: 'driver.longhorn.io', volumeHandle: 'pv-late' };
    return [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'pv-late' },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          storageClassName: '',
          csi: second,
          claimRef: { namespace: 'default', name: 'data-late-0' },
        },
      },
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'late' },
        spec: {
          serviceName: 'late',
          selector: { matchLabels: { app: 'late' } },
          template: {
            metadata: { labels: { app: 'late' } },
            spec: {
              // By default it is 300.
              tolerations: [
                {
                  key: 'node.kubernetes.io/unreachable',
                  operator: 'Exists',
                  effect: 'NoExecute',
                  tolerationSeconds: seconds,
                },
              ],
              nodeSelector: { 'kubernetes.io/hostname': 'node-1' },
              containers: [{ name: 'main', image: 'x' }],
            },
          },
          volumeClaimTemplates: [
            {
              metadata: { name: 'data' },
              spec: {
                accessModes: ['ReadWriteOnce'],
                storageClassName: '',
                resources: { requests: { storage: '1Gi' } },
              },
            },
          ],
        },
      },
    ];
  }

  test('[NGS-9] off, on, off, on: what is stuck goes when it is on, and nothing goes while it is off', async () => {
    const stuck = (at: string, name: string): object => ({ at, pod: { name, terminating: true, deleted: false } });
    const scenario = variation('release/ngs/only-the-eligible', {
      // It has to go 26 minutes later: while the gate is off for the second time.
      objects: lateAfter(26 * 60),
      events: [{ at: '0s', powerOff: 'node-1' }],
      expect: [
        stuck('19m59s', 'web-0'),
        { by: '21m', pod: { name: 'web-0', deleted: true } },
        { at: '25m', pod: { name: 'late-0', terminating: false, deleted: false } },
        stuck('35m', 'late-0'),
        { by: '36m', pod: { name: 'late-0', deleted: true } },
        { event: { reason: 'Released', count: 2 } },
        { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
      ],
      runFor: '40m',
    });
    const on = (atMs: number): boolean => (atMs >= minutes(20) && atMs < minutes(25)) || atMs >= minutes(35);
    const seen = await observe(scenario, switching(on, [minutes(20), minutes(25), minutes(35)]));
    assert.deepEqual(failuresOf(seen.report), []);
  });

  test('[NGS-9] off in the middle of a failover: no new deletion, yet the quarantine is cleaned up', async () => {
    const late = lateAfter(600);
    const node = 'node-1';
    const scenario = variation('release/ngs/only-the-eligible', {
      objects: late,
      events: [
        { at: '0s', powerOff: node },
        { at: '20m', powerOn: node },
      ],
      expect: [
        { by: '5m45s', pod: { name: 'web-0', deleted: true } },
        { at: '20m', pod: { name: 'late-0', terminating: true, deleted: false } },
        { at: '20m', node: { name: node, taints: ['fenceline.dev/quarantine', 'node.kubernetes.io/unreachable'] } },
        { by: '23m', node: { name: node, ready: true, schedulable: true, taints: [] } },
        { event: { reason: 'Released', count: 1 } },
        { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
      ],
      runFor: '25m',
    });
    const seen = await observe(
      scenario,
      switching((atMs) => atMs < minutes(7), [minutes(7)]),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(statusAt(seen).applied, []);
  });

  test('[NGS-9] off between the record and the first deletion: nothing goes, and nothing stays marked', async () => {
    const scenario = variation('release/ngs/power-off', {
      events: [
        { at: '0s', powerOff: web },
        { at: '20m', powerOn: web },
      ],
      expect: [
        { at: '20m', pod: { name: 'web-0', terminating: true, deleted: false } },
        { by: '23m', node: { name: web, ready: true, schedulable: true, taints: [] } },
        { event: { reason: 'Released', count: 0 } },
        { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
      ],
      runFor: '25m',
    });
    let on = true;
    let crash = (): void => {};
    const options: RunOptions = {
      onOperator: (operator) => (crash = operator.crash),
      onWorld: (world) => {
        world.server.onChange(({ version: { object } }) => {
          const { spec } = object as { spec?: { taints?: { key: string }[] } };
          if (!on || !spec?.taints?.some(({ key }) => key === 'fenceline.dev/quarantine')) return;
          on = false;
          crash();
        });
      },
      program: (context) => productOperator({ ...context, featureGates: { NonGracefulFailover: on } }),
    };
    const seen = await observe(scenario, options);
    assert.equal(on, false, 'the quarantine was set');
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(statusAt(seen, minutes(10)).releases.length, 1, 'the intent is on record');
  });
});
