/** Servers of OpenStack, by Keystone v3 and Nova 2.1. */
import type { DeviceWorld } from '../device.ts';
import type { HttpsAnswer } from '../http.ts';
import { at, failureOf, isRecord, jsonOf, listAt, stringAt } from './cloud.ts';
import type { Cloud, CloudFleet, CloudInstance, PowerStatus, Told, ToldOfMany } from './interface.ts';
import { whyNoEndpoint, type Values } from './parameters.ts';
import { Failure, Login, type Token, type Turn } from './turn.ts';

const text = { pattern: /^[^\p{C}]+$/u, hint: 'write it as Keystone knows it' };
const credential = { isCredential: true, hint: 'write it as Keystone knows it' };

export const openstack: Cloud = {
  name: 'openstack',
  rules: {
    endpoint: {
      isRequired: true,
      hint: 'write the address of Keystone, such as https://keystone.example:5000/v3',
      why: whyNoEndpoint,
    },
    region: text,
    interface: { pattern: /^(?:public|internal|admin)$/, hint: 'write public, internal or admin' },
    username: text,
    user_domain_name: text,
    project_name: text,
    project_id: text,
    project_domain_name: text,
    password: credential,
    application_credential_id: text,
    application_credential_secret: credential,
  },
  problems(value) {
    if (value('application_credential_id') !== undefined) return missing(value, ['application_credential_secret']);
    if (value('application_credential_secret') !== undefined) return missing(value, ['application_credential_id']);
    const project = value('project_id') === undefined ? ['project_name'] : [];
    return missing(value, ['username', 'password', ...project]);
  },
  connect(value, world) {
    const instance = value('instance');
    return instance === undefined ? undefined : new NovaServer(instance, new Nova(value, world));
  },
  fleet: (value, world) => new NovaFleet(new Nova(value, world)),
};

function missing(value: Values, keys: readonly string[]): { key: string; problem: string }[] {
  return keys
    .filter((key) => value(key) === undefined)
    .map((key) => ({ key, problem: 'openstack needs it, or an application credential with its ID and secret' }));
}

const PAGE_LIMIT = 50;
const PAGE_SIZE = 500;
const POWER_SHUTDOWN = 4;
const POWER_RUNNING = 1;

interface Session {
  token: string;
  /** Of Nova, without a slash at its end. */
  compute: string;
}

/** One project. */
class Nova {
  readonly #value: Values;
  readonly #login: Login<Session>;

  constructor(value: Values, world: DeviceWorld) {
    this.#value = value;
    this.#login = new Login(world, (turn) => this.#logIn(turn));
  }

