/** The files that the components of a control plane are started with. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateAuthority } from '../certificates.ts';

export interface User {
  readonly name: string;
  readonly groups?: readonly string[];
  readonly token: string;
}

export type AuditLevel = 'Metadata' | 'Request' | 'RequestResponse';

export interface ControlPlaneFiles {
  readonly caCert: string;
  readonly servingCert: string;
  readonly servingKey: string;
  readonly serviceAccountKey: string;
  readonly tokens: string;
  readonly auditPolicy: string;
}

export interface FilesInput {
  readonly dir: string;
  readonly authority: CertificateAuthority;
  readonly users: readonly User[];
  readonly auditLevel: AuditLevel;
}

export async function writeFiles({ dir, authority, users, auditLevel }: FilesInput): Promise<ControlPlaneFiles> {
  const pki = join(dir, 'pki');
  await mkdir(pki, { recursive: true });
  const files: ControlPlaneFiles = {
    caCert: join(pki, 'ca.crt'),
    servingCert: join(pki, 'apiserver.crt'),
    servingKey: join(pki, 'apiserver.key'),
    serviceAccountKey: join(pki, 'service-account.key'),
    tokens: join(dir, 'tokens.csv'),
    auditPolicy: join(dir, 'audit-policy.json'),
  };
  const serving = authority.issue({
    commonName: 'kube-apiserver',
    hosts: ['127.0.0.1', 'localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc', '10.96.0.1'],
  });
  const serviceAccountKey = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
  await Promise.all([
    writeFile(files.caCert, authority.certPem),
    writeFile(files.servingCert, serving.certPem),
    writeFile(files.servingKey, serving.keyPem, { mode: 0o600 }),
    writeFile(files.serviceAccountKey, serviceAccountKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 }),
    writeFile(files.tokens, users.map(tokenLine).join(''), { mode: 0o600 }),
    writeFile(files.auditPolicy, JSON.stringify(auditPolicy(auditLevel))),
  ]);
  return files;
}

function tokenLine({ name, groups = [], token }: User): string {
  return `${token},${name},${name},"${groups.join(',')}"\n`;
}

function auditPolicy(level: AuditLevel): object {
  return { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules: [{ level }] };
}

export interface KubeconfigInput {
  readonly path: string;
  readonly url: string;
  readonly caPem: string;
  readonly user: { readonly token: string } | { readonly certPem: string; readonly keyPem: string };
}

/** JSON is YAML, so every reader of kubeconfigs takes it. */
export async function writeKubeconfig({ path, url, caPem, user }: KubeconfigInput): Promise<void> {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const credentials =
    'token' in user
      ? { token: user.token }
      : { 'client-certificate-data': base64(user.certPem), 'client-key-data': base64(user.keyPem) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': base64(caPem) } }],
    users: [{ name: 'test', user: credentials }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  await writeFile(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
}
