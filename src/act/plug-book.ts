/** Which devices are which outlets, as far as they have told: what is in Secrets shows in their answers alone. */
import { outletsOf } from '../api/plug.ts';
import type { DeviceRecord } from './device-records.ts';

export class PlugBook {
  /** By outlet; what has another one by now, or is gone, is found out when somebody looks. */
  readonly #records = new Map<string, Set<DeviceRecord>>();
  readonly #isPresent: (record: DeviceRecord) => boolean;

  constructor(isPresent: (record: DeviceRecord) => boolean) {
    this.#isPresent = isPresent;
  }

  note(record: DeviceRecord, plug: string): void {
    record.own.plug = plug;
    for (const outlet of outletsOf(plug))
      this.#records.set(outlet, (this.#records.get(outlet) ?? new Set()).add(record));
  }

  /** Everything that has an outlet of this plug. */
  *sharing(plug: string): Generator<DeviceRecord> {
    for (const outlet of outletsOf(plug)) {
      const records = this.#records.get(outlet) ?? new Set();
      for (const record of records) {
        if (this.#isPresent(record) && outletsOf(record.own.plug ?? '').includes(outlet)) yield record;
        else records.delete(record);
      }
    }
  }
}
