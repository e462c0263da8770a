/** Instances of Amazon EC2, by its Query API, version 2016-11-15. */
import type { HttpsAnswer } from '../http.ts';
import type { Cloud, CloudFleet, CloudInstance, PowerStatus, Told, ToldOfMany } from './interface.ts';
import type { Values } from './parameters.ts';
import { signed, type SigningKey } from './sigv4.ts';
import { Failure, type Turn } from './turn.ts';
import { elementsAt, parseXml, textAt, type XmlElement } from './xml.ts';
import type { DeviceWorld } from '../device.ts';

const API_VERSION = '2016-11-15';
const PAGE_LIMIT = 50;
/** Values of one filter. */
const FILTER_LIMIT = 200;

export const aws: Cloud = {
  name: 'aws',
  rules: {
    region: { isRequired: true, pattern: /^[a-z0-9-]+$/, hint: 'write region=…, such as eu-central-1' },
    access_key_id: { isCredential: true, isRequired: true, pattern: /^\w+$/, hint: 'write the ID of an access key' },
    secret_access_key: { isCredential: true, isRequired: true, pattern: /^\S+$/, hint: 'write a secret access key' },
    session_token: { isCredential: true, pattern: /^\S+$/, hint: 'write a session token' },
  },
  connect(value, world) {
    const instance = value('instance');
    return instance === undefined ? undefined : new Ec2Instance(instance, new Ec2(value, world));
  },
  fleet: (value, world) => new Ec2Fleet(new Ec2(value, world)),
};

/** States in which the machine is certainly off. `stopping` and `shutting-down` are not among them: it still runs. */
const offStates = ['stopped', 'terminated'];

/** Answered with status 503, but certainly not carried out. */
const throttled = ['RequestLimitExceeded', 'Throttling', 'ThrottlingException'];

/** One account in one region. */
class Ec2 {
  readonly #region: string;
  readonly #endpoint: URL;
  readonly #key: SigningKey;
  readonly #world: DeviceWorld;

