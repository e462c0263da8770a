/** Virtual machines of Azure, alone or in a scale set, by Azure Resource Manager, with an application's secret. */
import type { DeviceWorld } from '../device.ts';
import type { HttpsAnswer } from '../http.ts';
import { at, bearer, failureOf, jsonOf, listAt, messageIn, stringAt } from './cloud.ts';
import { eachOf } from './together.ts';
import type { Cloud, CloudFleet, CloudInstance, PowerStatus, Told, ToldOfMany } from './interface.ts';
import { whyNoEndpoint, type Values } from './parameters.ts';
import { Failure, Login, type Token, type Turn } from './turn.ts';

const API_VERSION = '2024-07-01';
const PAGE_LIMIT = 50;

const uuid = { pattern: /^[0-9a-fA-F-]{36}$/, hint: 'write an ID such as 00000000-0000-0000-0000-000000000000' };

export const azure: Cloud = {
  name: 'azure',
  rules: {
    tenant_id: { isRequired: true, pattern: /^[\w.-]+$/, hint: 'write the ID of the tenant' },
    client_id: { ...uuid, isRequired: true },
    client_secret: { isCredential: true, isRequired: true, hint: 'write the secret of the application' },
    subscription_id: uuid,
    resource_group: { pattern: /^[\w.()-]{1,90}$/, hint: 'write the name of the resource group' },
    login_endpoint: { hint: 'write an address', why: whyNoEndpoint },
  },
  problems(value) {
    const instance = value('instance');
    // Not said yet, it may become a provider ID, which holds the subscription.
    const isKnown = value('subscription_id') !== undefined || instance === undefined || idIn(instance) !== undefined;
    return isKnown ? [] : [{ key: 'subscription_id', problem: 'instance does not hold it: write subscription_id=…' }];
  },
  connect(value, world) {
    const instance = value('instance');
    return instance === undefined ? undefined : new AzureMachine(instance, value, new Azure(value, world));
  },
  fleet: (value, world) => new AzureFleet(new Azure(value, world)),
};

/** Off, with its place on a host kept or given up. */
const offStates = ['stopped', 'deallocated'];

/** The ID of the resource, as it is or in a provider ID. */
function idIn(instance: string): string | undefined {
  return /^(?:azure:\/\/)?(\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/(?:virtualMachineScaleSets\/[^/]+\/)?virtualMachines\/[^/]+)$/i.exec(
    instance,
  )?.[1];
}

/** What one application may see. */
class Azure {
  readonly #value: Values;
  readonly #endpoint: string;
  readonly #login: Login<string>;

  constructor(value: Values, world: DeviceWorld) {
    this.#value = value;
    this.#endpoint = (value('endpoint') ?? 'https://management.azure.com').replace(/\/+$/, '');
    this.#login = new Login(world, (turn) => this.#logIn(turn));
  }

  /** All machines of a subscription that are in no scale set. */
  async list(turn: Turn, subscription: string, query: Readonly<Record<string, string>> = {}): Promise<unknown[]> {
    const all: unknown[] = [];
    let url: URL | undefined = this.url(`${subscription}/providers/Microsoft.Compute/virtualMachines`, query);
    for (let page = 0; url !== undefined; page += 1) {
      if (page === PAGE_LIMIT) throw new Failure('unknown', 'the list of machines does not end');
      const body = await this.read(turn, url);
      all.push(...listAt(body, 'value'));
      const next = stringAt(body, 'nextLink');
      url = next === undefined ? undefined : this.monitor(next);
    }
    return all;
  }

  /** Our token goes there: nowhere but to where it belongs. */
  monitor(address: string): URL {
    const url = URL.parse(address);
    if (url?.origin !== new URL(this.#endpoint).origin) {
      throw new Failure('unknown', 'it was accepted, and its outcome would have to be read from another host');
    }
    return url;
  }

  url(path: string, query: Readonly<Record<string, string>> = {}): URL {
    return new URL(
      `${this.#endpoint}${path}?${new URLSearchParams({ 'api-version': API_VERSION, ...query }).toString()}`,
    );
  }

  async read(turn: Turn, url: URL): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.call(turn, 'GET', url);
    if (answer.status !== 200) throw failureOf(answer, 'Azure');
    return jsonOf(answer);
  }

