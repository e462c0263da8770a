/**
 * The contract between clients and an API server, as cases that run against any server: the real one says what is
 * right, the embedded one has to agree. A case knows its server only through `Api`.
 */
import assert from 'node:assert/strict';
import type { Feature } from '../../src/world/api-server/kind.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked at from all sides; types would be in the way
export type Json = any;

export interface Reply {
  status: number;
  body: Json;
  headers: Record<string, string>;
}

export interface WatchEvent {
  type: string;
  object: Json;
}

export interface OpenWatch {
  status: number;
  /** Rejects when none comes. Undefined: the server ended the watch. */
  next(): Promise<WatchEvent | undefined>;
  close(): void;
}

export interface CallOptions {
  contentType?: string;
  accept?: string;
}

/** One way to reach a server. */
export interface Driver {
  call(method: string, path: string, body: unknown, options: CallOptions): Promise<Reply>;
  watch(path: string): Promise<OpenWatch>;
  /** Lets time pass: by waiting, or by moving a clock. */
  pass(ms: number): Promise<void>;
}

export interface Case {
  name: string;
  /** Taking this away must turn the case red. */
  needs: Feature;
  run: (api: Api) => Promise<void>;
}

export function group(cases: [name: string, needs: Feature, run: (api: Api) => Promise<void>][]): Case[] {
  return cases.map(([name, needs, run]) => ({ name, needs, run }));
}

export const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** What a case works with: a namespace of its own, and names that nobody else uses. */
export class Api {
  readonly namespace: string;
  readonly id: string;
  readonly #driver: Driver;
  readonly #watches: OpenWatch[] = [];

  constructor(driver: Driver, id: string) {
    this.#driver = driver;
    this.id = id;
    this.namespace = `ns-${id}`;
  }

  async setUp(): Promise<void> {
    await this.ok('POST', '/api/v1/namespaces', { metadata: { name: this.namespace } });
  }

  async tearDown(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    for (const plural of ['nodes', 'persistentvolumes']) await this.#removeAll(`/api/v1/${plural}`);
    await this.#removeAll('/apis/storage.k8s.io/v1/volumeattachments');
  }

  async #removeAll(path: string): Promise<void> {
    await this.call('DELETE', `${path}?labelSelector=case%3D${this.id}`);
  }

  pass(ms: number): Promise<void> {
    return this.#driver.pass(ms);
  }

  call(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Reply> {
    return this.#driver.call(method, path, body, options);
  }

  async ok(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Json> {
    const reply = await this.call(method, path, body, options);
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.body?.message}`);
    return reply.body;
  }

  /** The Status of a refusal. */
  // oxlint-disable-next-line max-params -- reads like the request that it is about
  async refused(code: number, method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Json> {
    const reply = await this.call(method, path, body, options);
    assert.equal(reply.status, code, `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body).slice(0, 300)}`);
    assert.equal(reply.body.kind, 'Status');
    assert.equal(reply.body.status, 'Failure');
    assert.equal(reply.body.code, code);
    return reply.body;
  }

  async watch(path: string): Promise<OpenWatch> {
    const watch = await this.#driver.watch(path);
    this.#watches.push(watch);
    return watch;
  }

  // Places.

  configMaps(name = ''): string {
    return `/api/v1/namespaces/${this.namespace}/configmaps${name && `/${name}`}`;
  }

  pods(name = '', subresource = ''): string {
    return `/api/v1/namespaces/${this.namespace}/pods${name && `/${name}`}${subresource && `/${subresource}`}`;
  }

  inGroup(groupVersion: string, plural: string, name = ''): string {
    return `/apis/${groupVersion}/namespaces/${this.namespace}/${plural}${name && `/${name}`}`;
  }

  node(name = 'n', subresource = ''): string {
    return `/api/v1/nodes/${name}-${this.id}${subresource && `/${subresource}`}`;
  }

  // Things.

  configMap(name = 'a', data: Json = { x: '1' }, metadata: Json = {}): Promise<Json> {
    return this.ok('POST', this.configMaps(), { metadata: { name, ...metadata }, data });
  }

  newNode(name = 'n', more: Json = {}): Promise<Json> {
    const metadata = {
      name: `${name}-${this.id}`,
      ...more.metadata,
      labels: { case: this.id, ...more.metadata?.labels },
    };
    return this.ok('POST', '/api/v1/nodes', { ...more, metadata });
  }

  podBody(name = 'p', more: Json = {}): Json {
    const { metadata, spec } = more;
    return {
      metadata: { name, labels: { app: 'x' }, ...metadata },
      spec: { containers: [{ name: 'c', image: 'example/c:1' }], ...spec },
    };
  }

  newPod(name = 'p', more: Json = {}): Promise<Json> {
    return this.ok('POST', this.pods(), this.podBody(name, more));
  }

  /** On a node that nobody runs, so that it stays as it is. */
  scheduledPod(name = 'p', more: Json = {}): Promise<Json> {
    return this.newPod(name, { ...more, spec: { nodeName: `n-${this.id}`, ...more.spec } });
  }

  async runningPod(name = 'p', more: Json = {}): Promise<Json> {
    await this.scheduledPod(name, more);
    const conditions = [{ type: 'Ready', status: 'True' }];
    return this.ok(
      'PATCH',
      this.pods(name, 'status'),
      { status: { phase: 'Running', conditions } },
      { contentType: types.merge },
    );
  }
}

/** Asserts that `actual` has all that `expected` has, at any depth; lists have to agree in length. */
export function has(actual: Json, expected: Json, path = ''): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `${path}: ${JSON.stringify(actual)} is no list`);
    assert.equal(actual.length, expected.length, `${path}: ${JSON.stringify(actual)}`);
    for (const [index, one] of expected.entries()) has(actual[index], one, `${path}[${index}]`);
  } else if (typeof expected === 'object' && expected !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, `${path}: ${JSON.stringify(actual)} is no object`);
    for (const [key, one] of Object.entries(expected)) has(actual[key], one, `${path}.${key}`);
  } else assert.equal(actual, expected, path);
}

export function names(list: Json): string[] {
  return list.items.map((item: Json) => item.metadata.name);
}