  async read(turn: Turn, path: string): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.call(turn, path);
    if (answer.status !== 200) throw failureOf(answer, 'Nova');
    return jsonOf(answer);
  }

  call(turn: Turn, path: string, body?: string): Promise<HttpsAnswer> {
    return this.#login.call(turn, ({ token, compute }) => ({
      method: body === undefined ? 'GET' : 'POST',
      url: new URL(`${compute}${path}`),
      headers: {
        'x-auth-token': token,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    }));
  }

  async #logIn(turn: Turn): Promise<Token<Session>> {
    const endpoint = (this.#value('endpoint') ?? '').replace(/\/+$/, '');
    const answer = await turn.call({
      method: 'POST',
      url: new URL(`${endpoint.endsWith('/v3') ? endpoint : `${endpoint}/v3`}/auth/tokens`),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ auth: authOf(this.#value) }),
    });
    if (answer.status !== 201) throw failureOf(answer, 'the login failed');
    const { 'x-subject-token': token } = answer.headers;
    if (token === undefined) throw new Failure('unknown', 'the login was answered without a token');
    turn.hide(token);
    const body = jsonOf(answer);
    // The difference of the two is right whatever the clock here says.
    const [from, until] = ['issued_at', 'expires_at'].map((key) => Date.parse(stringAt(body, 'token', key) ?? ''));
    const lifetimeMs = (until ?? Number.NaN) - (from ?? Number.NaN);
    const value = { token, compute: computeIn(body, this.#value) };
    return { value, lifetimeMs: Number.isFinite(lifetimeMs) ? lifetimeMs : 0 };
  }
}

class NovaServer implements CloudInstance {
  readonly #given: string;
  readonly #id: string | undefined;
  readonly #nova: Nova;

  constructor(instance: string, nova: Nova) {
    this.#given = instance;
    this.#id = idOf(instance);
    this.#nova = nova;
  }

  async status(turn: Turn): Promise<PowerStatus> {
    return statusIn(await this.#server(turn), this.#given);
  }

  /**
   * `os-stop` asks the guest first, for as long as the cloud is configured to wait (60 s where it is not, and the image
   * may say otherwise), and then cuts its power. Nova has no other way to switch a server off that leaves it off.
   */
  async switchTo(power: 'on' | 'off', turn: Turn): Promise<void> {
    const id = this.#id ?? stringAt(await this.#server(turn), 'id') ?? '';
    const body = JSON.stringify(power === 'off' ? { 'os-stop': null } : { 'os-start': null });
    const answer = await this.#nova.call(turn, `/servers/${encodeURIComponent(id)}/action`, body);
    if (answer.status !== 202) throw failureOf(answer, 'Nova');
  }

  async #server(turn: Turn): Promise<unknown> {
    if (this.#id !== undefined) {
      const server = at(await this.#nova.read(turn, `/servers/${encodeURIComponent(this.#id)}`), 'server');
      if (stringAt(server, 'id')?.toLowerCase() === this.#id.toLowerCase()) return server;
      throw new Failure('unknown', 'the answer is about another server');
    }
    // The filter is a regular expression and may not be anchored: what comes back is compared once more.
    const name = `^${this.#given.replaceAll(/[^\w-]/g, String.raw`\$&`)}$`;
    const answer = await this.#nova.read(turn, `/servers/detail?${new URLSearchParams({ name }).toString()}`);
    const found = listAt(answer, 'servers').filter((one) => stringAt(one, 'name') === this.#given);
    const [first, second] = found;
    if (first === undefined) throw new Failure('refused', `there is no server ${this.#given} in the project`);
    if (second !== undefined) throw new Failure('refused', `there are several servers ${this.#given}: write the ID`);
    return first;
  }
}

class NovaFleet implements CloudFleet {
  readonly #nova: Nova;

  constructor(nova: Nova) {
    this.#nova = nova;
  }

  has(instance: string): boolean {
    return idOf(instance) !== undefined;
  }

  /** Nova takes no list of IDs: all that the project has. */
  async statuses(instances: readonly string[], turn: Turn): Promise<ToldOfMany> {
    const servers = new Map<string, unknown>();
    let marker: string | undefined;
    for (let page = 0; page < PAGE_LIMIT; page += 1) {
      const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...(marker !== undefined && { marker }) });
      const answer = await this.#nova.read(turn, `/servers/detail?${query.toString()}`);
      const some = listAt(answer, 'servers');
      for (const server of some) servers.set(stringAt(server, 'id')?.toLowerCase() ?? '', server);
      marker = stringAt(some.at(-1), 'id');
      const isLast = !listAt(answer, 'servers_links').some((link) => stringAt(link, 'rel') === 'next');
      if (isLast || marker === undefined) return toldOf(instances, servers);
    }
    throw new Failure('unknown', 'the list of servers does not end');
  }
}

function toldOf(instances: readonly string[], servers: ReadonlyMap<string, unknown>): ToldOfMany {
  const told = new Map<string, Told>();
  for (const instance of instances) {
    const server = servers.get(idOf(instance)?.toLowerCase() ?? '');
    if (server !== undefined) told.set(instance, () => statusIn(server, instance));
  }
  return told;
}

function idOf(instance: string): string | undefined {
  return /^(?:openstack:\/\/[^/]*\/)?([0-9a-f]{8}-[0-9a-f-]{27})$/i.exec(instance)?.[1];
}

/**
 * Off is what Nova, the hypervisor and the absence of a task say together: `status` alone is what Nova wants, and
 * changes before the machine does.
 */
function statusIn(server: unknown, given: string): PowerStatus {
  const id = stringAt(server, 'id') ?? '';
  const status = stringAt(server, 'status') ?? 'absent';
  const power = at(server, 'OS-EXT-STS:power_state');
  const task = at(server, 'OS-EXT-STS:task_state');
  const isSame = idOf(given)?.toLowerCase() === id.toLowerCase() && given.startsWith('openstack:');
  // Some releases put the region into a provider ID, and others do not.
  const identity = { kind: 'providerID', value: isSame ? given : `openstack:///${id}` } as const;
  const isQuiet = task === null;
  if (status === 'SHUTOFF' && power === POWER_SHUTDOWN && isQuiet) return { power: 'off', identity };
  if (status === 'ACTIVE' && power === POWER_RUNNING && isQuiet) return { power: 'on', identity };
  throw new Failure('unknown', `${id} is ${status}, power state ${shown(power)}, task ${shown(task)}`);
}

function authOf(value: Values): unknown {
  const id = value('application_credential_id');
  if (id !== undefined) {
    const secret = value('application_credential_secret');
    return { identity: { methods: ['application_credential'], application_credential: { id, secret } } };
  }
  const domain = (key: string): { name: string } => ({ name: value(key) ?? 'Default' });
  const projectId = value('project_id');
  const project =
    projectId === undefined
      ? { name: value('project_name'), domain: domain('project_domain_name') }
      : { id: projectId };
  const user = { name: value('username'), domain: domain('user_domain_name'), password: value('password') };
  return { identity: { methods: ['password'], password: { user } }, scope: { project } };
}

function computeIn(body: unknown, value: Values): string {
  const [wanted, region] = [value('interface') ?? 'public', value('region')];
  const services = listAt(body, 'token', 'catalog').filter((one) => stringAt(one, 'type') === 'compute');
  const endpoints = services
    .flatMap((service) => listAt(service, 'endpoints'))
    .filter((one) => isRecord(one) && one['interface'] === wanted)
    .filter(
      (one) => region === undefined || stringAt(one, 'region_id') === region || stringAt(one, 'region') === region,
    );
  const urls = [...new Set(endpoints.map((one) => stringAt(one, 'url')).filter((url) => url !== undefined))];
  const [url, another] = urls;
  if (url === undefined) throw new Failure('refused', `the catalogue has no ${wanted} endpoint of compute`);
  if (another !== undefined) throw new Failure('refused', 'compute is in several regions: write region=…');
  if (whyNoEndpoint(url) !== undefined) throw new Failure('refused', 'the endpoint of compute does not use https');
  return url.replace(/\/+$/, '');
}

/** As it came: this is what is looked at when something is odd. */
function shown(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : value === null ? 'none' : 'absent';
}
