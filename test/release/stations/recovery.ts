/** docs/recovery.md, step by step: two nodes fail at once, and each of their pods goes on a basis of its own. */
import assert from 'node:assert/strict';
import type { RunningSet } from '../../support/fleet-cluster.ts';
import { waitFor } from '../../support/wait.ts';
import type { Station } from '../reader.ts';
import { patient, type Scene } from './scene.ts';

/** It may not reach anybody, and its storage keeps it out. */
const cutOff = 'worker-2';
/** Without a device that could be asked. */
const dark = 'worker-3';

export function recoveryStations(scene: Scene): Station[] {
  let safe: RunningSet;
  let listed: RunningSet;
  let other: RunningSet;
  return [
    { at: 'safeDetach: [csi.example.com]', look: () => scene.inForce('safe-storage', 'Enforce', 1) },
    { at: '--feature-gates=', look: () => undefined },
    { at: 'provisioners: [driver.longhorn.io]', look: () => scene.inForce('compute', 'DryRun', 1) },
    {
      at: '"mode":"Enforce"',
      before: async () => {
        safe = await scene.runningOn(cutOff, 'safe', 'csi.example.com');
        listed = await scene.runningOn(dark, 'listed', 'driver.longhorn.io');
        other = await scene.runningOn(dark, 'other');
        safe.machine.partition();
        listed.machine.powerOff();
        const told = async (): Promise<boolean> =>
          JSON.stringify((await scene.fence(dark)).status.rehearsal ?? '').includes('WouldRelease');
        await waitFor('the policy to tell what it would do', told, patient);
        await scene.isStillThere(listed);
      },
      look: async () => {
        await scene.cluster.movedFrom(listed);
        assert.equal(await scene.basisOf(listed), 'AcceptedRisk');
        await scene.cluster.movedFrom(safe);
        assert.equal(await scene.basisOf(safe), 'StorageSafeDetach');
        await scene.isStillThere(other);
      },
    },
    {
      at: 'force-eviction:NoExecute',
      look: async () => {
        await scene.cluster.movedFrom(other);
        assert.equal(await scene.basisOf(other), 'Asserted');
        const taints = async (): Promise<string[]> =>
          ((await scene.cluster.node(dark)).spec?.taints ?? []).map(({ key }) => key);
        const isGone = async (): Promise<boolean> => !(await taints()).includes('fenceline.dev/force-eviction');
        await waitFor('the taint to go', isGone, patient);
        assert.ok((await taints()).includes('fenceline.dev/quarantine'));
      },
    },
    { at: 'fenceline status', look: (said) => assert.match(said, /^worker-3 +down /m) },
    { at: 'get nodefences', look: (said) => assert.match(said, /basis: StorageSafeDetach[\s\S]*basis: Asserted/) },
    {
      at: 'reason=NotReleased',
      look: (said) => {
        assert.match(said, /pod\/other-0/);
        // Whoever repairs it switches it on, and mends the network of the other one. That they come back is seen at the end.
        scene.machineOf(dark).powerOn();
        scene.machineOf(cutOff).heal();
      },
    },
  ];
}
