/** Remedies that are Jobs, drains and cordons, in the simulated cluster. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { REMEDY_NAMESPACE } from '../../../src/api/fence-names.ts';
import { convertAll } from '../../../src/cli/convert/all.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { elsewhere, fenced, fenceOf, place, victimOf } from '../fencing/fenced.ts';
import { killedAtWrite } from '../killed.ts';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';

const exitCode = 'simulation.fenceline.dev/exit-code';

function job(name: string, code = 0): object {
  const annotations = { [exitCode]: String(code) };
  const container = { name: 'main', image: 'example/remedy:1' };
  return {
    name,
    podTemplate: { metadata: { annotations }, spec: { restartPolicy: 'Never', containers: [container] } },
  };
}

const onReady = { condition: { type: 'Ready', status: 'NotTrue', for: '5s' } };
const repairThenTerminate = {
  thresholds: [
    {
      ...onReady,
      remedies: [
        { name: 'repair', period: '3m' },
        { name: 'terminate', cleanResources: true, period: '1m' },
      ],
      recovery: [{ name: 'recovery' }],
    },
  ],
  remedies: [job('repair', 1), job('terminate'), { name: 'recovery', uncordon: {} }],
};

interface MadeJob {
  at: number;
  remedy: string;
}

function jobsOf({ writes }: Observed): MadeJob[] {
  return writes
    .filter(({ what }) => what.startsWith('create jobs/fenceline-remedies/'))
    .map(({ atMs, body }) => {
      const made = JSON.parse(body) as { spec: { template: { metadata: { annotations: Record<string, string> } } } };
      return { at: atMs, remedy: made.spec.template.metadata.annotations['fenceline.dev/remedy'] ?? '' };
    });
}

/** Where the pods of remedies really ran. */
function placesOf({ report }: Observed): string[] {
  return report.timeline
    .filter(({ what, object }) => what.startsWith('is Running on ') && object.startsWith(`pod/${REMEDY_NAMESPACE}/`))
    .map(({ what }) => what.slice('is Running on '.length));
}

/** Whose template asks for one node. */
function pinned(name: string, node: string): object {
  const nodeSelector = { 'kubernetes.io/hostname': node };
  const containers = [{ name: 'main', image: 'example/remedy:1' }];
  return { name, podTemplate: { spec: { restartPolicy: 'Never', containers, nodeSelector } } };
}

function lost(
  name: string,
  policy: object,
  more: { runFor?: string; expect?: object[]; events?: object[] } = {},
): Scenario {
  const {
    events = [
      { at: '0s', powerOff: place },
      { at: '8m', powerOn: place },
    ],
  } = more;
  return fenced(name, { policy, runFor: '12m', ...more, events });
}

