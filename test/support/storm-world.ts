/**
 * Many machines that seem to be dead, and some that are: a cluster by zones on the stock control plane, and what was told to whom.
 * With Leases of 20 s if nobody wants others, so that it takes seconds; scenarios/storms has the same in virtual time, and more.
 */
import { nodeFenceName } from '../../src/api/fence-names.ts';
import type { NodeFence } from '../../src/api/node-fence.ts';
import { realClock, sleep } from '../../src/clock.ts';
import { nodes } from '../../src/kube/resources.ts';
import type { FleetNode } from '../../src/world/fleet.ts';
import { isReady } from '../release/row.ts';
import type { OperatorProcess } from './operator-process.ts';
import { PowerWorld } from './power-world.ts';

/** So many machines by zone, `a-1` and so on. */
export type Zones = Readonly<Record<string, number>>;

export function machinesOf(zones: Zones, labels: (name: string) => Record<string, string> = () => ({})): FleetNode[] {
  return Object.entries(zones).flatMap(([zone, count]) =>
    Array.from({ length: count }, (_, index) => {
      const name = `${zone}-${index + 1}`;
      return { name, zone, labels: labels(name) };
    }),
  );
}

export class StormWorld implements AsyncDisposable {
  readonly world: PowerWorld;
  /** A Lease that is renewed four times in its life is late by then. */
  readonly #staleFor: string;
  #operator: OperatorProcess | undefined;
  /** How many requests each device had got when `begin` was called. */
  readonly #heard = new Map<string, number>();

  private constructor(world: PowerWorld, leaseSeconds: number) {
    this.world = world;
    this.#staleFor = `${leaseSeconds * 0.3}s`;
  }

  static async start(name: string, machines: readonly FleetNode[], leaseSeconds = 20): Promise<StormWorld> {
    return new StormWorld(await PowerWorld.start(name, machines, { leaseSeconds }), leaseSeconds);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.world[Symbol.asyncDispose]();
  }

  get operator(): OperatorProcess {
    if (this.#operator === undefined) throw new Error('the operator was not started yet');
    return this.#operator;
  }

  /** In the place of the one before; `port`: where it finds the API server. */
  async run(port?: number): Promise<void> {
    this.#operator = await this.world.runOperator(port, '--lease-stale-for', this.#staleFor);
    await this.allHealthy();
  }

  /** One that gives no time to a machine that may still run. */
  impatient(): Promise<void> {
    return this.world.policy({ isolateAfter: '0s', powerManagementAfter: '0s' }, { staleFor: this.#staleFor });
  }

  /** One that says nothing but a fence and a threshold. */
  patient(): Promise<void> {
    return this.world.policy({}, { staleFor: this.#staleFor });
  }

  allHealthy(): Promise<unknown> {
    const all = `fenceline_nodes{verdict="healthy"} ${this.world.fleet.machines.length}\n`;
    return this.world.until('every node to be healthy', async () =>
      (await this.operator.get('/metrics')).text.includes(all),
    );
  }

  /** Nobody renews for a minute, and then everybody does. */
  async silentForAMinute(): Promise<void> {
    const { operator, world } = this;
    const since = operator.lines.length;
    const all = world.fleet.machines;
    for (const machine of all) machine.partition();
    await operator.said('somebody is silent', ({ verdict }) => verdict === 'suspect', { since, timeoutMs: 60_000 });
    // Nothing happens that could be waited for: this is the minute.
    await sleep(realClock, 60_000);
    for (const machine of all) machine.heal();
    await this.allHealthy();
    await world.allInService();
  }

  /** What was told to whom from now on. */
  begin(): void {
    for (const [node, { requests }] of this.world.bmcs) this.#heard.set(node, requests.length);
  }

  /** What every device was told since the beginning, by node. */
  told(): string[] {
    return [...this.world.bmcs].flatMap(([node, { requests }]) =>
      requests
        .slice(this.#heard.get(node) ?? 0)
        .filter((request) => request.startsWith('POST'))
        .map((request) => `${node}: ${request}`),
    );
  }

  /** Who was told to switch off since. */
  cut(): string[] {
    return this.told()
      .filter((command) => command.includes('"ForceOff"'))
      .map((command) => command.split(':', 1)[0] ?? '');
  }

  statusOf(node: string): NodeFence['status'] | undefined {
    return this.world.history.now('nodeFences').find(({ metadata }) => metadata.name === nodeFenceName(node))?.status;
  }

  /** Where the database of this name runs, and as which pod. */
  runs(app: string): { node: string; uid: string } | undefined {
    const pod = this.world.podsOf(app).find(isReady);
    return pod === undefined ? undefined : { node: pod.spec.nodeName ?? '', uid: pod.metadata.uid ?? '' };
  }

  /** Nothing is put on them meanwhile. */
  async without(names: readonly string[], act: () => Promise<void>): Promise<void> {
    const cordon = async (unschedulable: boolean): Promise<void> => {
      for (const name of names) {
        const { uid = '' } = this.world.node(name)?.metadata ?? {};
        const asked = [{ op: 'add' as const, path: '/spec/unschedulable', value: unschedulable }];
        const done = await this.world.client.patch({ resource: nodes, name }, { uid }, asked);
        if (!done.ok) throw new Error(done.error.message);
      }
    };
    await cordon(true);
    await act();
    await cordon(false);
  }
}
