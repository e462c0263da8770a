/** Writes through the side doors: eviction, binding, scale, finalize. */
import { apiTime } from '../objects/times.ts';
import type { Core } from './core.ts';
import type { DeleteOptions } from './deletes.ts';
import { remove } from './deletes.ts';
import { isTerminalPod } from './kinds/pod.ts';
import type { ApiObject, JsonRecord } from './object.ts';
import { at, isRecord, recordOf, recordsOf, textOf } from './object.ts';
import { objectSelector } from './selectors.ts';
import { ApiError, badRequest, conflict, FieldErrors } from './status-error.ts';
import { keyOf } from './store.ts';
import type { Target, WriteOptions, Written } from './writes.ts';
import { current, update } from './writes.ts';

export const success = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };

/** Evicts a pod, or says which budget forbids it. */
export function evict(core: Core, target: Target, body: JsonRecord, write: WriteOptions): JsonRecord {
  if (
    !core.has('evictionTarget') &&
    core.store.collection('/pods').get(keyOf(target.namespace, target.name)) === undefined
  )
    return success;
  const pod = current(core, target).object;
  const name = at(body, 'metadata', 'name');
  if (name !== undefined && name !== target.name)
    throw badRequest('name in URL does not match name in Eviction object');
  const options = recordOf(body['deleteOptions']) as DeleteOptions;
  if (write.dryRun) options.dryRun = ['All'];
  if (!core.has('eviction')) return success;
  if (core.has('preconditions')) checkEvicted(target, pod, options);
  const phase = at(pod, 'status', 'phase');
  const waits = phase === 'Pending' && core.has('budgetPhases');
  const unguarded = isTerminalPod(pod) || waits || pod.metadata.deletionTimestamp !== undefined;
  if (!unguarded && core.has('budgets')) takeFromBudget(core, target, pod, options);
  if ((options.dryRun ?? []).length > 0 && core.has('dryRun')) return success;
  if (core.has('disruptionTarget')) markDisrupted(core, target, write);
  remove(core, target, { ...options, ...(options.preconditions === undefined ? {} : { preconditions: {} }) });
  return success;
}

function checkEvicted({ kind, name }: Target, pod: ApiObject, { preconditions = {} }: DeleteOptions): void {
  const { uid, resourceVersion } = pod.metadata;
  const subject = { group: '', plural: kind.kind, kind: kind.kind };
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    const why = `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(subject, name, why);
  }
  if (preconditions.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict(subject, name, why);
  }
}

function markDisrupted(core: Core, target: Target, write: WriteOptions): void {
  update(
    core,
    target,
    (live) => {
      const conditions = recordsOf(at(live, 'status', 'conditions'));
      const others = conditions.filter(({ type }) => type !== 'DisruptionTarget');
      const known = conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'EvictionByEvictionAPI',
        message: 'Eviction API: evicting',
        lastProbeTime: null,
        lastTransitionTime: known?.['lastTransitionTime'] ?? apiTime(core.clock.now()),
      };
      return { object: { ...live, status: { ...live.status, conditions: [...others, condition] } } };
    },
    { ...write, subresource: 'status' },
  );
}

const refused = "Cannot evict pod as it would violate the pod's disruption budget.";

function takeFromBudget(core: Core, { namespace, name }: Target, pod: ApiObject, options: DeleteOptions): void {
  const budgets = [...core.context().all('policy/poddisruptionbudgets')].filter(
    (budget) =>
      budget.metadata.namespace === namespace &&
      (!core.has('budgetSelector') || objectSelector(at(budget, 'spec', 'selector'))(pod.metadata.labels)),
  );
  if (budgets.length > 1 && core.has('twoBudgets')) {
    throw new ApiError(
      500,
      '',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  const [budget] = budgets;
  if (budget === undefined || (core.has('unreadyPods') && mayGoUnready(pod, budget))) return;
  const status = recordOf(budget.status);
  if (Number(status['observedGeneration'] ?? 0) < (budget.metadata.generation ?? 0) && core.has('budgetGeneration')) {
    throw tooMany(`The disruption budget ${budget.metadata.name} is still being processed by the server.`, 10);
  }
  const allowed = Number(status['disruptionsAllowed'] ?? 0);
  if (allowed === 0) throw tooMany(whyNot(budget), undefined);
  if ((options.dryRun ?? []).length > 0) return;
  const kind = core.registry.find('policy', 'v1', 'poddisruptionbudgets');
  if (kind === undefined) return;
  update(
    core,
    { kind, namespace, name: budget.metadata.name },
    (live) => {
      const disruptedPods = { ...recordOf(at(live, 'status', 'disruptedPods')), [name]: apiTime(core.clock.now()) };
      return { object: { ...live, status: { ...live.status, disruptionsAllowed: allowed - 1, disruptedPods } } };
    },
    { manager: 'kube-apiserver', dryRun: false, subresource: 'status' },
  );
}

/** A pod that does not work anyway disrupts nothing by going. */
function mayGoUnready(pod: ApiObject, budget: ApiObject): boolean {
  const ready = recordsOf(at(pod, 'status', 'conditions')).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
  if (ready) return false;
  if (at(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = recordOf(budget.status) as Record<string, number>;
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

function whyNot(budget: ApiObject): string {
  const { name } = budget.metadata;
  const { currentHealthy = 0, desiredHealthy = 0 } = recordOf(budget.status) as Record<string, number>;
  return currentHealthy <= desiredHealthy
    ? `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
    : `The disruption budget ${name} does not allow evicting pods currently`;
}

