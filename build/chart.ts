/**
 * What the chart takes from elsewhere: roles, guard and alerts of deploy/, the CRDs of src/api, and the dashboard. A chart can read no file
 * outside of its directory, so that it holds copies; `npm run generate` writes them, and a test finds those that are stale.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { customResourceDefinitions } from '../src/api/crds.ts';
import { toYamlStream } from '../src/cli/yaml.ts';
import { dashboard } from './dashboard.ts';

const root = join(import.meta.dirname, '..');

/** By their path in the project. */
export async function chartFiles(): Promise<ReadonlyMap<string, string>> {
  const copied = await Promise.all(
    ['role.yaml', 'drain-role.yaml', 'metrics-role.yaml', 'guard.yaml', 'alerts.yaml'].map(
      async (name) => [`chart/files/${name}`, await readFile(join(root, 'deploy', name), 'utf8')] as const,
    ),
  );
  return new Map([...copied, ['chart/files/crds.yaml', keptCrds()], ['chart/files/dashboard.json', dashboard()]]);
}

/** They stay when the chart goes: with a definition, Kubernetes deletes every policy and every record. */
function keptCrds(): string {
  const kept = customResourceDefinitions().map((crd) => ({
    ...crd,
    metadata: { ...crd.metadata, annotations: { 'helm.sh/resource-policy': 'keep' } },
  }));
  return toYamlStream(kept);
}

if (import.meta.main) {
  await mkdir(join(root, 'chart/files'), { recursive: true });
  for (const [path, text] of await chartFiles()) await writeFile(join(root, path), text);
}
