/**
 * Compute Engine, a fake of ours after the reference of its REST API v1 and of OAuth for service accounts. It refuses
 * what the service refuses: other paths, verbs and parameters, a statement that is not signed by the account or has run
 * out, a token that is missing or has run out. What it is told happens when the operation has been read to its end.
 */
import { generateKeyPairSync, verify } from 'node:crypto';
import { gce as cloud } from '../../../src/devices/clouds/gce.ts';
import type { Machine } from '../endpoint.ts';
import { Faults, json, SILENCE, type Asked, type Reply } from './cloud.ts';
import { fakeSubject, startFake, type FakeCloud, type FakeEndpoint } from './fake-cloud.ts';

const PROJECT = 'example-project';
const ZONE = 'europe-west3-a';
const EMAIL = 'fencing@example-project.iam.gserviceaccount.com';
const names: Record<Machine, string> = { a: 'machine-a', b: 'machine-b' };

const newKey = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
const account = newKey();
const stranger = newKey();
/** A line from the middle of the key. */
const canary = account.privateKey.split('\n')[5] ?? '';

interface Operation {
  machine: Machine;
  /** How often it will be read before it has ended; Infinity: it does not end. */
  readsLeft: number;
  error?: { code: string; message: string };
  act: () => void;
}

export class FakeCompute implements FakeCloud {
  readonly faults = new Faults();
  readonly states: Record<Machine, string> = { a: 'RUNNING', b: 'RUNNING' };
  readonly tokens = new Map<string, { isValid: boolean }>();
  readonly operations = new Map<string, Operation>();
  /** With which the next operation ends, after it has acted or without. */
  nextError: { code: string; hasActed: boolean } | undefined;
  url = '';
  #count = 0;

  power(machine: Machine): 'on' | 'off' {
    return this.states[machine] === 'TERMINATED' ? 'off' : 'on';
  }

  setPower(machine: Machine, power: 'on' | 'off'): void {
    this.states[machine] = power === 'on' ? 'RUNNING' : 'TERMINATED';
  }

