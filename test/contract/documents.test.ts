/** What the documents give people to apply is taken by the API server, word for word, and means what the page says of it. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { before, describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { configOf } from '../../src/fence/config.ts';
import { projectDevice } from '../../src/observe/project-device.ts';
import { stepsOf } from '../support/documents.ts';
import type { Reply } from './contract.ts';
import { embeddedDriver } from './embedded-driver.ts';

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: { mode?: string; thresholds?: object[]; release?: { safeDetach?: string[]; podDeletion?: string } };
}

/** What people bring along from elsewhere: `fenceline convert` reads these. */
const toConvert = [
  'fenceagentsremediationtemplate.yaml',
  'machinehealthcheck.yaml',
  'nodehealthcheck.yaml',
  'older-policy.yaml',
];
const examples = globSync('docs/examples/*.yaml').filter((file) => !toConvert.includes(basename(file)));
const page = readFileSync('docs/choose.md', 'utf8');

const manifestsIn = (text: string): Manifest[] => parseAllDocuments(text).map((one) => one.toJS() as Manifest);
const manifestsOf = (file: string): Manifest[] => manifestsIn(readFileSync(file, 'utf8'));

describe('what the documents have people apply', () => {
  const driver = embeddedDriver();

  before(async () => {
    for (const crd of customResourceDefinitions()) {
      await driver.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd, {});
    }
    await driver.call('POST', '/api/v1/namespaces', { metadata: { name: 'fenceline' } }, {});
  });

  function create(object: Manifest): Promise<Reply> {
    const { apiVersion, kind, metadata } = object;
    const plural = KINDS.find((one) => one.kind === kind)?.plural ?? `${kind.toLowerCase()}s`;
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const place = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
    return driver.call('POST', `${root}${place}/${plural}?dryRun=All&fieldValidation=Strict`, object, {});
  }

  for (const file of examples) {
    test(`[USE-2] ${file} is accepted`, async () => {
      for (const object of manifestsOf(file)) {
        const { status, body } = await create(object);
        assert.equal(status, 201, `${object.kind} ${object.metadata.name}: ${body.message}`);
      }
    });
  }

  for (const document of globSync('docs/*.md')) {
    const shown = stepsOf(document).filter(({ language, text }) => language === 'yaml' && /^apiVersion: /m.test(text));
    if (shown.length === 0) continue;
    test(`[USE-2] the YAML of ${document} is accepted`, async () => {
      for (const object of shown.flatMap(({ text }) => manifestsIn(text))) {
        // That one is read by `fenceline simulate`.
        if (object.kind === 'Scenario') continue;
        const { status, body } = await create(object);
        assert.equal(status, 201, `${object.kind} ${object.metadata.name}: ${body.message}`);
      }
    });
  }
});

describe('docs/choose.md', () => {
  test('every cell ends in one file that is there, and every file is in a cell or named below', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| **'));
    const cells = rows.flatMap((row) => row.split('|').slice(2, -1));
    assert.deepEqual([rows.length, cells.length], [4, 16]);
    const linked = cells.map((cell) => /^[^[]*\[([\w-]+\.yaml)\]\(examples\/\1\) *$/.exec(cell)?.[1]);
    assert.deepEqual(
      cells.filter((_, index) => linked[index] === undefined),
      [],
    );
    const named = [...page.matchAll(/\(examples\/([\w-]+\.yaml)\)/g)].map(([, file = '']) => file);
    assert.deepEqual([...new Set(named)].toSorted(), examples.map((file) => basename(file)).toSorted());
  });

  test('[NGS-1] no file declares a driver safe, accepts a risk for its reader, or is armed when it is applied', () => {
    const specs = examples.flatMap(manifestsOf).map(({ spec }) => spec ?? {});
    for (const { mode, thresholds, release } of specs) {
      assert.deepEqual([release?.safeDetach, release?.podDeletion], [undefined, undefined]);
      assert.equal(mode === 'DryRun', thresholds !== undefined, 'what fences begins as a dry run');
    }
  });

  test('the devices of a file are those of the nodes that it names', () => {
    const devices = manifestsOf('docs/examples/bmc.yaml').flatMap((object) =>
      object.kind === 'FenceDevice' ? (projectDevice(object) ?? []) : [],
    );
    for (const name of ['worker-1', 'worker-2', 'worker-3']) {
      const read = configOf({ name, labels: { pool: 'workers' } }, { maps: [], devices });
      assert.ok(read.ok && read.config.powerManagement.length === 1, JSON.stringify(read));
    }
  });
});
