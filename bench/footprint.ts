/**
 * What single libraries weigh in a process of their own, before it does anything: the reason why credentials and the
 * client are written by hand, and why the command is bundled.
 *
 *     node bench/footprint.ts [--rounds 3]
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { bundle, nodeFlags } from '../build/bundle.ts';
import { bundleChild, ensureBundledPeer, ensureNpmPeer } from './lib/packages.ts';
import { Child, memoryOf } from './lib/process.ts';
import { keep, machine, resultsDir, root, say, type Report } from './lib/report.ts';
import { markdownTable, percentile, ratio } from './lib/table.ts';

/** What each of the project's dependencies is used for, at its smallest. */
const dependencies: Record<string, string> = {
  pino: `import { pino } from 'pino'; pino().info('hello');`,
  zod: `import { z } from 'zod'; z.object({ a: z.string() }).parse({ a: 'b' });`,
  yaml: `import { parse } from 'yaml'; parse('a: b');`,
  commander: `import { Command } from 'commander'; new Command('a').option('--b');`,
};

const kubeconfig = `apiVersion: v1
kind: Config
current-context: bench
contexts: [{ name: bench, context: { cluster: bench, user: bench } }]
clusters: [{ name: bench, cluster: { server: 'https://127.0.0.1:1' } }]
users: [{ name: bench, user: { token: none } }]
`;

interface Weighed {
  name: string;
  args: string[];
}

interface Weight {
  name: string;
  rssMb: number;
  readyMs: number;
}

export async function footprintBench(rounds: number): Promise<Report> {
  const dir = await mkdtemp(join(tmpdir(), 'fenceline-bench-'));
  try {
    const subjects = await subjectsIn(dir);
    const all = new Map<string, Weight[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const subject of subjects) all.set(subject.name, [...(all.get(subject.name) ?? []), await weigh(subject)]);
      say(`footprint: round ${round + 1} of ${rounds}`);
    }
    const weights = [...all].map(([name, several]): Weight => {
      const median = (pick: (one: Weight) => number): number =>
        percentile(
          several.map(pick).sort((a, b) => a - b),
          0.5,
        );
      return { name, rssMb: median(({ rssMb }) => rssMb), readyMs: median(({ readyMs }) => readyMs) };
    });
    return await keep({ name: 'footprint', text: render(weights) }, weights);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function subjectsIn(dir: string): Promise<Weighed[]> {
  const config = join(dir, 'kubeconfig.yaml');
  await writeFile(config, kubeconfig);
  // Inside the project, so that packages are found.
  const sources = join(resultsDir, 'footprint');
  await mkdir(sources, { recursive: true });
  const write = async (name: string, code: string): Promise<string> => {
    const file = join(sources, `${name}.mjs`);
    await writeFile(file, `${code}\nconsole.log('ready');\nsetInterval(() => {}, 60_000);\n`);
    return file;
  };
  const subjects: Weighed[] = [{ name: 'Node alone', args: [await write('nothing', '')] }];
  const ourClient = join(import.meta.dirname, 'children', 'our-client.ts');
  const clientNode = await ensureNpmPeer('client-node');
  subjects.push(
    { name: 'our client, bundled', args: [await bundleChild(ourClient), config] },
    { name: 'our client, from source', args: ['--disable-warning=ExperimentalWarning', ourClient, config] },
    {
      name: 'client-node, KubeConfig only, bundled',
      args: [await ensureBundledPeer('client-node', 'kubeconfig.mjs'), config],
    },
    { name: 'client-node, imported', args: [join(clientNode, 'kubeconfig.mjs'), config] },
    { name: 'undici, bundled', args: [await ensureBundledPeer('undici', 'pool.mjs')] },
    { name: 'undici, imported', args: [join(await ensureNpmPeer('undici'), 'pool.mjs')] },
  );
  for (const [name, code] of Object.entries(dependencies)) {
    subjects.push({ name: `${name}, bundled`, args: [await bundleChild(await write(name, code))] });
  }
  const run = ['run', `--kubeconfig=${config}`, '--bind-address=127.0.0.1:0', '--leader-elect-namespace=default'];
  const operator = await bundle(join(resultsDir, 'bundle'));
  subjects.push(
    { name: 'the operator, bundled, with its flags', args: [...nodeFlags, operator, ...run] },
    { name: 'the operator, bundled', args: [operator, ...run] },
    {
      name: 'the operator, from source',
      args: ['--disable-warning=ExperimentalWarning', join(root, 'src', 'cli', 'main.ts'), ...run],
    },
  );
  return subjects;
}

/** The operator finds no server: it is loaded, and tries again and again. */
async function weigh(subject: Weighed): Promise<Weight> {
  await using child = new Child(subject.name, { file: process.execPath, args: subject.args });
  await child.line('ready', (line) => line.startsWith('ready') || line.includes('"started"') || undefined, 60_000);
  const readyMs = performance.now() - child.startedAt;
  await delay(1500);
  return { name: subject.name, rssMb: memoryOf(child.pid).rssMb, readyMs };
}

function render(weights: Weight[]): string {
  const [alone] = weights;
  return markdownTable(
    ['process', 'MB', 'over Node alone', '', 'ready after ms'],
    weights.map(({ name, rssMb, readyMs }) => [
      name,
      rssMb.toFixed(0),
      `+${Math.max(0, rssMb - (alone?.rssMb ?? 0)).toFixed(0)}`,
      ratio(rssMb, alone?.rssMb ?? 0),
      readyMs.toFixed(0),
    ]),
  );
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: 'string' } } });
  console.log(machine());
  console.log(`\n${(await footprintBench(Number(values.rounds ?? '3'))).text}`);
}