  call(turn: Turn, method: 'GET' | 'POST', url: URL): Promise<HttpsAnswer> {
    return this.#login.call(turn, (token) => ({
      method,
      url,
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
    }));
  }

  async #logIn(turn: Turn): Promise<Token<string>> {
    const login = (this.#value('login_endpoint') ?? 'https://login.microsoftonline.com').replace(/\/+$/, '');
    const answer = await turn.call({
      method: 'POST',
      url: new URL(`${login}/${encodeURIComponent(this.#value('tenant_id') ?? '')}/oauth2/v2.0/token`),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: this.#value('client_id') ?? '',
        client_secret: this.#value('client_secret') ?? '',
        scope: `${this.#endpoint}/.default`,
      }).toString(),
    });
    if (answer.status !== 200) throw failureOf(answer, 'the login failed');
    return bearer(jsonOf(answer), turn);
  }
}

class AzureMachine implements CloudInstance {
  readonly #instance: string;
  readonly #value: Values;
  readonly #azure: Azure;

  constructor(instance: string, value: Values, azure: Azure) {
    this.#instance = instance;
    this.#value = value;
    this.#azure = azure;
  }

  async status(turn: Turn): Promise<PowerStatus> {
    const id = await this.#id(turn);
    return statusIn(await this.#azure.read(turn, this.#azure.url(`${id}/instanceView`)), id);
  }

  async switchTo(power: 'on' | 'off', turn: Turn): Promise<void> {
    const id = await this.#id(turn);
    // Without `skipShutdown` the guest would be asked, and a guest that hangs does not answer.
    const url =
      power === 'off' ? this.#azure.url(`${id}/powerOff`, { skipShutdown: 'true' }) : this.#azure.url(`${id}/start`);
    const answer = await this.#azure.call(turn, 'POST', url);
    if (answer.status === 200 || answer.status === 204) return;
    if (answer.status !== 202) throw failureOf(answer, 'Azure');
    const { 'azure-asyncoperation': operation, location } = answer.headers;
    if (operation !== undefined) await this.#follow(turn, this.#azure.monitor(operation), endOfOperation);
    else if (location !== undefined) await this.#follow(turn, this.#azure.monitor(location), endOfLocation);
    else throw new Failure('unknown', 'it was accepted, and it is not said where its outcome can be read');
  }

  async #follow(turn: Turn, url: URL, hasEnded: (answer: HttpsAnswer) => boolean): Promise<void> {
    await turn.follow(async () => {
      const answer = await this.#azure.call(turn, 'GET', url);
      return { hasEnded: hasEnded(answer), ...pauseIn(answer) };
    });
  }

  async #id(turn: Turn): Promise<string> {
    const given = idIn(this.#instance);
    if (given !== undefined) return given;
    const group = this.#value('resource_group');
    const scope = `/subscriptions/${this.#value('subscription_id') ?? ''}`;
    const name = encodeURIComponent(this.#instance);
    if (group !== undefined) {
      return `${scope}/resourceGroups/${group}/providers/Microsoft.Compute/virtualMachines/${name}`;
    }
    return this.#lookUp(scope, turn);
  }

  async #lookUp(scope: string, turn: Turn): Promise<string> {
    const [first, second] = (await this.#azure.list(turn, scope)).flatMap((one) => {
      const isIt = stringAt(one, 'name')?.toLowerCase() === this.#instance.toLowerCase();
      const id = idIn(stringAt(one, 'id') ?? '');
      return isIt && id !== undefined ? [id] : [];
    });
    if (first === undefined) throw new Failure('refused', `there is no machine ${this.#instance} in the subscription`);
    if (second !== undefined)
      throw new Failure('refused', `there are several ${this.#instance}: write resource_group=…`);
    return first;
  }
}

