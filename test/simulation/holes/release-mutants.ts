/** Sabotage of what goes from a node and how often, each with the run in which it shows. */
import type { MutantCase } from '../mutants.ts';
import { namedScenario, scenarioOf } from '../run-file.ts';
import { blindScheduler, boundLate, janitor, strippedBare } from './endless.ts';

export const releaseMutantCases: readonly MutantCase[] = [
  {
    invariant: 'S42',
    mistake: 'lets go whatever is made again',
    sabotage: {
      file: 'src/release/latecomers.ts',
      line: 'if (!isLatecomer(nodeCase, pod) || isOnRecord(nodeCase, pod)) return undefined;',
      instead: 'return undefined;',
    },
    scenario: boundLate,
    options: blindScheduler,
    says: /^pod default\/web-0, which came after the quarantine of node-1, was released as not the first one of its controller$/,
  },
  {
    invariant: 'S42',
    mistake: 'never has enough',
    sabotage: { file: 'src/release/hold.ts', line: 'const actsBeside = 200;', instead: 'const actsBeside = Infinity;' },
    scenario: strippedBare,
    options: janitor,
    says: /^\d+ acts on node-1, and it goes on$/,
  },
  {
    invariant: 'S42',
    mistake: 'drives out whoever comes',
    sabotage: {
      file: 'src/act/drain-node.ts',
      line: 'return this.#late.get(controller) === uid;',
      instead: 'return true;',
    },
    scenario: { ...namedScenario('holes/drain-without-cordon', 'drain-of-those-that-come-back'), expectations: [] },
    says: /^pod default\/shop-\S+, which came to node-4 while it was drained, is not the first one of its controller$/,
  },
  {
    invariant: 'S42',
    mistake: 'drains without a cordon',
    sabotage: {
      file: 'src/act/drain-node.ts',
      line: "const { outcome, message } = await setScheduling(node, 'cordon', calls);",
      instead: "const { outcome, message } = { outcome: 'succeeded', message: '' };",
    },
    // Bounded all the same by the one of each controller.
    also: [
      {
        file: 'src/act/drain-node.ts',
        line: 'return this.#late.get(controller) === uid;',
        instead: 'return true;',
      },
    ],
    scenario: { ...namedScenario('holes/drain-without-cordon', 'drain-without-cordon'), expectations: [] },
    says: /^pod default\/shop-\S+, which came to node-4 while it was drained, is not the first one of its controller$/,
  },
  {
    invariant: 'S43',
    mistake: 'knows no volumes but those with a name of their own',
    sabotage: {
      file: 'src/release/kept.ts',
      line: "isUnknown || volume === '' || volumes.has(volume) || (inline && hasInline),",
      instead: 'isUnknown || volumes.has(volume),',
    },
    scenario: scenarioOf('holes/staying-inline-volume'),
    says: /^VolumeAttachment of .* on node-1 was deleted although pod agent-\S+ uses it and stays$/,
  },
  {
    invariant: 'S33',
    mistake: 'forgets who was there with a volume that no kubelet reports',
    sabotage: {
      file: 'src/decide/harmless.ts',
      line: 'return unseen.pods.every((uid) => there.has(uid));',
      instead: 'return unseen.pods.every((uid) => there.has(uid) || true);',
    },
    scenario: scenarioOf('holes/unreported-volume-let-go-by-others'),
    // Two machines that write are what it comes to.
    beside: ['S2'],
    says: /^operator-1 connected node-3, and default\/web-0, which was let go, still runs there$/,
  },
  {
    invariant: 'S9',
    mistake: 'takes a node for clean because the record of what was let go there is gone',
    sabotage: {
      file: 'src/return/return-node.ts',
      line: 'if (isForgotten(nodeCase)) {',
      instead: 'if (isForgotten(nodeCase) && records.length > 0) {',
    },
    // Its device says that it is cut off, which would keep it in quarantine as well.
    also: [
      {
        file: 'src/return/connected.ts',
        line: 'if (methods.length === 0) return undefined;',
        instead: 'if (methods.length > 0) return undefined;',
      },
    ],
    scenario: { ...scenarioOf('holes/unreported-volume-record-deleted'), expectations: [] },
    says: /^node-3 is back in service, and a pod that was released \(\S+\) still runs there$/,
  },
  {
    invariant: 'S9',
    mistake: 'takes a pod for ended because no volume says otherwise',
    sabotage: {
      file: 'src/return/return-node.ts',
      line: 'return Math.max(0, ...graces) * 1000;',
      instead: 'return Math.min(0, ...graces) * 1000;',
    },
    scenario: { ...scenarioOf('holes/slow-to-end-without-volume'), expectations: [] },
    says: /^node-1 is back in service, and a pod that was released \(\S+\) still runs there$/,
  },
  {
    invariant: 'S9',
    mistake: 'gives a pod of which nothing is known any more no longer than most',
    sabotage: {
      file: 'src/api/quarantine.ts',
      line: 'return (graceSeconds ?? 0) > USUAL_GRACE_SECONDS;',
      instead: 'return (graceSeconds ?? 0) > Infinity;',
    },
    scenario: { ...scenarioOf('holes/slow-to-end-without-volume'), expectations: [] },
    says: /^node-1 is back in service, and a pod that was released \(\S+\) still runs there$/,
  },
];
