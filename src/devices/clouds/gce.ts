/** Instances of Google Compute Engine, by its REST API v1, with the key of a service account. */
import { createPrivateKey, sign } from 'node:crypto';
import type { DeviceWorld } from '../device.ts';
import { at, bearer, failureOf, isRecord, jsonOf, listAt, stringAt } from './cloud.ts';
import { eachOf } from './together.ts';
import type { Cloud, CloudFleet, CloudInstance, PowerStatus, Told, ToldOfMany } from './interface.ts';
import { whyNoEndpoint, type Values } from './parameters.ts';
import { Failure, Login, type Token, type Turn } from './turn.ts';

const SCOPE = 'https://www.googleapis.com/auth/compute';
const TOKEN_URI = 'https://oauth2.googleapis.com/token';
const LIFETIME_S = 3600;
const PAGE_LIMIT = 50;

interface ServiceAccount {
  email: string;
  privateKey: string;
  keyId: string | undefined;
  project: string | undefined;
  tokenUri: string | undefined;
}

export const gce: Cloud = {
  name: 'gce',
  rules: {
    project: { pattern: /^[a-z0-9.:-]+$/, hint: 'write the ID of the project' },
    zone: { pattern: /^[a-z0-9-]+$/, hint: 'write the zone, such as europe-west3-a' },
    token_uri: { hint: 'write an address', why: whyNoEndpoint },
    discard_local_ssd: { pattern: /^(?:true|false)$/, hint: 'write true or false' },
    credentials: {
      isCredential: true,
      isRequired: true,
      hint: 'write the JSON file of the key of a service account',
      why: (value) => {
        const account = accountIn(value);
        return typeof account === 'string' ? account : undefined;
      },
    },
  },
  hiddenIn(value) {
    const account = accountIn(value('credentials') ?? '');
    // Line by line as well: whoever quotes a key may quote a part of it.
    return typeof account === 'string'
      ? []
      : [account.privateKey, ...account.privateKey.split('\n').filter((line) => !/^-|^\s*$/.test(line))];
  },
  problems(value) {
    const account = accountIn(value('credentials') ?? '');
    const isKnown = value('project') !== undefined || (typeof account !== 'string' && account.project !== undefined);
    return isKnown ? [] : [{ key: 'project', problem: 'the credentials do not name one: write project=…' }];
  },
  connect(value, world) {
    const account = accountIn(value('credentials') ?? '');
    const instance = value('instance');
    if (instance === undefined || typeof account === 'string') return undefined;
    return new GceInstance(instance, value, new Gce(value, world, account));
  },
  fleet(value, world) {
    const account = accountIn(value('credentials') ?? '');
    return typeof account === 'string' ? undefined : new GceFleet(new Gce(value, world, account));
  },
};

/** Answers the problem where it is none. */
function accountIn(credentials: string): ServiceAccount | string {
  try {
    const json: unknown = JSON.parse(credentials);
    const [email, privateKey] = [stringAt(json, 'client_email'), stringAt(json, 'private_key')];
    if (email === undefined || privateKey === undefined) return 'it has no client_email and private_key';
    const tokenUri = stringAt(json, 'token_uri');
    if (tokenUri !== undefined && whyNoEndpoint(tokenUri) !== undefined) return 'its token_uri is no https address';
    createPrivateKey(privateKey);
    return {
      email,
      privateKey,
      tokenUri,
      keyId: stringAt(json, 'private_key_id'),
      project: stringAt(json, 'project_id'),
    };
  } catch {
    return 'it is not the JSON file of the key of a service account';
  }
}

/** The same state, once under its older name. Suspended is not off: what ran goes on when it is switched on again. */
const offStates = ['TERMINATED', 'STOPPED'];

/** An operation that ends with one of these has not begun. */
const nothingDone = ['RESOURCE_NOT_FOUND', 'PERMISSIONS_ERROR', 'QUOTA_EXCEEDED', 'INVALID_USAGE'];

interface Place {
  project: string;
  zone: string;
  name: string;
}

