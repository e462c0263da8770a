/**
 * The book of what the swarm has run: `node test/swarm/record.ts --size small|large|aimed|calm --seeds N` goes on where the last range
 * of this edition ended, and adds one line to record.json. An edition is what the generators make of the first seeds: when they
 * change, the seeds are other scenarios, and counting begins anew.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { aimed } from './aim.ts';
import { cutsIn, generateCalm } from './calm.ts';
import type { ScenarioDocument } from './document.ts';
import { generate } from './generate.ts';
import { judge } from './run.ts';

export const kinds = ['small', 'large', 'aimed', 'calm'] as const;
export type Kind = (typeof kinds)[number];

export interface Range {
  kind: Kind;
  edition: string;
  from: number;
  to: number;
  /** `seed: invariant`, of those that broke something. */
  broken: string[];
}

const file = join(import.meta.dirname, 'record.json');
const firstSeeds = 20;

export async function scenarioOf(kind: Kind, seed: number): Promise<ScenarioDocument> {
  return kind === 'aimed' ? aimed(seed) : made(kind, seed);
}

/** What is aimed begins as a small one; when its fault strikes depends on the product as well. */
function made(kind: Kind, seed: number): ScenarioDocument {
  if (kind === 'calm') return generateCalm(seed);
  return generate(seed, kind === 'large' ? 'large' : 'small');
}

export function editionOf(kind: Kind): string {
  const hash = createHash('sha256');
  for (let seed = 1; seed <= firstSeeds; seed += 1) hash.update(JSON.stringify(made(kind, seed)));
  return hash.digest('hex').slice(0, 8);
}

export function readRecord(): Range[] {
  return JSON.parse(readFileSync(file, 'utf8')) as Range[];
}

/** The first seed of this edition that is not in the book. */
export function nextOf(ranges: readonly Range[], kind: Kind, edition: string): number {
  return (
    Math.max(0, ...ranges.filter((range) => range.kind === kind && range.edition === edition).map(({ to }) => to)) + 1
  );
}

export async function brokenBy(kind: Kind, seed: number): Promise<string[]> {
  const { broken, report } = await judge(await scenarioOf(kind, seed));
  const cuts = kind === 'calm' ? cutsIn(report) : [];
  return [...new Set([...broken.map(({ invariant }) => invariant), ...(cuts.length > 0 ? ['power cut'] : [])])];
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { size: { type: 'string', default: 'small' }, seeds: { type: 'string', default: '500' } },
  });
  const kind = values.size as Kind;
  const edition = editionOf(kind);
  const from = nextOf(readRecord(), kind, edition);
  const to = from + Number(values.seeds) - 1;
  const broken: string[] = [];
  for (let seed = from; seed <= to; seed += 1) {
    for (const invariant of await brokenBy(kind, seed)) {
      broken.push(`${seed}: ${invariant}`);
      console.log(`✗ ${kind} ${seed}: ${invariant}`);
    }
  }
  const ranges = [...readRecord(), { kind, edition, from, to, broken }];
  writeFileSync(file, `[\n${ranges.map((range) => `  ${JSON.stringify(range)}`).join(',\n')}\n]\n`);
  console.log(`${kind} seeds ${from} to ${to}: ${broken.length} broken`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}
