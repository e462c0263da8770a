/** Random clusters under every checker; that they are what a seed says, that what they find is found again, and gets small. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type * as runner from '../../src/scenario/runner.ts';
import { parseScenarios } from '../../src/scenario/parse.ts';
import { neverPatient } from '../simulation/fencing/calm-mutants.ts';
import { mutant } from '../simulation/mutant.ts';
import { aimed } from './aim.ts';
import { cutsIn, generateCalm } from './calm.ts';
import { Coverage, faults, situations } from './coverage.ts';
import type { ScenarioDocument } from './document.ts';
import { parse, yamlOf } from './document.ts';
import { generate } from './generate.ts';
import type { Range } from './record.ts';
import { brokenBy, editionOf, nextOf, readRecord } from './record.ts';
import { judge } from './run.ts';
import { shrink } from './shrink.ts';

const last = Number(process.env['SWARM_SEEDS'] ?? 200);
const parts = 8;
const calmSeeds = 30;
/** What the product is known to break and does not hold yet; this only gets shorter. */
const open: readonly string[] = [];

describe('the swarm', () => {
  test('a seed is a scenario, always the same one, within its bounds, and as a file it is the same', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const document = generate(seed);
      assert.deepEqual(document, generate(seed));
      const scenario = parse(document);
      assert.ok(scenario.cluster.nodes.length <= 4 && scenario.runForMs <= 600_000, `seed ${seed}`);
      const [again] = parseScenarios('kept', yamlOf(document));
      assert.deepEqual(
        again?.events.map(({ act }) => act.do),
        scenario.events.map(({ act }) => act.do),
      );
      assert.deepEqual(
        again?.objects.map(({ object }) => object),
        scenario.objects.map(({ object }) => object),
      );
    }
  });

  test('no seed makes a cluster that Kubernetes itself calls dead: whoever renews is heard twice before it is missed', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      for (const document of [generate(seed), generate(seed, 'large'), generateCalm(seed)]) {
        const { leaseDurationMs, nodeMonitorGracePeriodMs: graceMs } = parse(document).cluster.kubernetes;
        assert.ok(graceMs >= leaseDurationMs / 2, `${document.metadata.name}: ${graceMs} ms of ${leaseDurationMs} ms`);
      }
    }
  });

  test('a run of a seed is always the same', async () => {
    for (const seed of [3, 19]) {
      const [one, other] = [await judge(generate(seed)), await judge(generate(seed))];
      assert.deepEqual({ ...one.report, wallMs: 0 }, { ...other.report, wallMs: 0 });
    }
  });

  const coverage = new Coverage();
  for (let part = 0; part < parts; part += 1) {
    test(`part ${part + 1} of ${parts} of ${last} seeds breaks nothing`, async () => {
      const found: string[] = [];
      for (let seed = part + 1; seed <= last; seed += parts) {
        const { broken } = await judge(generate(seed), { coverage });
        const first = broken.find(({ invariant }) => !open.includes(invariant));
        if (first !== undefined) found.push(`make swarm FROM=${seed} SEEDS=1: ${first.invariant} ${first.detail}`);
      }
      assert.deepEqual(found, []);
    });
  }

  test('a fault that is aimed strikes in the moment that it was aimed at, and breaks nothing', async () => {
    const struck = new Coverage();
    for (const seed of [3, 4, 10]) {
      const document = await aimed(seed);
      assert.deepEqual(document, await aimed(seed));
      const { broken } = await judge(document, { coverage: struck });
      assert.deepEqual(broken, [], `make swarm FROM=${seed} SEEDS=1 SIZE=aimed`);
    }
    const met = [...struck.counts.keys()].filter((key) => !key.endsWith('/ nothing'));
    assert.ok(met.length > 0);
  });

  test('it knows what it has tried together, and what never', () => {
    assert.ok(coverage.of('partition', 'nothing') > 0);
    const all = faults.length * situations.length;
    const never = coverage.never();
    assert.equal(never.length, all - new Set([...coverage.counts.keys()].filter((key) => isPair(key))).size);
    assert.match(
      coverage.table(),
      new RegExp(`${all - never.length} of ${all} pairs were reached, ${never.length} never$`),
    );
  });
});

