/**
 * Azure Resource Manager and Entra ID, a fake of ours after their reference. It refuses what they refuse: other paths
 * and verbs, a call without an API version, a login that is not right in every part, a token that is missing or has run
 * out. What it is told happens when the operation has been read to its end: machine a gives its operation by
 * `Azure-AsyncOperation`, machine b, which is in a scale set, by `Location`.
 */
import { azure as cloud } from '../../../src/devices/clouds/azure.ts';
import type { Machine } from '../endpoint.ts';
import { Faults, json, SILENCE, type Asked, type Reply } from './cloud.ts';
import { fakeSubject, startFake, type FakeCloud, type FakeEndpoint } from './fake-cloud.ts';

const canary = 'AzureCanary~8Q~1984.x_y';
const TENANT = '11111111-2222-3333-4444-555555555555';
const CLIENT = '66666666-7777-8888-9999-000000000000';
const SUBSCRIPTION = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee';
const compute = `/subscriptions/${SUBSCRIPTION}/resourceGroups/Nodes/providers/Microsoft.Compute`;
export const ids: Record<Machine, string> = {
  a: `${compute}/virtualMachines/machine-a`,
  b: `${compute}/virtualMachineScaleSets/pool/virtualMachines/0`,
};
const versions = ['2024-03-01', '2024-07-01', '2025-04-01'];

interface Operation {
  readsLeft: number;
  error?: { code: string; message: string };
  act: () => void;
}

export class FakeAzure implements FakeCloud {
  readonly faults = new Faults();
  readonly states: Record<Machine, string[]> = { a: ['PowerState/running'], b: ['PowerState/running'] };
  readonly tokens = new Map<string, { isValid: boolean }>();
  readonly operations = new Map<string, Operation>();
  nextError: { code: string; hasActed: boolean } | undefined;
  /** All machines of the subscription. */
  listed = [ids.a.replace('Nodes', 'Other').replace('machine-a', 'machine-c'), ids.a];
  /** Where the end of an operation, or the next page of a list, is said to be, instead of here. */
  elsewhere: string | undefined;
  url = '';

  power(machine: Machine): 'on' | 'off' {
    return this.states[machine].includes('PowerState/stopped') ? 'off' : 'on';
  }

  setPower(machine: Machine, power: 'on' | 'off'): void {
    this.states[machine] = [power === 'on' ? 'PowerState/running' : 'PowerState/stopped'];
  }

  async handle(asked: Asked): Promise<Reply | typeof SILENCE> {
    const { url, method, headers } = asked;
    if (url.pathname === `/${TENANT}/oauth2/v2.0/token`) return this.#grant(asked);
    const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    if (this.tokens.get(token)?.isValid !== true)
      return error(401, 'InvalidAuthenticationToken', 'The access token is invalid.');
    const version = url.searchParams.get('api-version');
    if (version === null)
      return error(400, 'MissingApiVersionParameter', 'The api-version query parameter is required.');
    if (!versions.includes(version)) return error(400, 'InvalidApiVersionParameter', 'The api-version is invalid.');
    // Names of resources are the same in upper and lower case.
    const path = url.pathname.toLowerCase();
    const [, kind, name = ''] =
      new RegExp(
        `^/subscriptions/${SUBSCRIPTION}/providers/microsoft.compute/(?:locations/westeurope/(operations|results)/)?([\\w-]+)$`,
      ).exec(path) ?? [];
    if (kind !== undefined)
      return method === 'GET' ? this.#operation(kind, name) : error(405, 'MethodNotAllowed', 'no');
    if (name === 'virtualmachines' && method === 'GET') return this.#list(url);
    const machine = (['a', 'b'] as const).find((one) => path.startsWith(`${ids[one].toLowerCase()}/`));
    if (machine === undefined) return error(404, 'ResourceNotFound', 'The Resource was not found.');
    if (this.faults.of[machine] === 'hangs') return SILENCE;
    const verb = path.slice(ids[machine].length + 1);
    if (verb === 'instanceview') return method === 'GET' ? this.#view(machine) : error(405, 'MethodNotAllowed', 'no');
    if (verb !== 'poweroff' && verb !== 'start')
      return error(404, 'InvalidResourceType', 'The resource type could not be found.');
    return method === 'POST' ? this.#switch(machine, verb, url) : error(405, 'MethodNotAllowed', 'no');
  }

  #view(machine: Machine): Reply {
    return json(200, { statuses: this.#codes(machine) });
  }

  #codes(machine: Machine): object[] {
    return ['ProvisioningState/succeeded', ...this.states[machine]].map((code) => ({ code, level: 'Info' }));
  }

