/** How objects go: at once, after their time of grace, or when their last finalizer has gone. */
import { apiTime } from '../objects/times.ts';
import type { Core } from './core.ts';
import { isTerminalPod } from './kinds/pod.ts';
import type { ApiObject, Meta } from './object.ts';
import { at, isRecord, sameJson } from './object.ts';
import { badRequest, conflict } from './status-error.ts';
import type { Version } from './store.ts';
import { Version as StoredVersion } from './store.ts';
import type { Target } from './writes.ts';
import { current } from './writes.ts';

export interface DeleteOptions {
  gracePeriodSeconds?: number;
  propagationPolicy?: string;
  orphanDependents?: boolean;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: string[];
}

export interface Deleted {
  /** What the answer shows. */
  version: Version;
  gone: boolean;
  before: ApiObject;
}

/** Options come in the body or in the query; the body wins. */
export function deleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const options: DeleteOptions = isRecord(body) ? { ...(body as DeleteOptions) } : {};
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null) options.gracePeriodSeconds ??= Number(grace);
  const policy = query.get('propagationPolicy');
  if (policy !== null) options.propagationPolicy ??= policy;
  if (query.has('dryRun')) options.dryRun ??= query.getAll('dryRun');
  const policies = ['Orphan', 'Background', 'Foreground'];
  if (options.propagationPolicy !== undefined && !policies.includes(options.propagationPolicy)) {
    throw badRequest(`invalid DeletionPropagation: ${options.propagationPolicy}`);
  }
  return options;
}

export function remove(core: Core, target: Target, options: DeleteOptions): Deleted {
  const { kind, namespace, name } = target;
  const live = current(core, target);
  if (core.has('preconditions')) checkPreconditions(core, target, live, options);
  const dryRun = (options.dryRun ?? []).length > 0 && core.has('dryRun');
  const plan = planOf(core, target, live.object, options);
  if (plan === 'pending') return { version: live, gone: false, before: live.object };
  const { next, gone } = plan;
  if (dryRun) return { version: new StoredVersion(next, live.revision), gone: false, before: live.object };
  let version = live;
  // A graceful deletion is written down before it is carried out, however short it is.
  if (!gone || (kind.rules.graceful === true && core.has('gracefulWrite'))) version = core.put(kind, next);
  if (gone) core.remove(kind, namespace, name);
  return { version, gone, before: live.object };
}

function checkPreconditions(core: Core, { kind, name }: Target, live: Version, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = live.object.metadata;
  const subject = { group: kind.group, plural: kind.kind, kind: kind.kind };
  const wanted = preconditions ?? {};
  if (wanted.uid !== undefined && (wanted.uid !== uid || !core.has('preconditionValues'))) {
    const why = `the UID in the precondition (${wanted.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(subject, name, why);
  }
  if (wanted.resourceVersion !== undefined && wanted.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${wanted.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict(subject, name, why);
  }
}

interface Plan {
  next: ApiObject;
  gone: boolean;
}

function planOf(core: Core, { kind }: Target, live: ApiObject, options: DeleteOptions): Plan | 'pending' {
  const graceful = kind.rules.graceful === true;
  const metadata: Meta = { ...live.metadata };
  const seconds = graceful ? graceOf(core, live, options) : 0;
  if (graceful && live.metadata.deletionTimestamp !== undefined) {
    const kept = live.metadata.deletionGracePeriodSeconds;
    if (kept !== undefined) {
      const shorter = core.has('graceShortening') ? options.gracePeriodSeconds : undefined;
      const stays = shorter === undefined || shorter >= kept;
      if (stays && (core.has('graceOnlyShortens') || !core.has('graceShortening')))
        return alreadyGoing(core, live, kept);
      setDeletion(metadata, Date.parse(live.metadata.deletionTimestamp) - kept * 1000, shorter ?? kept + 1);
    }
  } else if (graceful) {
    setDeletion(metadata, core.clock.now(), seconds);
    if (metadata.generation !== undefined && core.has('generation')) metadata.generation += 1;
  }
  const finalizers = core.has('propagation')
    ? deletionFinalizers(metadata.finalizers ?? [], options)
    : (metadata.finalizers ?? []);
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const isNamespace = kind.storage === '/namespaces' && hasSpecFinalizers(live);
  const held = (finalizers.length > 0 && core.has('deletionFinalizers')) || isNamespace;
  if (!graceful && held && metadata.deletionTimestamp === undefined) {
    setDeletion(metadata, core.clock.now(), 0);
    if (isNamespace) delete metadata.deletionGracePeriodSeconds;
    if (metadata.generation !== undefined && core.has('generation')) metadata.generation += 1;
  }
  const next: ApiObject = { ...live, metadata };
  if (isNamespace) next.status = { ...live.status, phase: 'Terminating' };
  if (held && sameJson(next, live)) return 'pending';
  const gone = !held && (metadata.deletionGracePeriodSeconds ?? 0) === 0;
  return { next, gone: gone || (!graceful && !held) };
}

/** Waits for its kubelet, unless nothing is left to wait for. */
function alreadyGoing(core: Core, live: ApiObject, kept: number): Plan | 'pending' {
  const held = (live.metadata.finalizers ?? []).length > 0 && core.has('deletionFinalizers');
  return kept > 0 || held ? 'pending' : { next: live, gone: true };
}

function setDeletion(metadata: Meta, fromMs: number, seconds: number): void {
  metadata.deletionTimestamp = apiTime(fromMs + seconds * 1000);
  metadata.deletionGracePeriodSeconds = seconds;
}

function graceOf(core: Core, pod: ApiObject, { gracePeriodSeconds }: DeleteOptions): number {
  if (!core.has('gracefulDeletion')) return 0;
  if (!at(pod, 'spec', 'nodeName') && core.has('unscheduledPods')) return 0;
  if (isTerminalPod(pod) && core.has('terminalPods')) return 0;
  if (gracePeriodSeconds === 0 && !core.has('graceZero')) return 1;
  const wanted = gracePeriodSeconds ?? Number(at(pod, 'spec', 'terminationGracePeriodSeconds') ?? 0);
  return wanted < 0 ? 1 : wanted;
}

/** Foreground and orphaning deletions wait for the garbage collector, who takes these away. */
function deletionFinalizers(existing: string[], options: DeleteOptions): string[] {
  const policy = options.propagationPolicy ?? (options.orphanDependents === true ? 'Orphan' : undefined);
  if (policy === undefined && options.orphanDependents === undefined) return existing;
  const others = existing.filter((one) => one !== 'orphan' && one !== 'foregroundDeletion');
  if (policy === 'Foreground') return [...others, 'foregroundDeletion'];
  return policy === 'Orphan' ? [...others, 'orphan'] : others;
}

function hasSpecFinalizers(namespace: ApiObject): boolean {
  const finalizers = namespace.spec?.['finalizers'];
  return Array.isArray(finalizers) && finalizers.length > 0;
}
