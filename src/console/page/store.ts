/** What the page knows: parts as the server sent them, and since when nothing was heard. */
import type { HeadPicture, News, NodePicture } from '../picture.ts';
import type { MachineSnapshot, StagePicture } from '../snapshot.ts';

export interface Edge {
  now(): number;
  after(delayMs: number, callback: () => void): () => void;
}

export type Connection = 'connecting' | 'live' | 'lost' | 'signIn';

export class Store {
  readonly #edge: Edge;
  readonly #parts = new Map<string, unknown>();
  readonly #listeners = new Set<() => void>();
  #events: EventSource | undefined;
  #page = '';
  #retry: (() => void) | undefined;
  connection: Connection = 'connecting';
  /** Until when the picture is true, by the server's clock. */
  at = 0;
  /** When the last news came, by our clock. */
  heardMs = 0;
  silentMs = 0;
  /** Changes when a node does. */
  nodes: NodePicture[] = [];
  machines: MachineSnapshot[] = [];

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  get<T>(name: string): T | undefined {
    return this.#parts.get(name) as T | undefined;
  }

  get head(): HeadPicture | undefined {
    return this.get<HeadPicture>('head');
  }

  get stage(): StagePicture | undefined {
    return this.get<StagePicture>('stage');
  }

  /** By the server's clock, as far as it is known. */
  now(): number {
    return this.at + (this.#edge.now() - this.heardMs) * (this.stage?.rate ?? 1);
  }

  /** For how long nothing was heard of the console. */
  unheardMs(): number {
    return this.heardMs === 0 ? 0 : this.#edge.now() - this.heardMs;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Opens the stream of a page; another one before is closed. What is known stays until it is known better. */
  open(page: string): void {
    if (page === this.#page && this.#events !== undefined) return;
    this.close();
    this.#page = page;
    const events = new EventSource(`events?page=${encodeURIComponent(page)}`);
    this.#events = events;
    let isFirst = true;
    events.addEventListener('message', ({ data }) => {
      this.#take(JSON.parse(String(data)) as News, isFirst);
      isFirst = false;
    });
    // Who comes back gets everything anew.
    events.addEventListener('open', () => (isFirst = true));
    events.addEventListener('error', () => {
      this.connection = 'lost';
      this.#tell();
      if (events.readyState === EventSource.CLOSED) this.#again();
    });
  }

  close(): void {
    this.#retry?.();
    this.#events?.close();
    this.#events = undefined;
  }

  #take({ at, silentMs = 0, set, gone }: News, isFirst: boolean): void {
    if (isFirst) for (const name of this.#parts.keys()) if (!(name in set)) this.#parts.delete(name);
    for (const [name, part] of Object.entries(set)) this.#parts.set(name, part);
    for (const name of gone) this.#parts.delete(name);
    const names = [...Object.keys(set), ...gone];
    if (isFirst || names.some((name) => name.startsWith('node/'))) this.nodes = this.#all<NodePicture>('node/');
    if (isFirst || names.some((name) => name.startsWith('machine/')))
      this.machines = this.#all<MachineSnapshot>('machine/');
    this.at = Date.parse(at);
    this.heardMs = this.#edge.now();
    this.silentMs = silentMs;
    this.connection = 'live';
    this.#tell();
  }

  #all<T>(prefix: string): T[] {
    return [...this.#parts].flatMap(([name, part]) => (name.startsWith(prefix) ? [part as T] : []));
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** The server has said no: either somebody has to sign in, or it is tried again. */
  #again(): void {
    const page = this.#page;
    this.close();
    void fetch('whoami').then(
      ({ status }) => {
        if (status !== 401) return this.#later(page);
        this.connection = 'signIn';
        this.#tell();
      },
      () => this.#later(page),
    );
  }

  #later(page: string): void {
    this.#retry = this.#edge.after(2000, () => this.open(page));
  }
}

const ours = { 'x-fenceline-console': '1', 'content-type': 'application/json' };

/** Asks the server to do something; answers what it says. */
export async function post(path: string, body: object = {}): Promise<{ ok: boolean; text: string }> {
  try {
    const answer = await fetch(path, { method: 'POST', headers: ours, body: JSON.stringify(body) });
    return { ok: answer.ok, text: (await answer.text()).trim() };
  } catch {
    // It may have been heard before the connection was lost.
    return { ok: false, text: 'no answer: whether it was done is not known; look at the node before you ask again' };
  }
}

export const path = (...names: string[]): string => names.map(encodeURIComponent).join('/');
