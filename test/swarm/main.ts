/**
 * `make swarm SEEDS=n [FROM=k]`: so many random clusters, one after the other, under every checker. Prints what each seed broke,
 * shrunk, with the line that runs it again, and in the end how often each fault met what.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Coverage } from './coverage.ts';
import { yamlOf } from './document.ts';
import { scenarioOf } from './record.ts';
import { judge, kindsOf } from './run.ts';
import { shrink } from './shrink.ts';
import { wantedOf } from './wanted.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '100' },
    size: { type: 'string', default: 'small' },
    'no-shrink': { type: 'boolean', default: false },
    output: { type: 'string', short: 'o' },
    keep: { type: 'string', default: 'logs/swarm' },
  },
});
const wanted = wantedOf(values);
if (typeof wanted === 'string') {
  console.error(wanted);
  process.exit(2);
}
const { from, size } = wanted;
const to = from + wanted.seeds - 1;
const coverage = new Coverage();
const found: { seed: number; invariants: string[]; detail: string; file: string }[] = [];
const startedAt = performance.now();
for (let seed = from; seed <= to; seed += 1) await one(seed);
const wallMs = Math.round(performance.now() - startedAt);
if (values.output === 'json') {
  const counts = Object.fromEntries(coverage.counts);
  console.log(JSON.stringify({ from, to, size, found, coverage: counts, never: coverage.never(), wallMs }));
} else {
  console.log(`\n${coverage.table()}`);
  console.log(`seeds ${from} to ${to}, ${size}: ${found.length} broke something, in ${(wallMs / 1000).toFixed(1)} s`);
}
process.exitCode = found.length === 0 ? 0 : 1;

async function one(seed: number): Promise<void> {
  const document = await scenarioOf(size, seed);
  const { broken } = await judge(document, { coverage });
  const [first] = broken;
  if (first === undefined) return;
  const broke = first.invariant;
  const breaks = async (candidate: typeof document): Promise<boolean> =>
    judge(candidate).then(
      (outcome) => kindsOf(outcome.broken).includes(broke),
      // What cannot be read or applied any more is no smaller scenario.
      () => false,
    );
  const small = values['no-shrink'] ? document : (await shrink(document, breaks)).document;
  const again = `make swarm FROM=${seed} SEEDS=1${size === 'small' ? '' : ` SIZE=${size}`}`;
  mkdirSync(values.keep, { recursive: true });
  const file = join(values.keep, `${document.metadata.name}.yaml`);
  writeFileSync(file, yamlOf(small, [`${broke}: ${first.detail}`, again]));
  found.push({ seed, invariants: kindsOf(broken), detail: first.detail, file });
  if (values.output !== 'json') {
    console.log(`✗ seed ${seed}: ${kindsOf(broken).join(', ')} broken: ${first.detail}\n    ${again}\n    ${file}`);
  }
}
