/** The gates, off and on again, in the middle of everything else. */
import assert from 'node:assert/strict';
import { QUARANTINE_KEY } from '../../../src/api/release-view.ts';
import * as check from '../checks.ts';
import type { RowSpec } from '../row.ts';
import { safe } from '../world.ts';

const app = 'db';

export const gateRow: RowSpec = {
  name: 'gates',
  title: '[NGS-9, FEV-9] with its gate off nothing goes; on, it goes; off again, what was placed is cleaned up',
  prepare: async (row) => {
    await row.policy({ podDeletion: 'do-nothing' });
    await row.workload('StatefulSet', app, { volumes: [{ driver: safe }] });
  },
  run: async (row) => {
    row.machine.powerOff();
    await row.terminating(app);
    await row.world.until('it to be told as stuck', () => row.stuck(app));
    assert.ok(row.left(app));
    assert.ok(!row.taints().includes(QUARANTINE_KEY));
    await row.world.runOperator('on');
    await row.gone(app);
    await row.replaced(app);
    check.recordedFirst(row, app, 'StorageSafeDetach');
    check.inOrder(row, app, safe);
    await row.world.observed();
    check.neverAttachedAgain(row, app);
    await row.world.runOperator('off');
    row.machine.powerOn();
    await row.world.until(`${row.name} to serve`, () => row.ready() === 'True' && row.taints().length === 0);
  },
};
