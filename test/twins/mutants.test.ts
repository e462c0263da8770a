/**
 * One behaviour of the simulated controllers broken at a time: the history of at least one of the twenty must show it, or
 * the comparison with the real control plane would not either.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Sabotage } from '../simulation/mutant.ts';
import { mutant } from '../simulation/mutant.ts';
import { compare } from './compare.ts';
import type { Parts } from './embedded.ts';
import { partFiles, runEmbedded } from './embedded.ts';
import type { History } from './history.ts';
import { theTwenty } from './seeds.ts';

const controllers = 'src/world/controllers';

const mutants: Record<string, Sabotage> = {
  'PodGC does not care whether a node is out of service': {
    file: `${controllers}/pod-gc.ts`,
    line: 'isTerminating(pod) && !isReady(node) && hasTaint(node, outOfServiceTaint)',
    instead: 'false',
  },
  'pods of a deleted node are collected without quarantine': {
    file: `${controllers}/pod-gc.ts`,
    line: 'if (until > now) continue;',
    instead: 'if (until < now) continue;',
  },
  'a volume is taken from a node that calls it in use': {
    file: `${controllers}/attach-detach.ts`,
    line: 'this.#nodeVolumes.isInUse(nodeName, state.name) && !force && !outOfService',
    instead: 'false',
  },
  'a volume stays although the node is out of service': {
    file: `${controllers}/attach-detach.ts`,
    line: 'const outOfService = this.#nodeVolumes.isOutOfService(nodeName);',
    instead: 'const outOfService = false;',
  },
  'a deleted node uses nothing any more': {
    file: `${controllers}/node-volumes.ts`,
    line: '?? this.#lastWords.get(nodeName)',
    instead: '',
  },
  'a detach that fails goes on for ever': {
    file: `${controllers}/attach-detach.ts`,
    line: "attachment.status?.detachError !== undefined) {\n        this.#failed(state, nodeName, 'detach');",
    instead: "false) {\n        this.#failed(state, nodeName, 'detach');",
  },
  'a zone of which most is down is evicted all the same': {
    file: `${controllers}/zones.ts`,
    line: 'notReady > 2 && share >= this.#timings.unhealthyZoneThreshold',
    instead: 'share > 2',
  },
  'when nobody is left, evictions go on': {
    file: `${controllers}/zones.ts`,
    line: "const allAre = next.every((state) => state === 'FullDisruption');",
    instead: 'const allAre = next.length === 0;',
  },
  'a StatefulSet does not wait for its dead pod': {
    file: `${controllers}/stateful-set.ts`,
    line: 'return !isTerminating(pod) && this.#isAvailable(scene.set, pod);',
    instead:
      'if (isTerminating(pod) && !isReady(pod)) await this.#api.delete(pods, pod, { gracePeriodSeconds: 0 });\n    return !isTerminating(pod) && this.#isAvailable(scene.set, pod);',
  },
  'tolerations are not heard': {
    file: `${controllers}/taint-eviction.ts`,
    line: 'if (afterMs === Infinity) {',
    instead: 'if (afterMs > 0) {',
  },
  'a Job waits before it replaces the pod of a dead node': {
    file: `${controllers}/job.ts`,
    line: 'lastAtMs: Math.max(...lost.map(endedAtMs))',
    instead: 'lastAtMs: this.#host.clock.now()',
  },
  'pods of a silent node stay ready': {
    file: `${controllers}/node-lifecycle.ts`,
    line: 'if (wasReady) await this.#markPods(name);',
    instead: '',
  },
};

const steady = new Map<number, Promise<History[]>>();

function historyOf(at: number): Promise<History[]> {
  const scenario = theTwenty[at];
  if (scenario === undefined) throw new RangeError(`there is no scenario ${at}`);
  let known = steady.get(at);
  if (known === undefined) {
    known = runEmbedded(scenario);
    steady.set(at, known);
  }
  return known;
}

describe('a broken controller', () => {
  for (const [name, sabotage] of Object.entries(mutants)) {
    test(name, async (t) => {
      const broken = mutant(sabotage);
      const loaded = Object.entries(partFiles).map(async ([part, file]) => [part, await broken.load(file)] as const);
      const parts = Object.fromEntries(await Promise.all(loaded)) as unknown as Parts;
      for (const [at, scenario] of theTwenty.entries()) {
        const [expected, actual] = [await historyOf(at), await runEmbedded(scenario, { parts })];
        const [difference] = compare(expected.at(-1) ?? new Map(), actual.at(-1) ?? new Map());
        if (difference === undefined) continue;
        t.diagnostic(`seed ${scenario.seed}: ${difference.id}`);
        return;
      }
      assert.fail('none of the twenty shows it');
    });
  }
});
