/**
 * The plain manifests for those who do without helm: what the chart renders beyond deploy/role.yaml and deploy/guard.yaml, with
 * its defaults. `npm run manifests` writes deploy/operator.yaml; a test finds it stale.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureHelm } from '../control-plane/build.ts';

const root = join(import.meta.dirname, '..');
const templates = ['operator', 'availability', 'network'];
const header = `# The operator itself, and what keeps it running. Rendered from chart/ with its defaults by npm run manifests: edit the chart.
# Apply it after the CRDs, role.yaml and guard.yaml, with an image of yours in place of fenceline (docs/install.md).
`;

export async function plainManifests(): Promise<string> {
  const shown = templates.flatMap((name) => ['--show-only', `templates/${name}.yaml`]);
  const args = ['template', 'fenceline', join(root, 'chart'), '--namespace', 'fenceline', ...shown];
  const { stdout } = await promisify(execFile)(await ensureHelm(), args);
  // Where each comes from would be told before each.
  return header + stdout.replaceAll(/^---\n# Source: .*\n(?:---\n)?/gm, '---\n');
}

if (import.meta.main) await writeFile(join(root, 'deploy/operator.yaml'), await plainManifests());
