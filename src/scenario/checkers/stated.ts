/**
 * What the record of a node says that it waits for, and whether that is so, as far as the world can tell: a sentence that nothing
 * bears out is no better than none, and neither is one that nobody here can compare with anything.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { KubeObject } from '../../kube/client.ts';
import { isReady } from '../../world/objects/meta.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { VolumeAttachment } from '../../world/objects/volumes.ts';
import type { StoredChange, StoredFence } from '../cluster-state.ts';
import type { CheckContext } from './checker.ts';
import type { LeftOff } from './left-off.ts';
import { quarantine } from './late.ts';
import { hasWork } from './movable.ts';
import { Others } from './others.ts';
import type { Troubles } from './trouble.ts';
import { msOf, quorumsOf } from './trouble.ts';

export interface Stated {
  says: string;
  isSo: boolean;
}

interface Asked {
  name: string;
  node: Node;
  fence: StoredFence;
  said: string;
  groups: Record<string, string>;
}

type Truth = (asked: Asked) => boolean;

/** Between what the operator has seen and what is so. */
const latelyMs = 30_000;
/** What a kubelet reports of its volumes, and what is made of it. */
const noticedMs = 60_000;
const lookingAroundMs = 120_000;
const kubeletAwayMs = 300_000;
const commandTakesMs = 180_000;
/** So often what was on and is off is switched on, at least. */
const onAgain = 3;
const missing = 'there is no ConfigMap';
const maintenance = 'fenceline.dev/maintenance-until';
const pausePrefix = 'fenceline.dev/pause.';

export class Statements {
  readonly #context: CheckContext;
  readonly #troubles: Troubles;
  readonly #leftOff: LeftOff;
  /** By their reason. */
  readonly #holds: Readonly<Record<string, Truth>>;
  /** When something last changed about a node that its return could wait for. */
  readonly #changedMs = new Map<string, number>();
  readonly #others = new Others();
  readonly #configMaps = new Map<string, KubeObject>();
  /** Nodes that were deleted, and when by the API server's clock. */
  readonly #deleted: { name: string; atMs: number }[] = [];
  /** By how they read. */
  readonly #sentences: readonly (readonly [RegExp, Truth])[];

  constructor(context: CheckContext, troubles: Troubles, leftOff: LeftOff) {
    this.#context = context;
    this.#troubles = troubles;
    this.#leftOff = leftOff;
    this.#holds = this.#holdsOf();
    this.#sentences = [...this.#waysBack(), ...this.#fences()];
  }

  take(change: StoredChange): void {
    const { object, previous, type } = change;
    this.#others.take(change);
    const { kind, metadata } = object;
    if (kind === 'ConfigMap' && type === 'DELETED') this.#configMaps.delete(metadata.name);
    else if (kind === 'ConfigMap') this.#configMaps.set(metadata.name, object);
    if (kind === 'Node' && type === 'DELETED')
      this.#deleted.push({ name: metadata.name, atMs: this.#context.wallMs() });
    const isGone = type === 'DELETED' && (kind === 'Pod' || kind === 'VolumeAttachment');
    const node = isGone ? (object as Pod | VolumeAttachment).spec.nodeName : undefined;
    const before: Node | undefined = previous;
    const isOther = kind === 'Node' && isReady(object as Node) !== isReady(before);
    if (node !== undefined || isOther) this.#changedMs.set(node ?? metadata.name, this.#context.nowMs());
  }

  /** Undefined: nothing is said. */
  of(name: string, node: Node): Stated | undefined {
    const fence = this.#context.state.fences.get(nodeFenceName(name));
    if (fence === undefined) return undefined;
    const { hold, return: back, fence: own } = fence.status ?? {};
    if (fence.spec?.stop === true) return { says: 'it is stopped', isSo: true };
    const asked = { name, node, fence, groups: {} };
    if (hold !== undefined) {
      const said = hold.message ?? '';
      const { reason = '' } = hold;
      // What holds cuts back does not hold back that a machine which was cut is switched on: nobody but a person does.
      const isHeld = !this.#leftOff.isLeft(name) || reason === 'Maintenance';
      return { says: `${reason}: ${said}`, isSo: isHeld && (this.#holds[reason]?.({ ...asked, said }) ?? false) };
    }
    // What went wrong on the way to a fence that has ended says nothing of now.
    const said = back?.waitsFor ?? (own?.status === 'final' ? undefined : (own?.waitsFor ?? own?.message));
    return said === undefined ? undefined : { says: said, isSo: this.#isSo({ ...asked, said }) };
  }

  #isSo(asked: Asked): boolean {
    return this.#sentences.some(([pattern, truth]) => {
      const found = pattern.exec(asked.said);
      return found !== null && truth({ ...asked, groups: { ...found.groups } });
    });
  }