  constructor(value: Values, world: DeviceWorld) {
    const region = value('region') ?? '';
    const token = value('session_token');
    this.#region = region;
    this.#world = world;
    const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
    this.#endpoint = new URL(value('endpoint') ?? `https://ec2.${region}.${domain}/`);
    this.#key = {
      accessKeyId: value('access_key_id') ?? '',
      secretAccessKey: value('secret_access_key') ?? '',
      ...(token !== undefined && { sessionToken: token }),
    };
  }

  async find(turn: Turn, search: Readonly<Record<string, string>>): Promise<readonly XmlElement[]> {
    const all: XmlElement[] = [];
    let next: string | undefined;
    for (let page = 0; page < PAGE_LIMIT; page += 1) {
      const answer: XmlElement = await this.call(turn, {
        Action: 'DescribeInstances',
        ...search,
        ...(next !== undefined && { NextToken: next }),
      });
      all.push(...elementsAt(answer, 'reservationSet', 'item', 'instancesSet', 'item'));
      next = textAt(answer, 'nextToken');
      if (next === undefined || next === '') return all;
    }
    throw new Failure('unknown', 'the list of instances does not end');
  }

  async call(turn: Turn, parameters: Readonly<Record<string, string>>): Promise<XmlElement> {
    const { Action: action = '' } = parameters;
    const body = new URLSearchParams({ Version: API_VERSION, ...parameters }).toString();
    const request = {
      method: 'POST',
      url: this.#endpoint,
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body,
    } as const;
    const scope = { region: this.#region, service: 'ec2', nowMs: this.#world.now() };
    const answer = await turn.call({ ...request, headers: signed(request, this.#key, scope) });
    const document = parseXml(answer.body);
    if (answer.status !== 200) throw ec2Failure(action, answer, document);
    if (document?.name !== `${action}Response`) throw new Failure('unknown', `the answer to ${action} cannot be read`);
    return document;
  }
}

class Ec2Instance implements CloudInstance {
  readonly #instance: string;
  readonly #ec2: Ec2;

  constructor(instance: string, ec2: Ec2) {
    this.#instance = instance;
    this.#ec2 = ec2;
  }

  async status(turn: Turn): Promise<PowerStatus> {
    return statusIn(await this.#find(turn));
  }

  async switchTo(power: 'on' | 'off', turn: Turn): Promise<void> {
    const id = idOf(this.#instance) ?? textAt(await this.#find(turn), 'instanceId') ?? '';
    // `Force` alone waits for the guest before it uses force, and a guest that hangs does not answer: it is not asked.
    const action =
      power === 'off'
        ? { Action: 'StopInstances', Force: 'true', SkipOsShutdown: 'true' }
        : { Action: 'StartInstances' };
    const answer = await this.#ec2.call(turn, { ...action, 'InstanceId.1': id });
    const told = elementsAt(answer, 'instancesSet', 'item').map((item) => textAt(item, 'instanceId'));
    if (!told.includes(id)) throw new Failure('unknown', `the answer to ${action.Action} does not name ${id}`);
  }

  /** Exactly one, whatever it was named by. */
  async #find(turn: Turn): Promise<XmlElement> {
    return only(await this.#ec2.find(turn, searchFor(this.#instance)), this.#instance);
  }
}

class Ec2Fleet implements CloudFleet {
  readonly #ec2: Ec2;

  constructor(ec2: Ec2) {
    this.#ec2 = ec2;
  }

  has(instance: string): boolean {
    return idOf(instance) !== undefined;
  }

  async statuses(instances: readonly string[], turn: Turn): Promise<ToldOfMany> {
    const told = new Map<string, Told>();
    for (let first = 0; first < instances.length; first += FILTER_LIMIT) {
      const some = instances.slice(first, first + FILTER_LIMIT);
      // As a filter: asked by ID, one that does not exist any more would leave all others without an answer.
      const values = some.map((instance, index) => [`Filter.1.Value.${index + 1}`, idOf(instance) ?? '']);
      const search = { 'Filter.1.Name': 'instance-id', ...Object.fromEntries(values) };
      const found = await this.#ec2.find(turn, search);
      for (const instance of some) {
        const one = found.find((element) => textAt(element, 'instanceId') === idOf(instance));
        if (one !== undefined) told.set(instance, () => statusIn(one));
      }
    }
    return told;
  }
}

function statusIn(found: XmlElement): PowerStatus {
  const id = textAt(found, 'instanceId') ?? '';
  const zone = textAt(found, 'placement', 'availabilityZone') ?? '';
  const state = textAt(found, 'instanceState', 'name') ?? 'absent';
  const identity = { kind: 'providerID', value: `aws:///${zone}/${id}` } as const;
  if (state === 'running') return { power: 'on', identity };
  if (!offStates.includes(state)) throw new Failure('unknown', `the state of ${id} is ${state}`);
  // What it ran goes on where it was when it is switched on again.
  if (textAt(found, 'stateReason', 'code') === 'Client.UserInitiatedHibernate') {
    throw new Failure('unknown', `${id} hibernates, which is not off`);
  }
  return { power: 'off', identity };
}

/** `i-…`, as it is, in a provider ID, or in the name of a node that is called after its instance. */
function idOf(instance: string): string | undefined {
  return /^(?:aws:\/\/\/[^/]*\/)?(i-[0-9a-f]+)(?:\.[\w.-]+)?$/.exec(instance)?.[1];
}

function searchFor(instance: string): Record<string, string> {
  const id = idOf(instance);
  if (id !== undefined) return { 'InstanceId.1': id };
  const filter = /^ip-[\d-]+\./.test(instance) ? 'private-dns-name' : 'tag:Name';
  return { 'Filter.1.Name': filter, 'Filter.1.Value.1': instance };
}

/** A name stays with an instance for an hour after its end, and others may bear it by then. */
function only(found: readonly XmlElement[], name: string): XmlElement {
  const alive = found.filter((one) => textAt(one, 'instanceState', 'name') !== 'terminated');
  const candidates = alive.length === 0 ? found : alive;
  const [first, second] = candidates;
  if (first === undefined) throw new Failure('refused', `there is no instance ${name}`);
  if (second !== undefined) {
    throw new Failure('refused', `there are ${candidates.length} instances ${name}: write the ID`);
  }
  return first;
}

function ec2Failure(action: string, { status }: HttpsAnswer, document: XmlElement | undefined): Failure {
  const [error] = elementsAt(document, 'Errors', 'Error');
  const code = textAt(error, 'Code') ?? '';
  const isCertain = (status >= 400 && status < 500 && status !== 408) || throttled.includes(code);
  const why = reasons[code] ?? textAt(error, 'Message') ?? 'no reason is given';
  const isAboutState = code.startsWith('Incorrect');
  return new Failure(
    isCertain ? 'refused' : 'unknown',
    `${action}: ${why} (${code === '' ? `status ${status}` : code})`,
    {
      isAboutState,
    },
  );
}

const notAccepted = 'the credential is not accepted';
const reasons: Readonly<Record<string, string>> = {
  AuthFailure: notAccepted,
  InvalidClientTokenId: notAccepted,
  SignatureDoesNotMatch: notAccepted,
  RequestExpired: 'the clock of this machine is wrong, or the session token has run out',
  UnauthorizedOperation: 'the credential does not allow this',
};
