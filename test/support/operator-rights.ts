/** The rights that the operator is deployed with, and nothing beyond: tests run it with the very file that users apply. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { AuditEvent, ControlPlane } from './control-plane.ts';
import { writeKubeconfig } from './control-plane/files.ts';
import { install } from './install.ts';
import { waitFor } from './wait.ts';

const roleFile = join(import.meta.dirname, '../../deploy/role.yaml');
const drainRoleFile = join(import.meta.dirname, '../../deploy/drain-role.yaml');

export const operatorNamespace = 'fenceline';
export const operatorAccount = `system:serviceaccount:${operatorNamespace}:fenceline`;

interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: Rule[];
}

export function operatorRole(): Promise<Manifest[]> {
  return manifestsOf(roleFile);
}

/** What it needs beyond that to guard drains. */
export function drainRole(): Promise<Manifest[]> {
  return manifestsOf(drainRoleFile);
}

async function manifestsOf(file: string): Promise<Manifest[]> {
  const text = await readFile(file, 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** The operator's account and rights, behind the guard. */
export async function installRights(controlPlane: ControlPlane): Promise<void> {
  await waitFor(
    'kube-node-lease',
    async () => (await controlPlane.kubectl(['get', 'ns', 'kube-node-lease'])).code === 0,
  );
  await install(controlPlane, 'deploy/role.yaml');
  await install(controlPlane, 'deploy/guard.yaml', 'SECURITY.md');
}

/** The same, with a token of that account; answers the path of a kubeconfig. */
export async function operatorKubeconfig(controlPlane: ControlPlane): Promise<string> {
  await installRights(controlPlane);
  const minted = await controlPlane.kubectl(['create', 'token', 'fenceline', '-n', operatorNamespace]);
  if (minted.code !== 0) throw new Error(minted.stderr);
  const path = join(controlPlane.dir, 'operator.kubeconfig');
  const user = { token: minted.stdout.trim() };
  await writeKubeconfig({ path, url: controlPlane.url, caPem: controlPlane.caCert, user });
  return path;
}

/** One line for each thing that the role allows, such as `patch nodes/status` or `update leases.coordination.k8s.io in fenceline`. */
export function grantedBy(manifests: readonly Manifest[]): string[] {
  const lines = manifests.flatMap(({ rules = [], metadata: { namespace } }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => rightName({ verb, resource, group, namespace }))),
      ),
    ),
  );
  return lines.sort();
}

/** The same for what was asked of the API server. Discovery and the like need no rights. */
export function usedBy(events: readonly AuditEvent[], roles: readonly Manifest[]): string[] {
  const namespaced = new Map(
    roles.flatMap(({ kind, rules = [], metadata: { namespace } }) =>
      kind === 'Role'
        ? rules.flatMap(({ resources }) => resources.map((name) => [`${name} ${namespace}`, namespace]))
        : [],
    ),
  );
  const lines = events.flatMap(({ verb, objectRef }) => {
    if (objectRef?.resource === undefined) return [];
    const { apiGroup = '', subresource, namespace } = objectRef;
    const resource = subresource === undefined ? objectRef.resource : `${objectRef.resource}/${subresource}`;
    return [rightName({ verb, resource, group: apiGroup, namespace: namespaced.get(`${resource} ${namespace}`) })];
  });
  return [...new Set(lines)].sort();
}

function rightName(right: { verb: string; resource: string; group: string; namespace: string | undefined }): string {
  const { verb, resource, group, namespace } = right;
  const [name, subresource] = resource.split('/', 2);
  const whole = `${name}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
  return `${verb} ${whole}${namespace === undefined ? '' : ` in ${namespace}`}`;
}
