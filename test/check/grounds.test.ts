/** What cannot be taken back does not compile without the grounds that it rests on. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');

/** Each a step, with what is wrong with it; undefined: nothing. */
const steps: [name: string, step: string, error: RegExp | undefined][] = [
  ['quarantine', `{ free: [{ do: 'quarantine' }] }`, undefined],
  ['cordon', `{ begins: { do: 'cordon', key: 'k' } }`, undefined],
  ['podOnGrounds', `{ grounds: risk, acts: [forceDelete] }`, undefined],
  ['offOnGrounds', `{ grounds: remedy, begins: switchOff }`, undefined],
  ['powerWithQuestion', `{ grounds: { ...common, basis: 'PowerOff', question }, acts: [forceDelete] }`, undefined],
  ['podWithoutGrounds', `{ acts: [forceDelete] }`, /grounds/],
  ['freePod', `{ free: [forceDelete] }`, /forceDelete/],
  ['offWithoutGrounds', `{ begins: switchOff }`, /grounds|cordon/],
  ['jobWithoutGrounds', `{ begins: runJob }`, /grounds|cordon/],
  ['drainWithoutGrounds', `{ begins: { do: 'drain', key: 'k' } }`, /grounds|cordon/],
  ['machineWithoutGrounds', `{ begins: { do: 'deleteMachine', key: 'k', wasOff: true } }`, /grounds|cordon/],
  ['uncordonWithoutGrounds', `{ begins: { do: 'uncordon', key: 'k' } }`, /grounds|cordon/],
  ['freeUntaint', `{ free: [{ do: 'untaint', key: 'k', effect: 'NoSchedule', pods: [] }] }`, /untaint/],
  ['freeNode', `{ free: [{ do: 'deleteNode' }] }`, /deleteNode/],
  ['powerWithoutQuestion', `{ grounds: { ...common, basis: 'PowerOff' }, acts: [forceDelete] }`, /question/],
  ['storageWithoutQuestion', `{ grounds: { ...common, basis: 'StorageFenced' }, acts: [forceDelete] }`, /question/],
  ['safeWithoutDrivers', `{ grounds: { ...common, basis: 'StorageSafeDetach' }, acts: [forceDelete] }`, /safeDrivers/],
  ['groundsWithoutBasis', `{ grounds: common, acts: [forceDelete] }`, /basis/],
  [
    'groundsWithoutEpoch',
    `{ grounds: { node: 'n', taints: [], freed: [], pause, basis: 'Asserted' }, acts: [] }`,
    /epoch/,
  ],
  [
    'groundsWithoutPause',
    `{ grounds: { node: 'n', taints: [], freed: [], epoch: 1, basis: 'Asserted' }, acts: [] }`,
    /pause/,
  ],
];

const preamble = `import type { GroundedAct, Grounds, LongAct, Step } from '${root}/src/api/steps.ts';
declare const forceDelete: Extract<GroundedAct, { do: 'forceDelete' }>;
declare const switchOff: Extract<LongAct, { do: 'switch' }>;
declare const runJob: Extract<LongAct, { do: 'runJob' }>;
const pause = { namespace: 'fenceline' };
const common = { node: 'n', taints: [], freed: [], pause, epoch: 1 };
const question = { what: 'power', methods: [] } as const;
const risk: Grounds = { ...common, basis: 'AcceptedRisk' };
const remedy: Grounds = { ...common, basis: 'Remedy' };
export const used = [question, risk, remedy];
`;

describe('an act without grounds', () => {
  let dir: string;
  let errors: ReadonlyMap<string, string>;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'fenceline-grounds-'));
    // One file for each step, so that an error says which it is about.
    for (const [name, step] of steps) {
      writeFileSync(join(dir, `${name}.ts`), `${preamble}export const step: Step = ${step};\n`);
    }
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: true,
        noUnusedLocals: false,
        types: ['node'],
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: [`${dir}/*.ts`],
    };
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config));
    writeFileSync(join(dir, 'package.json'), '{"type": "module"}');
    errors = await errorsIn(dir);
  });
  after(() => rmSync(dir, { recursive: true }));

  for (const [name, step, error] of steps) {
    test(`${error === undefined ? 'compiles with them' : 'does not compile'}: ${step}`, () => {
      const said = errors.get(name);
      if (error === undefined) assert.equal(said, undefined);
      else assert.match(said ?? 'it compiles', error);
    });
  }
});

/** What the compiler says of each file, by its name. */
function errorsIn(dir: string): Promise<Map<string, string>> {
  return new Promise((done) => {
    execFile('tsc', ['--project', dir, '--pretty', 'false'], { cwd: root }, (_, stdout) => {
      const found = new Map<string, string>();
      let name = '';
      for (const line of stdout.split('\n')) {
        name = /([^/]+)\.ts\(\d+,\d+\): error/.exec(line)?.[1] ?? name;
        if (line !== '') found.set(name, `${found.get(name) ?? ''}${line}\n`);
      }
      done(found);
    });
  });
}
