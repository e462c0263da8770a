/** How rows come to stand on their cluster, with the operator beside them. */
import { ensureFenceAgents } from '../devices/needs.ts';
import type { RowSpec } from './row.ts';
import { Row } from './row.ts';
import type { ReleaseWorld } from './world.ts';

/** Undefined: there are fence agents. In CI there have to be. */
export async function whyNoAgents(): Promise<string | undefined> {
  try {
    await ensureFenceAgents();
    return undefined;
  } catch (error) {
    if (process.env['CI'] === 'true') throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

/** Each with its workload, policy and devices; then the operator begins. */
export async function setUp(world: ReleaseWorld, specs: readonly RowSpec[]): Promise<Map<string, Row>> {
  const rows = await Promise.all(
    specs.map(async ({ name, prepare }) => {
      const row = new Row(world, name);
      await row.namespace();
      await prepare(row);
      await row.settle();
      return [name, row] as const;
    }),
  );
  await world.joinSpares();
  await world.runOperator('off');
  return new Map(rows);
}
