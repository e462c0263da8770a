/** What the clouds share of which the fake is ours: a door with two machines behind it, and tokens that can run out. */
import type { Cloud } from '../../../src/devices/clouds/interface.ts';
import type { DeviceParameters } from '../../../src/devices/device.ts';
import type { Endpoint, Machine, Subject, Variant } from '../endpoint.ts';
import type { Asked, Door, Faults, Reply, SILENCE } from './cloud.ts';
import { cloudEndpoint, openDoor, startBystander } from './cloud.ts';
import { Workshop } from './workshop.ts';

export interface FakeCloud {
  readonly faults: Faults;
  /** Those that were given out. */
  readonly tokens: Map<string, { isValid: boolean }>;
  /** Where it is; written when its door is open. */
  url: string;
  handle(asked: Asked): Promise<Reply | typeof SILENCE>;
  power(machine: Machine): 'on' | 'off';
  setPower(machine: Machine, power: 'on' | 'off'): void;
}

export interface FakeEndpoint<F extends FakeCloud = FakeCloud> extends Endpoint {
  fake: F;
  door: Door;
  parameters(machine: Machine, variant?: Variant): DeviceParameters;
}

interface FakeParts<F extends FakeCloud> {
  cloud: Cloud;
  fake: F;
  /** What a device of ours is told; the authority of the door is added to its secrets. */
  parameters: (door: Door, machine: Machine, isRight: boolean) => DeviceParameters;
}

export function startFake<F extends FakeCloud>({ cloud, fake, parameters }: FakeParts<F>): Promise<FakeEndpoint<F>> {
  return Workshop.build(async (workshop) => {
    startBystander(workshop);
    const door = await openDoor(workshop, (asked) => fake.handle(asked));
    fake.url = door.url;
    const told: FakeEndpoint['parameters'] = (machine, { wiredTo = machine, trust, credential } = {}) => {
      const { plain, secret } = parameters(door, wiredTo, credential !== 'wrong');
      return { plain, secret: { ...secret, ca: trust === 'missing' ? door.strangersCa : door.ca } };
    };
    return {
      ...cloudEndpoint(workshop, { cloud, faults: fake.faults, parameters: told }),
      fake,
      door,
      parameters: told,
      power: async (machine) => fake.power(machine),
      setPower: async (machine, power) => fake.setPower(machine, power),
    };
  });
}

/** What holds of all of them. */
export function fakeSubject(of: Pick<Subject, 'name' | 'start' | 'identity' | 'canary'>): Subject {
  return {
    ...of,
    name: `${of.name}: our driver against a fake of ours over TLS`,
    faults: ['refuses', 'hangs', 'ignores', 'late', 'reportsFailure'],
    wrongCredential: 'refused',
    checksTrust: true,
  };
}
