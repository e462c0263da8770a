/**
 * Real machines fail and come back, again and again, at random: `node test/nodes/soak.ts [--rounds N] [--minutes M] [--seed S]
 * [--only PATTERN] [--virtual]`. With the last one its workers are virtual machines.
 *
 * In every round one fault strikes the node of a database. Never may two write to a volume, no acknowledged line may be lost, the
 * database has to run again and every node has to be back in service; where nothing was wrong, nobody may be fenced. The last round
 * forces a deletion during a partition instead: if that has no two writers in the storage server's log, the whole run is void.
 * Ends with a table for docs/track-record.md; the exit code is 0 if all of it held.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureRealNodes, ensureVirtualMachines } from '../support/real-node/needs.ts';
import { directDriver, diskDriver } from '../support/real-node/cluster.ts';
import { Database, type DatabasePod } from '../support/real-node/database.ts';
import { Machines } from '../support/real-node/machines.ts';
import { workers as pool } from '../support/real-node/product.ts';
import { waitFor } from '../support/wait.ts';
import { Random } from '../../src/world/random.ts';
import { faults, type Fault, type Scene } from './faults.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    minutes: { type: 'string', default: '600' },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
    virtual: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
/** No round begins after so long. */
const untilMs = Date.now() + Number(values.minutes) * 60_000;
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const workers = ['worker-1', 'worker-2', 'worker-3'];
const operators = ['infra-1', 'infra-2'];
/** How long a round may take to come to its end, on a machine that is busy with other things. */
const PATIENCE_MS = 240_000;

interface Round {
  fault: string;
  driver: string;
  /** Where it moved: until its old pod was let go, by the record's whole seconds, and until the next node opened its volume. */
  releasedAfterS?: number;
  openedAfterS?: number;
  /** Until it wrote again: on another node, or at all. */
  writesAfterS: number;
  backAfterS: number;
  cuts: number;
  problems: string[];
}

