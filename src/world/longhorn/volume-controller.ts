/**
 * What Longhorn's volume controller does with the copies of one volume: uses them, rebuilds what is missing, makes an
 * extra one for each that was asked to leave and lets that one go afterwards, and salvages what it can when none is left.
 */
import type { TrueReplica, TrueVolume } from './truth.ts';
import { robustnessOf } from './truth.ts';

/** What the controller sees and can do. */
export interface Surroundings {
  nowMs: number;
  /** The instance manager of the node runs and answers. */
  serves: (node: string) => boolean;
  isCordoned: (node: string) => boolean;
  isAskedToLeave: (replica: TrueReplica) => boolean;
  /** Where a new copy goes; undefined: nobody can take it. */
  placeFor: (volume: TrueVolume) => string | undefined;
  /** How long a failed copy is waited for before another one is made. */
  replenishWaitMs: number;
}

export type Intent =
  | { do: 'use'; engineOn: string }
  | { do: 'rest' }
  | { do: 'fail'; replica: TrueReplica }
  | { do: 'salvage'; replica: TrueReplica }
  | { do: 'delete'; replica: TrueReplica }
  | { do: 'repair'; replica: TrueReplica }
  | { do: 'build'; node: string };

/** The next thing to do, if there is any; asked again after each. */
export function nextIntent(volume: TrueVolume, around: Surroundings): Intent | undefined {
  return (
    lostProcess(volume, around) ??
    salvage(volume, around) ??
    engine(volume, around) ??
    letGo(volume, around) ??
    replenish(volume, around)
  );
}

function healthyOf({ replicas }: TrueVolume): TrueReplica[] {
  return [...replicas.values()].filter(({ state }) => state === 'healthy');
}

/** Without its process a copy is of no use, and a rebuild ends with the last copy that it could come from. */
function lostProcess(volume: TrueVolume, { serves }: Surroundings): Intent | undefined {
  const hasSource = healthyOf(volume).some(({ running, node }) => running && serves(node));
  for (const replica of volume.replicas.values()) {
    const isRebuilt = replica.state === 'building' || replica.state === 'repairing';
    const isServed = serves(replica.node);
    if (isRebuilt ? !isServed || !hasSource : replica.state === 'healthy' && replica.running && !isServed) {
      return { do: 'fail', replica };
    }
  }
  return undefined;
}

/** Only the copies that failed last hold everything; if those are not there, it has to wait for them. */
function salvage(volume: TrueVolume, { serves }: Surroundings): Intent | undefined {
  if (robustnessOf(volume) !== 'faulted') return undefined;
  const failed = [...volume.replicas.values()].filter(({ healthyAtMs }) => healthyAtMs !== undefined);
  const lastMs = Math.max(...failed.map(({ failedAtMs }) => failedAtMs ?? 0));
  const replica = failed.find(({ failedAtMs, node }) => failedAtMs === lastMs && serves(node));
  return replica === undefined ? undefined : { do: 'salvage', replica };
}

/**
 * A volume is in use while its workload wants it, and while a copy has to move: that needs an engine, too. A workload
 * whose node has lost its engine has moved elsewhere, as pods do that are evicted; where Kubernetes says where it is, not
 * before that says so.
 */
function engine(volume: TrueVolume, around: Surroundings): Intent | undefined {
  const { serves } = around;
  const usable = healthyOf(volume).filter(({ node }) => serves(node));
  const isBusy = [...volume.replicas.values()].some(({ state }) => state === 'building' || state === 'repairing');
  const mustMove = healthyOf(volume).some((replica) => around.isAskedToLeave(replica));
  const { attachedTo, isFollowed = false } = volume;
  const user = attachedTo !== undefined && (serves(attachedTo) || !isFollowed) ? attachedTo : undefined;
  const wanted = user !== undefined || isBusy || (mustMove && around.placeFor(volume) !== undefined);
  if (!wanted || usable.length === 0) return volume.engineOn === undefined ? undefined : { do: 'rest' };
  const here = [user, volume.engineOn].find((node) => node !== undefined && serves(node));
  const engineOn = here ?? usable[0]?.node ?? '';
  const idle = healthyOf(volume).find(({ running }) => !running);
  if (volume.engineOn !== engineOn || (idle !== undefined && serves(idle.node))) return { do: 'use', engineOn };
  // In use without it, it is behind from the next write on.
  return idle === undefined ? undefined : { do: 'fail', replica: idle };
}

function letGo(volume: TrueVolume, { isAskedToLeave }: Surroundings): Intent | undefined {
  const healthy = healthyOf(volume);
  for (const replica of volume.replicas.values()) {
    const leaves = isAskedToLeave(replica);
    // Nobody builds on: a copy that was never whole, or one that is not needed any more.
    if (replica.state === 'failed' && replica.healthyAtMs === undefined) return { do: 'delete', replica };
    if (replica.state === 'failed' && (leaves ? healthy.length > 0 : healthy.length >= volume.wanted)) {
      return { do: 'delete', replica };
    }
    if (replica.state === 'healthy' && leaves && healthy.length > volume.wanted) return { do: 'delete', replica };
  }
  return undefined;
}

function replenish(volume: TrueVolume, around: Surroundings): Intent | undefined {
  if (volume.engineOn === undefined || healthyOf(volume).every(({ running }) => !running)) return undefined;
  const all = [...volume.replicas.values()];
  const staying = healthyOf(volume).filter((replica) => !around.isAskedToLeave(replica)).length;
  const underWay = all.filter(({ state }) => state === 'building' || state === 'repairing').length;
  let missing = volume.wanted - staying - underWay;
  if (missing <= 0) return undefined;
  const failed = all.filter((replica) => replica.state === 'failed' && !around.isAskedToLeave(replica));
  const usable = failed.find(({ node }) => around.serves(node) && !around.isCordoned(node));
  if (usable !== undefined) return { do: 'repair', replica: usable };
  missing -= failed.filter(({ failedAtMs = 0 }) => around.nowMs < failedAtMs + around.replenishWaitMs).length;
  const node = missing > 0 ? around.placeFor(volume) : undefined;
  return node === undefined ? undefined : { do: 'build', node };
}

/** When the next failed copy has been waited for long enough. */
export function recheckMs({ replicas }: TrueVolume, { nowMs, replenishWaitMs }: Surroundings): number {
  const due = [...replicas.values()].flatMap(({ state, failedAtMs }) =>
    state === 'failed' && failedAtMs !== undefined && failedAtMs + replenishWaitMs > nowMs
      ? [failedAtMs + replenishWaitMs - nowMs]
      : [],
  );
  return Math.min(...due);
}
