/** Writes what was decided about drains into the status of the policies, and only where it differs from what is there. */
import { isDeepStrictEqual } from 'node:util';
import type { DrainDecision, DrainPolicyFacts } from '../api/drain-view.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { drainPolicies } from '../kube/resources.ts';
import type { DrainPolicyStatus } from '../report/drain-status.ts';
import { drainStatusOf } from '../report/drain-status.ts';

export interface DrainStatusOptions {
  client: KubeClient;
  clock: Clock;
  isLeading: () => boolean;
  onProblem: (source: string, error: KubeError) => void;
}

interface StoredPolicy extends KubeObject {
  status?: DrainPolicyStatus;
}

const callTimeoutMs = 10_000;

export class DrainStatus {
  readonly #options: DrainStatusOptions;
  /** As last read or written, so that a look at which nothing changed costs no call. */
  readonly #known = new Map<string, { uid: string; generation: number; status: DrainPolicyStatus }>();

  constructor(options: DrainStatusOptions) {
    this.#options = options;
  }

  /** False: something is left to be written. */
  async write(policies: readonly DrainPolicyFacts[], decision: DrainDecision, notFound?: string): Promise<boolean> {
    const done = await Promise.all(policies.map((policy) => this.#one(policy, decision, notFound)));
    return done.every(Boolean);
  }

  async #one(policy: DrainPolicyFacts, { nodes, withdrawing }: DrainDecision, notFound?: string): Promise<boolean> {
    const { client, clock, isLeading, onProblem } = this.#options;
    const { name, uid, generation } = policy;
    const findings = {
      policy,
      nodes,
      ...(withdrawing === undefined ? {} : { withdrawing }),
      ...(notFound === undefined ? {} : { notFound }),
    };
    const known = this.#known.get(name);
    const isKnown = known !== undefined && known.uid === uid && known.generation === generation;
    if (isKnown && isDeepStrictEqual(drainStatusOf(findings, known.status, clock.now()), known.status)) return true;
    const ref = { resource: drainPolicies, name };
    const read = await client.get<StoredPolicy>(ref, { timeoutMs: callTimeoutMs });
    if (!read.ok) {
      if (read.error.kind !== 'notFound') onProblem('drain status', read.error);
      return read.error.kind === 'notFound';
    }
    const before = read.value.status ?? {};
    const status = drainStatusOf(findings, before, read.serverTime ?? clock.now());
    this.#known.set(name, { uid, generation, status });
    if (isDeepStrictEqual(status, before)) return true;
    const calls = { guard: isLeading, timeoutMs: callTimeoutMs };
    const written = await client.replace(ref, { ...read.value, status }, 'status', calls);
    if (written.ok) return true;
    this.#known.delete(name);
    if (written.error.kind !== 'conflict' && written.error.kind !== 'notFound')
      onProblem('drain status', written.error);
    return false;
  }
}
