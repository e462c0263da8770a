/** What acts of each basis rest on in an ActCluster, and what is found of that. */
import type { AskDevices, Refusal } from '../../src/act/grounds.ts';
import { verify } from '../../src/act/grounds.ts';
import { LiveReads } from '../../src/act/live-reads.ts';
import type { Basis, Grounds, SeenPod } from '../../src/api/steps.ts';
import type { ActCluster } from './act-cluster.ts';
import { driver } from './release-case.ts';

/** What each basis has beside what all have. */
export const own = {
  StorageSafeDetach: { safeDrivers: [driver], declaredDrivers: [] },
  PowerOff: { question: { what: 'power', methods: [] } },
  StorageFenced: { question: { what: 'storage', methods: [] } },
  KernelCrashed: {},
  Asserted: {},
  AcceptedRisk: {},
  Remedy: { trouble: { type: 'Ready', status: 'NotTrue' } },
  Return: { isReady: false, leaseRenewTime: undefined, heartbeatTime: undefined },
  Unmark: { policy: undefined, leaseRenewTime: undefined, heartbeatTime: undefined },
} as const satisfies Record<Basis, object>;

export type Compared = keyof typeof own;

export const every = Object.keys(own) as Compared[];
export const but = (...others: Compared[]): Compared[] => every.filter((basis) => !others.includes(basis));

export async function groundsOf(cluster: ActCluster, basis: Compared = 'StorageSafeDetach'): Promise<Grounds> {
  return { ...(await cluster.grounds()), basis, ...own[basis] } as Grounds;
}

const confirmed: AskDevices = async () => undefined;

export async function found({ client }: ActCluster, grounds: Grounds, ask = confirmed): Promise<string> {
  return said(await verify(new LiveReads(client, { timeoutMs: 1000 }), grounds, { ask }));
}

/** A pod as it is now. */
export async function seen(cluster: ActCluster, name?: string): Promise<SeenPod> {
  return { uid: (await cluster.pod(name)).uid, isInService: true };
}

function said(refusal: Refusal | undefined): string {
  if (refusal === undefined) return 'nothing';
  return refusal.kind === 'unreadable' ? `unreadable: ${refusal.error.kind}` : refusal.what;
}
