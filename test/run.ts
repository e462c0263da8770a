/**
 * Runs the tests, tier by tier: `node test/run.ts [--repeat N] [tier…]`.
 *
 * A tier that this machine cannot run is skipped with one loud line and counted; with CI=true that is a failure. A tier
 * in which no test ran is a failure too: a pattern that matches nothing must not look like success. What failed is said
 * once more at the end, with why, so that nobody has to look for it; the last line is `N passed, N failed, N skipped`.
 *
 * Tiers are in lanes, which run side by side: some wait most of their time, and virtual time can stand back for what
 * keeps real time. A lane that is not the main one prints when a tier of it is over.
 */
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { ensureControlPlane, ensureHelm, SECOND_VERSION } from '../control-plane/build.ts';
import { ensurePackages } from './support/debian.ts';
import { ensurePromtool } from './alerts/promtool.ts';
import { ensureDeviceEndpoints } from './devices/needs.ts';
import { ensureRealNodes } from './support/real-node/needs.ts';
import { FilesUnderWay } from './support/files-under-way.ts';

interface Tier {
  name: string;
  files: string[];
  /** Throws, with one line why, where the machine cannot run it. */
  setUp?: () => Promise<unknown>;
  concurrency: number;
  /** Runs after those of its lane, beside the other lanes; the main one if not given. */
  lane?: 'silence' | 'waiting' | 'virtual' | 'alone';
  /** Runs where it is named, and not with all the others: it takes minutes for what others show in little. */
  isLong?: true;
}

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

/** What is compiled once need not be compiled by each of hundreds of processes. It goes with `make clean`. */
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '..', 'node_modules', '.cache', 'compiled');

const slow = ['test/control-plane/silence.test.ts'];
/** Dozens of behaviours and scenarios side by side: they hold on a busy machine, but would make it one for the others. */
const crowded = ['test/control-plane/controllers.test.ts', 'test/control-plane/random-faults.test.ts'];
const controlPlane = globSync('test/control-plane/**/*.test.ts').filter(
  (file) => ![...slow, ...crowded].includes(file),
);
/** Those that take longest begin first, so that no core waits for the other at the end. */
const longest = ['test/swarm/swarm.test.ts', 'test/mutants/mutants.test.ts'];
const simulation = globSync('test/{simulation,swarm,twins,mutants}/**/*.test.ts').sort(
  (a, b) => Number(longest.includes(b)) - Number(longest.includes(a)),
);
const beforeTests = ['untracked-promises', 'deadline'].flatMap((name) => [
  '--import',
  new URL(`support/${name}.ts`, import.meta.url).href,
]);
/** Of one file, far beyond what the longest takes on two busy cores. */
const FILE_LIMIT_MS = 25 * 60_000;
process.env['FENCELINE_FILE_LIMIT_MS'] ??= String(FILE_LIMIT_MS);
/** Sees to it that its process gets what others leave. */
const standBack = ['--import', new URL('support/stand-back.ts', import.meta.url).href];

const tiers: Tier[] = [
  { name: 'silence', files: slow, setUp: () => ensureControlPlane(), concurrency: 1, lane: 'silence' },
  { name: 'check', files: globSync('test/{check,tidy,docs}/**/*.test.ts'), concurrency: 1 },
  { name: 'unit', files: globSync('{src/**,control-plane}/*.test.ts'), concurrency: availableParallelism() },
  { name: 'contract', files: globSync('test/contract/**/*.test.ts'), concurrency: availableParallelism() },
  {
    name: 'simulation',
    files: simulation,
    concurrency: availableParallelism(),
    lane: 'virtual',
  },
  { name: 'console', files: globSync('test/console/**/*.test.ts'), concurrency: 1 },
  {
    name: 'browser',
    files: globSync('test/browser/**/*.test.ts'),
    setUp: () => ensurePackages('a browser', [{ name: 'chromium', file: '/usr/bin/chromium' }]),
    concurrency: 1,
    lane: 'waiting',
  },
  {
    name: 'alerts',
    files: globSync('test/alerts/**/*.test.ts'),
    setUp: () => ensurePromtool(),
    concurrency: 1,
    lane: 'waiting',
  },
  {
    name: 'devices',
    files: globSync('test/devices/**/*.test.ts'),
    setUp: () => ensureDeviceEndpoints(),
    concurrency: 3,
    lane: 'waiting',
  },
  { name: 'control-plane', files: controlPlane, setUp: () => ensureControlPlane(), concurrency: 3 },
  {
    name: 'release',
    files: globSync('test/release/**/*.test.ts'),
    setUp: () => ensureControlPlane(process.env['FENCELINE_KUBERNETES']),
    concurrency: 1,
    lane: 'waiting',
  },
  {
    name: 'skew',
    files: globSync('test/skew/**/*.test.ts'),
    setUp: () => ensureControlPlane(SECOND_VERSION),
    concurrency: 1,
    lane: 'waiting',
  },
  // helm may have to be built first, which takes both cores for minutes: nothing that keeps real time runs beside it.
  {
    name: 'chart',
    files: globSync('test/chart/**/*.test.ts'),
    setUp: async () => [await ensureControlPlane(), await ensureHelm()],
    concurrency: 2,
    lane: 'alone',
  },
  // Two clusters are compared by what happens within seconds: nothing else runs beside them.
  { name: 'controllers', files: crowded, setUp: () => ensureControlPlane(), concurrency: 2, lane: 'alone' },
  // Real kubelets keep real time: nor beside them.
  {
    name: 'nodes',
    files: globSync('test/nodes/**/*.test.ts'),
    setUp: () => ensureRealNodes(),
    concurrency: 1,
    lane: 'alone',
  },
  {
    name: 'storms',
    files: globSync('test/storms/**/*.test.ts'),
    setUp: () => ensureControlPlane(),
    concurrency: 1,
    lane: 'alone',
    isLong: true,
  },
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { repeat: { type: 'string', default: '1' } },
});
const unknown = positionals.filter((name) => tiers.every((tier) => tier.name !== name));
if (unknown.length > 0) {
  console.error(`no tier ${unknown.join(', ')}; there are ${tiers.map((tier) => tier.name).join(', ')}`);
  process.exit(2);
}
const chosen = tiers.filter(({ name, isLong }) =>
  positionals.length === 0 ? isLong !== true : positionals.includes(name),
);
const repeat = Number(values.repeat);