class AzureFleet implements CloudFleet {
  readonly #azure: Azure;

  constructor(azure: Azure) {
    this.#azure = azure;
  }

  /** The machines of scale sets are in no list of the subscription. */
  has(instance: string): boolean {
    const id = idIn(instance);
    return id !== undefined && !/\/virtualMachineScaleSets\//i.test(id);
  }

  async statuses(instances: readonly string[], turn: Turn): Promise<ToldOfMany> {
    const ids = new Map(instances.map((instance) => [instance, idIn(instance) ?? '']));
    const subscriptions = new Set([...ids.values()].map((id) => id.split('/', 3).join('/').toLowerCase()));
    const told = new Map<string, Told>();
    for (const subscription of subscriptions) {
      const own = instances.filter((instance) => ids.get(instance)?.toLowerCase().startsWith(`${subscription}/`));
      await eachOf(own, told, async () => {
        const listed = await this.#azure.list(turn, subscription, { statusOnly: 'true' });
        const views = new Map(
          listed.map((one) => [stringAt(one, 'id')?.toLowerCase(), at(one, 'properties', 'instanceView')]),
        );
        for (const instance of own) {
          const id = ids.get(instance) ?? '';
          const view = views.get(id.toLowerCase());
          if (view !== undefined) told.set(instance, () => statusIn(view, id));
        }
      });
    }
    return told;
  }
}

function statusIn(view: unknown, id: string): PowerStatus {
  const codes = listAt(view, 'statuses').map((one) => stringAt(one, 'code') ?? '');
  const states = codes.filter((code) => code.startsWith('PowerState/')).map((code) => code.slice('PowerState/'.length));
  const [state = 'absent'] = states;
  if (states.length > 1) throw new Failure('unknown', `it has several power states: ${states.join(', ')}`);
  // What it ran goes on where it was when it is switched on again.
  if (codes.includes('HibernationState/Hibernated')) throw new Failure('unknown', 'it hibernates, which is not off');
  const identity = { kind: 'providerID', value: `azure://${id}` } as const;
  if (state === 'running') return { power: 'on', identity };
  if (offStates.includes(state)) return { power: 'off', identity };
  throw new Failure('unknown', `its power state is ${state}`);
}

/** What the operation's own address says. */
function endOfOperation(answer: HttpsAnswer): boolean {
  if (answer.status !== 200 && answer.status !== 202) throw lost(answer);
  const body = jsonOf(answer);
  const status = stringAt(body, 'status');
  if (status === 'Succeeded') return true;
  if (status !== 'Failed' && status !== 'Canceled') return false;
  const code = stringAt(body, 'error', 'code') ?? '';
  const message = stringAt(body, 'error', 'message') ?? '';
  throw new Failure(
    nothingDone.includes(code) ? 'refused' : 'unknown',
    `the operation ended with ${status}: ${message} (${code})`,
    { isAboutState: code === 'OperationNotAllowed' || code === 'Conflict' },
  );
}

/** An operation that ends with one of these has not begun. */
const nothingDone = ['OperationNotAllowed', 'Conflict', 'AuthorizationFailed', 'ResourceNotFound', 'QuotaExceeded'];

/** An address that answers 202 for as long as it takes. */
function endOfLocation(answer: HttpsAnswer): boolean {
  if (answer.status === 202) return false;
  if (answer.status === 200 || answer.status === 204) return true;
  throw lost(answer);
}

function lost({ status, body }: HttpsAnswer): Failure {
  return new Failure(
    'unknown',
    `it was taken, and then: ${messageIn(body) ?? 'no reason is given'} (status ${status})`,
  );
}

function pauseIn({ headers }: HttpsAnswer): { pauseMs?: number } {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) ? { pauseMs: Math.max(0.1, seconds) * 1000 } : {};
}
