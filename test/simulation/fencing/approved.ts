/** A person in a scenario who approves of what is to be done about a node, as `fenceline approve` does it. */
import assert from 'node:assert/strict';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import { fenceOf } from './fenced.ts';

/** At that time after the start of the world; of the incident that the node has then, or of the one that is named. */
export function approval(node: string, atMs: number, incident?: string): NonNullable<RunOptions['onWorld']> {
  return (world, clock) => {
    clock.after(atMs, () => void approve());
    const approve = async (): Promise<void> => {
      const which = incident ?? fenceOf(world, node)?.status.incident?.id ?? '';
      const response = await world.server.transport('a-person').send({
        method: 'PATCH',
        path: `/apis/fenceline.dev/v1alpha1/nodefences/node-fence-${node}/status`,
        purpose: 'call',
        timeoutMs: 10_000,
        headers: { accept: 'application/json', 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({
          status: { approval: { by: 'ann', at: new Date(clock.now()).toISOString(), incident: which } },
        }),
      });
      assert.equal(response.status, 200);
    };
  };
}
