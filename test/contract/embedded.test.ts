/** The contract on the embedded server, and on the embedded server with what each case needs taken away. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Feature } from '../../src/world/api-server/kind.ts';
import { features } from '../../src/world/api-server/kind.ts';
import { suites } from './cases/index.ts';
import type { Case } from './contract.ts';
import { Api } from './contract.ts';
import { embeddedDriver, NoEvent } from './embedded-driver.ts';

/** The case saw that something is missing, as opposed to: something broke. */
function isVerdict(error: unknown): boolean {
  if (error instanceof assert.AssertionError || error instanceof NoEvent) return true;
  throw error;
}

async function play({ run }: Case, without: readonly Feature[]): Promise<void> {
  const api = new Api(embeddedDriver(without), 'c1');
  await api.setUp();
  try {
    await run(api);
  } finally {
    await api.tearDown();
  }
}

for (const [suite, cases] of Object.entries(suites)) {
  describe(`contract: ${suite}`, () => {
    for (const one of cases) {
      test(one.name, () => play(one, []));
    }
  });
  describe(`contract, seen to fail: ${suite}`, () => {
    for (const one of cases) {
      test(`${one.name} (without ${one.needs})`, () => assert.rejects(play(one, [one.needs]), isVerdict));
    }
  });
}

test('every feature that can be taken away is needed by some case', () => {
  const needed = new Set(Object.values(suites).flatMap((cases) => cases.map(({ needs }) => needs)));
  assert.deepEqual(
    features.filter((feature) => !needed.has(feature)),
    [],
  );
});

test('there are enough cases', () => {
  assert.ok(Object.values(suites).flat().length >= 150);
});
