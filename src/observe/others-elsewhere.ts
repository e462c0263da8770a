/**
 * Who else is at work on a node, by objects beside it, while somebody attends to that node (ADM-6). Nobody waits for it: what was read is
 * kept here, and whoever decides is told when it is another answer. What is not installed costs one question a minute, for all of it
 * together.
 */
import type { Elsewhere, OtherActor } from '../api/others.ts';
import type { AskedElsewhere } from '../api/steps.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import { failure } from '../kube/errors.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';
import { collectionPath, objectPath } from '../kube/resources.ts';
import type { Foreign, Source } from './others-at-work.ts';
import { nodeOf, resourceOf, slim, sources } from './others-at-work.ts';

export interface OthersElsewhereOptions {
  client: KubeClient;
  clock: Clock;
  /** What is known of who is at this node is another answer now. */
  onNode: (name: string) => void;
  onProblem: (source: string, error: KubeError) => void;
}

interface Question {
  source: Source;
  resource: Resource;
  /** Absent: all of them. */
  ref?: Pick<ObjectRef, 'namespace' | 'name'>;
  path: string;
}

interface Known {
  objects: readonly Foreign[];
  /** When it was asked that was answered last; absent: nothing was. */
  atMs?: number;
  /** Since when it has been asked in vain; absent: it was answered. */
  openSinceMs?: number;
  /** There is no such kind, or the right to read it is missing: it is not asked for again before it is seen anew what is installed. */
  isSettled?: boolean;
  asking?: Promise<KubeError | undefined>;
}

/** What was installed since is seen this late. */
const groupsForMs = 60_000;
/** An answer that is older is asked for again. */
const freshForMs = 2000;
const callTimeoutMs = 5000;
/** Nobody is at work on so many nodes at a time. */
const maxObjects = 500;

export class OthersElsewhere {
  readonly #options: OthersElsewhereOptions;
  readonly #known = new Map<string, Known>();
  /** Who is looked at, and what was last said of that one. */
  readonly #asked = new Map<string, { node: AskedElsewhere; said: string }>();
  #groups: { versions: ReadonlyMap<string, string>; atMs: number } | undefined;
  #openSinceMs: number | undefined;
  #discovering: Promise<KubeError | undefined> | undefined;

  constructor(options: OthersElsewhereOptions) {
    this.#options = options;
  }