async function play(
  machines: Machines,
  databases: readonly Database[],
  fault: Fault,
  random: () => number,
): Promise<Round> {
  const { cluster } = machines;
  const database = databases[Math.floor(random() * databases.length)];
  if (database === undefined) throw new Error('there is no database');
  for (const one of databases) await one.untilWriting(undefined, PATIENCE_MS);
  const pod = await database.untilWriting(undefined, PATIENCE_MS);
  const other = workers.find((name) => name !== pod.node) ?? '';
  const wait = (from: number, to: number): Promise<void> => delay(1000 * (from + random() * (to - from)));
  const scene: Scene = { machines, pod, node: pod.node, random, other, operators, wait };
  const before = cutsOf(machines);
  await wait(0, 3);
  const startedAt = Date.now();
  const since = (): number => Math.round((Date.now() - startedAt) / 100) / 10;
  const round = { fault: fault.name, driver: database.name, writesAfterS: 0, backAfterS: 0, cuts: 0 };
  const problems: string[] = [];
  try {
    await fault.strike(scene);
    if (fault.outcome === 'moves') {
      await database.untilWriting(pod, fault.patienceMs ?? PATIENCE_MS);
      round.writesAfterS = since();
      Object.assign(round, await stages(scene, database, startedAt));
      await fault.mend?.(scene);
    } else {
      await fault.mend?.(scene);
      await writesAgain(machines, database);
      round.writesAfterS = since();
    }
    for (const one of databases) await one.untilWriting(undefined, PATIENCE_MS);
    for (const name of [...workers, ...operators]) await machines.inService(name, PATIENCE_MS);
    round.backAfterS = since();
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  round.cuts = cutsOf(machines) - before;
  if (fault.outcome === 'stays' && round.cuts > 0) problems.push(`${round.cuts} power cuts although nothing was wrong`);
  if (fault.cuts !== undefined && round.cuts !== fault.cuts) problems.push(`${round.cuts} power cuts`);
  for (const two of cluster.storage.ledger.twoWriters()) {
    problems.push(`two writers: ${two.late.connection.from} wrote to ${two.volume} at ${two.late.at.toISOString()}`);
  }
  for (const one of databases) problems.push(...(await one.losses()));
  return { ...round, problems };
}

/** What took how long on the way to another node. */
async function stages({ machines, pod, node }: Scene, { volume }: Database, sinceMs: number): Promise<Partial<Round>> {
  const seconds = (atMs: number): number => Math.round((atMs - sinceMs) / 100) / 10;
  const { releases = [] } = (await machines.product.record(node))?.status ?? {};
  const release = releases.find(({ pods }) => pods.some(({ uid }) => uid === pod.uid));
  const { connections } = machines.cluster.storage.ledger;
  const opened = connections.findLast((one) => one.volume === volume && one.openedAt.getTime() > sinceMs);
  return {
    ...(release?.podsGoneAt !== undefined && { releasedAfterS: seconds(Date.parse(release.podsGoneAt)) }),
    ...(opened !== undefined && { openedAfterS: seconds(opened.openedAt.getTime()) }),
  };
}

function cutsOf(machines: Machines): number {
  return workers.reduce((sum, name) => sum + machines.product.power(name).cuts, 0);
}

/** Wherever it runs by now. */
async function writesAgain({ cluster }: Machines, database: Database): Promise<void> {
  const sinceMs = Date.now();
  await waitFor(
    `${database.name} to write again`,
    () =>
      cluster.storage.ledger.writes.some(
        ({ connection, at }) => connection.volume === database.volume && at.getTime() > sinceMs,
      ),
    { timeoutMs: PATIENCE_MS },
  );
}

/** The same partition, and nothing but a forced deletion. */
async function forced({ cluster, product }: Machines): Promise<boolean> {
  await product.type('kubectl scale deployment fenceline -n fenceline --replicas=0');
  const database = await Database.install(cluster, 'forced', { driver: directDriver, nodeSelector: pool });
  const first: DatabasePod = await database.untilWriting();
  await cluster.node(first.node).partition();
  await product.type(`kubectl cordon ${first.node}`);
  await product.type('kubectl delete pod forced-0 --force --grace-period=0');
  await database.untilWriting(first);
  const isTwo = (): boolean => cluster.storage.ledger.twoWriters().some(({ volume }) => volume === database.volume);
  return waitFor('two writers', isTwo, { timeoutMs: 30_000 }).catch(() => false);
}

function table(done: readonly Round[]): string {
  const range = (numbers: readonly number[]): string => {
    const sorted = numbers.toSorted((a, b) => a - b);
    return `${sorted[0]} / ${sorted[Math.floor(sorted.length / 2)]} / ${sorted.at(-1)}`;
  };
  const rows = [...Map.groupBy(done, ({ fault }) => fault)].map(([fault, own]) => {
    const well = own.filter(({ problems }) => problems.length === 0);
    const times =
      well.length === 0
        ? '– | –'
        : [range(well.map(({ writesAfterS }) => writesAfterS)), range(well.map(({ backAfterS }) => backAfterS))].join(
            ' | ',
          );
    return `| ${fault} | ${own.length} | ${well.length} | ${own.reduce((sum, { cuts }) => sum + cuts, 0)} | ${times} |`;
  });
  return [
    '| fault | rounds | held | cuts | s until it wrote again: least / median / most | s until all was back |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

async function soak(): Promise<boolean> {
  const policy = {
    storm: { maxUnresponsive: '60%', maxConcurrent: 2 },
    fence: {
      isolateAfter: '0s',
      powerManagementAfter: '5s',
      bootTimeout: '2m',
      kdump: { enabled: true, timeout: '1m' },
    },
  };
  const machines = await Machines.start({
    name: 'soak',
    workers,
    operators,
    policy,
    virtual: values.virtual ? workers : [],
  });
  const done: Round[] = [];
  let held = false;
  let reviving = Promise.resolve();
  const reviver = setInterval(() => {
    // While the API server is away it is tried again.
    reviving = reviving.then(() => machines.revive()).catch(() => undefined);
  }, 5000);
  try {
    const databases = [
      await Database.install(machines.cluster, 'disk', { driver: diskDriver, nodeSelector: pool }),
      await Database.install(machines.cluster, 'direct', { driver: directDriver, nodeSelector: pool }),
    ];
    const kind = values.virtual ? 'virtual' : 'namespaces';
    const possible = faults.filter(({ only = kind }) => only === kind);
    const wanted = possible.filter(({ name }) => new RegExp(values.only).test(name));
    const random = new Random(seed).stream('soak');
    // Every fault once before any comes again, each time in another order.
    let bag: Fault[] = [];
    for (let number = 1; number <= rounds && Date.now() < untilMs; number += 1) {
      if (bag.length === 0)
        bag = wanted
          .map((fault) => ({ fault, at: random() }))
          .sort((a, b) => a.at - b.at)
          .map(({ fault }) => fault);
      const fault = bag.pop();
      if (fault === undefined) break;
      const round = await play(machines, databases, fault, random);
      done.push(round);
      console.log(`${new Date().toISOString()} ${number}/${rounds} ${JSON.stringify(round)}`);
      if (round.problems.length > 0) break;
    }
    const isNeeded = await forced(machines);
    if (!isNeeded) console.log('VOID: a forced deletion during a partition has no two writers');
    held = isNeeded && done.every(({ problems }) => problems.length === 0);
    return held;
  } finally {
    clearInterval(reviver);
    await reviving;
    console.log(`\nseed ${seed}, ${done.length} rounds\n\n${table(done)}\n`);
    await machines.stop(!held);
  }
}

try {
  await ensureRealNodes();
  if (values.virtual) await ensureVirtualMachines();
} catch (error) {
  const required = process.env['CI'] === 'true';
  console.log(
    `\n!!!! THE SOAK OF REAL MACHINES ${required ? 'CANNOT RUN, AND CI REQUIRES IT' : 'IS SKIPPED'}: ${String(error)}\n`,
  );
  process.exit(required ? 1 : 0);
}
process.exit((await soak()) ? 0 : 1);
