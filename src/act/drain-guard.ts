/**
 * Carries out what the drain guard has decided, each write with the version that it was decided on. Before a budget goes,
 * every copy that this counts upon is read live: it has to be healthy still, and kept by a budget that stands (S31).
 */
import { podDisruptionBudgets } from '../kube/resources.ts';
import type { CountedCopy, DrainAction } from '../api/drain-view.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';
import type { BudgetObject } from '../storage/budgets.ts';
import { budgetFacts, guardBudget, isOverOnly, repairOf, withdrawalMark } from '../storage/budgets.ts';
import type { StoragePatch, StorageSystem } from '../storage/storage.ts';

export interface GuardCalls {
  client: KubeClient;
  storage: StorageSystem;
  namespace: string;
  /** What is known of the storage system, to find what has to be read. */
  objectsOf: (resource: Resource) => Iterable<KubeObject>;
  guard: () => boolean;
  timeoutMs: number;
}

export type GuardOutcome =
  | { outcome: 'done'; wrote: { resource: Resource; name: string; uid: string; version?: string } }
  /** What it rests on is no longer so; decided anew with what is so now. */
  | { outcome: 'refused'; why: string }
  | { outcome: 'failed'; error: KubeError };

/** Reads at a time. A node has some dozens of replicas; the API server is not to feel it. */
const readsAtOnce = 16;

export async function performDrainAction(action: DrainAction, calls: GuardCalls): Promise<GuardOutcome> {
  const { client, storage, namespace, guard, timeoutMs } = calls;
  switch (action.do) {
    case 'createBudget': {
      const object = guardBudget(namespace, action);
      return written(
        podDisruptionBudgets,
        await client.create(podDisruptionBudgets, object, { guard, timeoutMs, metadataOnly: true }),
      );
    }
    case 'repairBudget':
      return repairBudget(action, calls);
    case 'announceWithdrawal':
    case 'keepBudget': {
      const { name, uid, resourceVersion } = action.budget;
      const ref = { resource: podDisruptionBudgets, namespace, name };
      const operations = withdrawalMark(action.do === 'announceWithdrawal');
      return patch({ ref, only: { uid, resourceVersion }, operations }, calls);
    }
    case 'deleteBudget':
      return deleteBudget(action, calls);
    case 'requestEviction':
      return patch(storage.eviction(namespace, action.replica, action.policy), calls);
    case 'withdrawEviction':
      return patch(storage.eviction(namespace, action.replica, undefined), calls);
    case 'setAutoEvicting':
      return patch(storage.autoEvicting(namespace, action.storage, action.value), calls);
  }
}

async function patch(wanted: StoragePatch, { client, guard, timeoutMs }: GuardCalls): Promise<GuardOutcome> {
  const { ref, only, operations, subresource } = wanted;
  const options = { guard, timeoutMs, metadataOnly: true, ...(subresource === undefined ? {} : { subresource }) };
  return written(ref.resource, await client.patch(ref, only, operations, options));
}

/** Read first, because what others wrote beside ours stays. */
async function repairBudget(
  action: Extract<DrainAction, { do: 'repairBudget' }>,
  calls: GuardCalls,
): Promise<GuardOutcome> {
  const { client, namespace, timeoutMs } = calls;
  const { name, uid, resourceVersion } = action.budget;
  const ref = { resource: podDisruptionBudgets, namespace, name };
  const read = await client.get<BudgetObject>(ref, { timeoutMs });
  if (!read.ok) return written(podDisruptionBudgets, read);
  const operations = repairOf(read.value, action);
  return patch({ ref, only: { uid, resourceVersion }, operations }, calls);
}

async function deleteBudget(
  { budget, counts }: Extract<DrainAction, { do: 'deleteBudget' }>,
  calls: GuardCalls,
): Promise<GuardOutcome> {
  const { client, namespace, guard, timeoutMs } = calls;
  const doubt = await doubtAbout(counts, calls);
  if (doubt !== undefined) return doubt;
  const { name, uid, resourceVersion } = budget;
  const ref = { resource: podDisruptionBudgets, namespace, name };
  const deleted = await client.delete(ref, { uid, resourceVersion }, { guard, timeoutMs });
  if (deleted.ok || deleted.error.kind === 'notFound') {
    return { outcome: 'done', wrote: { resource: podDisruptionBudgets, name, uid } };
  }
  return written(podDisruptionBudgets, deleted);
}

/** Why the copies are not to be counted upon; undefined: they are. */
async function doubtAbout(counts: readonly CountedCopy[], calls: GuardCalls): Promise<GuardOutcome | undefined> {
  const { storage, namespace, objectsOf } = calls;
  if (counts.length === 0) return undefined;
  const names = new Set(counts.map(({ budget }) => budget.name));
  const refs = [
    ...storage.grounds(objectsOf, namespace, counts),
    ...[...names].map((name) => ({ resource: podDisruptionBudgets, namespace, name })),
  ];
  const reads = await readAll(refs, calls);
  if (!reads.ok) return written(podDisruptionBudgets, reads);
  const facts = storage.facts((resource) => reads.value.get(resource) ?? []);
  const copies = new Map(facts.replicas.map((replica) => [replica.uid, replica]));
  const isReady = new Map(facts.nodes.map(({ name, ready }) => [name, ready]));
  const budgets = new Map(
    (reads.value.get(podDisruptionBudgets) ?? []).map((object) => [object.metadata.uid, budgetFacts(object)]),
  );
  for (const { volume, node, replica, budget, running } of counts) {
    const kept = budgets.get(budget.uid);
    if (kept === undefined || kept.withdrawing || kept.deleting || !isOverOnly(kept, budget.selector)) {
      return {
        outcome: 'refused',
        why: `the budget of ${node}, which keeps volume ${volume}, does not stand any more`,
      };
    }
    const copy = copies.get(replica.uid);
    const isThere = copy?.copy === 'healthy' && !copy.deleting && !copy.evictionRequested && copy.node === node;
    if (!isThere || isReady.get(node) !== true || (running === true && copy.activity !== 'running')) {
      return {
        outcome: 'refused',
        why: `replica ${replica.name} of volume ${volume} is not to be counted upon any more`,
      };
    }
  }
  return undefined;
}

/** What is gone is left out: that is for whoever looks for it. */
async function readAll(
  refs: readonly ObjectRef[],
  { client, timeoutMs }: GuardCalls,
): Promise<Result<Map<Resource, BudgetObject[]>>> {
  const found = new Map<Resource, BudgetObject[]>();
  for (let start = 0; start < refs.length; start += readsAtOnce) {
    const some = refs.slice(start, start + readsAtOnce);
    const reads = await Promise.all(some.map((ref) => client.get<BudgetObject>(ref, { timeoutMs })));
    for (const [index, read] of reads.entries()) {
      const resource = some[index]?.resource;
      if (!read.ok && read.error.kind !== 'notFound') return read;
      if (read.ok && resource !== undefined) found.set(resource, [...(found.get(resource) ?? []), read.value]);
    }
  }
  return { ok: true, value: found };
}

function written(resource: Resource, result: Result<KubeObject> | { ok: false; error: KubeError }): GuardOutcome {
  if (result.ok) {
    const { name, uid = '', resourceVersion = '' } = result.value.metadata;
    return { outcome: 'done', wrote: { resource, name, uid, version: resourceVersion } };
  }
  const { kind, message } = result.error;
  const isNews = kind === 'conflict' || kind === 'alreadyExists' || kind === 'notFound';
  return isNews ? { outcome: 'refused', why: message } : { outcome: 'failed', error: result.error };
}
