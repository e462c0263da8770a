/**
 * The ConfigMaps of docs/fencing.md on a cluster of their own. An outlet that nobody has drilled has every other node of its
 * cluster waited for (SAF-17), and beside the other rows some node is dead at any time.
 */
import { after, before, test } from 'node:test';
import { ensureFenceAgents } from '../devices/needs.ts';
import { Row } from './row.ts';
import { documentRow } from './rows/fencing.ts';
import { ReleaseWorld } from './world.ts';

const { name, title, prepare, run } = documentRow();
const noAgents = await ensureFenceAgents().then(
  () => undefined,
  (error: unknown) => {
    if (process.env['CI'] === 'true') throw error;
    return String(error);
  },
);

let world: ReleaseWorld | undefined;
let row: Row | undefined;

before(async () => {
  if (noAgents !== undefined) return;
  world = await ReleaseWorld.start([name]);
  row = new Row(world, name);
  await row.namespace();
  await prepare(row);
  await row.settle();
  await world.joinSpares();
  await world.runOperator('off');
  world.beginObservation();
});

after(() => world?.stop({ keepLogs: false }));

test(title, { skip: noAgents ?? false }, () => (row === undefined ? undefined : run(row)));
