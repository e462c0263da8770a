/**
 * Whether what is decided can be put on record at all. Nothing is done that is not on record first: an instance whose account may not
 * write NodeFences or FenceDevices leads in vain, and keeps the lead from one that may. So it asks by a dry run, at its start and when
 * it leads, before an outage does; it notes what became of each write; and it gives the lead up, is not ready and says what to do.
 */
import type { DeviceRecord } from '../act/device-records.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { timeOf } from '../api/facts.ts';
import { nodeFenceName } from '../api/fence-names.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, KubeErrorKind, Result } from '../kube/errors.ts';
import type { LeaderElector } from '../kube/leader.ts';
import { fenceDevices, nodeFences } from '../kube/resources.ts';
import type { Log } from '../report/log.ts';

export interface RecordingOptions {
  client: KubeClient;
  clock: Clock;
  log: Pick<Log, 'warn' | 'info'>;
  identity: string;
}

export interface Around {
  /** Absent: it leads whatever happens. */
  elector: Pick<LeaderElector, 'unable'> | undefined;
  /** What there is to try it on: nodes that have a record, devices as they are stored. */
  known: () => { nodes: readonly string[]; devices: readonly Pick<DeviceRecord, 'object'>[] };
}

/** About who writes. What is invalid is about what is written, and may be so for one node alone (S27). */
const refusals: ReadonlySet<KubeErrorKind> = new Set(['forbidden', 'unauthorized']);
/** An API server that has just started may not know yet who may do what. */
const surelyMs = 5000;
/** Who may not record asks again after this, and leaves the lead to others for longer. A machine that it has cut may wait for it. */
const againMs = 10_000;
const lapsesMs = 60_000;
const callTimeoutMs = 5000;

type Kept = 'nodefences' | 'fencedevices';

export class Recording {
  readonly #options: RecordingOptions & Around;
  /** What may not be written, since when, when that was last heard, and why. */
  readonly #refused = new Map<Kept, { sinceMs: number; lastMs: number; message: string }>();
  #told: string | undefined;
  #cancel: (() => void) | undefined;
  #isOver = false;

  constructor({ client, clock, log, identity }: RecordingOptions, around: Around) {
    this.#options = { client, clock, log, identity, ...around };
  }

  /** Why nothing can be done about any node; undefined: nothing is known to be in the way. */
  get refused(): string | undefined {
    return this.#told;
  }

  /** What became of a write; undefined: it is stored. */
  note(what: Kept, error: KubeError | undefined): void {
    if (error !== undefined && !refusals.has(error.kind)) return;
    if (error === undefined) this.#refused.delete(what);
    else {
      const lastMs = this.#options.clock.monotonic();
      const { sinceMs = lastMs } = this.#refused.get(what) ?? {};
      this.#refused.set(what, { sinceMs, lastMs, message: error.message });
    }
    this.#consider();
  }

  /** Asks the API server. */
  async probe(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const { client, clock, known } = this.#options;
    const { nodes, devices } = known();
    const node = nodes[0];
    const device = devices.find(({ object }) => object !== undefined)?.object;
    const asked = { dryRun: true, timeoutMs: callTimeoutMs };
    if (device !== undefined) {
      const { name, namespace = '' } = device.metadata;
      // A status that does not change may be written by everybody.
      const next = { ...device, status: { ...device.status, goneSince: timeOf(clock.now()) } };
      this.#noteResult(
        'fencedevices',
        await client.replace({ resource: fenceDevices, namespace, name }, next, 'status', asked),
      );
    }
    if (node !== undefined) {
      const ref = { resource: nodeFences, name: nodeFenceName(node) };
      const read = await client.get<NodeFence & KubeObject>(ref, { timeoutMs: callTimeoutMs });
      if (read.ok) {
        const status = { ...EMPTY_STATUS, ...read.value.status };
        const next = { ...read.value, status: { ...status, epoch: status.epoch + 1 } };
        this.#noteResult('nodefences', await client.replace(ref, next, 'status', asked));
      }
    }
    this.#consider();
  }

  close(): void {
    this.#isOver = true;
    this.#cancel?.();
  }

  #noteResult(what: Kept, result: Result<unknown>): void {
    this.note(what, result.ok ? undefined : result.error);
  }

  #consider(): void {
    const { clock } = this.#options;
    // What there was nothing to try again on is not held against it for ever.
    for (const [what, { lastMs }] of this.#refused)
      if (clock.monotonic() - lastMs >= lapsesMs) this.#refused.delete(what);
    const sure = [...this.#refused.values()].find(({ sinceMs, lastMs }) => lastMs - sinceMs >= surelyMs);
    this.#tell(sure?.message);
    if (this.#isOver || this.#refused.size === 0) return;
    this.#cancel ??= clock.after(this.#told === undefined ? surelyMs : againMs, () => void this.probe());
  }

  #tell(problem: string | undefined): void {
    const { log, elector, identity } = this.#options;
    const isNews = (problem === undefined) !== (this.#told === undefined);
    if (problem === undefined) {
      this.#told = undefined;
      if (!isNews) return;
      elector?.unable(undefined);
      log.info({}, 'what is decided can be put on record again');
      return;
    }
    const toDo = toDoAbout(problem);
    this.#told = `what is decided may not be put on record: ${toDo} (${problem})`;
    elector?.unable(`${identity.replace(/_[^_]*$/, '')} may not keep its records: ${toDo} (${problem})`, lapsesMs);
    if (isNews)
      log.warn(
        { problem, toDo },
        'nothing can be done about any node: what is decided may not be put on record; the lead is left to others',
      );
  }
}

function toDoAbout(problem: string): string {
  return /ValidatingAdmissionPolicy/.test(problem)
    ? 'start it under the account that deploy/guard.yaml names (--as system:serviceaccount:fenceline:fenceline), or write its account there'
    : 'give its account the rights of deploy/role.yaml (kubectl apply -f deploy/role.yaml)';
}