  async handle(asked: Asked): Promise<Reply | typeof SILENCE> {
    if (asked.url.pathname === '/token') return this.#grant(asked);
    const token = /^Bearer (\S+)$/.exec(asked.headers.authorization ?? '')?.[1] ?? '';
    if (this.tokens.get(token)?.isValid !== true) return error(401, 'Request had invalid authentication credentials.');
    const base = `/compute/v1/projects/${PROJECT}/`;
    if (!asked.url.pathname.startsWith(base)) return error(404, 'Not Found');
    const path = asked.url.pathname.slice(base.length);
    if (path === 'aggregated/instances' && asked.method === 'GET') return this.#list(asked);
    const [, kind, name = '', verb] =
      new RegExp(`^zones/${ZONE}/(instances|operations)/([^/]+)(?:/(\\w+))?$`).exec(path) ?? [];
    if (kind === 'operations' && verb === undefined && asked.method === 'GET') return this.#operation(name);
    const machine = (['a', 'b'] as const).find((one) => names[one] === name);
    if (kind !== 'instances') return error(404, 'Not Found');
    if (machine === undefined) return error(404, `The resource '${path}' was not found`);
    if (this.faults.of[machine] === 'hangs') return SILENCE;
    if (verb === undefined && asked.method === 'GET')
      return json(200, { kind: 'compute#instance', ...this.#show(machine) });
    if (asked.method !== 'POST' || (verb !== 'stop' && verb !== 'start')) return error(404, 'Not Found');
    return this.#switch(machine, verb, asked);
  }

  #show(machine: Machine): Record<string, string> {
    return {
      name: names[machine],
      status: this.states[machine],
      zone: `${this.url}/compute/v1/projects/${PROJECT}/zones/${ZONE}`,
    };
  }

  #list({ url }: Asked): Reply {
    const filter = /^name=([\w-]+)$/.exec(url.searchParams.get('filter') ?? '')?.[1];
    const all = (['a', 'b'] as const).map((machine) => this.#show(machine));
    const found = all.filter(({ name }) => filter === undefined || name === filter);
    const nothing = { warning: { code: 'NO_RESULTS_ON_PAGE' } };
    // The first page holds nothing, as it may.
    if (url.searchParams.get('pageToken') === null) {
      return json(200, { items: { 'zones/us-east1-b': nothing }, nextPageToken: 'second' });
    }
    return json(200, { items: { 'zones/us-east1-b': nothing, [`zones/${ZONE}`]: { instances: found } } });
  }

  /** RFC 7523: a statement signed by the account is exchanged for a token. */
  #grant({ method, headers, body }: Asked): Reply {
    const invalid = (why: string): Reply => json(400, { error: 'invalid_grant', error_description: why });
    if (method !== 'POST') return error(404, 'Not Found');
    if (headers['content-type'] !== 'application/x-www-form-urlencoded') return invalid('Content-Type');
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
      return json(400, { error: 'unsupported_grant_type' });
    }
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const read = (part: string): Record<string, unknown> =>
      JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
    if (read(header)['alg'] !== 'RS256') return invalid('Invalid JWT: algorithm');
    const isSigned = verify(
      'RSA-SHA256',
      Buffer.from(`${header}.${claims}`),
      account.publicKey,
      Buffer.from(signature, 'base64url'),
    );
    if (!isSigned) return invalid('Invalid JWT Signature.');
    const { iss, aud, scope, iat, exp } = read(claims);
    const nowS = Date.now() / 1000;
    if (iss !== EMAIL) return invalid('Invalid grant: account not found');
    if (aud !== `${this.url}/token`) return invalid('Invalid JWT: audience');
    const isInTime = Number(iat) <= nowS + 60 && Number(exp) > nowS && Number(exp) - Number(iat) <= 3600;
    if (!isInTime) return invalid('Invalid JWT: Token must be a short-lived token and in a reasonable timeframe');
    if (scope !== 'https://www.googleapis.com/auth/compute') return json(400, { error: 'invalid_scope' });
    const token = `ya29.token-${this.tokens.size}`;
    this.tokens.set(token, { isValid: true });
    return json(200, { access_token: token, expires_in: 3599, token_type: 'Bearer' });
  }

  #switch(machine: Machine, verb: 'stop' | 'start', { url, body, headers }: Asked): Reply {
    const known = verb === 'stop' ? ['noGracefulShutdown', 'discardLocalSsd', 'requestId'] : ['requestId'];
    const unknown = [...url.searchParams.keys()].find((key) => !known.includes(key));
    if (unknown !== undefined) return error(400, `Invalid JSON payload received. Unknown name "${unknown}"`);
    if (body !== '' && headers['content-type'] !== 'application/json') return error(400, 'Content-Type');
    this.faults.actions[machine] += 1;
    const act = (): void => {
      this.states[machine] = verb === 'stop' ? 'TERMINATED' : 'RUNNING';
    };
    const fault = this.faults.of[machine];
    if (fault === 'refuses') return error(403, `Required 'compute.instances.${verb}' permission`);
    if (fault === 'reportsFailure') {
      act();
      return error(503, 'Internal error. Please try again or contact Google Support.');
    }
    this.#count += 1;
    const name = `operation-${this.#count}`;
    const { nextError } = this;
    this.nextError = undefined;
    // A guest that is shut down with grace takes its time: this one has hung.
    const isPatient = verb === 'stop' && url.searchParams.get('noGracefulShutdown') !== 'true';
    const isIdle = fault === 'ignores' || (nextError !== undefined && !nextError.hasActed);
    const operation: Operation = {
      machine,
      readsLeft: fault === 'late' || isPatient ? Infinity : 2,
      act: isIdle ? () => {} : act,
      ...(nextError !== undefined && { error: { code: nextError.code, message: 'it is not to be' } }),
    };
    if (fault === 'late') this.faults.held[machine] = act;
    this.operations.set(name, operation);
    return json(200, { kind: 'compute#operation', name, status: 'PENDING' });
  }

  #operation(name: string): Reply {
    const operation = this.operations.get(name);
    if (operation === undefined) return error(404, `The resource 'operations/${name}' was not found`);
    operation.readsLeft -= 1;
    if (operation.readsLeft > 0) return json(200, { name, status: 'RUNNING' });
    if (operation.readsLeft === 0) operation.act();
    const errors = operation.error === undefined ? {} : { error: { errors: [operation.error] } };
    return json(200, { name, status: 'DONE', ...errors });
  }
}

function error(code: number, message: string): Reply {
  return json(code, { error: { code, message, errors: [{ message, domain: 'global', reason: 'other' }] } });
}

export type GceEndpoint = FakeEndpoint<FakeCompute>;

export function startGce(): Promise<GceEndpoint> {
  return startFake({
    cloud,
    fake: new FakeCompute(),
    parameters: ({ url }, machine, isRight) => ({
      plain: { instance: names[machine], zone: ZONE, endpoint: url },
      secret: {
        credentials: JSON.stringify({
          type: 'service_account',
          project_id: PROJECT,
          private_key_id: 'key-1',
          private_key: isRight ? account.privateKey : stranger.privateKey,
          client_email: EMAIL,
          token_uri: `${url}/token`,
        }),
      },
    }),
  });
}

export const gce = fakeSubject({
  name: 'Compute Engine',
  start: startGce,
  identity: { a: `gce://${PROJECT}/${ZONE}/machine-a`, b: `gce://${PROJECT}/${ZONE}/machine-b` },
  canary,
});
