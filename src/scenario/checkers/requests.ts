/**
 * What persons ask for, as far as it may excuse an act: a request, or its approval, that is of the last ten minutes, or for which
 * something was cut within them and whose incident is still the same; about trouble that goes on, if there was any; not dated
 * ahead, no older than the record that holds it, not spent, and under a policy that acts. Anything else on record excuses nothing.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import { isReady } from '../../world/objects/meta.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { StoredChange, StoredFence } from '../cluster-state.ts';
import type { CheckContext, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import type { Troubles } from './trouble.ts';

interface Followed {
  key: string;
  /** When an operator first wrote into the record that holds it. */
  answeredMs?: number;
  /** Of that time. */
  incident?: string;
  /** The node was silent, or in trouble, when it was asked for, or has not been Ready since. */
  wasTroubled: boolean;
  wasCut: boolean;
  isSpent: boolean;
}

const minuteMs = 60_000;
const takenUpWithinMs = 10 * minuteMs;
/** What comes back while its device is asked could not be read before that. */
const tooLateMs = 5000;
const silenced = ['DryRun', 'Paused'];

export class Requests {
  readonly #context: CheckContext;
  readonly #troubles: Troubles;
  readonly #followed = new Map<string, Followed>();

  constructor(context: CheckContext, troubles: Troubles) {
    this.#context = context;
    this.#troubles = troubles;
  }

  take({ object, type }: StoredChange): void {
    if (object.kind === 'NodeFence' && type !== 'DELETED') this.#follow(object);
    const mine = object.kind === 'Node' ? this.#followed.get(object.metadata.name) : undefined;
    if (mine !== undefined && !isReady(object as Node)) mine.wasTroubled = true;
  }

  written(write: Write): void {
    if (write.resource !== 'nodefences' || !succeeded(write)) return;
    const after: StoredFence | undefined = write.after;
    const mine = this.#follow(after);
    if (mine === undefined) return;
    const { wallMs } = this.#context;
    mine.answeredMs ??= wallMs();
    const { incident } = after?.status ?? {};
    const isInTime = wallMs() <= Date.parse(after?.spec?.requested?.at ?? '') + takenUpWithinMs + 1000;
    if (isInTime && incident !== undefined) mine.incident = incident.id;
  }

  /** Its machine was told to go off; with the next boot the request is spent. */
  cut(node: string): void {
    const mine = this.#follow(this.#recordOf(node));
    if (mine !== undefined) mine.wasCut = true;
  }

  booted(node: string): void {
    const mine = this.#followed.get(node);
    if (mine?.wasCut === true) mine.isSpent = true;
  }

  /** Undefined: nobody asks. Else why it excuses nothing, or `current`. */
  of(node: string): string | undefined {
    const fence = this.#recordOf(node);
    const mine = this.#follow(fence);
    return fence === undefined || mine === undefined ? undefined : (this.#wrong(fence, mine) ?? 'current');
  }

  #recordOf(node: string): StoredFence | undefined {
    return this.#context.state.fences.get(nodeFenceName(node));
  }

  #follow(fence: StoredFence | undefined): Followed | undefined {
    const { node = '', requested } = fence?.spec ?? {};
    if (requested === undefined) return undefined;
    const key = `${requested.by} ${requested.at}`;
    const known = this.#followed.get(node);
    if (known?.key === key) return known;
    const wasTroubled = !this.#isWell(node);
    const fresh: Followed = { key, wasTroubled, wasCut: false, isSpent: false };
    this.#followed.set(node, fresh);
    return fresh;
  }

  #isWell(node: string): boolean {
    return !this.#troubles.isSilent(node) && this.#troubles.conditionsOf(node).length === 0;
  }

  /** Until something is cut for it, it is about its own moment. */
  #lapsed({ spec, status }: StoredFence, { wasTroubled, wasCut }: Followed): string | undefined {
    const { node = '', requested } = spec ?? {};
    const { approval, incident } = status ?? {};
    const approvedAt = approval?.incident === incident?.id ? approval?.at : undefined;
    const saidMs = Math.max(Date.parse(requested?.at ?? ''), Date.parse(approvedAt ?? requested?.at ?? ''));
    if (wasCut) return undefined;
    if (this.#context.wallMs() > saidMs + takenUpWithinMs + 1000) return 'has lapsed';
    const isBack = this.#isWell(node) && (this.#context.pulseOf(node)?.renewingForMs ?? 0) >= tooLateMs;
    return wasTroubled && isBack ? 'was about trouble that has passed' : undefined;
  }

  #wrong(fence: StoredFence, mine: Followed): string | undefined {
    const { answeredMs, isSpent, incident } = mine;
    const { at = '', withoutPolicy = false } = fence.spec?.requested ?? {};
    const nowMs = this.#context.wallMs();
    const atMs = Date.parse(at);
    if (isSpent) return 'was spent before';
    if (atMs > (answeredMs ?? nowMs) + minuteMs) return 'is dated ahead';
    if (atMs < Date.parse(fence.metadata.creationTimestamp ?? '') - minuteMs) return 'is older than its record';
    if ((answeredMs ?? nowMs) > atMs + takenUpWithinMs + 1000) return 'was not answered within ten minutes';
    const isOpen = incident !== undefined && fence.status?.incident?.id === incident;
    if (nowMs > atMs + takenUpWithinMs + 1000 && !isOpen) return 'was about an incident that is over';
    const lapsed = this.#lapsed(fence, mine);
    if (lapsed !== undefined) return lapsed;
    const policy = this.#troubles.policyOf(fence.spec?.node ?? '');
    if (policy === undefined && !withoutPolicy) return 'stands without a policy';
    return silenced.includes(policy?.spec?.mode ?? '') ? 'stands under a policy that does not act' : undefined;
  }
}
