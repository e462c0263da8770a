/** Which devices are which outlets, as far as they have told: what is in Secrets shows in their answers alone. */
import { outletsOf } from '../api/plug.ts';
import type { DeviceRecord } from './device-records.ts';

/** Fewer outlets are not worth looking through. */
const fewOutlets = 64;

export class PlugBook {
  /** By outlet; who is gone is found out when somebody looks, or when the book has become twice as thick. */
  readonly #records = new Map<string, Set<DeviceRecord>>();
  readonly #isPresent: (record: DeviceRecord) => boolean;
  #sweepAt = fewOutlets;

  constructor(isPresent: (record: DeviceRecord) => boolean) {
    this.#isPresent = isPresent;
  }

  note(record: DeviceRecord, plug: string): void {
    if (record.own.plug !== plug) this.#strike(record);
    record.own.plug = plug;
    for (const outlet of outletsOf(plug))
      this.#records.set(outlet, (this.#records.get(outlet) ?? new Set()).add(record));
    if (this.#records.size > this.#sweepAt) this.#sweep();
  }

  /** Everything that has an outlet of this plug. */
  *sharing(plug: string): Generator<DeviceRecord> {
    for (const outlet of outletsOf(plug)) {
      for (const record of this.#records.get(outlet) ?? []) if (this.#isPresent(record)) yield record;
    }
  }

  /** How many outlets are written down. */
  get size(): number {
    return this.#records.size;
  }

  clear(): void {
    this.#records.clear();
    this.#sweepAt = fewOutlets;
  }

  #strike(record: DeviceRecord): void {
    for (const outlet of outletsOf(record.own.plug ?? '')) {
      const records = this.#records.get(outlet);
      records?.delete(record);
      if (records?.size === 0) this.#records.delete(outlet);
    }
  }

  #sweep(): void {
    for (const record of new Set([...this.#records.values()].flatMap((records) => [...records])))
      if (!this.#isPresent(record)) this.#strike(record);
    this.#sweepAt = Math.max(fewOutlets, 2 * this.#records.size);
  }
}
