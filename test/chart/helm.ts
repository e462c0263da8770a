/** helm, as users have it: with a home of its own, so that nothing of this machine takes part. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { ensureHelm } from '../../control-plane/build.ts';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}

export interface Said {
  code: number;
  stdout: string;
  stderr: string;
}

/** Until the tests of the file are over. */
export function helmHome(): NodeJS.ProcessEnv {
  const home = mkdtempSync(join(tmpdir(), 'fenceline-helm-'));
  after(() => rmSync(home, { recursive: true, force: true }));
  const { KUBECONFIG: _theirs, ...env } = process.env;
  return { ...env, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
}

/** Values as JSON, which is YAML. What helm refuses is an answer. */
export async function helm(args: readonly string[], env: NodeJS.ProcessEnv, values: object = {}): Promise<Said> {
  const running = promisify(execFile)(await ensureHelm(), [...args, '--values', '-'], {
    env,
    maxBuffer: 16 * 1024 * 1024,
  });
  running.child.stdin?.end(JSON.stringify(values));
  return running.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Said) => error,
  );
}

export function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

/** Of the one object of a kind. */
export function specOf<Spec>(manifests: readonly Manifest[], kind: string): Spec {
  const [found, ...others] = manifests.filter((one) => one.kind === kind);
  if (found === undefined || others.length > 0) throw new Error(`there is not one ${kind}`);
  return found['spec'] as Spec;
}