describe('a ladder of Jobs', () => {
  test('[REM-4] repair fails, three minutes, terminate, resources cleaned, recovery', async () => {
    const seen = await observe(
      lost('repair-terminate', repairThenTerminate, {
        expect: [
          { at: '3m', pod: { label: 'app=web', terminating: true } },
          elsewhere('5m'),
          { by: '11m', node: { name: place, ready: true, schedulable: true, taints: [] } },
          { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
        ],
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const [repair, terminate, ...rest] = jobsOf(seen);
    assert.deepEqual([repair?.remedy, terminate?.remedy, rest.length], ['repair', 'terminate', 0]);
    const repaired = seen.statuses.find(({ status }) => status.jobs[0]?.outcome === 'Failed')?.atMs ?? NaN;
    assert.equal(Math.round(((terminate?.at ?? 0) - repaired) / 1000), 180);
    const [release] = seen.statuses.at(-1)?.status.releases ?? [];
    assert.equal(release?.basis, 'Asserted');
    assert.match(release?.by ?? '', /^remedy terminate, Job fenceline-remedies\/fenceline-terminate-/);
  });

  test('[REM-2] a remedy that helps ends the ladder', async () => {
    const seen = await observe(
      lost(
        'helped',
        { ...repairThenTerminate, remedies: [job('repair'), job('terminate'), { name: 'recovery', uncordon: {} }] },
        {
          events: [
            { at: '0s', powerOff: place },
            { at: '60s', powerOn: place },
          ],
        },
      ),
    );
    assert.deepEqual(
      jobsOf(seen).map(({ remedy }) => remedy),
      ['repair'],
    );
    assert.equal(fenceOf(seen.world, victimOf(seen))?.status.ladders.length, 0);
  });

  test('[REM-3] the pod of a remedy runs on another node', async () => {
    const seen = await observe(lost('elsewhere', repairThenTerminate, { runFor: '2m' }));
    const places = placesOf(seen);
    assert.ok(places.length > 0);
    assert.ok(!places.includes(victimOf(seen)), places.join());
  });

  test('[REM-3] and on none where only the node in trouble would do, which is well but for that', async () => {
    const node = 'node-1';
    const scenario = (selected: string): Scenario =>
      fenced('nowhere', {
        policy: {
          thresholds: [{ condition: { type: 'Broken', status: 'True', for: '5s' }, remedies: [{ name: 'repair' }] }],
          remedies: [pinned('repair', selected)],
        },
        events: [{ at: '0s', condition: { node, type: 'Broken', status: 'True' } }],
        runFor: '1m',
      });
    assert.deepEqual(placesOf(await observe(scenario('node-2'))), ['node-2'], 'it goes where it is told to');
    const seen = await observe(scenario(node));
    assert.equal(jobsOf(seen).length, 1, 'it is there');
    assert.deepEqual(placesOf(seen), [], 'and runs nowhere');
  });

  test('[REM-5] while it runs, the node says since when and in which pod; afterwards no more', async () => {
    const seen = await observe(lost('annotated', repairThenTerminate, { runFor: '2m' }));
    const notes = seen.writes
      .filter(({ what }) => /^patch nodes\/node-\d$/.test(what))
      .map(({ body }) => body)
      .filter((body) => body.includes('remediation'));
    assert.equal(notes.length, 4, 'of each of two: once when it runs, once when it has ended');
    assert.match(notes[0] ?? '', /remediation-timestamp.*remediation-podname.*fenceline-repair-/);
    assert.match(notes[1] ?? '', /"op":"remove".*remediation-podname/);
  });

  test('[REM-5] killed before and after every write, no remedy runs twice for one step', async () => {
    const scenario = lost('crashed', repairThenTerminate, { expect: [elsewhere('6m')] });
    const { writes } = await killedAtWrite(scenario);
    const total = writes.length;
    const stride = process.env['FENCELINE_EXHAUSTIVE'] === undefined ? 5 : 1;
    for (let at = 0; at < total; at += stride) {
      for (const side of ['before', 'after'] as const) {
        const { seen } = await killedAtWrite(scenario, { at, side });
        const where = `killed ${side} write ${at + 1} of ${total}`;
        assert.deepEqual(failuresOf(seen.report), [], where);
        const remedies = jobsOf(seen).map(({ remedy }) => remedy);
        assert.deepEqual(remedies, ['repair', 'terminate'], where);
      }
    }
    console.log(`# ${total} writes, ${Math.ceil(total / stride) * 2} crashes`);
  });
});

describe('flapping', () => {
  const away = (from: number): object[] => [
    { at: `${from}s`, kubeletStop: place },
    { at: `${from + 60}s`, kubeletStart: place },
  ];
  const thresholds = [{ ...onReady, remedies: [{ name: 'repair', period: '3m' }] }];
  const run = (events: object[]): Promise<Observed> =>
    observe(fenced('flapping', { policy: { thresholds, remedies: [job('repair')] }, events, runFor: '10m' }));

  test('[REM-6] trouble that comes back within the period is one incident, and has to last longer', async () => {
    const seen = await run([...away(0), ...away(100)]);
    const incidents = new Set(seen.statuses.flatMap(({ status }) => status.incident?.id ?? []));
    assert.equal(incidents.size, 1);
    const flaps = seen.statuses.flatMap(({ status }) => status.incident?.flaps ?? []);
    assert.equal(Math.max(...flaps), 1);
    assert.equal(seen.statuses.at(-1)?.status.incident, undefined, 'over when it has stayed away');
    const alone = jobsOf(await run(away(100)));
    assert.equal(Math.round(((jobsOf(seen)[1]?.at ?? 0) - (alone[0]?.at ?? 0)) / 1000), 5, 'twice 5 s');
  });

  test('[REM-6] trouble that comes back later is another incident', async () => {
    const seen = await run([...away(0), ...away(300)]);
    assert.equal(new Set(seen.statuses.flatMap(({ status }) => status.incident?.id ?? [])).size, 2);
  });
});

/** As `fenceline convert` makes it, with what the simulated pods of its remedies need to know of how they end. */
function converted(): { selector: object; thresholds: object[]; remedies: object[] } {
  const text = readFileSync(new URL('../../support/remedy-configuration.yaml', import.meta.url), 'utf8');
  const { manifests } = convertAll([{ name: 'configuration.yaml', text }], { namespace: 'fenceline', mode: 'Enforce' });
  const { spec } = structuredClone(manifests[0]) as unknown as { spec: ReturnType<typeof converted> };
  for (const remedy of spec.remedies as { name: string; podTemplate?: { metadata?: object } }[]) {
    if (remedy.podTemplate === undefined) continue;
    remedy.podTemplate.metadata = { annotations: { [exitCode]: remedy.name === 'repair' ? '1' : '0' } };
  }
  return spec;
}

describe('the example of the source', () => {
  test('[REM-7] its Configuration, converted: repair fails, three minutes, terminate, resources cleaned, recovery', async () => {
    const cluster = {
      nodes: [1, 2, 3].map((number) => ({ name: `node-${number}`, zone: `z${number}`, labels: { type: 'compute' } })),
    };
    const seen = await observe(
      fenced('converted', {
        cluster,
        policy: { ...converted(), return: { soak: '10s' } },
        events: [
          { at: '0s', powerOff: place },
          { at: '8m', powerOn: place },
        ],
        expect: [
          { at: '3m', pod: { label: 'app=web', terminating: true } },
          elsewhere('5m'),
          { by: '11m', node: { name: place, ready: true, schedulable: true, taints: [] } },
          { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
        ],
        runFor: '12m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const steps = seen.statuses.flatMap(({ status }) => status.ladders.map(({ remedy }) => remedy));
    assert.deepEqual(
      steps.filter((step, index) => step !== steps[index - 1]),
      ['repair', 'terminate', 'recovery'],
    );
  });

  test('[REM-9] cordon, detach, remove the pods, restart the node, uncordon', async () => {
    const type = 'VolumeUnreachable';
    const seen = await observe(
      fenced('volume-unreachable', {
        policy: {
          thresholds: [
            {
              condition: { type, status: 'True', for: '10s' },
              remedies: [
                { name: 'keep-out', period: '0s' },
                { name: 'detach', period: '0s' },
                { name: 'empty', period: '0s' },
                { name: 'restart', period: '2m' },
              ],
              recovery: [{ name: 'let-in' }],
            },
          ],
          remedies: [
            { name: 'keep-out', cordon: {} },
            job('detach'),
            { name: 'empty', drain: {} },
            { name: 'restart', fence: {} },
            { name: 'let-in', uncordon: {} },
          ],
        },
        events: [
          { at: '0s', condition: { node: place, type, status: 'True' } },
          { at: '60s', condition: { node: place, type, status: 'False' } },
        ],
        expect: [
          elsewhere('60s'),
          { by: '4m', node: { name: place, ready: true, schedulable: true, taints: [] } },
          { fences: 1 },
        ],
        runFor: '6m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const steps = seen.statuses.flatMap(({ status }) => status.ladders.map(({ remedy }) => remedy));
    assert.deepEqual(
      steps.filter((step, index) => step !== steps[index - 1]),
      ['keep-out', 'detach', 'empty', 'restart', 'let-in'],
    );
    const evicted = seen.writes.filter(({ what }) => what.endsWith('/eviction'));
    assert.equal(evicted.length, 1, 'live pods leave by eviction alone');
  });
});

describe('where Jobs of remedies run', () => {
  test('[SEC-3] S44: in a namespace of their own, in which the operator and its Secrets are not', async () => {
    const seen = await observe(
      fenced('job-elsewhere', {
        policy: {
          thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'repair', period: '1m' }] }],
          remedies: [
            {
              name: 'repair',
              podTemplate: { spec: { serviceAccountName: 'fenceline', containers: [{ name: 'main', image: 'a' }] } },
            },
          ],
        },
        events: [{ at: '0s', partition: place }],
        runFor: '1m',
      }),
    );
    const made = seen.writes.filter(({ what }) => what.startsWith('create jobs/')).map(({ what }) => what);
    assert.equal(made.length, 1);
    assert.match(made[0] ?? '', /^create jobs\/fenceline-remedies\//);
    assert.deepEqual(failuresOf(seen.report), []);
  });
});

describe('a machine that its provider removes', () => {
  const machines = { group: 'cluster.x-k8s.io', names: { plural: 'machines', singular: 'machine', kind: 'Machine' } };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'machines.cluster.x-k8s.io' },
    spec: { ...machines, scope: 'Namespaced', versions: [{ name: 'v1beta1', served: true, storage: true, schema }] },
  };
  const machineOf = (node: string): object => ({
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Machine',
    metadata: { name: `m-${node}`, namespace: 'default' },
    spec: { providerID: `sim://${node}` },
    status: { nodeRef: { name: node } },
  });

  /** `named`: which Machine each Node says that it is. */
  async function removed(remedies: object[], named = (node: string) => `m-${node}`): Promise<Observed> {
    return observe(
      fenced('deleted-machine', {
        policy: {
          thresholds: [{ lease: { staleFor: '12s' }, remedies }],
          remedies: [
            { name: 'fence', fence: {} },
            { name: 'remove', deleteMachine: {} },
          ],
          fence: { isolateAfter: '0s', powerManagementAfter: '0s', bootTimeout: '20s', retries: 0, restarts: 0 },
        },
        objects: [definition, ...['node-1', 'node-2', 'node-3'].map(machineOf)],
        events: [{ at: '0s', partition: place }],
        runFor: '5m',
      }),
      {
        onWorld: (world) => {
          // As Cluster API marks the nodes of its machines.
          world.server.onChange(({ type, version: { object } }) => {
            if (type !== 'ADDED' || object.kind !== 'Node') return;
            const { name } = object.metadata;
            Object.assign((object.metadata.annotations ??= {}), {
              'cluster.x-k8s.io/machine': named(name),
              'cluster.x-k8s.io/cluster-namespace': 'default',
            });
            object['spec'] = { ...(object['spec'] as object | undefined), providerID: `sim://${name}` };
          });
        },
      },
    );
  }
  const deleted = (seen: Observed): number =>
    seen.writes.filter(({ what }) => what.startsWith('delete machines/default/m-')).length;

  test('[REM-1] S13: after a fence that did not bring it back, and never without one', async () => {
    const seen = await removed([
      { name: 'fence', cleanResources: true, period: '0s' },
      { name: 'remove', period: '10m' },
    ]);
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(deleted(seen), 1);
    const victims = seen.writes.filter(({ what }) => what === `delete machines/default/m-${victimOf(seen)}`);
    assert.equal(victims.length, 1);
    const unfenced = await removed([{ name: 'remove', period: '10m' }]);
    assert.equal(deleted(unfenced), 0);
    const said = unfenced.events.map(({ note }) => note).join();
    assert.equal(fenceOf(unfenced.world, victimOf(unfenced))?.status.ladders[0]?.phase, 'waiting', said);
  });

  test('[SEC-2] S44: whoever may annotate a Node cannot have the machine of another one removed', async () => {
    const neighbour: Record<string, string> = { 'node-1': 'node-2', 'node-2': 'node-3', 'node-3': 'node-1' };
    const ladder = [
      { name: 'fence', period: '0s' },
      { name: 'remove', period: '10m' },
    ];
    const seen = await removed(ladder, (node) => `m-${neighbour[node]}`);
    assert.equal(deleted(seen), 0);
    assert.equal(fenceOf(seen.world, victimOf(seen))?.status.ladders[0]?.remedy, 'remove', 'it came to that rung');
  });
});