  /** One machine on each page, as Azure has hundreds. */
  #list({ pathname, searchParams }: URL): Reply {
    const page = Number(searchParams.get('$skiptoken') ?? 0);
    const id = this.listed[page] ?? '';
    const machine = (['a', 'b'] as const).find((one) => ids[one].toLowerCase() === id.toLowerCase());
    const isStatus = searchParams.get('statusOnly') === 'true';
    const properties = isStatus && machine !== undefined ? { instanceView: { statuses: this.#codes(machine) } } : {};
    const value = [{ id, name: id.split('/').at(-1), type: 'Microsoft.Compute/virtualMachines', properties }];
    const isLast = page + 1 >= this.listed.length;
    const query = isStatus ? '&statusOnly=true' : '';
    const nextLink = `${this.elsewhere ?? this.url}${pathname}?api-version=2024-07-01${query}&$skiptoken=${page + 1}`;
    return json(200, { value, ...(isLast ? {} : { nextLink }) });
  }

  #grant({ method, headers, body }: Asked): Reply {
    if (method !== 'POST') return { status: 405 };
    const invalid = (status: number, kind: string, why: string): Reply =>
      json(status, { error: kind, error_description: why });
    if (headers['content-type'] !== 'application/x-www-form-urlencoded')
      return invalid(400, 'invalid_request', 'AADSTS900144');
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== 'client_credentials') return invalid(400, 'unsupported_grant_type', 'AADSTS70003');
    if (form.get('scope') !== `${this.url}/.default`) return invalid(400, 'invalid_scope', 'AADSTS1002012');
    if (form.get('client_id') !== CLIENT) return invalid(400, 'unauthorized_client', 'AADSTS700016');
    if (form.get('client_secret') !== canary) {
      return invalid(
        401,
        'invalid_client',
        `AADSTS7000215: Invalid client secret provided: '${form.get('client_secret')}'.`,
      );
    }
    const token = `eyJ0.token-${this.tokens.size}`;
    this.tokens.set(token, { isValid: true });
    return json(200, { token_type: 'Bearer', expires_in: 3599, access_token: token });
  }

  #switch(machine: Machine, verb: 'poweroff' | 'start', { searchParams }: URL): Reply {
    this.faults.actions[machine] += 1;
    const act = (): void => {
      this.states[machine] = [verb === 'start' ? 'PowerState/running' : 'PowerState/stopped'];
    };
    const fault = this.faults.of[machine];
    if (fault === 'refuses') return error(403, 'AuthorizationFailed', 'The client does not have authorization.');
    if (fault === 'reportsFailure') {
      act();
      return error(500, 'InternalServerError', 'An error occurred.');
    }
    // Its guest hangs: whoever asks it first waits in vain.
    const isPatient = verb === 'poweroff' && searchParams.get('skipShutdown') !== 'true';
    const { nextError } = this;
    this.nextError = undefined;
    const isIdle = fault === 'ignores' || (nextError !== undefined && !nextError.hasActed);
    const name = `op-${this.operations.size}`;
    this.operations.set(name, {
      readsLeft: fault === 'late' || isPatient ? Infinity : 2,
      act: isIdle ? () => {} : act,
      ...(nextError !== undefined && { error: { code: nextError.code, message: 'it is not to be' } }),
    });
    if (fault === 'late') this.faults.held[machine] = act;
    const place = (kind: string): string =>
      `${this.elsewhere ?? this.url}/subscriptions/${SUBSCRIPTION}/providers/Microsoft.Compute/locations/westeurope/${kind}/${name}?api-version=2024-07-01`;
    const location = { location: place('results') };
    const headers = machine === 'a' ? { 'azure-asyncoperation': place('operations'), ...location } : location;
    return { status: 202, headers: { ...headers, 'retry-after': '0' } };
  }

  #operation(kind: string, name: string): Reply {
    const operation = this.operations.get(name);
    if (operation === undefined) return error(404, 'NotFound', 'The operation was not found.');
    operation.readsLeft -= 1;
    const isResult = kind === 'results';
    if (operation.readsLeft > 0) {
      const headers = { 'retry-after': '0' };
      return isResult ? { status: 202, headers } : json(200, { name, status: 'InProgress' }, headers);
    }
    if (operation.readsLeft === 0) operation.act();
    if (isResult)
      return operation.error === undefined ? { status: 200 } : error(409, operation.error.code, 'it is not to be');
    const status = operation.error === undefined ? 'Succeeded' : 'Failed';
    return json(200, { name, status, ...(operation.error !== undefined && { error: operation.error }) });
  }
}

function error(status: number, code: string, message: string): Reply {
  return json(status, { error: { code, message } });
}

export type AzureEndpoint = FakeEndpoint<FakeAzure>;

export function startAzure(): Promise<AzureEndpoint> {
  return startFake({
    cloud,
    fake: new FakeAzure(),
    parameters: ({ url }, machine, isRight) => ({
      plain: {
        instance: `azure://${ids[machine]}`,
        tenant_id: TENANT,
        client_id: CLIENT,
        endpoint: url,
        login_endpoint: url,
      },
      secret: { client_secret: isRight ? canary : canary.toLowerCase() },
    }),
  });
}

export const azure = fakeSubject({
  name: 'Azure',
  start: startAzure,
  identity: { a: `azure://${ids.a}`, b: `azure://${ids.b}` },
  canary,
});
