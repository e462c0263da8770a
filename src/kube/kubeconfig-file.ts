/**
 * Kubeconfig files as kubectl reads them: which files, how several are merged, and typed access to an entry.
 *
 * An entry belongs to the first file that has it, whole: fields of two files never mix. Fields are checked only when
 * they are used, so that a broken entry for another cluster is in nobody's way. The YAML parser is loaded with the
 * first file: an operator in its cluster has none and saves the memory.
 */
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { CredentialError, errorCode } from './credentials.ts';

export interface KubeconfigPlaces {
  /** --kubeconfig. */
  explicit?: string;
  env: Record<string, string | undefined>;
  home: string;
}

export interface Kubeconfig {
  /** Those that exist. */
  files: string[];
  currentContext: string;
  contexts: Map<string, Fields>;
  clusters: Map<string, Fields>;
  users: Map<string, Fields>;
}

const sections = [
  { list: 'clusters', item: 'cluster' },
  { list: 'users', item: 'user' },
  { list: 'contexts', item: 'context' },
] as const;

export async function readKubeconfig(places: KubeconfigPlaces): Promise<Kubeconfig> {
  const merged: Kubeconfig = {
    files: [],
    currentContext: '',
    contexts: new Map(),
    clusters: new Map(),
    users: new Map(),
  };
  for (const file of kubeconfigPaths(places)) {
    const root = await readRoot(file, Boolean(places.explicit));
    if (!root) continue;
    merged.files.push(file);
    merged.currentContext ||= root.text('current-context') ?? '';
    for (const { list, item } of sections) {
      for (const [name, entry] of namedEntries(root, list, item)) {
        if (!merged[list].has(name)) merged[list].set(name, entry);
      }
    }
  }
  return merged;
}

function kubeconfigPaths({ explicit, env, home }: KubeconfigPlaces): string[] {
  if (explicit) return [resolve(explicit)];
  const fromEnv = env['KUBECONFIG'];
  if (!fromEnv) return [join(home, '.kube', 'config')];
  const paths = fromEnv.split(delimiter).filter((path) => path !== '');
  return [...new Set(paths.map((path) => resolve(path)))];
}

async function readRoot(file: string, required: boolean): Promise<Fields | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    if (missing && !required) return undefined;
    throw new CredentialError(`kubeconfig ${file}: cannot be read (${missing ? 'no such file' : code})`);
  }
  const root = new Fields(
    `kubeconfig ${file}`,
    dirname(file),
    asFields(await parseYaml(text, file), `kubeconfig ${file}`),
  );
  const kind = root.text('kind') ?? 'Config';
  const version = root.text('apiVersion') ?? 'v1';
  if (kind !== 'Config' || version !== 'v1') {
    throw new CredentialError(
      `kubeconfig ${file}: not a kubeconfig; it has to say "apiVersion: v1" and "kind: Config"`,
    );
  }
  return root;
}

/** Only the kind and the place of a syntax error: the parser's own messages quote the line, which may be a token. */
async function parseYaml(text: string, file: string): Promise<unknown> {
  const { LineCounter, parseAllDocuments } = await import('yaml');
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { prettyErrors: false, lineCounter, merge: true, logLevel: 'silent' });
  const document = 'empty' in documents ? undefined : documents[0];
  const problem = document?.errors[0];
  if (problem) {
    const { line, col } = lineCounter.linePos(problem.pos[0]);
    throw new CredentialError(`kubeconfig ${file}: not valid YAML at line ${line}, column ${col} (${problem.code})`);
  }
  try {
    return document?.toJS();
  } catch {
    throw new CredentialError(`kubeconfig ${file}: not valid YAML (an alias without its anchor, or too many of them)`);
  }
}

function asFields(value: unknown, where: string): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new CredentialError(`${where}: has to be a mapping of fields`);
  }
  return value as Record<string, unknown>;
}

function namedEntries(root: Fields, list: string, item: string): Map<string, Fields> {
  const entries = new Map<string, Fields>();
  for (const [index, value] of root.list(list).entries()) {
    const where = `${root.where}: ${list}[${index}]`;
    const outer = new Fields(where, root.directory, asFields(value, where));
    const name = outer.text('name') ?? '';
    if (name === '') throw new CredentialError(`${where}: has no name`);
    if (entries.has(name))
      throw new CredentialError(`${root.where}: ${list} has two entries named "${name}"; rename one`);
    const entryWhere = `${item} "${name}" in ${root.where}`;
    entries.set(name, new Fields(entryWhere, root.directory, asFields(outer.raw(item), `${entryWhere}: ${item}`)));
  }
  return entries;
}

/** One mapping of a kubeconfig. Absent, null and empty are the same, as they are to kubectl. */
export class Fields {
  /** Names it in errors. */
  readonly where: string;
  readonly directory: string;
  readonly #values: Record<string, unknown>;

  constructor(where: string, directory: string, values: Record<string, unknown>) {
    this.where = where;
    this.directory = directory;
    this.#values = values;
  }

  raw(key: string): unknown {
    return Object.hasOwn(this.#values, key) ? this.#values[key] : undefined;
  }

  text(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'string') return value;
    throw new CredentialError(`${this.where}: ${key} has to be text; write it in quotes`);
  }

  flag(key: string): boolean {
    const value = this.raw(key) ?? false;
    if (typeof value === 'boolean') return value;
    throw new CredentialError(`${this.where}: ${key} has to be true or false, without quotes`);
  }

  list(key: string): unknown[] {
    const value = this.raw(key) ?? [];
    if (Array.isArray(value)) return value;
    throw new CredentialError(`${this.where}: ${key} has to be a list`);
  }

  texts(key: string): string[] {
    return this.list(key).map((value) => {
      if (typeof value === 'string') return value;
      throw new CredentialError(`${this.where}: ${key} has to be a list of texts; write each in quotes`);
    });
  }

  child(key: string): Fields | undefined {
    const value = this.raw(key);
    if (value === undefined || value === null) return undefined;
    const where = `${this.where}: ${key}`;
    return new Fields(where, this.directory, asFields(value, where));
  }

  children(key: string): Fields[] {
    return this.list(key).map((value, index) => {
      const where = `${this.where}: ${key}[${index}]`;
      return new Fields(where, this.directory, asFields(value, where));
    });
  }

  keys(): string[] {
    return Object.keys(this.#values);
  }

  /** Relative to the file that names it, not to where the command runs. */
  path(key: string): string | undefined {
    const path = this.text(key);
    return path === undefined || isAbsolute(path) ? path : join(this.directory, path);
  }

  /** The text behind a `…-data` field. */
  decoded(key: string): string | undefined {
    const encoded = this.text(key)?.replaceAll(/[\r\n]/g, '');
    if (encoded === undefined) return undefined;
    if (encoded.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) {
      const file = key.replace(/-data$/, '');
      const advice = encoded.includes('-----BEGIN')
        ? 'it is PEM as it stands'
        : 'characters are missing or do not belong';
      throw new CredentialError(
        `${this.where}: ${key} is not base64 (${advice}); write the output of "base64 -w0 FILE", or ${file} with the file's path`,
      );
    }
    return Buffer.from(encoded, 'base64').toString('utf8');
  }
}
