/** No field of a status is declared and never written: a few scenarios together fill in every one of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { structuralSchemaOf, type StructuralSchema } from '../../src/api/crds.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { learn } from '../../src/fence/memory.ts';
import { planRelease } from '../../src/release/plan.ts';
import { releaseNode } from '../../src/release/release-node.ts';
import { drainStatusOf } from '../../src/report/drain-status.ts';
import type { Scenario } from '../../src/scenario/format.ts';
import type { RunOptions } from '../../src/scenario/runner.ts';
import { aCase, aFence, aRecord } from '../support/release-case.ts';
import { approval } from './fencing/approved.ts';
import { atOnce, fenced, fenceOf, place } from './fencing/fenced.ts';
import { blindScheduler, boundLate } from './holes/endless.ts';
import { run, scenarioOf, scenariosOf } from './run-file.ts';
import { driver } from './trouble.ts';

/** The paths of all that holds a value, of every object of a kind that ever was. */
class Written {
  readonly #paths = new Map<string, Set<string>>();

  add(kind: string, value: unknown, path = 'status'): void {
    const known = this.#paths.get(kind) ?? new Set();
    this.#paths.set(kind, known);
    if (typeof value !== 'object' || value === null) {
      known.add(path);
      return;
    }
    const isList = Array.isArray(value);
    for (const [key, inside] of Object.entries(value)) {
      const isPlain = isList && typeof inside !== 'object';
      this.add(kind, inside, isPlain ? path : isList ? `${path}[]` : `${path}.${key}`);
    }
  }

  async run(scenario: Scenario, onWorld?: RunOptions['onWorld']): Promise<void> {
    await run(scenario, {
      onWorld: (world, clock) => {
        onWorld?.(world, clock);
        world.server.onChange(({ version: { object } }) => {
          const { kind = '', status } = object as { kind?: string; status?: unknown };
          if (status !== undefined && KINDS.some((one) => one.kind === kind)) this.add(kind, status);
        });
      },
    });
  }

  /** Fields of the schema that were never there. */
  missing(kind: string): string[] {
    const found = KINDS.find((one) => one.kind === kind);
    const status = found && structuralSchemaOf(found).properties?.['status'];
    assert.ok(status);
    return leaves(status, 'status').filter((path) => this.#paths.get(kind)?.has(path) !== true);
  }
}

function leaves(schema: StructuralSchema, path: string): string[] {
  if (schema.items !== undefined) {
    return schema.items.properties === undefined ? [path] : leaves(schema.items, `${path}[]`);
  }
  const inside = Object.entries(schema.properties ?? {});
  return inside.length === 0 ? [path] : inside.flatMap(([name, value]) => leaves(value, `${path}.${name}`));
}

const configMap = (name: string, data: Record<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'fenceline' },
  data,
});

/** A switch that cuts a node off from its storage, and a mistake in what is configured of it while it does. */
function cutOff(mode = 'Enforce'): Scenario {
  const configs = ['node-1', 'node-2', 'node-3'].map((node) =>
    configMap(`fence-config-${node}`, {
      'config.properties': `node_name=${node}\nisolation=fc-off\nrecovery=fc-on`,
      'fence-method-fc-on': 'template=fence-method-template-fc\nplug=2\naction=on',
      'fence-method-fc-off': 'template=fence-method-template-fc\nplug=2\naction=off',
    }),
  );
  const template = { 'template.properties': `driver=simulated-switch\nstorage=${driver}` };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline' } };
  const objects = [namespace, configMap('fence-method-template-fc', template), ...configs];
  const broken = ['node-1', 'node-2', 'node-3'].map((node) =>
    configMap(`fence-config-${node}`, { 'config.properties': `node_name=${node}\nisolation=no-such-method` }),
  );
  const events = [{ at: '0s', partition: place }, ...broken.map((apply) => ({ at: '50s', apply }))];
  return fenced('cut-off', { policy: { fence: atOnce, mode }, objects, events, runFor: '1m' });
}

/** A remedy that is a Job, and an alarm about the first incident. */
function repaired(): Scenario {
  const spec = { containers: [{ name: 'main', image: 'example/repair:1' }] };
  const thresholds = [{ lease: { staleFor: '12s' }, remedies: [{ name: 'repair' }] }];
  const alarms = [{ condition: 'Ready', count: 1, within: '1h' }];
  const policy = { thresholds, remedies: [{ name: 'repair', podTemplate: { spec } }], alarms };
  return fenced('repaired', { policy, events: [{ at: '0s', powerOff: place }], runFor: '1m' });
}

/** Its Node object is gone, which somebody looks for now and then. */
function takenOut(): Scenario {
  const events = [
    { at: '0s', powerOff: place },
    { at: '1m', deleteNode: place },
  ];
  return fenced('taken-out', { events, runFor: '15m' });
}

/** An outlet that says off under a living node, and is mended. */
function mended(): Scenario {
  const events = [
    { at: '0s', device: { node: 'node-1', fault: 'saysOff' } },
    { at: '11m', device: { node: 'node-1', fault: 'none' } },
  ];
  return fenced('mended', { events, runFor: '13m' });
}

