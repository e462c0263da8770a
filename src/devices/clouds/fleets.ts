/** The accounts of a cloud whose instances are watched: one for each set of credentials, given up when nobody asks any more. */
import { createHash } from 'node:crypto';
import type { Device, DeviceParameters, DeviceWorld } from '../device.ts';
import type { Cloud, CloudFleet, CloudSettings } from './interface.ts';
import { valuesOf } from './parameters.ts';
import { Together } from './together.ts';
import { turnFor, Words } from './words.ts';

/** Longer than a watch waits for one that does not answer. */
const keptForMs = 5 * 60_000;

export class Fleets {
  readonly #cloud: Cloud;
  readonly #settings: CloudSettings;
  readonly #known = new WeakMap<DeviceWorld, Map<string, { fleet: Fleet; usedMs: number }>>();

  constructor(cloud: Cloud, settings: CloudSettings) {
    this.#cloud = cloud;
    this.#settings = settings;
  }

  /** Undefined: this cloud has no call for many. */
  of(parameters: DeviceParameters, world: DeviceWorld): Fleet | undefined {
    const known = this.#known.get(world) ?? new Map<string, { fleet: Fleet; usedMs: number }>();
    this.#known.set(world, known);
    const usedMs = world.monotonic();
    for (const [key, one] of known) if (usedMs - one.usedMs > keptForMs) known.delete(key);
    const key = accountOf(parameters);
    const fleet = known.get(key)?.fleet ?? this.#made(parameters, world);
    if (fleet !== undefined) known.set(key, { fleet, usedMs });
    return fleet;
  }

  #made(parameters: DeviceParameters, world: DeviceWorld): Fleet | undefined {
    const [cloud, settings] = [this.#cloud, this.#settings];
    const fleet = cloud.fleet?.(valuesOf(parameters), world);
    return fleet && new Fleet({ cloud, settings, parameters, world, fleet });
  }
}

interface FleetParts {
  cloud: Cloud;
  settings: CloudSettings;
  parameters: DeviceParameters;
  world: DeviceWorld;
  fleet: CloudFleet;
}

export class Fleet {
  readonly #parts: FleetParts;
  readonly #words: Words;
  readonly #together: Together;

  constructor(parts: FleetParts) {
    const { cloud, parameters, world, fleet } = parts;
    this.#parts = parts;
    this.#words = new Words(cloud, parameters);
    const asking = { ...parts, value: valuesOf(parameters) };
    // Nobody calls off what others wait for; its own time ends it.
    const never = new AbortController().signal;
    this.#together = new Together(world, (instances) => fleet.statuses(instances, turnFor(asking, this.#words, never)));
  }

  has(instance: string): boolean {
    return this.#parts.fleet.has(instance);
  }

  /** To be asked for its status, and for nothing else. */
  device(instance: string): Device {
    const words = this.#words;
    const name = words.redacted(`${this.#parts.cloud.name} ${instance}`);
    return {
      name,
      ask: async (action, signal) => {
        if (action !== 'status') return { kind: 'refused', message: 'it is watched, and told nothing' };
        try {
          return { kind: 'status', ...(await this.#together.ask(instance, signal)) };
        } catch (error) {
          return words.answerFor(name, error);
        }
      },
    };
  }
}

/** All that is written but for which instance it is. Not kept as it is: it holds credentials. */
function accountOf({ plain, secret }: DeviceParameters): string {
  const lines = Object.entries({ ...plain, ...secret, instance: '' }).map((entry) => JSON.stringify(entry));
  return createHash('sha256').update(lines.sort().join()).digest('base64');
}
