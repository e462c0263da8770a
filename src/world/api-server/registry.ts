/** Which resources there are, and which one a path means. */
import type { Kind } from './kind.ts';

export interface Route {
  kind: Kind;
  namespace: string | undefined;
  name: string | undefined;
  subresource: string | undefined;
}

/** Paths repeat for as long as their objects live; taking them apart each time is what a busy server would do most. */
const cacheLimit = 50_000;

export class Registry {
  readonly #kinds = new Map<string, Kind>();
  readonly #routes = new Map<string, Route>();

  add(kind: Kind): void {
    this.#kinds.set(idOf(kind.group, kind.version, kind.plural), kind);
    this.#routes.clear();
  }

  remove({ group, version, plural }: Kind): void {
    this.#kinds.delete(idOf(group, version, plural));
    this.#routes.clear();
  }

  all(): Kind[] {
    return [...this.#kinds.values()];
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.#kinds.get(idOf(group, version, plural));
  }

  /** Undefined: not a path of a resource. */
  route(path: string): Route | undefined {
    let route = this.#routes.get(path);
    if (route !== undefined) return route;
    route = this.#parse(path);
    if (route === undefined) return undefined;
    if (this.#routes.size >= cacheLimit) this.#routes.clear();
    this.#routes.set(path, route);
    return route;
  }

  #parse(path: string): Route | undefined {
    const parts = path.split('/').slice(1).map(decoded);
    if (parts.at(-1) === '') parts.pop();
    let group = '';
    if (parts[0] === 'apis') group = parts.splice(1, 1)[0] ?? '';
    else if (parts[0] !== 'api') return undefined;
    const [, version = '', ...rest] = parts;
    const inNamespace =
      rest[0] === 'namespaces' && rest.length >= 3 && this.#isNamespaced(group, version, rest[2] ?? '');
    const namespace = inNamespace ? rest[1] : undefined;
    const [plural = '', name, ...sub] = inNamespace ? rest.slice(2) : rest;
    const kind = this.find(group, version, plural);
    if (kind === undefined || sub.length > 1) return undefined;
    if (kind.namespaced && name !== undefined && namespace === undefined) return undefined;
    return { kind, namespace, name, subresource: sub[0] };
  }

  /** `namespaces/a/status` is about the namespace itself. */
  #isNamespaced(group: string, version: string, plural: string): boolean {
    return this.find(group, version, plural)?.namespaced === true;
  }
}

function idOf(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`;
}

function decoded(part: string): string {
  try {
    return part.includes('%') ? decodeURIComponent(part) : part;
  } catch {
    return part;
  }
}
