/**
 * How long a pod is away once it may go: with the operator, and as an administrator does it by hand. Stock controllers,
 * simulated machines, one after the other on the same cluster. The clock starts when the rule is satisfied, or when the
 * administrator presses return; it stops when the replacement is Ready.
 */
import { FORCE_EVICTION_KEY, OUT_OF_SERVICE_KEY } from '../../src/api/release-view.ts';
import { remedyPolicies } from '../../src/kube/resources.ts';
import { isReady, Row } from '../../test/release/row.ts';
import { ReleaseWorld } from '../../test/release/world.ts';
import { say } from './report.ts';

const app = 'db';
const outOfService = `${OUT_OF_SERVICE_KEY}=nodeshutdown:NoExecute`;

interface Method {
  name: string;
  title: string;
  /** Kubernetes waits six minutes: all at the same time, and fewer. */
  slow?: boolean;
  /** Answers when the clock starts. */
  release: (row: Row) => Promise<number>;
}

export const methods: readonly Method[] = [
  {
    name: 'policy',
    title: 'Fenceline, allowed by policy',
    release: async (row) => {
      const ref = { resource: remedyPolicies, name: row.name };
      const read = await row.world.client.get(ref);
      if (!read.ok) throw new Error(read.error.message);
      const value = 'delete-statefulset-pod';
      const operations = [{ op: 'replace' as const, path: '/spec/release/podDeletion', value }];
      const patched = await row.world.client.patch(ref, { uid: read.value.metadata.uid ?? '' }, operations);
      if (!patched.ok) throw new Error(patched.error.message);
      return performance.now();
    },
  },
  {
    name: 'assertion',
    title: 'Fenceline, allowed by a taint',
    release: async (row) => {
      await row.taint({ key: FORCE_EVICTION_KEY, effect: 'NoExecute' });
      const tainted = row.nodeMoments().find(({ object }) => {
        return object.spec?.taints?.some(({ key }) => key === FORCE_EVICTION_KEY);
      });
      return tainted?.atMs ?? performance.now();
    },
  },
  {
    name: 'both',
    title: 'by hand: out-of-service taint, then kubectl delete --force',
    release: async (row) => {
      const startedAt = performance.now();
      await kubectl(row, ['taint', 'node', row.name, outOfService]);
      await forceDelete(row);
      return startedAt;
    },
  },
  {
    name: 'taint',
    title: 'by hand: out-of-service taint alone',
    release: async (row) => {
      const startedAt = performance.now();
      await kubectl(row, ['taint', 'node', row.name, outOfService]);
      return startedAt;
    },
  },
  {
    name: 'force',
    title: 'by hand: kubectl delete --force alone',
    slow: true,
    release: async (row) => {
      const startedAt = performance.now();
      await forceDelete(row);
      return startedAt;
    },
  },
];

/** Milliseconds by the name of the method. */
export async function recovery(rounds: number, withSlow: boolean): Promise<Map<string, number[]>> {
  const chosen = methods.filter(({ slow }) => withSlow || !slow);
  const plans = chosen.flatMap((method) =>
    Array.from({ length: method.slow ? Math.min(3, rounds) : rounds }, (_, round) => ({
      method,
      round,
      row: `${method.name}-${round}`,
    })),
  );
  const world = await ReleaseWorld.start(plans.map(({ row }) => row));
  try {
    const rows = new Map(plans.map(({ row }) => [row, new Row(world, row)]));
    await Promise.all(plans.map(({ row, method }) => prepare(rows.get(row), method)));
    await world.joinSpares();
    await world.runOperator('on');
    for (const row of rows.values()) row.machine.powerOff();
    for (const row of rows.values()) await timeIsUp(row);
    say(`${rows.size} nodes are down, their pods stuck`);
    const figures = new Map<string, number[]>(chosen.map(({ name }) => [name, []]));
    const measure = async ({ row, method }: (typeof plans)[number]): Promise<void> => {
      const one = rows.get(row);
      if (one === undefined) return;
      const startedAt = await method.release(one);
      const ms = (await readyAt(one)) - startedAt;
      say(`${method.title}: ${Math.round(ms)} ms`);
      figures.get(method.name)?.push(ms);
    };
    const slow = Promise.all(plans.filter(({ method }) => method.slow).map(measure));
    const others = plans.filter(({ method }) => !method.slow).toSorted((a, b) => a.round - b.round);
    for (const plan of others) await measure(plan);
    await slow;
    return figures;
  } finally {
    await world.stop({ keepLogs: false });
  }
}

async function prepare(row: Row | undefined, { name }: Method): Promise<void> {
  if (row === undefined) return;
  await row.namespace();
  if (name === 'policy') await row.policy({ podDeletion: 'do-nothing' });
  await row.workload('StatefulSet', app, { volumes: [{}] });
  await row.settle();
}

async function timeIsUp(row: Row): Promise<void> {
  const pod = await row.terminating(app);
  const untilMs = Date.parse(pod.metadata.deletionTimestamp ?? '') + 2000;
  await row.world.until('its time to be up', () => Date.now() > untilMs);
}

async function readyAt(row: Row): Promise<number> {
  const isNew = ({ metadata }: { metadata: { namespace?: string; uid?: string } }): boolean =>
    metadata.namespace === row.name && metadata.uid !== row.oldUid(app);
  const ready = await row.world.until(
    'the replacement to be Ready',
    () => row.world.history.of('pods', isNew).find(({ object }) => isReady(object)),
    600_000,
  );
  return ready.atMs;
}

async function forceDelete(row: Row): Promise<void> {
  await kubectl(row, ['delete', 'pod', `${app}-0`, '-n', row.name, '--force', '--grace-period=0']);
}

async function kubectl(row: Row, args: string[]): Promise<void> {
  const done = await row.world.controlPlane.kubectl(args);
  if (done.code !== 0) throw new Error(done.stderr);
}
