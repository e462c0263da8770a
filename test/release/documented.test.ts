/**
 * The ConfigMaps of docs/fencing.md on a cluster of their own. An outlet that nobody has drilled has every other node of its
 * cluster waited for (SAF-17), and beside the other rows some node is dead at any time.
 */
import { after, before, test } from 'node:test';
import type { Row } from './row.ts';
import { documentRow } from './rows/fencing.ts';
import { setUp, whyNoAgents } from './set-up.ts';
import { ReleaseWorld } from './world.ts';

const spec = documentRow();
const noAgents = await whyNoAgents();

let world: ReleaseWorld | undefined;
let row: Row | undefined;

before(async () => {
  if (noAgents !== undefined) return;
  world = await ReleaseWorld.start([spec.name]);
  row = (await setUp(world, [spec])).get(spec.name);
  world.beginObservation();
});

after(() => world?.stop({ keepLogs: false }));

test(spec.title, { skip: noAgents ?? false }, () => (row === undefined ? undefined : spec.run(row)));