  /** As far as is known; it is asked for anew meanwhile. */
  of(node: AskedElsewhere): Elsewhere {
    if (!this.#asked.has(node.name)) this.#unlearn(node);
    // Whoever asks twice at once begins one question, and is told that it is open.
    void this.#refresh(node, freshForMs);
    const told = this.#told(node);
    this.#asked.set(node.name, { node, said: keyOf(told) });
    return told;
  }

  /** Right before an act: who is there now. */
  async live(node: AskedElsewhere): Promise<Result<readonly OtherActor[]>> {
    const error = await this.#refresh(node, 0);
    return error === undefined ? { ok: true, value: this.#told(node).found } : failure(error);
  }

  /** What was read once is not known of the next trouble. */
  forget(name: string): void {
    const asked = this.#asked.get(name);
    this.#asked.delete(name);
    if (asked !== undefined) this.#unlearn(asked.node);
    if (this.#asked.size === 0) this.#known.clear();
  }

  /** What is about it alone; of what is about all of them others know too. */
  #unlearn(node: AskedElsewhere): void {
    for (const { ref, path } of this.#questions(node)) {
      if (ref !== undefined && this.#known.get(path)?.asking === undefined) this.#known.delete(path);
    }
  }

  #told(node: AskedElsewhere): Elsewhere {
    const nowMs = this.#options.clock.monotonic();
    const open = this.#groups === undefined ? [this.#openSinceMs ?? nowMs] : [];
    const questions = this.#questions(node);
    const looked = { ...node, machineSays: this.#machineSays(questions) };
    const found = questions.flatMap(({ source, path }) => {
      const { objects = [], atMs, openSinceMs, isSettled = false } = this.#known.get(path) ?? {};
      if (isSettled) return [];
      if (openSinceMs !== undefined) open.push(openSinceMs);
      else if (atMs === undefined) open.push(nowMs);
      return source.tell(objects, looked, source);
    });
    return { found, ...(open.length === 0 ? {} : { openForMs: nowMs - Math.min(...open) }) };
  }

  /** Undefined: it was not read, or may not be. */
  #machineSays(questions: readonly Question[]): string | undefined {
    const asked = questions.find(({ source }) => source.kind === 'Machine');
    const known = asked === undefined ? undefined : this.#known.get(asked.path);
    return known?.atMs === undefined ? undefined : nodeOf(known.objects[0]);
  }

  /** Only of what is installed. */
  #questions(node: AskedElsewhere): Question[] {
    return sources.flatMap((source) => {
      const version = this.#groups?.versions.get(source.group);
      if (version === undefined) return [];
      const resource = resourceOf(source, version);
      if (source.of === 'all') return [{ source, resource, path: collectionPath(resource) }];
      const ref = source.of(node);
      return ref === undefined ? [] : [{ source, resource, ref, path: objectPath({ resource, ...ref }) }];
    });
  }

  /** The first error, where something could not be read that may well be there. */
  async #refresh(node: AskedElsewhere, olderThanMs: number): Promise<KubeError | undefined> {
    const isFirst = this.#groups === undefined;
    const problem = await this.#discover();
    if (isFirst) this.#tell();
    if (problem !== undefined) return problem;
    const read = await Promise.all(this.#questions(node).map((question) => this.#ask(question, olderThanMs)));
    return read.find((error) => error !== undefined);
  }

  async #discover(): Promise<KubeError | undefined> {
    const { client, clock } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#groups !== undefined && nowMs - this.#groups.atMs < groupsForMs) return undefined;
    if (this.#groups === undefined) this.#openSinceMs ??= nowMs;
    this.#discovering ??= this.#noteGroups(client.groups({ timeoutMs: callTimeoutMs }), nowMs);
    return this.#discovering;
  }

  async #noteGroups(asked: ReturnType<KubeClient['groups']>, atMs: number): Promise<KubeError | undefined> {
    const read = await asked;
    this.#discovering = undefined;
    if (read.ok) {
      this.#openSinceMs = undefined;
      this.#groups = { versions: read.value, atMs };
      for (const [path, { isSettled }] of this.#known) if (isSettled === true) this.#known.delete(path);
      return undefined;
    }
    this.#options.onProblem('what is installed', read.error);
    // What was there is there still, as far as anybody knows.
    return this.#groups === undefined ? read.error : undefined;
  }

  #ask(question: Question, olderThanMs: number): Promise<KubeError | undefined> {
    const { path } = question;
    const nowMs = this.#options.clock.monotonic();
    const known = this.#known.get(path) ?? { objects: [] };
    const isFresh = known.isSettled === true || nowMs - (known.atMs ?? -Infinity) < olderThanMs;
    if (isFresh) return Promise.resolve(undefined);
    // Whoever is about to act wants to know what is there now, and not what somebody has asked before.
    if (known.asking !== undefined && olderThanMs > 0) return known.asking;
    const asking = this.#read(question, nowMs);
    const openSinceMs = known.openSinceMs ?? (known.atMs === undefined ? nowMs : undefined);
    this.#known.set(path, { ...known, ...(openSinceMs === undefined ? {} : { openSinceMs }), asking });
    return asking;
  }

  async #read({ source, resource, ref, path }: Question, atMs: number): Promise<KubeError | undefined> {
    const { client, onProblem } = this.#options;
    const options = { timeoutMs: callTimeoutMs };
    const read: Result<Foreign[]> =
      ref === undefined
        ? await objectsOf(client.list<Foreign>(resource, { limit: maxObjects }, options))
        : await objectOf(client.get<Foreign>({ resource, ...ref }, options));
    const { objects = [], atMs: answeredMs, openSinceMs = atMs } = this.#known.get(path) ?? {};
    // Of two that were under way the one that was asked later counts, whichever was answered first.
    if (answeredMs !== undefined && answeredMs > atMs) return undefined;
    if (read.ok) {
      this.#known.set(path, { objects: read.value.map(slim), atMs });
      this.#tell();
      return undefined;
    }
    const { kind } = read.error;
    const isSettled = kind === 'notFound' || kind === 'forbidden';
    if (kind !== 'notFound') onProblem(`${source.plural}.${source.group}`, read.error);
    this.#known.set(
      path,
      isSettled
        ? { objects: [], isSettled }
        : { objects, ...(answeredMs === undefined ? {} : { atMs: answeredMs }), openSinceMs },
    );
    this.#tell();
    return isSettled ? undefined : read.error;
  }

  #tell(): void {
    for (const [name, { node, said }] of this.#asked) {
      const now = keyOf(this.#told(node));
      if (now === said) continue;
      this.#asked.set(name, { node, said: now });
      this.#options.onNode(name);
    }
  }
}

function keyOf({ found, openForMs }: Elsewhere): string {
  return JSON.stringify({ found, isOpen: openForMs !== undefined });
}

async function objectsOf(listed: ReturnType<KubeClient['list']>): Promise<Result<Foreign[]>> {
  const read = await listed;
  return read.ok ? { ok: true, value: read.value.items } : read;
}

/** One that is not there is nobody at work. */
async function objectOf(asked: Promise<Result<Foreign>>): Promise<Result<Foreign[]>> {
  const read = await asked;
  if (read.ok) return { ok: true, value: [read.value] };
  return read.error.kind === 'notFound' ? { ok: true, value: [] } : read;
}
