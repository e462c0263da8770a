/** FenceDevices that people write, beside the ConfigMaps and read by the same reader. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceDevice, FenceDeviceStatus } from '../../../src/api/fence-device.ts';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { failuresOf, scenarioOf } from '../run-file.ts';
import { commands, elsewhere, fenced, fenceOf, inPlace, place, victimOf, wellBy } from './fenced.ts';

const names = ['node-1', 'node-2', 'node-3'];
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline' } };
const written = (name: string, spec: object): object => ({
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'FenceDevice',
  metadata: { name, namespace: 'fenceline' },
  spec,
});
const configMap = (name: string, data: Record<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'fenceline' },
  data,
});
const each = names.map((node) => written(`bmc-of-${node}`, { node, driver: 'simulated' }));
const cut = [
  { at: '30s', partition: place },
  { at: '2m', heal: place },
];

function statusOf(seen: Observed, name: string): FenceDeviceStatus | undefined {
  const found = seen.world.server.peek('fenceline.dev', 'fencedevices', `fenceline/${name}`);
  return (found as unknown as FenceDevice | undefined)?.status;
}

describe('a FenceDevice that somebody has written', () => {
  test('[FEN-15] with a selector: a node is fenced by it, and what is known of each is in one of its own', async () => {
    const seen = await observe(scenarioOf('fence/written-device'));
    assert.deepEqual(failuresOf(seen.report), []);
    const node = victimOf(seen);
    assert.deepEqual(commands(seen), ['off', 'on']);
    const { power, device, fenceable } = statusOf(seen, `${node}.bmc`) ?? {};
    assert.deepEqual([power, device, fenceable], ['on', 'driver:simulated', true]);
    assert.deepEqual(statusOf(seen, 'bmc'), { nodes: 3 });
  });

  test('[FEN-15] about one node: what is known of it is in itself', async () => {
    const objects = [namespace, ...each];
    const seen = await observe(
      fenced('written', { objects, events: cut, expect: [elsewhere('1m30s'), ...wellBy('5m')], runFor: '5m' }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const node = victimOf(seen);
    const { power, fenceable, seenOn } = statusOf(seen, `bmc-of-${node}`) ?? {};
    assert.deepEqual([power, fenceable, typeof seenOn], ['on', true, 'string']);
    assert.equal(statusOf(seen, `${node}.bmc-of-${node}`), undefined, 'and nowhere else');
    const { history = [] } = fenceOf(seen.world, node)?.status ?? {};
    assert.ok(history.some(({ reason, message }) => reason === 'PoweredOff' && message?.endsWith(`(bmc-of-${node})`)));
  });

  test('[FEN-15] and a ConfigMap about the same node: nothing is switched, and both are named', async () => {
    const maps = [
      configMap('fence-method-template-bmc', { 'template.properties': 'driver=simulated' }),
      ...names.map((node) =>
        configMap(`fence-config-${node}`, {
          'config.properties': 'power_management=off on',
          'fence-method-off': 'template=fence-method-template-bmc\naction=off',
          'fence-method-on': 'template=fence-method-template-bmc\naction=on',
        }),
      ),
    ];
    const seen = await observe(
      fenced('contended', {
        objects: [namespace, ...each, ...maps],
        events: cut.slice(0, 1),
        expect: [inPlace],
        runFor: '3m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(commands(seen), []);
    const told = /ConfigMap fence-config-node-1 is about node node-1 as well: remove one of them$/;
    const { fenceable, reason, message } = statusOf(seen, 'bmc-of-node-1') ?? {};
    assert.deepEqual([fenceable, reason], [false, 'ConfigurationInvalid']);
    assert.match(message ?? '', told);
    assert.match(fenceOf(seen.world, victimOf(seen))?.status.fence?.message ?? '', /is about node node-\d as well/);
  });

  test('[FEN-15] a mistake is in its status within seconds, with or without a policy, and goes when it is mended', async () => {
    const mistaken = { selector: { matchLabels: { no: 'one' } }, agent: 'fence_ipmilan', parameters: { ip: '-x' } };
    const whoever = { ...mistaken, parameters: { ip: '10.0.0.1' } };
    const run = (apply: object[]): Promise<Observed> =>
      observe({
        ...fenced('mistaken', {
          objects: [namespace, written('bmc', mistaken)],
          events: apply.map((one) => ({ at: '30s', apply: one })),
          runFor: '1m',
        }),
      });
    const { fenceable, reason, message, nodes } = statusOf(await run([]), 'bmc') ?? {};
    assert.deepEqual([fenceable, reason, nodes], [false, 'ConfigurationInvalid', 0]);
    assert.match(message ?? '', /^spec\.parameters\.ip: write /);
    assert.deepEqual(statusOf(await run([written('bmc', whoever)]), 'bmc'), { nodes: 0 });
  });
});