function isPair(key: string): boolean {
  const [fault = '', situation = ''] = key.split(' / ');
  return faults.includes(fault) && (situations as readonly string[]).includes(situation);
}

describe('nothing is wrong', () => {
  test('a seed is always the same, and has nothing in it that is not done every day', () => {
    const daily = ['drain', 'reboot', 'uncordon', 'kubeletStop', 'kubeletStart', 'apply', 'powerOff', 'powerOn'];
    daily.push('gracefulReboot', 'gracefulShutdown', 'cordon', 'crashOperator', 'apiDown', 'apiUp');
    daily.push('delete', 'taint', 'untaint');
    for (let seed = 1; seed <= 60; seed += 1) {
      const document = generateCalm(seed);
      assert.deepEqual(document, generateCalm(seed));
      const acts = parse(document).events.map(({ act }) => act.do);
      assert.ok(acts.length > 0 && acts.every((act) => daily.includes(act)), acts.join());
    }
  });

  test(`[SAF-18] in ${calmSeeds} seeds not one machine that is on is switched off, and nothing is broken`, async () => {
    const found: string[] = [];
    for (let seed = 1; seed <= calmSeeds; seed += 1) {
      for (const what of await brokenBy('calm', seed)) found.push(`seed ${seed}: ${what}`);
    }
    assert.deepEqual(found, []);
  });

  test('a product without patience switches one off', async () => {
    const { runScenario } = await mutant(neverPatient).load<typeof runner>('src/scenario/runner.ts');
    const { broken, report } = await judge(generateCalm(2), { run: runScenario });
    assert.ok(cutsIn(report).length > 0);
    assert.deepEqual(new Set(broken.map(({ invariant }) => invariant)), new Set(['S45']));
  });

  test('a command to a machine that is on is a cut, and one to a machine that is off is none', () => {
    const entry = (at: number, actor: string, what: string, object: string) => ({ at, actor, what, object });
    const timeline = [
      entry(0, 'node-1', 'off', 'machine/node-1'),
      entry(1000, 'device', 'asked for off', 'node/node-1'),
      entry(2000, 'node-1', 'booting', 'machine/node-1'),
      entry(3000, 'device', 'asked for off', 'node/node-1'),
    ];
    assert.deepEqual(cutsIn({ timeline }), ['node/node-1 is switched off at 3 s']);
  });
});

describe('the book of what was run', () => {
  test('goes on where this edition ended, and anew for another', () => {
    const range = (from: number, to: number, edition = 'a'): Range => ({
      kind: 'small',
      edition,
      from,
      to,
      broken: [],
    });
    const ranges = [range(1, 500), range(501, 700), range(1, 900, 'b')];
    assert.deepEqual(
      [nextOf(ranges, 'small', 'a'), nextOf(ranges, 'small', 'c'), nextOf(ranges, 'calm', 'a')],
      [701, 1, 1],
    );
    assert.notEqual(editionOf('small'), editionOf('calm'));
  });

  test('has no range twice, and none with a hole in it', () => {
    for (const [key, ranges] of Map.groupBy(readRecord(), ({ kind, edition }) => `${kind} ${edition}`)) {
      let next = 1;
      for (const { from, to } of ranges ?? []) {
        assert.equal(from, next, key);
        next = to + 1;
      }
    }
  });
});

describe('shrinking', () => {
  const document = generate(8);
  const size = ({ spec }: ScenarioDocument): number =>
    spec.events.length + spec.objects.length + spec.cluster.nodes.length;

  test('leaves out whatever is not needed', async () => {
    const [needed] = document.spec.events;
    const breaks = async ({ spec }: ScenarioDocument): Promise<boolean> =>
      spec.events.some((event) => event === needed) && spec.cluster.nodes.length >= 2;
    const { document: small } = await shrink(document, breaks);
    assert.deepEqual(small.spec.events, [needed]);
    assert.deepEqual([small.spec.objects.length, small.spec.cluster.nodes.length], [0, 2]);
  });

  test('ends after so many tries, with the smallest that was seen to break', async () => {
    let asked = 0;
    const { document: small, tries } = await shrink(
      document,
      async () => {
        asked += 1;
        return asked === 3;
      },
      10,
    );
    assert.deepEqual([tries, asked], [10, 10]);
    assert.ok(size(small) < size(document));
  });
});
