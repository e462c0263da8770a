/**
 * What the drivers of all clouds share (FEN-9). They speak the documented HTTP interfaces by hand: each needs a handful
 * of calls, and the vendors' SDKs would bring hundreds of packages and tens of megabytes to a process that has to stay
 * small, retry by themselves, and look for credentials in places that nobody here has named.
 *
 * A driver throws a `Failure` where it cannot go on; here that becomes an answer, with the credentials taken out.
 */
import type { Device, DeviceAction, DeviceAnswer, DeviceDriver, DeviceParameters } from '../device.ts';
import type { HttpsAnswer } from '../http.ts';
import { Fleets } from './fleets.ts';
import { checkParameters, valuesOf } from './parameters.ts';
import type { Cloud, CloudInstance, CloudSettings } from './interface.ts';
import { Failure, type Token, type Turn } from './turn.ts';
import { turnFor, Words, type Asking } from './words.ts';

export const defaultCloudSettings: CloudSettings = { timeoutMs: 60_000, callTimeoutMs: 20_000 };

export function cloudDriver(cloud: Cloud, settings: CloudSettings = defaultCloudSettings): DeviceDriver {
  const check = (parameters: DeviceParameters) => checkParameters(cloud, parameters);
  const fleets = new Fleets(cloud, settings);
  return {
    name: cloud.name,
    check,
    device: (parameters, world) => {
      const value = valuesOf(parameters);
      const [problem] = check(parameters);
      if (problem !== undefined) return new RefusingDevice(cloud.name, `${problem.key}: ${problem.problem}`);
      const instance = cloud.connect(value, world);
      if (instance === undefined) {
        return new RefusingDevice(cloud.name, 'instance: it is not said which instance it is: write instance=…');
      }
      return new CloudDevice({ cloud, settings, value, world, instance, parameters });
    },
    watched: (parameters, world) => {
      const name = valuesOf(parameters)('instance') ?? '';
      const fleet = check(parameters).length === 0 ? fleets.of(parameters, world) : undefined;
      return fleet?.has(name) === true ? fleet.device(name) : undefined;
    },
  };
}

class RefusingDevice implements Device {
  readonly name: string;
  readonly #why: string;

  constructor(name: string, why: string) {
    this.name = name;
    this.#why = why;
  }

  ask(): Promise<DeviceAnswer> {
    return Promise.resolve({ kind: 'refused', message: this.#why });
  }
}

interface CloudParts extends Asking {
  cloud: Cloud;
  parameters: DeviceParameters;
  instance: CloudInstance;
}

class CloudDevice implements Device {
  readonly name: string;
  readonly #parts: CloudParts;
  readonly #words: Words;

  constructor(parts: CloudParts) {
    const { cloud, value, parameters } = parts;
    this.#parts = parts;
    this.#words = new Words(cloud, parameters);
    this.name = this.#words.redacted([cloud.name, value('instance') ?? ''].join(' '));
  }

  async ask(action: DeviceAction, signal: AbortSignal): Promise<DeviceAnswer> {
    const { instance } = this.#parts;
    const turn = turnFor(this.#parts, this.#words, signal);
    try {
      if (action === 'status') return { kind: 'status', ...(await instance.status(turn)) };
      await this.#switchTo(action, turn);
      return { kind: 'accepted' };
    } catch (error) {
      return this.#words.answerFor(this.name, error);
    }
  }

  /** Some clouds refuse what is so already; that is success. */
  async #switchTo(power: 'on' | 'off', turn: Turn): Promise<void> {
    const { instance } = this.#parts;
    try {
      await instance.switchTo(power, turn);
    } catch (error) {
      if (!(error instanceof Failure) || !error.isAboutState) throw error;
      const now = await instance.status(turn).catch(() => undefined);
      if (now?.power !== power) throw error;
    }
  }
}

/**
 * A call was answered with something else than success. What the cloud turned down it has not done; where it broke, it
 * may have.
 */
export function failureOf(answer: HttpsAnswer, what: string): Failure {
  const { status } = answer;
  const message = [whyByStatus[status], messageIn(answer.body)].filter((part) => part !== undefined).join(': ');
  const text = `${what}: ${message === '' ? '' : `${message} `}(status ${status})`;
  const wasTurnedDown = status >= 400 && status < 500 && status !== 408;
  return new Failure(wasTurnedDown ? 'refused' : 'unknown', text, { isAboutState: status === 400 || status === 409 });
}

const whyByStatus: Readonly<Record<number, string>> = {
  401: 'the credential is not accepted',
  403: 'the credential does not allow this',
  404: 'there is no such thing',
};

export function jsonOf(answer: HttpsAnswer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(answer.body);
    if (isRecord(value)) return value;
  } catch {
    // What it is instead does not matter.
  }
  throw new Failure('unknown', `the answer is not what the interface promises (status ${answer.status})`);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at the end of a path; undefined where there is none. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

export function stringAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** What a cloud says about an error, in whichever of the usual places. */
export function messageIn(body: string): string | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const inner = isRecord(value) ? Object.values(value).find((one) => isRecord(one) && 'message' in one) : undefined;
    return stringAt(inner, 'message') ?? stringAt(value, 'error_description') ?? stringAt(value, 'message');
  } catch {
    return undefined;
  }
}

/** As OAuth 2 gives it. */
export function bearer(answer: Readonly<Record<string, unknown>>, turn: Turn): Token<string> {
  const value = stringAt(answer, 'access_token');
  if (value === undefined) throw new Failure('unknown', 'the login was answered without a token');
  turn.hide(value);
  const lifetimeS = Number(answer['expires_in']);
  return { value, lifetimeMs: Number.isFinite(lifetimeS) ? lifetimeS * 1000 : 0 };
}