  #holdsOf(): Record<string, Truth> {
    const { state, wallMs, machineOf, homeOf } = this.#context;
    const inMode =
      (mode: string): Truth =>
      ({ name }) =>
        this.#troubles.policyOf(name)?.spec?.mode === mode;
    const youngerThan = (ageMs: number, { fence }: Asked): boolean =>
      wallMs() - Date.parse(fence.status?.hold?.since ?? '') <= ageMs;
    const isStorm: Truth = ({ name }) => {
      const { maxUnresponsive: limit = '40%' } = this.#stormOf(name);
      const now = this.#troubles.beyond(limit, (other) => this.#isTroubled(other));
      return (now ?? this.#troubles.beyondSince(limit, name, true)) !== undefined;
    };
    return {
      Paused: inMode('Paused'),
      PausedForAll: () => this.#isPaused(),
      DryRun: inMode('DryRun'),
      AwaitingApproval: inMode('Approve'),
      Maintenance: ({ node }) => this.#lasts(node.metadata.annotations?.[maintenance]),
      NamedPause: ({ node }) =>
        Object.entries(node.metadata.annotations ?? {}).some(
          ([key, until]) => key.startsWith(pausePrefix) && this.#lasts(until),
        ),
      LeftToOthers: ({ name, node }) => this.#others.isAt(name, node),
      ControlPlaneQuorum: ({ node }) => quorumsOf(node, state.nodes).length > 0,
      OwnNode: ({ name, fence }) => homeOf(holderOf(fence)) === name,
      OwnNodeSilent: ({ fence }) => this.#troubles.isSilent(homeOf(holderOf(fence)) ?? ''),
      OwnZoneAlone: ({ fence }) => this.#troubles.isAlone(homeOf(holderOf(fence))) !== undefined,
      StormLimit: isStorm,
      ZoneStormLimit: isStorm,
      // Who works at what is judged while it waits (S41).
      ConcurrencyLimit: ({ name }) =>
        [...state.nodes].some(([other, node]) => other !== name && !this.#isWell(other, node)),
      ComingBack: (asked) => youngerThan(lookingAroundMs, asked),
      LookingAround: (asked) => youngerThan(lookingAroundMs, asked),
      Cooldown: (asked) => youngerThan(msOf(this.#stormOf(asked.name).cooldown ?? '5m') + latelyMs, asked),
      PlannedWork: ({ node }) => node.spec?.unschedulable === true || !isReady(node),
      NothingToFree: ({ name }) => !hasWork(state, name),
      KubeletDown: (asked) =>
        machineOf(asked.name)?.alive === true && !isReady(asked.node) && youngerThan(kubeletAwayMs + latelyMs, asked),
      // Nothing is broken any more by then.
      ReleaseRefused: () => false,
      SkipCondition: ({ name, node }) =>
        (this.#stormOf(name).skipWhen ?? []).some(({ type, status }) =>
          (node.status?.conditions ?? []).some((has) => has.type === type && has.status === status),
        ),
    };
  }

  /** What the return of a node waits for. */
  #waysBack(): (readonly [RegExp, Truth])[] {
    const { state, isPortClosed, nowMs, wallMs } = this.#context;
    return [
      [
        /^volume (?<volume>\S+) was released and is still attached/,
        ({ name, groups }) =>
          [...state.attachments.values()].some(
            ({ spec }) => spec.nodeName === name && spec.source.persistentVolumeName === groups['volume'],
          ),
      ],
      [
        /^its kubelet still uses (?<entry>\S+), which was released$/,
        ({ node, groups }) => node.status?.volumesInUse?.includes(groups['entry'] ?? '') ?? false,
      ],
      [
        /^pod (?<pod>\S+) was released and is still there$/,
        ({ name, groups }) => state.pods.get(groups['pod'] ?? '')?.spec.nodeName === name,
      ],
      [
        /^it waits for a reboot: pod (?<pod>\S+) was released, and no kubelet reports whether it still uses /,
        ({ fence, node, groups }) =>
          (fence.status?.releases ?? []).some(
            ({ bootId, pods = [] }) =>
              bootId === node.status?.nodeInfo?.bootID &&
              pods.some(({ namespace, name }) => `${namespace}/${name}` === groups['pod']),
          ),
      ],
      [
        /^it waits for a reboot: the record is gone of a pod that was there/,
        ({ node }) => node.spec?.taints?.some(({ key, value = '' }) => key === quarantine.key && value !== '') ?? false,
      ],
      [
        /^other nodes have its boot ID, so that no reboot shows: .* removes the taint (?<key>\S+)$/,
        ({ node, groups }) =>
          (node.spec?.taints?.some(({ key }) => key === groups['key']) ?? false) &&
          [...state.nodes.values()].some(
            (other) =>
              other.metadata.name !== node.metadata.name &&
              other.status?.nodeInfo?.bootID === node.status?.nodeInfo?.bootID,
          ),
      ],
      [
        /^\S+ has to stay Ready and clean for (?<time>[\dhms]+)/,
        ({ name, fence, groups }) => {
          const leftMs = Date.parse(fence.status?.return?.soakUntil ?? '') - wallMs();
          const soakMs = msOf(groups['time']);
          const calmMs = nowMs() - (this.#changedMs.get(name) ?? -Infinity);
          return leftMs > -latelyMs && leftMs <= soakMs && calmMs <= soakMs + noticedMs;
        },
      ],
      [/has cut it off, and is not switched on again$/, ({ name }) => isPortClosed(name)],
      [/: it is cut off from its storage, and no fence on record has done so; /, ({ name }) => isPortClosed(name)],
      [
        /^the record of what was done to it is gone, and nobody knows .* removes the taint (?<key>\S+)$/,
        ({ node, fence, groups }) =>
          (fence.status?.releases ?? []).length === 0 &&
          (node.spec?.taints?.some(({ key }) => key === groups['key']) ?? false),
      ],
      [
        /^it still has the taint (?<key>\S+), by which somebody says that it is dead$/,
        ({ node, groups }) => node.spec?.taints?.some(({ key }) => key === groups['key']) ?? false,
      ],
    ];
  }

  /** What a fence waits for, or has failed with. */
  #fences(): (readonly [RegExp, Truth])[] {
    const { machineOf, isPortClosed } = this.#context;
    const phase = ({ fence }: Asked): string => fence.status?.fence?.phase ?? '';
    const switching = ['isolating', 'poweringOff'];
    const isOff: Truth = ({ name }) => machineOf(name)?.power === 'off';
    const isLeft: Truth = ({ name }) => this.#leftOff.isLeft(name);
    return [
      [/^its machine was found off, and stays so: /, (asked) => isOff(asked) && !this.#leftOff.isOurs(asked.name)],
      [/^it is off, and does not stay on: /, (asked) => isOff(asked) && this.#leftOff.losses(asked.name) > onAgain],
      // What was cut is not left so because its device is not believed any more.
      [
        /^it was off, and its pods go when its device says so again: /,
        (asked) =>
          isOff(asked) && !(asked.fence.status?.fence?.switched ?? []).some(({ commandSentAt }) => commandSentAt),
      ],
      [
        /^it goes on when its Node does not say any more that it is out of service: /,
        (asked) => isOff(asked) && isTaintedOutOfService(asked.node),
      ],
      // Nor because the API server lets nothing go.
      [
        /^it is off, and its pods cannot go: /,
        (asked) =>
          isOff(asked) &&
          (isTaintedOutOfService(asked.node) ||
            !(asked.fence.status?.fence?.switched ?? []).some(({ commandSentAt }) => commandSentAt)),
      ],
      [
        /^(?<back>the node is back, and )?its device may still do what it was told: /,
        ({ fence, node, groups }) =>
          (groups['back'] === undefined || isReady(node)) &&
          (fence.status?.fence?.switched ?? []).some(
            ({ commandSentAt = '' }) => this.#context.wallMs() - Date.parse(commandSentAt) <= commandTakesMs + latelyMs,
          ),
      ],
      ...this.#heldFences(),
      [/^no power_management is configured: it waits for the node to come back$/, ({ node }) => !isReady(node)],
      [
        /^no power_management is configured: it goes on until its trouble is over$/,
        ({ name }) => this.#troubles.conditionsOf(name).length > 0,
      ],
      [
        /^no power_management is configured: it goes on until it is booted again, or whoever asked /,
        ({ fence, node }) => fence.spec?.requested !== undefined && !isRebooted(fence, node),
      ],
      [/^(?:its machine is off, and )?nothing is configured (?:any more )?that (?:would )?switche?s? it on: /, isOff],
      [
        /^it stays cut off from its storage until |: it was so before this fence, |: nothing that is configured connects it again: /,
        ({ name }) => isPortClosed(name),
      ],
      ...this.#besides(),
      [/: there is no ConfigMap (?<name>[^\s:]+)/, ({ groups }) => !this.#configMaps.has(groups['name'] ?? '')],
      [
        /: ConfigMap (?<name>\S+) is about node \S+ as well: /,
        ({ groups }) => this.#configMaps.has(groups['name'] ?? ''),
      ],
      // What is wrong inside a file cannot be told here; that there is one can.
      [
        /^(?<file>fence-\S+) \S+: /,
        ({ groups, said }) => this.#configMaps.has(groups['file'] ?? '') && !said.includes(missing),
      ],
      // What its last try has come to, while it goes on; not of a machine that every try would switch on.
      [/^/, (asked) => phase(asked) === 'poweringOn' && isOff(asked) && !isLeft(asked)],
      [/^/, (asked) => switching.includes(phase(asked)) && !isReady(asked.node) && !isLeft(asked)],
      [/^/, (asked) => phase(asked) === 'recovering' && isPortClosed(asked.name)],
      // It has failed, which a node that is back with another boot has left behind.
      [
        /^/,
        (asked) =>
          asked.fence.status?.fence?.status === 'error' &&
          !(isReady(asked.node) && isRebooted(asked.fence, asked.node)) &&
          !isLeft(asked),
      ],
    ];
  }

  /** Nobody knows whose power was cut. */
  #besides(): (readonly [RegExp, Truth])[] {
    const { state } = this.#context;
    return [
      [
        /^(?<who>.+) has not been heard of since, and no outlet of its own has said off since: /,
        ({ groups }) => (groups['who'] ?? '').split(', ').some((who) => !isReady(state.nodes.get(who))),
      ],
      [
        /^(?<count>\d+) of the \d+ other nodes that there were have no Node any more: /,
        ({ name, fence, groups }) => {
          const sinceMs = Date.parse(fence.status?.fence?.startedAt ?? '') - 1000;
          const gone = new Set(this.#deleted.filter(({ atMs }) => atMs >= sinceMs).map((one) => one.name));
          gone.delete(name);
          return gone.size >= Number(groups['count']);
        },
      ],
    ];
  }

  /** One that is held, and at rest. */
  #heldFences(): (readonly [RegExp, Truth])[] {
    const { machineOf, isPortClosed } = this.#context;
    return [
      [
        /^it was cut off from its storage, and its pods go when its device says so again: /,
        ({ name, fence }) => fence.status?.fence?.phase === 'isolated' && !this.#context.isPortShut(name),
      ],
      [
        /^it is held, and its device has not confirmed what it was told: /,
        ({ fence: { status } }) =>
          (status?.fence?.switched ?? []).some(
            (one) => one.commandSentAt !== undefined && one.confirmedAt === undefined,
          ),
      ],
      [
        /^it is held, and what its devices have cut stays so: /,
        ({ name }) => machineOf(name)?.power === 'off' || isPortClosed(name),
      ],
    ];
  }

  #stormOf(name: string): Storm {
    return this.#troubles.policyOf(name)?.spec?.storm ?? {};
  }

  #isTroubled(name: string): boolean {
    const { state } = this.#context;
    const node = state.nodes.get(name);
    return node !== undefined && (!this.#isWell(name, node) || this.#troubles.conditionsOf(name).length > 0);
  }

  /** In service, and nothing is the matter. */
  #isWell(name: string, node: Node): boolean {
    const { status } = this.#context.state.fences.get(nodeFenceName(name)) ?? {};
    const isOpen = status?.fence !== undefined && !['final', 'error'].includes(status.fence.status ?? '');
    return isReady(node) && !this.#troubles.isSilent(name) && !isOpen;
  }

  #isPaused(): boolean {
    const map: (KubeObject & { data?: { until?: string } }) | undefined = this.#configMaps.get('fenceline-pause');
    return map !== undefined && this.#lasts(map.data?.until ?? '');
  }

  /** A time that is still to come, or none at all. */
  #lasts(until: string | undefined): boolean {
    return until !== undefined && !(Date.parse(until) <= this.#context.wallMs() - latelyMs);
  }
}

/** The number of the operator that has written it last. */
function holderOf({ status }: StoredFence): number {
  return Number(/^operator-(\d+)_/.exec(status?.holder ?? '')?.[1]);
}

function isTaintedOutOfService({ spec }: Node): boolean {
  return (spec?.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service');
}

type Storm = NonNullable<NonNullable<ReturnType<Troubles['policyOf']>>['spec']>['storm'] & object;

function isRebooted(
  fence: StoredFence,
  { status }: KubeObject & { status?: { nodeInfo?: { bootID?: string } } },
): boolean {
  return fence.status?.fence?.bootId !== status?.nodeInfo?.bootID;
}
