/** Remedies that are no fence, on a node whose kubelet goes on: a cordon, a drain, a Job, and the end of the cordon. */
import assert from 'node:assert/strict';
import { jobs } from '../../../src/kube/resources.ts';
import type { KubeObject } from '../../../src/kube/client.ts';
import { REMEDY_NAMESPACE } from '../../../src/api/fence-names.ts';
import * as check from '../checks.ts';
import type { Row, RowSpec } from '../row.ts';
import { plain, spare } from '../world.ts';

const app = 'db';
const trouble = 'DiskBroken';
const name = 'remedied';

interface WireJob extends KubeObject {
  spec: { template: { spec: { containers: { env?: { name: string; value?: string }[] }[] } } };
  status?: { conditions?: { type: string; status: string }[] };
}

async function jobOf(row: Row): Promise<WireJob | undefined> {
  const listed = await row.world.client.list<WireJob>(jobs, { namespace: REMEDY_NAMESPACE });
  if (!listed.ok) throw new Error(listed.error.message);
  const isAbout = ({ spec }: WireJob): boolean =>
    spec.template.spec.containers[0]?.env?.some(({ value }) => value === row.name) === true;
  return listed.value.items.find(isAbout);
}

function isComplete({ status }: WireJob): boolean {
  return status?.conditions?.some((one) => one.type === 'Complete' && one.status === 'True') === true;
}

export const remedyRow: RowSpec = {
  name,
  title:
    '[REM-1, REM-2, REM-3, REM-6] a condition: cordoned, drained by eviction, repaired by a Job elsewhere, let in again',
  prepare: async (row) => {
    const containers = [{ name: 'repair', image: 'example/repair:1' }];
    await row.policy(
      { podDeletion: 'do-nothing' },
      {
        thresholds: [
          {
            condition: { type: trouble, status: 'True', for: '1s' },
            remedies: [
              { name: 'close', period: '1s' },
              { name: 'empty', period: '1s' },
              { name: 'repair', period: '5m' },
            ],
            recovery: [{ name: 'open' }],
          },
        ],
        remedies: [
          { name: 'close', cordon: {} },
          { name: 'empty', drain: {} },
          // Every other node of this cluster is about to fail.
          { name: 'repair', podTemplate: { spec: { containers, nodeSelector: { row: spare } } } },
          { name: 'open', uncordon: {} },
        ],
        storm: { maxUnresponsive: '100%', maxConcurrent: 10 },
      },
    );
    await row.workload('StatefulSet', app, { volumes: [{ driver: plain }] });
  },
  run: async (row) => {
    const kubelet = row.world.fleet.kubelet(row.name);
    kubelet.report(trouble, 'True');
    await row.replaced(app);
    assert.equal(row.node().spec?.unschedulable, true);
    check.oneWriter(row, app);
    const job = await row.world.until('the Job to be complete', async () => {
      const found = await jobOf(row);
      return found !== undefined && isComplete(found) && found;
    });
    assert.match(job.metadata.name, /^fenceline-repair-/);
    kubelet.report(trouble, 'False');
    await row.world.until(`${row.name} to take pods again`, () => row.node().spec?.unschedulable !== true);
    const asked = await row.world.asked();
    assert.ok(check.touches(row, app, asked).every((verb) => verb === 'create eviction'));
    const history = row.fence()?.status.releases ?? [];
    assert.deepEqual(history, [], 'who drains releases nothing');
  },
};
