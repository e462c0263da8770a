/**
 * Keystone v3 and Nova 2.1, a fake of ours after their reference. It refuses what they refuse: other paths and verbs, a
 * body that is not JSON or not in the shape of the schema, a token that is missing or has run out, a command that the
 * state of the server does not allow. A command is taken at once and followed step by step, one for each time that
 * somebody looks.
 */
import { openstack as cloud } from '../../../src/devices/clouds/openstack.ts';
import type { DeviceParameters } from '../../../src/devices/device.ts';
import type { Machine } from '../endpoint.ts';
import { Faults, json, SILENCE, type Asked, type Reply } from './cloud.ts';
import { fakeSubject, startFake, type FakeCloud, type FakeEndpoint } from './fake-cloud.ts';

const canary = 'OpenstackCanary"1984';
const PROJECT = '0c597041c63d4cb2acc98b71b2b1bd61';
const APPLICATION = '423f19a4ac1e4f48bbb4180756e6eb6c';
export const ids: Record<Machine, string> = {
  a: 'a1b2c3d4-0000-4000-8000-00000000000a',
  b: 'a1b2c3d4-0000-4000-8000-00000000000b',
};

export interface ServerState {
  status: string;
  power: number | undefined;
  task: string | null | undefined;
}

const running: ServerState = { status: 'ACTIVE', power: 1, task: null };
const off: ServerState = { status: 'SHUTOFF', power: 4, task: null };

export class FakeNova implements FakeCloud {
  readonly faults = new Faults();
  readonly states: Record<Machine, ServerState> = { a: running, b: running };
  readonly names: Record<Machine, string> = { a: 'machine-a.example', b: 'machine-b.example' };
  /** States that follow, each when somebody has looked. */
  readonly ahead: Record<Machine, ServerState[]> = { a: [], b: [] };
  readonly tokens = new Map<string, { isValid: boolean }>();
  catalogue: unknown[] = [];
  url = '';

  power(machine: Machine): 'on' | 'off' {
    return this.states[machine].power === 4 ? 'off' : 'on';
  }

  setPower(machine: Machine, power: 'on' | 'off'): void {
    this.states[machine] = power === 'on' ? running : off;
    this.ahead[machine] = [];
  }

