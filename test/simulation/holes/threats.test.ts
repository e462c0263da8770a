/** Somebody who may create pods and nothing else, and a backup that comes back: nobody is fenced or let go by either. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { API_VERSION } from '../../../src/api/common.ts';
import { clockTime } from '../../../src/api/facts.ts';
import type { KubeObject } from '../../../src/kube/client.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import type { Resource } from '../../../src/kube/resources.ts';
import { fenceDevices, nodeFences } from '../../../src/kube/resources.ts';
import { administrator } from '../../../src/scenario/operator-user.ts';
import type { VirtualClock } from '../../../src/world/time/virtual-clock.ts';
import type { World } from '../../../src/world/world.ts';
import { askedOf, everywhere, fenced, inPlace, place, wellBy } from '../fencing/fenced.ts';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';

const nodes = ['node-1', 'node-2', 'node-3'];

/** Of the writes of the operator those that do something, from a moment on. */
function actsOf({ writes }: Observed, fromMs = 0): string[] {
  return writes
    .filter(({ atMs, what }) => atMs >= fromMs && /^\w+ (nodes|pods|volumeattachments|jobs)\b/.test(what))
    .map(({ atMs, what }) => `${what} at ${atMs}`);
}

describe('[SEC-4] S44: who may create pods and nothing else', () => {
  /** With everything in it that means something to us somewhere else. */
  const hostile = (node: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `node-fence-${node}`,
      namespace: 'default',
      labels: { 'fenceline.dev/node': node, 'fenceline.dev/remedy': 'fence', 'app.kubernetes.io/name': 'fenceline' },
      annotations: {
        'fenceline.dev/requested': 'true',
        'fenceline.dev/quarantine': 'true',
        'fenceline.dev/unpublish-fence': 'true',
        'fenceline.dev/safe-detach': 'true',
        'fenceline.dev/maintenance-until': '2030-01-01T00:00:00Z',
      },
      ownerReferences: [
        { apiVersion: API_VERSION, kind: 'NodeFence', name: `node-fence-${node}`, uid: 'forged', controller: true },
      ],
      finalizers: ['fenceline.dev/hold'],
    },
    spec: {
      nodeName: node,
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image: 'example/theirs:1' }],
    },
  });
  const pods = nodes.map((node) => ({ at: '5s', apply: hostile(node) }));

  test('has no node fenced that is well', async () => {
    const seen = await observe(
      fenced('hostile-pods', { events: pods, expect: [inPlace, { fences: 0 }], runFor: '3m' }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual([askedOf(seen), actsOf(seen)], [[], []]);
  });

  test('has nothing let go of one that fails and whose device refuses', async () => {
    const events = [
      ...pods,
      ...nodes.map((node) => ({ at: '10s', device: { node, fault: 'refuses' } })),
      { at: '20s', partition: place },
    ];
    const seen = await observe(fenced('hostile-pods-failing', { events, expect: [inPlace], runFor: '4m' }));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(
      actsOf(seen).filter((what) => !what.startsWith('patch nodes/')),
      [],
    );
  });
});

describe('[SEC-4, SAF-6] S37: a backup that is restored when all is well again', () => {
  const restoredAtMs = 300_000;
  type Stored = KubeObject & { kind: string; status?: { fence?: { phase?: string } } };

  interface Kept {
    resource: Resource;
    object: Stored;
  }

  /** A node is fenced and comes back. What was stored in this phase of it is put back later, with its status or without. */
  async function restore(phase: string, hasStatus: boolean): Promise<{ seen: Observed; restored: number }> {
    const latest = new Map<string, Kept>();
    let keptAt = '';
    let kept: Kept[] = [];
    /** Somebody had asked for it, minutes ago. */
    const withRequest = ({ resource, object }: Kept): Kept => {
      const { spec } = object as Stored & { spec?: object };
      const requested = { by: 'jane', at: keptAt };
      return {
        resource,
        object: resource === nodeFences ? ({ ...object, spec: { ...spec, requested } } as Stored) : object,
      };
    };
    let stage: { world: World; clock: VirtualClock } | undefined;
    let restoring: Promise<void> = Promise.resolve();
    const seen = await observe(
      fenced('backup', {
        objects: [everywhere()],
        events: [
          { at: '10s', partition: place },
          { at: '80s', heal: place },
        ],
        expect: [...wellBy('5m'), ...wellBy('9m')],
        runFor: '9m',
      }),
      {
        onWorld: (world, clock) => {
          stage = { world, clock };
          world.server.onChange(({ version: { object } }) => {
            const stored = object as unknown as Stored;
            const resource = [nodeFences, fenceDevices].find(({ kind }) => kind === stored.kind);
            if (resource === undefined) return;
            latest.set(stored.metadata.name, { resource, object: stored });
            if (kept.length > 0 || stored.status?.fence?.phase !== phase) return;
            keptAt = clockTime(clock.now());
            kept = [...latest.values()];
          });
        },
        onZero: () => {
          assert.ok(stage);
          const { world, clock } = stage;
          const transport = world.server.transport(administrator);
          const client = new KubeClient({ transport, clock, userAgent: 'backup', fieldManager: 'backup' });
          clock.after(restoredAtMs, () => {
            restoring = putBack(client, kept.map(withRequest), hasStatus);
            // Heard of when the run is over.
            restoring.catch(() => {});
          });
        },
      },
    );
    await restoring;
    return { seen, restored: kept.length };
  }

  async function putBack(client: KubeClient, all: readonly Kept[], hasStatus: boolean): Promise<void> {
    for (const { resource, object } of all) {
      const { name, namespace } = object.metadata;
      const ref = { resource, name, ...(namespace === undefined ? {} : { namespace }) };
      const live = await client.get(ref);
      if (live.ok) assert.ok((await client.delete(ref, { uid: live.value.metadata.uid ?? '' })).ok);
      const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
      const made = await client.create(resource, { ...object, metadata });
      assert.ok(made.ok, name);
      if (!hasStatus) continue;
      const written = await client.replace(ref, { ...made.value, status: object.status }, 'status');
      assert.ok(written.ok, written.ok ? '' : written.error.message);
    }
  }

  for (const hasStatus of [true, false]) {
    test(`records and devices ${hasStatus ? 'with' : 'without'} their status: no machine is switched, and nothing is let go`, async () => {
      for (const phase of hasStatus ? ['waiting', 'poweringOff', 'off', 'poweringOn', 'booting'] : ['off']) {
        const { seen, restored } = await restore(phase, hasStatus);
        assert.deepEqual(failuresOf(seen.report), [], phase);
        assert.ok(restored >= 4, `${restored} objects in ${phase}`);
        const commands = askedOf(seen).filter(({ at }) => at >= restoredAtMs);
        assert.deepEqual([commands, actsOf(seen, restoredAtMs)], [[], []], phase);
      }
    });
  }
});
