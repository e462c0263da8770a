/**
 * What is known of devices by the boot that their machine is in. One that is back in the very boot in which they had confirmed that it
 * was off never was: they switch another machine, or lie, whoever they say that they are (SAF-1).
 */
import { sharesBoot } from '../api/facts.ts';
import type { Method } from '../api/fence-config.ts';
import { RENEWAL_UNDERWAY_MS } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { deviceHash, powerMethods } from '../api/power.ts';
import type { NodeCase, PresentCase } from '../api/release-view.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;
type Releases = NodeFenceStatus['releases'];

/** Until its devices have said on, what was under way when the power went may still arrive. */
const tooEarly: ReadonlySet<Fence['phase']> = new Set(['off', 'poweringOn', 'finished']);
const namedAtMost = 5;

/** What it means, in a sentence; undefined: nothing says that it was not off. */
export function neverOff(nodeCase: PresentCase, { fence, incident, releases }: NodeFenceStatus): string | undefined {
  const { node } = nodeCase;
  const { poweredOff } = incident ?? {};
  if (fence === undefined || poweredOff === undefined || tooEarly.has(fence.phase)) return undefined;
  // Where other nodes have its boot ID, that says nothing.
  if (poweredOff.bootId !== node.bootId || sharesBoot(nodeCase)) return undefined;
  if (!hasReportedSince(nodeCase, poweredOff)) return undefined;
  const gone = goneBy(nodeCase, releases);
  if (gone === undefined) return undefined;
  // What was found off may have been restarted itself, and nothing rests on what it said meanwhile.
  if (poweredOff.isFound === true && gone.length === 0) return undefined;
  const never = 'its power was confirmed off, and its kubelet has reported from the same boot since: it was never off';
  const look = 'Look which machine its device switches';
  if (gone.length === 0) return `${never}. Nothing was let go meanwhile. ${look}`;
  const named = gone.slice(0, namedAtMost).join(', ');
  const more = gone.length > namedAtMost ? ` and ${gone.length - namedAtMost} more` : '';
  return `${never}. ${named}${more} went by that, and two may have written to their volumes: look at the data. ${look}`;
}

/**
 * Its kubelet has written its status since, in which it says its boot, and renewed its Lease: both after what may have been under way. A
 * Lease alone may be renewed by a kubelet that has not said yet which boot it is in.
 */
function hasReportedSince(
  { node, lease, serverNowMs }: PresentCase,
  { at, signs }: { at: string; signs?: { heartbeatTime: string } | undefined },
): boolean {
  const { heartbeatTime = '' } = node;
  if (signs === undefined || heartbeatTime === '' || heartbeatTime === signs.heartbeatTime) return false;
  return lease === undefined || lease.unchangedForMs < serverNowMs - Date.parse(at) - RENEWAL_UNDERWAY_MS;
}

/** Pods that went from this boot because its power was off, or whose volumes did; undefined: nobody has looked who is there. */
function goneBy({ node, pods: here, isUnread }: PresentCase, releases: Releases): string[] | undefined {
  if (isUnread === true) return undefined;
  const present = new Set(here.map(({ uid }) => uid));
  return releases
    .filter(({ basis, bootId }) => basis === 'PowerOff' && bootId === node.bootId)
    .flatMap(({ pods, freedAt }) => pods.filter(({ uid }) => freedAt !== undefined || !present.has(uid)))
    .map(({ namespace, name }) => `${namespace}/${name}`);
}

/**
 * Its devices had said off without having been told to, say on now, and nothing has gone: whoever renews its Lease after that is as well
 * as before, in whatever boot.
 */
export function isUnharmed(nodeCase: PresentCase, { fence, incident, releases }: NodeFenceStatus): boolean {
  const { lease, serverNowMs } = nodeCase;
  if (fence?.phase !== 'booting' || incident?.poweredOff?.isFound !== true || lease === undefined) return false;
  if (goneBy(nodeCase, releases)?.length !== 0) return false;
  return lease.unchangedForMs < serverNowMs - Date.parse(fence.stepStartedAt) - RENEWAL_UNDERWAY_MS;
}

/** Devices that are wrong, as they are configured now, and when they said off. */
export interface Disproven {
  methods: readonly Method[];
  at: string;
  message: string;
}

/** Undefined: none is known to be. */
export function disprovenBy({ config }: NodeCase, { fence, incident }: NodeFenceStatus): Disproven | undefined {
  const { poweredOff } = incident ?? {};
  if (fence?.neverOff === undefined || poweredOff === undefined) return undefined;
  const methods = powerMethods(config).filter((method) => poweredOff.devices?.includes(deviceHash(method)));
  return {
    methods,
    at: poweredOff.at,
    message: 'it said off, and the kubelet of its node reported from the same boot later on',
  };
}
