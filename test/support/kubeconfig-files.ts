/** Kubeconfigs in a temporary directory, loaded as the program would. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Connection, CredentialError } from '../../src/kube/credentials.ts';
import { type ConnectionInput, loadConnection, type Overrides } from '../../src/kube/kubeconfig.ts';
import { manualClock } from './manual-clock.ts';

export interface Parts {
  cluster?: object;
  user?: object;
  context?: object;
  suffix?: string;
}

/** A kubeconfig with one context `c`, cluster `k` and user `u`, each with `suffix` behind its name. */
export function config({ cluster, user, context, suffix = '' }: Parts = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': `c${suffix}`,
    clusters: [{ name: `k${suffix}`, cluster: { server: `https://api${suffix}.example.com:6443`, ...cluster } }],
    users: [{ name: `u${suffix}`, user: user ?? { token: `token${suffix}` } }],
    contexts: [{ name: `c${suffix}`, context: { cluster: `k${suffix}`, user: `u${suffix}`, ...context } }],
  };
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

export async function authorization(connection: Connection): Promise<string | undefined> {
  return (await connection.credentials.current()).authorization;
}

/** The message of the error that loading has to end with. */
export async function problem(loading: Promise<Connection>): Promise<string> {
  const error: unknown = await loading.catch((reason: unknown) => reason);
  assert.ok(error instanceof CredentialError, `a CredentialError, not ${String(error)}`);
  return error.message;
}

export class KubeconfigFiles {
  readonly directory = mkdtempSync(join(tmpdir(), 'fenceline-kubeconfig-'));

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  write(name: string, content: string | object): string {
    const path = this.path(name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  load(overrides: Overrides, changes: Partial<ConnectionInput> = {}): Promise<Connection> {
    const input = { overrides, env: {}, home: this.path('home'), clock: manualClock(), stdinIsTerminal: false };
    return loadConnection({ ...input, serviceAccountDirectory: this.path('none'), ...changes });
  }

  /** Loads `config(parts)` from the file `config`. */
  loadParts(parts: Parts, overrides: Overrides = {}): Promise<Connection> {
    return this.load({ kubeconfig: this.write('config', config(parts)), ...overrides });
  }
}
