/** What a reader of the story has to know, in words for whoever sees it for the first time: each thing once, when it happens. */
import type { NodeFence } from '../api/node-fence.ts';
import { isOurOutOfService } from '../api/out-of-service.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import type { Act } from '../api/steps.ts';
import type { Judgement } from '../api/view.ts';
import { described } from '../report/pass-reporter.ts';

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

/** What was done to a node. What is about taints and fields is told by what it is for. */
export function actNews(act: Act): string {
  switch (act.do) {
    case 'quarantine':
      return 'in quarantine: it takes no pods until it is back and clean';
    case 'untaint':
      if (isOurOutOfService(act)) return 'its Node does not say out of service any more: all that may go has gone';
      return act.key === QUARANTINE_KEY ? 'out of quarantine: it takes pods again' : described(act);
    case 'takeOutOfService':
      return 'its Node says that the machine is off, and so do the pods that stay';
    case 'freeVolumes':
      return 'its volumes may be attached elsewhere';
    default:
      return described(act);
  }
}

export class DemoNews {
  /** By node: what was told last. */
  readonly #verdicts = new Map<string, Judgement['verdict']>();
  readonly #fences = new Map<string, { sentence?: string | undefined; waitsFor?: string | undefined }>();
  /** UIDs of pods that were seen ready; undefined: nobody has looked yet, and what runs from the beginning is no news. */
  #ready: Set<string> | undefined;

  ofVerdict(node: string, { verdict, reason }: Pick<Judgement, 'verdict' | 'reason'>): string[] {
    const told = this.#verdicts.get(node) ?? 'healthy';
    // A node that comes back is Ready a moment before it renews its Lease: that it is suspect once more is nothing to read.
    if (told === verdict || (told === 'down' && verdict === 'suspect')) return [];
    this.#verdicts.set(node, verdict);
    return [`${node}: ${told} → ${verdict} (${reason})`];
  }

  ofFence(node: string, fence: Fence | undefined): string[] {
    const told = this.#fences.get(node);
    const sentence = fence && (sentenceOf(fence) ?? told?.sentence);
    const waitsFor = fence?.waitsFor;
    this.#fences.set(node, { sentence, waitsFor });
    return [
      ...(sentence === undefined || sentence === told?.sentence ? [] : [`${node}: ${sentence}`]),
      ...(waitsFor === undefined || waitsFor === told?.waitsFor ? [] : [`${node}: ${waitsFor}`]),
    ];
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