function tooMany(message: string, retryAfterSeconds: number | undefined): ApiError {
  const causes = [{ reason: 'DisruptionBudget', message }];
  const details = retryAfterSeconds === undefined ? { causes } : { causes, retryAfterSeconds };
  return new ApiError(429, 'TooManyRequests', refused, details);
}

/** What the scheduler does: says on which node a pod runs. */
export function bind(core: Core, target: Target, body: JsonRecord, write: WriteOptions): Written {
  const nodeName = textOf(at(body, 'target', 'name'));
  const errors = new FieldErrors();
  if (nodeName === '') errors.required('target.name');
  errors.throwIfAny({ group: '', plural: 'bindings', kind: 'Binding' }, target.name);
  const { uid, resourceVersion, annotations } = recordOf(body['metadata']) as Partial<ApiObject['metadata']>;
  return update(
    core,
    target,
    (live) => {
      refuseBinding(core, target, live, { nodeName, uid, resourceVersion });
      const others = recordsOf(at(live, 'status', 'conditions')).filter(({ type }) => type !== 'PodScheduled');
      const lastTransitionTime = apiTime(core.clock.now());
      const condition = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime };
      const metadata =
        annotations === undefined
          ? live.metadata
          : { ...live.metadata, annotations: { ...live.metadata.annotations, ...annotations } };
      if (!core.has('binding')) return { object: live };
      const status = { ...live.status, conditions: [...others, condition] };
      return { object: { ...live, metadata, spec: { ...live.spec, nodeName }, status } };
    },
    { ...write, subresource: 'binding' },
  );
}

function refuseBinding(
  core: Core,
  { kind, name }: Target,
  pod: ApiObject,
  wanted: { nodeName: string; uid: string | undefined; resourceVersion: string | undefined },
): void {
  if (!core.has('binding')) return;
  const bound = textOf(at(pod, 'spec', 'nodeName'));
  const subject = { group: '', plural: 'pods/binding', kind: kind.kind };
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(subject, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if (bound !== '') throw conflict(subject, name, `pod ${name} is already assigned to node "${bound}"`);
  if (wanted.uid !== undefined && wanted.uid !== pod.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${wanted.uid}, UID in object meta: ${pod.metadata.uid}`;
    throw conflict(subject, name, why);
  }
}

/** A workload seen as nothing but a number of replicas. */
export function scaleOf({ kind }: Target, object: ApiObject): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = read(object, kind.scale?.selector) ?? at(object, 'spec', 'selector');
  const status: JsonRecord = { replicas: Number(read(object, kind.scale?.statusReplicas) ?? 0) };
  const text = typeof selector === 'string' ? selector : selectorText(selector);
  if (text !== '') status['selector'] = text;
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      resourceVersion,
      creationTimestamp,
    } as ApiObject['metadata'],
    spec: { replicas: Number(read(object, kind.scale?.replicas) ?? 0) },
    status,
  };
}

export function setScale(
  core: Core,
  target: Target,
  change: (scale: ApiObject) => ApiObject,
  write: WriteOptions,
): Written {
  const path = keysOf(target.kind.scale?.replicas);
  const written = update(
    core,
    target,
    (live) => {
      const scale = change(scaleOf(target, live));
      const replicas = Number(at(scale, 'spec', 'replicas') ?? 0);
      const { resourceVersion } = scale.metadata;
      const metadata = { ...live.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      if (!core.has('scale')) return { object: live };
      return { object: { ...(replaced(live, path, replicas) as ApiObject), metadata } };
    },
    { ...write, subresource: 'scale' },
  );
  return written;
}

function keysOf(path: string | undefined): string[] {
  return (path ?? '').split('.').filter((key) => key !== '');
}

function read(object: ApiObject, path: string | undefined): unknown {
  return path === undefined ? undefined : at(object, ...keysOf(path));
}

function replaced(value: unknown, [key, ...rest]: string[], leaf: unknown): unknown {
  if (key === undefined) return leaf;
  const record = isRecord(value) ? value : {};
  return { ...record, [key]: replaced(record[key], rest, leaf) };
}

function selectorText(selector: unknown): string {
  const { matchLabels = {} } = recordOf(selector) as { matchLabels?: Record<string, string> };
  return Object.entries(matchLabels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',');
}
