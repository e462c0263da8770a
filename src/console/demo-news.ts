/** What the records and the pods say that a reader of the story would miss: each thing once, when it happens. */
import type { NodeFence } from '../api/node-fence.ts';

type Fence = NonNullable<NodeFence['status']['fence']>;

export interface RunningPod {
  uid: string;
  name: string;
  node: string;
  isReady: boolean;
}

function sentenceOf({ phase, switched, message }: Fence): string | undefined {
  const wasTold = switched.some((one) => one.step === 'power-management' && one.commandSentAt !== undefined);
  switch (phase) {
    case 'waiting':
    case 'isolating':
    case 'poweringOff':
      return undefined;
    case 'isolated':
      return switched.length === 0 ? undefined : 'cut off from its storage, as the switch confirms';
    case 'off':
      return wasTold ? 'switched off, as its device confirms' : 'found off, as its device says';
    case 'poweringOn':
      return 'being switched on again';
    case 'booting':
      return 'is on, and boots';
    case 'recovering':
      return 'back; looked at before it gets anything to do';
    case 'finished':
      return 'the fence is over';
    case 'failed':
      return `the fence has failed: ${message ?? 'nobody says why'}`;
  }
}

export class DemoNews {
  /** By node: what was told last. */
  readonly #told = new Map<string, string>();
  /** UIDs of pods that were seen ready; undefined: nobody has looked yet, and what runs from the beginning is no news. */
  #ready: Set<string> | undefined;

  ofFence(node: string, fence: Fence | undefined): string[] {
    const sentence = fence && sentenceOf(fence);
    if (sentence === undefined || this.#told.get(node) === sentence) return [];
    this.#told.set(node, sentence);
    return [`${node}: ${sentence}`];
  }

  ofPods(pods: readonly RunningPod[]): string[] {
    const before = this.#ready;
    this.#ready = new Set(pods.flatMap(({ uid, isReady }) => (isReady || before?.has(uid) ? [uid] : [])));
    if (before === undefined) return [];
    return pods
      .filter(({ uid, isReady }) => isReady && !before.has(uid))
      .map(({ name, node }) => `pod ${name} runs on ${node}`);
  }
}
