/**
 * Two versions at the same time: in a roll-out, and on the way back, the operator of one release goes on with what that of another has
 * begun, at whichever write the lead changes. Whatever the other one has recorded, or has not, and whichever of the two wrote the
 * definitions of the records: no invariant is broken, a machine loses its power once, and in the end all is well.
 *
 * `FENCELINE_EXHAUSTIVE=1` takes every path and every write (`make soak`), otherwise some.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { crdsOf, keptReleases } from '../chart/releases.ts';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import type { Transport } from '../../src/kube/transport.ts';
import type { Scenario } from '../../src/scenario/format.ts';
import type { Program, ProgramContext } from '../../src/scenario/operators.ts';
import { productOperator } from '../../src/scenario/operators.ts';
import { olderOperator } from '../support/older-operator.ts';
import { atOnce, fenced, place, wellBy } from './fencing/fenced.ts';
import { cutAlone, cutAndPowered } from './fencing/switches.ts';
import { crashPointsOf, killedAtWrite, whereOf } from './killed.ts';
import { paths } from './paths.ts';
import { observe } from './release/observed.ts';
import { failuresOf, run, scenarioOf } from './run-file.ts';
import { trouble } from './trouble.ts';

type Start = (context: ProgramContext) => Program;

const isExhaustive = process.env['FENCELINE_EXHAUSTIVE'] === '1';
const stride = isExhaustive ? 1 : 40;

const partition = [
  { at: '0s', partition: place },
  { at: '2m', heal: place },
];
const oneWriter = { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } };
const movedBy = { by: '90s', pod: { label: 'app=web', running: true, moved: true } };

function path(name: string, fence: object, objects: readonly object[]): Scenario {
  const policy = { fence: { ...atOnce, ...fence } };
  const expect = [movedBy, ...wellBy('5m'), oneWriter];
  return fenced(name, { policy, objects: [...objects], events: partition, expect, runFor: '5m' });
}

const fences = [
  path('its power', {}, []),
  path('its storage, then its power', { powerManagementAfter: '60s', bootTimeout: '2m' }, cutAndPowered),
  path('its storage alone', {}, cutAlone),
];
const releases = paths.map(({ name, trouble: what }) => trouble(name, { ...what, runFor: '3m30s' }));
const all = isExhaustive ? [...fences, ...releases] : [...fences.slice(0, 2), ...releases.slice(5, 6)];

/** The first life is that of the one, the next that of the other. */
function inTurns(...starts: readonly [Start, Start]): Start {
  let lives = 0;
  return (context) => {
    const start = starts[lives % 2 === 0 ? 0 : 1];
    lives += 1;
    return start(context);
  };
}

/** The definitions are those of the release from when there is something to record. */
function withDefinitionsOf(version: string, scenario: Scenario): Scenario {
  const written = crdsOf(version).map((object) => {
    const where = `the definitions of ${version}`;
    return { atMs: 10_000, act: { do: 'apply' as const, manifest: { object, where } }, where };
  });
  return { ...scenario, events: [...scenario.events, ...written].toSorted((a, b) => a.atMs - b.atMs) };
}

/** The definitions of records as a later version may have them, in which there is more. */
function openDefinition(): object {
  const found = customResourceDefinitions().find(({ spec: { names } }) => names.kind === 'NodeFence');
  assert.ok(found);
  const { apiVersion, kind, metadata, spec } = found;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = spec.versions.map((version) => ({ ...version, schema }));
  return { apiVersion, kind, metadata: { name: metadata.name }, spec: { ...spec, versions } };
}

test('[S20] what a later version has put on record beside stays there; what it says of a fence is written anew', async () => {
  const events = [{ at: '0s', apply: openDefinition() }, ...partition];
  const scenario = fenced('later', { policy: { fence: atOnce }, events, expect: wellBy('5m'), runFor: '5m' });
  let crash: (() => void) | undefined;
  let isMarked = false;
  const wire = (user: string, inner: Transport): Transport => ({
    async send(request) {
      const { method, path: to, body = '' } = request;
      const isIt = method === 'PUT' && to.includes('/nodefences/') && body.includes('commandSentAt');
      if (isMarked || user !== 'operator-1' || !isIt) return inner.send(request);
      isMarked = true;
      const { status, ...rest } = JSON.parse(body) as { status: { fence: object; incident: object } };
      const [fence, incident] = [status.fence, status.incident].map((one) => ({ ...one, later: [1] }));
      const more = { ...rest, status: { ...status, later: { of: 1 }, fence, incident } };
      const answer = await inner.send({ ...request, body: JSON.stringify(more) });
      crash?.();
      return answer;
    },
    close: () => inner.close(),
  });
  const seen = await observe(scenario, { wire, onOperator: (operator) => (crash = operator.crash) });
  assert.deepEqual(failuresOf(seen.report), []);
  const statuses = seen.statuses.map(({ status }) => status);
  const from = statuses.findIndex((status) => 'later' in status);
  const after = statuses.slice(from + 1);
  assert.ok(after.length > 5);
  assert.ok(
    after.every((status) => 'later' in status && (status.incident === undefined || 'later' in status.incident)),
  );
  assert.ok(after.every(({ fence }) => fence !== undefined && !('later' in fence)));
});

for (const version of keptReleases()) {
  describe(`beside the operator of ${version}`, async () => {
    const older = await olderOperator(version);
    const back = (scenario: Scenario): Scenario => withDefinitionsOf(version, scenario);
    const ways: readonly [name: string, starts: [Start, Start], as: (scenario: Scenario) => Scenario][] = [
      ['the present one goes on with what that has begun', [older, productOperator], (scenario) => scenario],
      ['that goes on with what the present one has begun', [productOperator, older], back],
    ];
    for (const [way, starts, as] of ways) {
      for (const [index, scenario] of all.entries()) {
        test(`[S20] ${way}: ${scenario.name}`, async () => {
          const { writes, seen } = await killedAtWrite(as(scenario), undefined, { program: inTurns(...starts) });
          assert.deepEqual(failuresOf(seen.report), [], 'without a change');
          for (const point of crashPointsOf(writes.length).filter((_, at) => (at + 7 * index) % stride === 0)) {
            const changed = await killedAtWrite(as(scenario), point, { program: inTurns(...starts) });
            assert.equal(changed.crashes, 1, whereOf(point, writes));
            assert.deepEqual(failuresOf(changed.seen.report), [], whereOf(point, writes));
          }
        });
      }
    }

    for (const first of ['that', 'the present one']) {
      test(`[S18] both run, and ${first} is the first that leads and dies in the middle of a fence`, async () => {
        const isOlder = ({ number }: ProgramContext): boolean => (number === 1) === (first === 'that');
        const program: Start = (context) => (isOlder(context) ? older : productOperator)(context);
        assert.deepEqual(failuresOf(await run(scenarioOf('fence/two-operators'), { program })), []);
      });
    }
  });
}