/** How a node is fenced is written when its device is known already, by another name. */
function writtenLater(): Scenario {
  const data = {
    'config.properties': 'node_name=node-1\nisolation=fc-off\nrecovery=fc-on',
    'fence-method-fc-on': 'template=fence-method-template-fc\nplug=2\naction=on',
    'fence-method-fc-off': 'template=fence-method-template-fc\nplug=2\naction=off',
  };
  const template = { 'template.properties': `driver=simulated-switch\nstorage=${driver}` };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline' } };
  const objects = [namespace, configMap('fence-method-template-fc', template)];
  const events = [{ at: '20s', apply: configMap('fence-config-node-1', data) }];
  return fenced('written-later', { objects, events, runFor: '1m' });
}

/** One of two feeds is not told yet, while the other one has failed to go on. */
function halfOn(): Scenario {
  return { ...scenarioOf('holes/two-feeds-one-does-not-go-on'), runForMs: 60_000, expectations: [] };
}

/** Cut although nothing is there to be freed, and not back in time: not once more. */
function cutInVain(): Scenario {
  const policy = { fence: { ...atOnce, bootTimeout: '5s', restarts: 1 } };
  return fenced('cut-in-vain', { policy, events: [{ at: '0s', partition: 'node-1' }], runFor: '1m' });
}

/** Under policies that only rehearse. */
function rehearsedOnly({ objects, ...rest }: Scenario): Scenario {
  const rehearsing = objects.map((manifest) => {
    const { object } = manifest;
    if (object.kind !== 'RemedyPolicy') return manifest;
    const { spec } = object as { spec?: object };
    return { ...manifest, object: { ...object, spec: { ...spec, mode: 'DryRun' } } };
  });
  return { ...rest, objects: rehearsing };
}

/** A second pod joins a release that is not over. */
function joinedLater(): object {
  const releases = [aRecord({ pods: [{ namespace: 'default', name: 'first', uid: 'first' }] })];
  const known = aCase({ fence: aFence({ releases }) });
  return { releases: planRelease(known, releaseNode(known), 1).records };
}

/** Simulated devices have no Secrets, which may say which outlet is meant. */
function inASecret(): object {
  const said = { device: 'pdu', power: 'on', identity: 'none', message: '' } as const;
  const seen = { at: '2026-01-01T00:00:00Z', by: 'check', isAlive: true, isContradicted: false, bootId: 'b1' } as const;
  return learn({}, { device: 'agent:fence_apc', configuration: 'h1', place: 'p1', said, ...seen });
}

describe('what a status can hold', () => {
  test('every field of every status is filled in by something that happens', async () => {
    const written = new Written();
    const files = [
      'holes/off-again-while-it-boots',
      'statefulset-released',
      'fence/device-refuses',
      'fence/maintenance',
      'drain/full-disks',
      'holes/outlet-says-off',
      'holes/outlets-swapped-with-a-silent-one',
      'holes/outlets-swapped',
      'holes/outlet-of-one-that-fell-with-it',
      'holes/outlet-drilled',
      'holes/two-outlets-drilled',
      'holes/port-of-another-node',
      'holes/port-silent-after-it-was-closed',
      'holes/cut-seen-late',
      'fence/written-device',
      'holes/request-under-dry-run',
      'holes/request-for-one-that-came-back',
      'holes/dry-run-then-enforce',
      'holes/dry-run-outlet',
      'holes/cooldown',
      'holes/graceful-reboot',
      'holes/shared-boot-id',
      'holes/shared-boot-id-on-while-held',
      'holes/budget-overruled',
      'holes/off-before-its-condition',
      'holes/watched-power-lost',
      'holes/never-off',
      'holes/switched-on-failover',
      'holes/feeds-removed-in-mid-fence',
      'holes/outlets-swapped-clock-behind',
    ];
    for (const file of [...files, 'release/fev/tolerations']) await written.run(scenarioOf(file));
    for (const scenario of scenariosOf('holes/unreported-volume')) await written.run(scenario);
    await written.run(rehearsedOnly(scenarioOf('holes/outlet-of-one-that-fell-with-it')));
    await written.run(rehearsedOnly(scenarioOf('holes/off-before-its-condition')));
    for (const scenario of [
      cutOff(),
      cutOff('DryRun'),
      repaired(),
      takenOut(),
      mended(),
      cutInVain(),
      halfOn(),
      writtenLater(),
    ])
      await written.run(scenario);
    await written.run(boundLate, blindScheduler().onWorld);
    // Who approves is a person.
    const approve = fenced('approve', {
      policy: { mode: 'Approve' },
      events: [{ at: '0s', powerOff: 'node-1' }],
      runFor: '1m',
    });
    await written.run(approve, (world, clock) => {
      const look = (): void => {
        if (fenceOf(world, 'node-1')?.status.incident === undefined) clock.after(1000, look);
        else approval('node-1', 0)(world, clock);
      };
      clock.after(1000, look);
    });
    // What passes too quickly for a scenario. A node stands there only while the API server does not let the budget go.
    const decided = { kind: 'one', name: 'x', policy: 'always-allow', enforcement: 'enforce' } as const;
    const node = { policy: decided, cordoned: true, blocked: false, autoEvicting: false, reason: 'Allowed' } as const;
    const whole = { ...node, node: 'a', message: '', blocks: [], guarding: 'Guarding', guardingMessage: '' } as const;
    const policy = { name: 'x', generation: 1 };
    written.add('DrainPolicy', drainStatusOf({ policy, nodes: [whole], withdrawing: 'a' }, {}, 0));
    written.add('NodeFence', joinedLater());
    written.add('FenceDevice', inASecret());
    assert.deepEqual(
      KINDS.flatMap(({ kind }) => written.missing(kind).map((path) => `${kind} ${path}`)),
      [],
    );
  });
});
