/** What really happened to a namespace's ConfigMaps, and what a list-watch made of it. */
import assert from 'node:assert/strict';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import type { Result } from '../../src/kube/errors.ts';
import type { ListWatch } from '../../src/kube/list-watch.ts';
import { configMaps, namespaces, type ObjectRef } from '../../src/kube/resources.ts';
import type { Change } from '../../src/kube/view.ts';
import type { Seen } from './naive-list-watch.ts';

export interface Written extends Seen {
  /** When the server's answer to the write was here, on the monotonic clock. */
  doneAt: number;
}

interface ConfigMap extends KubeObject {
  data: Record<string, string>;
}

/** Writes one thing after the other and keeps the true history. Its client does not go through the faulty network. */
export class Writer {
  readonly history: Written[] = [];
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #payload: string;
  #turn = 0;

  constructor(client: KubeClient, namespace: string, payloadBytes = 10) {
    this.#client = client;
    this.#namespace = namespace;
    this.#payload = 'x'.repeat(payloadBytes);
  }

  async begin(): Promise<this> {
    taken(await this.#client.create(namespaces, { metadata: { name: this.#namespace } }));
    return this;
  }

  async create(name: string): Promise<void> {
    const object = { metadata: { name, namespace: this.#namespace }, data: this.#data() };
    this.#note('added', taken(await this.#client.create<ConfigMap>(configMaps, object)));
  }

  async update(name: string): Promise<void> {
    const current = taken(await this.#client.get<ConfigMap>(this.#ref(name)));
    this.#note('updated', taken(await this.#client.replace(this.#ref(name), { ...current, data: this.#data() })));
  }

  async remove(name: string): Promise<void> {
    const current = taken(await this.#client.get(this.#ref(name)));
    taken(await this.#client.delete(this.#ref(name), { uid: current.metadata.uid ?? '' }));
    this.#note('deleted', current);
  }

  /** A bit of everything: creates, updates, deletes and recreations, `rounds` times. */
  async bustle(prefix: string, rounds: number): Promise<void> {
    await this.create(`${prefix}-stays`);
    for (let round = 0; round < rounds; round += 1) {
      await this.create(`${prefix}-comes-and-goes`);
      await this.update(`${prefix}-stays`);
      await this.update(`${prefix}-comes-and-goes`);
      await this.remove(`${prefix}-comes-and-goes`);
    }
  }

  #ref(name: string): ObjectRef {
    return { resource: configMaps, namespace: this.#namespace, name };
  }

  #data(): Record<string, string> {
    this.#turn += 1;
    return { turn: String(this.#turn), payload: this.#payload };
  }

  #note(type: Seen['type'], object: KubeObject): void {
    const { name, uid = '', resourceVersion = '' } = object.metadata;
    this.history.push({ type, name, uid, resourceVersion, doneAt: performance.now() });
  }
}

function taken<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

export function seen(change: Change<unknown>): Seen {
  const { key, uid, resourceVersion } = change.entry;
  return { type: change.type, name: key.slice(key.indexOf('/') + 1), uid, resourceVersion };
}

/** Every change, once, in order. A deletion's version is known to the server alone, so it is left out. */
export function assertExact(log: Seen[], history: Written[]): void {
  assert.deepEqual(log.map(comparable), history.map(comparable));
}

export function isExact(log: Seen[], history: Written[]): boolean {
  return JSON.stringify(log.map(comparable)) === JSON.stringify(history.map(comparable));
}

function comparable({ type, name, uid, resourceVersion }: Seen): string {
  return `${type} ${name} ${uid} ${type === 'deleted' ? '' : resourceVersion}`;
}

/**
 * What a relist can still promise: no change twice, none out of order, an object's life is added … deleted, and at the
 * end just what is there.
 */
export function assertConverged(log: Seen[], history: Written[]): void {
  assert.deepEqual(survivors(log), survivors(history));
  const lives = new Map<string, Seen[]>();
  for (const one of log) lives.set(one.uid, [...(lives.get(one.uid) ?? []), one]);
  for (const [uid, life] of lives) {
    assert.equal(life[0]?.type, 'added', `${uid} begins with its birth`);
    assert.ok(
      life.slice(1, -1).every((one) => one.type === 'updated'),
      `${uid} is born and dies once`,
    );
    const versions = life.filter((one) => one.type !== 'deleted').map((one) => Number(one.resourceVersion));
    assert.deepEqual(
      versions,
      [...new Set(versions)].sort((a, b) => a - b),
      `${uid} only moves forward`,
    );
  }
}

export function isConverged(log: Seen[], history: Written[]): boolean {
  try {
    assertConverged(log, history);
    return true;
  } catch {
    return false;
  }
}

function survivors(log: Seen[]): string[] {
  const alive = new Map<string, string>();
  for (const one of log) {
    if (one.type === 'deleted') {
      if (alive.get(one.name)?.startsWith(one.uid)) alive.delete(one.name);
    } else alive.set(one.name, `${one.uid} ${one.resourceVersion}`);
  }
  return [...alive.values()].sort();
}

/** Nothing that had happened before `now - age` may be missing. Answers how much the claim is off, 0 if it is honest. */
export function dishonestyMs(age: number, log: Seen[], history: Written[]): number {
  const known = new Set(log.map(comparable));
  const missing = history.find((one) => !known.has(comparable(one)));
  if (missing === undefined) return 0;
  return Math.max(0, performance.now() - age - missing.doneAt);
}

export type AnyListWatch = ListWatch<unknown>;
