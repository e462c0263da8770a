/**
 * From every release that was kept to this one and back, on a real API server and by the commands of docs/install.md: what people
 * wrote, and what the operator had put on record, is there afterwards as it was before.
 */
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureHelm } from '../../control-plane/build.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { parseObject } from '../../src/api/parse.ts';
import { unknownFields } from '../../src/api/unknown-fields.ts';
import { structuralSchemaOf } from '../../src/api/crds.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { commandsOf } from '../support/documents.ts';
import { administratorOf, type } from '../support/install.ts';
import { operatorAccount } from '../support/operator-rights.ts';
import { waitFor } from '../support/wait.ts';
import type { Manifest } from './helm.ts';
import { helmHome } from './helm.ts';
import { chartOf, keptReleases, manifestsOf, objectsOf } from './releases.ts';

const byHelm = commandsOf('docs/install.md', 'By helm');
const byManifests = commandsOf('docs/install.md', 'By plain manifests').slice(0, 3);
/** To the guard the operator; what its roles allow is another test's. */
const asOperator = ['--as', operatorAccount, '--as-group', 'system:masters'];
const kinds = KINDS.map(({ plural }) => `${plural}.fenceline.dev`).join();

function command(word: string): string {
  const [found, ...others] = byHelm.filter((line) => line.includes(word));
  assert.ok(found !== undefined && others.length === 0, `docs/install.md has no one command with ${word}`);
  return found;
}

const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;

test('a release is kept, with an object of every kind', () => {
  assert.ok(keptReleases().length > 0);
  for (const version of keptReleases()) {
    const found = new Set(objectsOf(version).map(({ kind }) => kind));
    assert.deepEqual(found, new Set(KINDS.map(({ kind }) => kind)));
    assert.ok(objectsOf(version).every(({ status }) => Object.keys(status ?? {}).length > 0));
  }
});

for (const version of keptReleases()) {
  describe(`upgrading from ${version}`, { timeout: 300_000 }, () => {
    let controlPlane: ControlPlane;
    let env: NodeJS.ProcessEnv;
    const home = helmHome();

    before(async () => {
      controlPlane = await startControlPlane({ name: 'upgrade', controllerManager: true });
      const administrator = await administratorOf(controlPlane);
      env = { ...home, ...administrator, PATH: `${dirname(await ensureHelm())}:${administrator['PATH']}` };
      await waitFor('kube-node-lease', async () => (await kubectl(['get', 'ns', 'kube-node-lease'])).code === 0);
    });
    after(() => controlPlane?.stop());

    const kubectl = (args: readonly string[], input = '') => controlPlane.kubectl(args, { input });

    async function done(args: readonly string[], object?: Manifest): Promise<string> {
      const { code, stdout, stderr } = await kubectl(args, object === undefined ? '' : JSON.stringify(object));
      assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`);
      return stdout;
    }

    const served = (): Promise<string> => type('kubectl wait --for=condition=Established --timeout=60s crd --all', env);

    /** As people and the operator of then wrote them: of a status the guard takes nobody's word but the operator's. */
    async function made(): Promise<void> {
      for (const object of objectsOf(version)) {
        await done(['create', '-f', '-'], object);
        const { kind, metadata, status } = object;
        const where = metadata.namespace === undefined ? [] : ['-n', metadata.namespace];
        const patch = ['patch', kind, metadata.name, ...where, '--subresource=status', '--type=merge'];
        await done([...patch, '-p', JSON.stringify({ status }), ...asOperator]);
      }
    }

    async function all(): Promise<Manifest[]> {
      const { items } = JSON.parse(await done(['get', kinds, '-A', '-o', 'json'])) as { items: Manifest[] };
      return items.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
    }

    /** What matters of it: that it is the same object, and says the same. */
    const kept = (objects: readonly Manifest[]): object[] =>
      objects.map(({ kind, metadata, spec, status }) => {
        const { name, uid } = metadata as Manifest['metadata'] & { uid: string };
        return { kind, name, uid, spec, status };
      });

    /** For the API server it is one too many, and nothing else; for this version it has no field that is unknown. */
    async function isValid(object: Manifest): Promise<void> {
      const { name, namespace } = object.metadata;
      const fresh = { ...object, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
      const { stderr } = await kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(fresh));
      assert.match(stderr, /\(AlreadyExists\)|already exists/, nameOf(object));
      const kind = KINDS.find((one) => one.kind === object.kind);
      assert.ok(kind);
      const parsed = parseObject(kind.schema, object);
      assert.deepEqual(parsed.ok ? [] : parsed.problems, [], nameOf(object));
      assert.deepEqual(unknownFields(structuralSchemaOf(kind), { spec: object['spec'], status: object['status'] }), []);
    }

    test('[USE-1] by helm and back: every object is there as it was, and is valid', async () => {
      const ofThen = command('helm install').replace('./chart', chartOf(version));
      await type(ofThen, env);
      await served();
      await made();
      const before = await all();
      const written = objectsOf(version).map(({ kind, metadata: { name }, spec, status }) => ({
        kind,
        name,
        spec,
        status,
      }));
      assert.deepEqual(
        kept(before).map((one) => ({ ...one, uid: undefined })),
        written
          .toSorted((one, other) => (`${one.kind} ${one.name}` < `${other.kind} ${other.name}` ? -1 : 1))
          .map((one) => ({ ...one, uid: undefined })),
        'the API server has taken them as they are',
      );

      await type(command('helm upgrade'), env);
      await served();
      const upgraded = await all();
      assert.deepEqual(kept(upgraded), kept(before));
      for (const object of upgraded) await isValid(object);

      await type(command('helm rollback'), env);
      await served();
      assert.deepEqual(kept(await all()), kept(before));
      await type(command('helm uninstall'), env);
      assert.deepEqual(kept(await all()), kept(before));
    });

    test('[USE-1] by plain manifests and back: the same', async () => {
      const before = await all();
      assert.equal(before.length, objectsOf(version).length);
      const ofThen = `kubectl apply --server-side --force-conflicts -f ${manifestsOf(version)}`;
      await type(ofThen, env);
      for (const one of byManifests) await type(one, env);
      await served();
      const upgraded = await all();
      assert.deepEqual(kept(upgraded), kept(before));
      for (const object of upgraded) await isValid(object);
      await type(ofThen, env);
      await served();
      assert.deepEqual(kept(await all()), kept(before));
    });
  });
}
