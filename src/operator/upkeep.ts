/** Once in a while, looks through what is remembered of nodes that are not there, and has deleted what nobody needs any more. */
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { clockTime } from '../api/facts.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { DeviceRecords } from '../act/device-records.ts';
import type { FenceStore } from '../act/fence-store.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import { deviceUpkeepOf, isOpen, upkeepOf } from '../decide/upkeep.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { nodeFences, nodes } from '../kube/resources.ts';
import type { Log } from '../report/log.ts';

export interface UpkeepOptions {
  client: KubeClient;
  clock: Clock;
  store: FenceStore;
  devices: DeviceRecords;
  log: Log;
  /** A watch shows such a node. */
  isSeen: (node: string) => boolean;
  onProblem: (source: string, error: KubeError) => void;
}

const everyMs = 600_000;
const callTimeoutMs = 10_000;

export class RecordUpkeep {
  readonly #options: UpkeepOptions;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** For as long as this instance leads. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#options.clock, everyMs, signal);
      if (!signal.aborted) await this.sweep(signal);
    }
  }

  async sweep(signal: AbortSignal): Promise<void> {
    const { client, clock, onProblem } = this.#options;
    const listed = await client.list<NodeFence & KubeObject>(nodeFences, {}, { signal, timeoutMs: callTimeoutMs });
    if (!listed.ok) {
      // Without the CRDs there are no records.
      if (listed.error.kind !== 'notFound' && !signal.aborted) onProblem('upkeep', listed.error);
      return;
    }
    const nowMs = listed.serverTime ?? clock.now();
    const records = listed.value.items.map((item) => ({ ...item, status: { ...EMPTY_STATUS, ...item.status } }));
    for (const record of records) {
      if (signal.aborted) return;
      const isThere = await this.#isThere(record.spec.node, signal);
      if (isThere !== undefined) await this.#keep(record, isThere, nowMs);
    }
    const open = new Set(records.filter((record) => isOpen(record)).map(({ spec }) => spec.node));
    await this.#sweepDevices(open, nowMs, signal);
  }

  async #sweepDevices(open: ReadonlySet<string>, nowMs: number, signal: AbortSignal): Promise<void> {
    const { devices, log, onProblem } = this.#options;
    const listed = await devices.list(signal);
    if (!listed.ok) {
      if (listed.error.kind !== 'notFound' && !signal.aborted) onProblem('upkeep', listed.error);
      return;
    }
    for (const device of listed.value.items) {
      if (signal.aborted) return;
      const { node } = device.spec;
      const isThere = node === undefined ? undefined : await this.#isThere(node, signal);
      if (node === undefined || isThere === undefined) continue;
      const upkeep = deviceUpkeepOf(device, { isThere, isOpen: open.has(node), nowMs });
      if (upkeep === 'nothing') continue;
      const { name } = device.metadata;
      const why = isThere ? 'no configuration has named it for an hour' : 'the node has been gone for seven days';
      if (upkeep === 'delete') log.info({ node, name }, `its device is forgotten: ${why}`);
      const goneSince = upkeep === 'noteGone' ? clockTime(nowMs) : undefined;
      const done = upkeep === 'delete' ? await devices.forget(device) : await devices.noteGone(device, goneSince);
      if (!done.ok && done.error.kind !== 'conflict') onProblem('upkeep', done.error);
    }
  }

  /** What a watch has not heard of is not gone. Undefined: it could not be read. */
  async #isThere(node: string, signal: AbortSignal): Promise<boolean | undefined> {
    const { client, isSeen, onProblem } = this.#options;
    if (isSeen(node)) return true;
    const read = await client.get({ resource: nodes, name: node }, { signal, timeoutMs: callTimeoutMs });
    if (read.ok || read.error.kind === 'notFound') return read.ok;
    if (!signal.aborted) onProblem('upkeep', read.error);
    return undefined;
  }

  async #keep(record: NodeFence, isThere: boolean, nowMs: number): Promise<void> {
    const { store, log, onProblem } = this.#options;
    const { node } = record.spec;
    const upkeep = upkeepOf(record, { isThere, nowMs });
    if (upkeep === 'nothing') return;
    if (upkeep === 'delete') log.info({ node }, 'its record is deleted: the node has been gone for seven days');
    const { goneSince: _, ...status } = record.status;
    const gone = upkeep === 'noteGone' ? { goneSince: clockTime(nowMs) } : {};
    const done =
      upkeep === 'delete'
        ? await store.forget(record)
        : await store.keep(node, record, { status: { ...status, ...gone } });
    // Whoever wrote in between is right, and is looked at again.
    if (!done.ok && done.error.kind !== 'conflict') onProblem('upkeep', done.error);
  }
}
