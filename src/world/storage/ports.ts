/**
 * The switch between the machines and their storage: for each machine a port, or one for each of several ways. A machine is cut off when
 * all of its ways are closed. A port is told like a power device, and has the faults of one.
 */
import type { Clock } from '../../clock.ts';
import type { Powered } from '../machines/bmc.ts';
import { Bmc } from '../machines/bmc.ts';
import { deviceKey } from '../machines/feeds.ts';

export interface PortsOptions {
  clock: Clock;
  /** By machine: the names of its ways, where it has several. */
  ways?: ReadonlyMap<string, readonly string[]> | undefined;
  /** The machines whose ports cannot say whose they are. */
  blind?: readonly string[] | undefined;
  /** The machine that comes after this one, whose port it is that a device is wired to by mistake. */
  next: (machine: string) => string;
  /** Something about the ports that are written for this machine is different now. */
  onChange: (machine: string) => void;
}

/** What the sole port of a machine is called in events. */
export const solePort = 'port';

const lies: ReadonlySet<string> = new Set(['saysOff', 'wrongMachine']);

interface Port extends Powered {
  power: 'on' | 'off';
}

export class Ports {
  readonly #options: PortsOptions;
  readonly #blind: ReadonlySet<string>;
  readonly #ports = new Map<string, Port>();
  readonly #devices = new Map<string, Bmc>();

  constructor(options: PortsOptions) {
    this.#options = options;
    this.#blind = new Set(options.blind ?? []);
  }

  /** The device of one way; of a machine that has one way alone it is that, whatever it is called. Undefined: there is no such way. */
  device(machine: string, way: string): Bmc | undefined {
    const ways = this.#options.ways?.get(machine) ?? [];
    if (ways.length > 0 && !ways.includes(way)) return undefined;
    return this.#deviceOf(machine, ways.length === 0 ? undefined : way);
  }

  /** Whether a way of this machine is called so. */
  isWay(machine: string, name: string): boolean {
    const ways = this.#options.ways?.get(machine) ?? [];
    return ways.length === 0 ? name === solePort : ways.includes(name);
  }

  /** All ways of those that are written for this machine. */
  isClosed(machine: string): boolean {
    return this.#all(machine).every(({ power }) => power === 'off');
  }

  /** Any of them says that it is closed, whatever is true. */
  saysClosed(machine: string): boolean {
    const says = this.#keys(machine).some((key) => this.#devices.get(key)?.fault === 'saysOff');
    return says || this.#all(machine).some(({ power }) => power === 'off');
  }

  /** Each of them says that it is open, whatever is true. */
  saysOpen(machine: string): boolean {
    return this.#keys(machine).every((key) => {
      const fault = this.#devices.get(key)?.fault ?? 'none';
      return fault === 'saysOn' || (fault === 'none' && this.#ports.get(key)?.power !== 'off');
    });
  }

  /** All of them are closed, and nothing keeps them from saying so. */
  isShut(machine: string): boolean {
    const isWell = (key: string): boolean => (this.#devices.get(key)?.fault ?? 'none') === 'none';
    return this.isClosed(machine) && this.#keys(machine).every(isWell);
  }

  /** Those that are open say otherwise, or speak of another machine. */
  lies(machine: string): boolean {
    const open = this.#keys(machine).filter((key) => this.#ports.get(key)?.power !== 'off');
    return open.length > 0 && open.every((key) => lies.has(this.#devices.get(key)?.fault ?? 'none'));
  }

  #keys(machine: string): string[] {
    const ways = this.#options.ways?.get(machine) ?? [];
    return ways.length === 0 ? [machine] : ways.map((way) => deviceKey(machine, way));
  }

  #all(machine: string): Port[] {
    return this.#keys(machine).map((key) => this.#port(machine, key));
  }

  #port(machine: string, key: string): Port {
    const known = this.#ports.get(key);
    if (known !== undefined) return known;
    const set = (power: 'on' | 'off'): void => {
      port.power = power;
      this.#options.onChange(machine);
    };
    const port: Port = { name: machine, power: 'on', powerOff: () => set('off'), powerOn: () => set('on') };
    this.#ports.set(key, port);
    return port;
  }

  #deviceOf(machine: string, way: string | undefined): Bmc {
    const key = deviceKey(machine, way);
    const { clock, next } = this.#options;
    const known = this.#devices.get(key);
    if (known !== undefined) return known;
    const device = new Bmc({
      machine: this.#port(machine, key),
      clock,
      hasIdentity: !this.#blind.has(machine),
      other: () => this.#port(next(machine), deviceKey(next(machine), way)),
      // Those that are told apart are switches of a network; the sole one stands for any storage that cuts off at once.
      ...(way === undefined ? { answerMs: 0 } : {}),
    });
    this.#devices.set(key, device);
    return device;
  }
}