/** What one service account may see. */
class Gce {
  readonly account: ServiceAccount;
  readonly #value: Values;
  readonly #base: string;
  readonly #login: Login<string>;
  readonly #world: DeviceWorld;

  constructor(value: Values, world: DeviceWorld, account: ServiceAccount) {
    this.#value = value;
    this.account = account;
    this.#world = world;
    const endpoint = value('endpoint') ?? 'https://compute.googleapis.com';
    this.#base = `${endpoint.replace(/\/+$/, '')}/compute/v1/projects`;
    this.#login = new Login(world, (turn) => this.#logIn(turn));
  }

  /** Of all zones of a project, with the zone of each. */
  async find(turn: Turn, project: string, search: Readonly<Record<string, string>>): Promise<readonly Zoned[]> {
    const all: Zoned[] = [];
    let next: string | undefined;
    for (let page = 0; page < PAGE_LIMIT; page += 1) {
      const query = new URLSearchParams({ ...search, ...(next !== undefined && { pageToken: next }) }).toString();
      const answer = await this.call(turn, 'GET', `${encodeURIComponent(project)}/aggregated/instances?${query}`);
      const items = at(answer, 'items');
      for (const [scope, found] of Object.entries(isRecord(items) ? items : {})) {
        if (!scope.startsWith('zones/')) continue;
        const zone = scope.slice('zones/'.length);
        all.push(...listAt(found, 'instances').map((instance) => ({ zone, instance })));
      }
      next = stringAt(answer, 'nextPageToken');
      if (next === undefined) return all;
    }
    throw new Failure('unknown', 'the list of instances does not end');
  }

  async call(turn: Turn, method: 'GET' | 'POST', path: string): Promise<Readonly<Record<string, unknown>>> {
    const url = new URL(`${this.#base}/${path}`);
    const answer = await this.#login.call(turn, (token) => ({
      method,
      url,
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
    }));
    if (answer.status !== 200) throw failureOf(answer, 'Compute Engine');
    return jsonOf(answer);
  }

  /** The key signs a statement who we are, and that is exchanged for a token. */
  async #logIn(turn: Turn): Promise<Token<string>> {
    const { email, privateKey, keyId, tokenUri } = this.account;
    const audience = this.#value('token_uri') ?? tokenUri ?? TOKEN_URI;
    const nowS = Math.floor(this.#world.now() / 1000);
    const claims = { iss: email, scope: SCOPE, aud: audience, iat: nowS, exp: nowS + LIFETIME_S };
    const header = { alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) };
    const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const assertion = `${text}.${sign('RSA-SHA256', Buffer.from(text), privateKey).toString('base64url')}`;
    turn.hide(assertion);
    const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const answer = await turn.call({
      method: 'POST',
      url: new URL(audience),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: grant, assertion }).toString(),
    });
    if (answer.status !== 200) throw failureOf(answer, `the login of ${email} failed`);
    return bearer(jsonOf(answer), turn);
  }
}

interface Zoned {
  zone: string;
  instance: unknown;
}

class GceInstance implements CloudInstance {
  readonly #instance: string;
  readonly #value: Values;
  readonly #gce: Gce;

  constructor(instance: string, value: Values, gce: Gce) {
    this.#instance = instance;
    this.#value = value;
    this.#gce = gce;
  }

