/**
 * Faults that are aimed: a seed is run once to see through which states its fences, releases and returns go, and a fault, or what a
 * person does, is put into the very moment of one of them. Most of these states last for less than a second, so that chance alone
 * hardly ever meets them.
 */
import { Random } from '../../src/world/random.ts';
import type { Invariant } from '../../src/scenario/checkers/checker.ts';
import type { StoredFence } from '../../src/scenario/cluster-state.ts';
import { Chance } from '../twins/chance.ts';
import { situationsOf } from './coverage.ts';
import type { Happening, ScenarioDocument } from './document.ts';
import type { Stage } from './faults.ts';
import { complication } from './faults.ts';
import { generate, quietAt } from './generate.ts';
import { deed } from './people.ts';
import { judge } from './run.ts';

interface Moment {
  atMs: number;
  node: string;
  situation: string;
}

/** How often each state is aimed at within one seed. */
const shots = 2;

export async function aimed(seed: number): Promise<ScenarioDocument> {
  const document = generate(seed);
  const chance = new Chance(new Random(seed).stream('swarm/aim'));
  const moments = await rehearse(document);
  const { cluster, objects, events } = document.spec;
  const { nodes } = cluster;
  const operators = cluster['operators'] === 1 ? 1 : 2;
  const stage: Stage = { chance, nodes, operators, quietAt: quietAt.small };
  const added = chance.some([...Map.groupBy(moments, ({ situation }) => situation).values()], shots).flatMap((same) => {
    const { atMs, node: name } = chance.one(same);
    const node = nodes.find((one) => one.name === name);
    if (node === undefined) return [];
    const at = atMs / 1000;
    const happens = chance.maybe(0.6)
      ? complication(stage, at, node)
      : deed({ chance, nodes, objects, node: name, at });
    return happens.map((event, index) => (index === 0 ? exactly(event, atMs) : event));
  });
  const all = [...events, ...added].toSorted((a, b) => Number.parseFloat(a.at) - Number.parseFloat(b.at));
  const metadata = { name: `swarm-aimed-${seed}` };
  return { ...document, metadata, spec: { ...document.spec, events: all } };
}

function exactly(event: Happening, atMs: number): Happening {
  return { ...event, at: `${atMs / 1000}s` };
}

/** When the record of a node first said what, right after which it is aimed; nothing is aimed at what comes when all is over. */
async function rehearse(document: ScenarioDocument): Promise<Moment[]> {
  const moments: Moment[] = [];
  let [zeroMs, now] = [0, (): number => 0];
  const observer: Invariant = {
    id: 'rehearsal',
    check: ({ state, nowMs }) => {
      now = nowMs;
      const seen = new Set<string>();
      return {
        onStored({ object, type }) {
          if (object.kind !== 'NodeFence' || type === 'DELETED') return;
          const node = /^node-fence-(.*)$/.exec(object.metadata.name)?.[1] ?? '';
          const atMs = Math.floor(nowMs() - zeroMs) + 1;
          if (atMs > (quietAt.small - 5) * 1000) return;
          for (const situation of situationsOf([object as StoredFence])) {
            const key = `${node} ${situation}`;
            if (state.nodes.has(node) && !seen.has(key)) moments.push({ atMs, node, situation });
            seen.add(key);
          }
        },
      };
    },
  };
  const onZero = (): void => void (zeroMs = now());
  await judge(document, { options: { invariants: [observer], onZero } });
  return moments;
}