  async handle(asked: Asked): Promise<Reply | typeof SILENCE> {
    const { url, method, headers } = asked;
    if (url.pathname === '/identity/v3/auth/tokens') return this.#grant(asked);
    const base = '/compute/v2.1/servers/';
    if (!url.pathname.startsWith(base)) return { status: 404 };
    const token = headers['x-auth-token'];
    if (typeof token !== 'string' || this.tokens.get(token)?.isValid !== true) {
      return json(401, {
        error: { code: 401, title: 'Unauthorized', message: 'The request you have made requires authentication.' },
      });
    }
    const [id = '', action, ...rest] = url.pathname.slice(base.length).split('/');
    if (id === 'detail' && action === undefined) return method === 'GET' ? this.#list(url) : { status: 405 };
    const machine = (['a', 'b'] as const).find((one) => ids[one] === id);
    if (machine === undefined)
      return json(404, { itemNotFound: { code: 404, message: `Instance ${id} could not be found.` } });
    if (this.faults.of[machine] === 'hangs') return SILENCE;
    if (action === undefined) return method === 'GET' ? json(200, { server: this.#look(machine) }) : { status: 405 };
    if (action !== 'action' || rest.length > 0) return { status: 404 };
    return method === 'POST' ? this.#act(machine, asked) : { status: 405 };
  }

  #look(machine: Machine): Record<string, unknown> {
    const { status, power, task } = this.states[machine];
    const [next, ...later] = this.ahead[machine];
    if (next !== undefined) {
      this.states[machine] = next;
      this.ahead[machine] = later;
    }
    return {
      id: ids[machine],
      name: this.names[machine],
      status,
      'OS-EXT-STS:power_state': power,
      'OS-EXT-STS:task_state': task,
      'OS-EXT-STS:vm_state': status === 'SHUTOFF' ? 'stopped' : 'active',
    };
  }

  #list(url: URL): Reply {
    const pattern = new RegExp(url.searchParams.get('name') ?? '');
    const servers = (['a', 'b'] as const).filter((machine) => pattern.test(this.names[machine]));
    return json(200, { servers: servers.map((machine) => this.#look(machine)) });
  }

  #act(machine: Machine, { headers, body }: Asked): Reply {
    if (!headers['content-type']?.startsWith('application/json')) {
      return json(415, { badMediaType: { code: 415, message: 'Unsupported Content-Type' } });
    }
    const value = JSON.parse(body) as Record<string, unknown>;
    const [verb = '', ...others] = Object.keys(value);
    if (!['os-stop', 'os-start'].includes(verb) || others.length > 0 || value[verb] !== null) {
      return json(400, { badRequest: { code: 400, message: 'There is no such action' } });
    }
    this.faults.actions[machine] += 1;
    const fault = this.faults.of[machine];
    const wanted = verb === 'os-stop' ? off : running;
    if (fault === 'refuses')
      return json(403, { forbidden: { code: 403, message: `Policy doesn't allow ${verb} to be performed.` } });
    const { status, task } = this.states[machine];
    const allowed = verb === 'os-stop' ? ['ACTIVE', 'ERROR'] : ['SHUTOFF'];
    if (!allowed.includes(status) || task !== null) {
      const message = `Cannot '${verb.slice(3)}' instance ${ids[machine]} while it is in vm_state ${status}`;
      return json(409, { conflictingRequest: { code: 409, message } });
    }
    if (fault === 'ignores') return { status: 202 };
    if (fault === 'late') {
      this.faults.held[machine] = () => {
        this.states[machine] = wanted;
      };
      return { status: 202 };
    }
    this.#begin(machine, verb, wanted);
    return fault === 'reportsFailure'
      ? json(500, { computeFault: { code: 500, message: 'Unexpected API Error.' } })
      : { status: 202 };
  }

  /** Nova says SHUTOFF before the hypervisor has been asked again. */
  #begin(machine: Machine, verb: string, wanted: ServerState): void {
    const now = this.states[machine];
    const task = verb === 'os-stop' ? 'powering-off' : 'powering-on';
    this.states[machine] = { ...now, task };
    this.ahead[machine] = [{ ...wanted, power: now.power }, wanted];
  }

  #grant({ method, headers, body }: Asked): Reply {
    if (method !== 'POST') return { status: 405 };
    const failed = (code: number, message: string): Reply => json(code, { error: { code, message } });
    if (headers['content-type'] !== 'application/json') return failed(415, 'Unsupported Media Type');
    const { auth } = JSON.parse(body) as { auth: Auth };
    const isPassword = JSON.stringify(auth.identity) === JSON.stringify(byPassword(canary));
    const isApplication = JSON.stringify(auth.identity) === JSON.stringify(byApplication(canary));
    if (!isPassword && !isApplication) return failed(401, 'The request you have made requires authentication.');
    const scope = auth.scope?.project;
    const isScoped = scope?.id === PROJECT || (scope?.name === 'nodes' && scope.domain?.name === 'Default');
    // An application credential is bound to its project, and a scope beside it is refused.
    if (isApplication && scope !== undefined) return failed(401, 'Application credentials cannot request a scope.');
    const token = `gAAAA-token-${this.tokens.size}`;
    this.tokens.set(token, { isValid: true });
    const nowMs = Date.now();
    const times = { issued_at: new Date(nowMs).toISOString(), expires_at: new Date(nowMs + 3_600_000).toISOString() };
    const catalog = isScoped || isApplication ? this.catalogue : undefined;
    return json(201, { token: { methods: auth.identity.methods, ...times, catalog } }, { 'x-subject-token': token });
  }
}

interface Auth {
  identity: { methods: string[] };
  scope?: { project?: { id?: string; name?: string; domain?: { name?: string } } };
}

function byPassword(password: string): unknown {
  const user = { name: 'fencing', domain: { name: 'Default' }, password };
  return { methods: ['password'], password: { user } };
}

function byApplication(secret: string): unknown {
  return { methods: ['application_credential'], application_credential: { id: APPLICATION, secret } };
}

export interface OpenstackEndpoint extends FakeEndpoint<FakeNova> {
  /** Parameters with an application credential. */
  application(machine: Machine): DeviceParameters;
}

export async function startOpenstack(): Promise<OpenstackEndpoint> {
  const endpoint = await startFake({
    cloud,
    fake: new FakeNova(),
    parameters: ({ url }, machine, isRight) => ({
      plain: { instance: ids[machine], endpoint: `${url}/identity`, username: 'fencing', project_name: 'nodes' },
      secret: { password: isRight ? canary : canary.toLowerCase() },
    }),
  });
  const { door, fake } = endpoint;
  const here = { interface: 'public', region: 'one', region_id: 'one', url: `${door.url}/compute/v2.1` };
  const internal = { ...here, interface: 'internal', url: 'https://internal.invalid/compute/v2.1' };
  fake.catalogue = [
    { type: 'volumev3', name: 'cinder', endpoints: [{ ...here, url: `${door.url}/volume/v3` }] },
    { type: 'compute', name: 'nova', endpoints: [internal, here] },
  ];
  return {
    ...endpoint,
    application: (machine) => ({
      plain: {
        instance: ids[machine],
        endpoint: `${door.url}/identity/v3`,
        region: 'one',
        application_credential_id: APPLICATION,
      },
      secret: { application_credential_secret: canary, ca: door.ca },
    }),
  };
}

export const openstack = fakeSubject({
  name: 'OpenStack',
  start: startOpenstack,
  identity: { a: `openstack:///${ids.a}`, b: `openstack:///${ids.b}` },
  canary,
});