  async status(turn: Turn): Promise<PowerStatus> {
    const place = await this.#place(turn);
    return statusIn(await this.#gce.call(turn, 'GET', pathOf(place)), place);
  }

  /**
   * There is no forced stop: the guest is told, and after about ninety seconds its power is cut. What can be skipped is
   * the longer graceful shutdown that some instances are configured for.
   */
  async switchTo(power: 'on' | 'off', turn: Turn): Promise<void> {
    const place = await this.#place(turn);
    const discard = this.#value('discard_local_ssd');
    const query = new URLSearchParams({
      noGracefulShutdown: 'true',
      ...(discard !== undefined && { discardLocalSsd: discard }),
    });
    const action = power === 'off' ? `stop?${query.toString()}` : 'start';
    let operation = await this.#gce.call(turn, 'POST', `${pathOf(place)}/${action}`);
    const name = stringAt(operation, 'name');
    if (name === undefined) throw new Failure('unknown', 'the answer names no operation');
    const path = `${zonePath(place.project, place.zone)}/operations/${encodeURIComponent(name)}`;
    let isFirst = true;
    await turn.follow(async () => {
      if (!isFirst) operation = await this.#gce.call(turn, 'GET', path);
      isFirst = false;
      if (stringAt(operation, 'status') !== 'DONE') return { hasEnded: false };
      throwOnError(operation);
      return { hasEnded: true };
    });
  }

  /** By a provider ID, by project, zone and name, or looked up in all zones by its name alone. */
  async #place(turn: Turn): Promise<Place> {
    const given = placeIn(this.#instance);
    if (given !== undefined) return given;
    const project = this.#value('project') ?? this.#gce.account.project ?? '';
    const name = this.#instance;
    const zone = this.#value('zone') ?? (await this.#zoneOf(project, name, turn));
    return { project, zone, name };
  }

  async #zoneOf(project: string, name: string, turn: Turn): Promise<string> {
    const found = await this.#gce.find(turn, project, { filter: `name=${name}` });
    const [first, another] = found.filter(({ instance }) => stringAt(instance, 'name') === name);
    if (first === undefined) throw new Failure('refused', `there is no instance ${name} in project ${project}`);
    if (another !== undefined) throw new Failure('refused', `${name} is in several zones: write zone=…`);
    return first.zone;
  }
}

class GceFleet implements CloudFleet {
  readonly #gce: Gce;

  constructor(gce: Gce) {
    this.#gce = gce;
  }

  has(instance: string): boolean {
    return placeIn(instance) !== undefined;
  }

  async statuses(instances: readonly string[], turn: Turn): Promise<ToldOfMany> {
    const told = new Map<string, Told>();
    const projects = new Set(instances.map((instance) => placeIn(instance)?.project));
    for (const project of projects) {
      if (project === undefined) continue;
      const own = instances.filter((instance) => placeIn(instance)?.project === project);
      await eachOf(own, told, async () => {
        const found = await this.#gce.find(turn, project, { maxResults: '500' });
        const byPlace = new Map(found.map(({ zone, instance }) => [`${zone}/${stringAt(instance, 'name')}`, instance]));
        for (const instance of own) {
          const place = placeIn(instance);
          const one = byPlace.get(`${place?.zone}/${place?.name}`);
          if (place !== undefined && one !== undefined) told.set(instance, () => statusIn(one, place));
        }
      });
    }
    return told;
  }
}

function statusIn(found: unknown, { project, zone, name }: Place): PowerStatus {
  const state = stringAt(found, 'status') ?? 'absent';
  if (stringAt(found, 'name') !== name) throw new Failure('unknown', `the answer is not about ${name}`);
  const identity = { kind: 'providerID', value: `gce://${project}/${zone}/${name}` } as const;
  if (state === 'RUNNING') return { power: 'on', identity };
  if (offStates.includes(state)) return { power: 'off', identity };
  throw new Failure('unknown', `the state of ${name} is ${state}`);
}

function placeIn(instance: string): Place | undefined {
  const [, project, zone, name] = /^gce:\/\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(instance) ?? [];
  return project === undefined || zone === undefined || name === undefined ? undefined : { project, zone, name };
}

function pathOf({ project, zone, name }: Place): string {
  return `${zonePath(project, zone)}/instances/${encodeURIComponent(name)}`;
}

function zonePath(project: string, zone: string): string {
  return `${encodeURIComponent(project)}/zones/${encodeURIComponent(zone)}`;
}

function throwOnError(operation: unknown): void {
  const errors = listAt(operation, 'error', 'errors');
  const [first] = errors;
  if (first === undefined && at(operation, 'error') === undefined) return;
  const code = stringAt(first, 'code') ?? '';
  const isCertain = errors.length === 1 && nothingDone.includes(code);
  throw new Failure(
    isCertain ? 'refused' : 'unknown',
    `the operation failed: ${stringAt(first, 'message') ?? ''} (${code})`,
  );
}
