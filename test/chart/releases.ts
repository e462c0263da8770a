/**
 * Releases as they were: what their chart rendered, their operator, and objects of every kind as that had left them. `node
 * test/chart/releases.ts VERSION` keeps the present one; what was published is not written again.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { after } from 'node:test';
import { ensureHelm } from '../../control-plane/build.ts';
import { API_VERSION } from '../../src/api/common.ts';
import { toYamlStream } from '../../src/cli/yaml.ts';
import type { World } from '../../src/world/world.ts';
import { keepOperator } from '../support/older-operator.ts';
import { run, scenariosOf } from '../simulation/run-file.ts';
import type { Manifest } from './helm.ts';
import { manifestsIn } from './helm.ts';

const folder = 'test/chart/releases';
const namespace = 'fenceline';

export function keptReleases(): string[] {
  return readdirSync(folder);
}

export function manifestsOf(version: string): string {
  return join(folder, version, 'manifests.yaml');
}

/** With their status. */
export function objectsOf(version: string): Manifest[] {
  return manifestsIn(readFileSync(join(folder, version, 'objects.yaml'), 'utf8'));
}

/** As they were applied. */
export function crdsOf(version: string): Manifest[] {
  return manifestsIn(readFileSync(manifestsOf(version), 'utf8'))
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
    .map(({ apiVersion, kind, metadata: { name }, spec }) => ({ apiVersion, kind, metadata: { name }, spec }));
}

/** A chart that installs what that release installed, until the tests of the file are over. */
export function chartOf(version: string): string {
  const chart = mkdtempSync(join(tmpdir(), 'fenceline-release-'));
  after(() => rmSync(chart, { recursive: true }));
  mkdirSync(join(chart, 'templates'));
  cpSync(manifestsOf(version), join(chart, 'manifests.yaml'));
  writeFileSync(join(chart, 'Chart.yaml'), `apiVersion: v2\nname: fenceline\nversion: ${version}\n`);
  // Read as a file: the texts of the CRDs have brackets that helm would take for its own.
  writeFileSync(join(chart, 'templates/all.yaml'), '{{ .Files.Get "manifests.yaml" }}\n');
  return chart;
}

async function rendered(): Promise<string> {
  const args = ['template', 'fenceline', 'chart', '--namespace', namespace];
  return execFileSync(await ensureHelm(), args, { encoding: 'utf8', maxBuffer: 1 << 26 });
}

/** Objects of an operator that fences a node and guards drains, each as it was when there was most to say of it. */
async function lived(): Promise<Manifest[]> {
  const most = new Map<string, Manifest>();
  const onWorld = ({ server }: World): void => {
    server.onChange(({ version: { object } }) => {
      const { apiVersion, kind, metadata, spec, status } = object as unknown as Manifest;
      if (apiVersion !== API_VERSION) return;
      const { name, namespace: of } = metadata;
      const found = {
        apiVersion,
        kind,
        metadata: { name, ...(of === undefined ? {} : { namespace: of }) },
        spec,
        status,
      };
      const key = `${kind} ${name}`;
      if (JSON.stringify(most.get(key) ?? {}).length <= JSON.stringify(found).length) most.set(key, found);
    });
  };
  for (const file of ['fence/written-device', 'drain/plan-1-block-for-eviction']) {
    for (const scenario of scenariosOf(file)) await run(scenario, { onWorld });
  }
  return [...most.values()];
}

if (import.meta.main) {
  const [, , version] = process.argv;
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) throw new Error('which version?');
  mkdirSync(join(folder, version), { recursive: true });
  writeFileSync(manifestsOf(version), await rendered());
  await keepOperator(version);
  writeFileSync(join(folder, version, 'objects.yaml'), toYamlStream(await lived()));
}
