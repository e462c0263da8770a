/** docs/drain.md, step by step, with a volume that has a copy on each node, and one that has a single copy. */
import assert from 'node:assert/strict';
import type { Longhorn } from '../../../src/world/longhorn/longhorn.ts';
import { waitFor } from '../../support/wait.ts';
import type { Station } from '../reader.ts';
import { patient, type Scene } from './scene.ts';

const nodes = ['node-1', 'node-2', 'node-3'];
const volumes = [
  { name: 'three', sizeGiB: 1, replicas: nodes, attachedTo: 'node-3' },
  { name: 'single', sizeGiB: 1, replicas: ['node-3'], attachedTo: 'node-3' },
];

export function drainStations(scene: Scene): Station[] {
  let longhorn: Longhorn;
  const { reader } = scene;
  const budgets = async (wanted: readonly string[]): Promise<void> => {
    const expected = wanted.map((node) => `fenceline-instance-manager-${node}`);
    const look = async (): Promise<boolean> => {
      assert.deepEqual(await scene.names('pdb -n longhorn-system'), expected);
      return true;
    };
    await waitFor(`the budgets of ${wanted.join(', ')}`, look, patient);
  };
  return [
    {
      at: 'deploy/drain-role.yaml',
      before: async () => {
        longhorn = await scene.replicatedStorage(nodes, volumes);
      },
      look: async () => {
        const as = '--as system:serviceaccount:fenceline:fenceline -n longhorn-system';
        assert.match(await reader.type(`kubectl auth can-i delete poddisruptionbudgets ${as}`), /^yes$/m);
      },
    },
    { at: 'kind: DrainPolicy', look: () => budgets(nodes) },
    {
      at: 'plan-drain node-1 node-2',
      look: (said) => {
        for (const node of ['node-1', 'node-2']) assert.match(said, new RegExp(`^\\d +${node} +\\S+ +yes `, 'm'));
      },
    },
    {
      at: 'kubectl drain node-1',
      look: async (said) => {
        assert.match(said, /node\/node-1 drained/);
        await budgets(['node-2', 'node-3']);
        assert.equal(longhorn.report('three')?.dataIntact, true);
        await assert.rejects(reader.type('kubectl drain node-3 --ignore-daemonsets --timeout=3s'), /disruption budget/);
        await reader.type('kubectl uncordon node-3');
        assert.deepEqual(longhorn.report('single')?.healthyOn, ['node-3']);
      },
    },
    { at: 'kubectl uncordon node-1', look: () => budgets(nodes) },
  ];
}