const underWay = new FilesUnderWay(FILE_LIMIT_MS + 60_000, (late) => {
  console.log(`\n!!!! ${late}`);
  process.exit(1);
});
// Whoever is told to end, by a limit of his own machine, says what he was waiting for.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    console.log(`\n!!!! ended by ${signal} while these were under way: ${underWay.describe()}`);
    process.exit(1);
  });
}

const total: Count = { passed: 0, failed: 0, skipped: 0 };
const times: string[] = [];
const failures: string[] = [];
const leftovers: string[] = [];
for (let round = 1; round <= repeat; round += 1) {
  if (repeat > 1) console.log(`\n== round ${round} of ${repeat}`);
  const { alone = [], ...beside } = Object.groupBy(chosen, ({ lane = 'main' }) => lane);
  await Promise.all(Object.values(beside).map((lane = []) => inTurn(lane)));
  await inTurn(alone);
}
console.log(`\n== what took longest\n${underWay.slowest(25).join('\n')}\n\n${times.join('\n')}`);
if (leftovers.length > 0) console.log(`\n== what did not end\n${leftovers.join('\n')}`);
if (failures.length > 0) console.log(`\n== what failed\n${failures.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed === 0 ? 0 : 1);

async function inTurn(lane: readonly Tier[]): Promise<void> {
  for (const tier of lane) await account(tier);
}

/** Whoever runs by itself prints as it goes. */
function isQuiet({ lane }: Tier): boolean {
  return lane !== undefined && lane !== 'alone' && chosen.length > 1;
}

async function account(tier: Tier): Promise<void> {
  const startedAt = performance.now();
  const count = await runTier(tier);
  for (const key of ['passed', 'failed', 'skipped'] as const) total[key] += count[key];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const line = `tier ${tier.name}: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped in ${seconds} s`;
  times.push(line);
  console.log(`== ${line}`);
}

async function runTier(tier: Tier): Promise<Count> {
  const needs = `what tier ${tier.name} needs`;
  try {
    underWay.begin(needs, 2 * FILE_LIMIT_MS);
    await tier.setUp?.();
  } catch (error) {
    const required = process.env['CI'] === 'true';
    const reason = error instanceof Error ? error.message : String(error);
    console.log(`\n!!!! TIER ${tier.name} ${required ? 'CANNOT RUN, AND CI REQUIRES IT' : 'IS SKIPPED'}: ${reason}\n`);
    return { passed: 0, failed: required ? 1 : 0, skipped: required ? 0 : 1 };
  } finally {
    underWay.end(needs);
  }
  const count = await runFiles(tier);
  if (count.passed + count.failed === 0) {
    console.log(`\n!!!! TIER ${tier.name}: NO TEST RAN\n`);
    count.failed += 1;
  }
  return count;
}

async function runFiles(tier: Tier): Promise<Count> {
  const count: Count = { passed: 0, failed: 0, skipped: 0 };
  const execArgv = [...beforeTests, ...(tier.lane === 'virtual' && isQuiet(tier) ? standBack : [])];
  const stream = run({ files: tier.files, concurrency: tier.concurrency, timeout: FILE_LIMIT_MS, execArgv });
  underWay.follow(stream);
  stream.on('test:pass', (event) => {
    if (event.details.type === 'suite') return;
    if (event.skip !== undefined || event.todo !== undefined) count.skipped += 1;
    else count.passed += 1;
  });
  stream.on('test:fail', (event) => {
    if (event.details.type === 'suite') return;
    count.failed += 1;
    failures.push(`${event.name}\n    ${briefly(event.details.error)}`);
  });
  stream.on('test:stderr', ({ message }) => {
    if (message.startsWith('!!!! ')) leftovers.push(message.trimEnd());
  });
  const output: string[] = [];
  for await (const text of stream.compose(new spec()) as AsyncIterable<Buffer>) {
    if (isQuiet(tier)) output.push(text.toString());
    else process.stdout.write(text);
  }
  if (isQuiet(tier)) process.stdout.write(`\n== output of tier ${tier.name}\n${output.join('')}`);
  return count;
}

/** The cause of it, without where it was thrown. */
function briefly(error: Error): string {
  const { message } = error.cause instanceof Error ? error.cause : error;
  return message.split('\n').slice(0, 20).join('\n    ').slice(0, 1500);
}
