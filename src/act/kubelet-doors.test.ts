import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { ManualClock } from '../../test/support/manual-clock.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Knocked } from '../kube/knock.ts';
import { KubeletDoors } from './kubelet-doors.ts';

describe('the ports of kubelets', () => {
  let clock: ManualClock;
  let open: ((found: Knocked) => void)[];
  let told: string[];
  let doors: KubeletDoors;
  const node = aNode({ kubelet: { address: '10.0.0.1', port: 10_250 } });

  beforeEach(() => {
    clock = manualClock();
    [open, told] = [[], []];
    doors = new KubeletDoors({
      clock,
      knock: () => new Promise((resolve) => open.push(resolve)),
      onAnswer: (name) => told.push(name),
    });
  });

  async function answer(found: Knocked): Promise<void> {
    for (const one of open.splice(0)) one(found);
    await Promise.resolve();
  }

  test('[SAF-18] what was found is kept with its age, and told', async () => {
    assert.equal(doors.of('node-1'), undefined);
    doors.want(node);
    clock.advance(1000);
    assert.deepEqual(doors.of('node-1'), { askedForMs: 1000 });
    await answer('refused');
    assert.deepEqual([doors.of('node-1'), told], [{ askedForMs: 1000, port: 'refused' }, ['node-1']]);
  });

  test('[SAF-18] asked again when the answer is old, and what is known stays until then', async () => {
    doors.want(node);
    await answer('silent');
    clock.advance(4000);
    doors.want(node);
    assert.equal(open.length, 0);
    clock.advance(2000);
    doors.want(node);
    assert.equal(open.length, 1);
    assert.equal(doors.of('node-1')?.port, 'silent');
    await answer('open');
    assert.deepEqual(doors.of('node-1'), { askedForMs: 0, port: 'open' });
  });

  test('what is forgotten comes too late, and a node without an address is not asked', async () => {
    doors.want(aNode());
    assert.equal(open.length, 0);
    doors.want(node);
    doors.forget('node-1');
    await answer('open');
    assert.deepEqual([doors.of('node-1'), told], [undefined, []]);
  });
});
