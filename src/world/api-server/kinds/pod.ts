/** Pods: what is filled in, what may not change, and how long a deletion takes. */
import type { RuleContext, Rules } from '../kind.ts';
import { validateName } from '../names.ts';
import type { ApiObject, JsonRecord } from '../object.ts';
import { at, isRecord, recordOf, recordsOf, sameJson, textOf } from '../object.ts';
import type { FieldErrors } from '../status-error.ts';

export function setDefault(target: JsonRecord, key: string, value: unknown): void {
  if (target[key] === undefined) target[key] = value;
}

/** What a pod and a pod template have in common. */
export function defaultPodSpec(spec: JsonRecord): void {
  setDefault(spec, 'restartPolicy', 'Always');
  setDefault(spec, 'terminationGracePeriodSeconds', 30);
  setDefault(spec, 'dnsPolicy', 'ClusterFirst');
  setDefault(spec, 'securityContext', {});
  setDefault(spec, 'schedulerName', 'default-scheduler');
  for (const key of ['initContainers', 'containers']) recordsOf(spec[key]).forEach(defaultContainer);
  for (const volume of recordsOf(spec['volumes'])) defaultVolume(volume);
}

function defaultContainer(container: JsonRecord): void {
  setDefault(container, 'resources', {});
  setDefault(container, 'terminationMessagePath', '/dev/termination-log');
  setDefault(container, 'terminationMessagePolicy', 'File');
  const image = textOf(container['image']);
  const tag = /:([^/:]+)$/.exec(image)?.[1] ?? 'latest';
  const pinned = image.includes('@') || tag !== 'latest';
  setDefault(container, 'imagePullPolicy', pinned ? 'IfNotPresent' : 'Always');
  for (const port of recordsOf(container['ports'])) setDefault(port, 'protocol', 'TCP');
  for (const key of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = container[key];
    if (!isRecord(probe)) continue;
    const numbers = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
    for (const [name, value] of Object.entries(numbers)) setDefault(probe, name, value);
    if (isRecord(probe['httpGet'])) {
      setDefault(probe['httpGet'], 'path', '/');
      setDefault(probe['httpGet'], 'scheme', 'HTTP');
    }
  }
}

function defaultVolume(volume: JsonRecord): void {
  if (Object.keys(volume).length === 1) volume['emptyDir'] = {};
  for (const key of ['secret', 'configMap', 'projected', 'downwardAPI']) {
    const source = volume[key];
    if (isRecord(source)) setDefault(source, 'defaultMode', 420);
  }
  if (isRecord(volume['hostPath'])) setDefault(volume['hostPath'], 'type', '');
}

function defaultPod(pod: ApiObject): void {
  const spec = (pod.spec ??= {});
  defaultPodSpec(spec);
  setDefault(spec, 'enableServiceLinks', true);
  for (const container of [...recordsOf(spec['containers']), ...recordsOf(spec['initContainers'])]) {
    if (spec['hostNetwork'] === true) {
      for (const port of recordsOf(container['ports'])) setDefault(port, 'hostPort', port['containerPort']);
    }
    const resources = recordOf(container['resources']);
    const limits = recordOf(resources['limits']);
    if (Object.keys(limits).length > 0) resources['requests'] = { ...limits, ...recordOf(resources['requests']) };
  }
}

const priorities: Record<string, number> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

function prepareCreate(pod: ApiObject, context: RuleContext): void {
  const spec = (pod.spec ??= {});
  pod.metadata.generation = 1;
  if (!context.has('podStatus')) return;
  pod.status = { phase: 'Pending', qosClass: qosClass(spec) };
  if (recordsOf(spec['schedulingGates']).length > 0) {
    const condition = { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', lastProbeTime: null };
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    pod.status['conditions'] = [{ ...condition, lastTransitionTime: null, message }];
  }
  if (context.has('admission')) admit(spec, context);
}

function admit(spec: JsonRecord, context: RuleContext): void {
  const className = textOf(spec['priorityClassName']);
  const custom = context.lookup('scheduling.k8s.io/priorityclasses', undefined, className);
  setDefault(spec, 'priority', custom?.['value'] ?? priorities[className] ?? 0);
  setDefault(spec, 'preemptionPolicy', textOf(custom?.['preemptionPolicy']) || 'PreemptLowerPriority');
  const tolerations = recordsOf(spec['tolerations']);
  const added: JsonRecord[] = [];
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    const tolerated = tolerations.some(
      (one) => (one['key'] === key || !one['key']) && (one['effect'] === 'NoExecute' || !one['effect']),
    );
    if (tolerated && context.has('admissionKeeps')) continue;
    added.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: context.tolerationSeconds });
  }
  if (added.length > 0) spec['tolerations'] = [...tolerations, ...added];
}

function qosClass(spec: JsonRecord): string {
  const all = [...recordsOf(spec['containers']), ...recordsOf(spec['initContainers'])];
  const resources = all.map((container) => recordOf(container['resources']));
  if (resources.every((one) => ['requests', 'limits'].every((key) => Object.keys(recordOf(one[key])).length === 0))) {
    return 'BestEffort';
  }
  const guaranteed = resources.every((one) => {
    const limits = recordOf(one['limits']);
    const requests = recordOf(one['requests']);
    return ['cpu', 'memory'].every((key) => limits[key] !== undefined && sameJson(limits[key], requests[key]));
  });
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

export function validatePodSpec(spec: JsonRecord, field: string, errors: FieldErrors): void {
  const containers = recordsOf(spec['containers']);
  if (containers.length === 0) errors.required(`${field}.containers`);
  const seen = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const path = `${field}.containers[${index}]`;
    const name = textOf(container['name']);
    if (name === '') errors.required(`${path}.name`);
    else validateName('label', name, `${path}.name`, errors);
    if (seen.has(name)) errors.duplicate(`${path}.name`, name);
    seen.add(name);
    if (textOf(container['image']) === '') errors.required(`${path}.image`);
    validateMounts(container, spec, path, errors);
  }
  const policy = spec['restartPolicy'];
  const policies = ['Always', 'OnFailure', 'Never'];
  if (policy !== undefined && !policies.includes(textOf(policy))) {
    errors.notSupported(`${field}.restartPolicy`, policy, policies);
  }
  const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
  for (const [index, toleration] of recordsOf(spec['tolerations']).entries()) {
    const effect = textOf(toleration['effect']);
    const path = `${field}.tolerations[${index}]`;
    if (effect !== '' && !effects.includes(effect)) errors.notSupported(`${path}.effect`, effect, effects);
    if (toleration['tolerationSeconds'] !== undefined && effect !== 'NoExecute') {
      errors.invalid(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
  }
}

function validateMounts(container: JsonRecord, spec: JsonRecord, path: string, errors: FieldErrors): void {
  const volumes = new Set(recordsOf(spec['volumes']).map((volume) => volume['name']));
  for (const [index, mount] of recordsOf(container['volumeMounts']).entries()) {
    if (volumes.has(mount['name'])) continue;
    const field = `${path}.volumeMounts[${index}].name`;
    if (textOf(mount['name']) === '') errors.required(field);
    else errors.notFound(field, mount['name']);
  }
}

const changeableMessage =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function validateUpdate(next: ApiObject, old: ApiObject, errors: FieldErrors, context: RuleContext): void {
  const before = recordOf(old.spec);
  const after = recordOf(next.spec);
  const kept = recordsOf(before['tolerations']);
  const given = recordsOf(after['tolerations']);
  const lost = kept.some((one) => !given.some((other) => sameToleration(one, other)));
  if (lost)
    errors.forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds');
  const rest = context.has('immutabilityOnlySome') ? withoutChangeable : (spec: JsonRecord): JsonRecord => spec;
  if (!sameJson(rest(before), rest(after))) errors.forbidden('spec', changeableMessage);
}

function sameToleration(a: JsonRecord, b: JsonRecord): boolean {
  return ['key', 'operator', 'value', 'effect'].every((key) => (a[key] ?? '') === (b[key] ?? ''));
}

function withoutChangeable(spec: JsonRecord): JsonRecord {
  const withoutImage = (value: unknown): unknown => {
    if (!Array.isArray(value)) return undefined;
    return value.map((one) => (isRecord(one) ? { ...one, image: undefined } : one));
  };
  return {
    ...spec,
    containers: withoutImage(spec['containers']),
    initContainers: withoutImage(spec['initContainers']),
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
    schedulingGates: undefined,
  };
}

function prepareStatus(next: ApiObject, old: ApiObject): void {
  const before = recordOf(old.status);
  const after = (next.status ??= {});
  setDefault(after, 'phase', 'Pending');
  for (const condition of recordsOf(after['conditions'])) {
    for (const key of ['lastProbeTime', 'lastTransitionTime']) setDefault(condition, key, null);
  }
  for (const list of ['initContainerStatuses', 'containerStatuses']) {
    for (const status of recordsOf(after[list])) for (const key of ['state', 'lastState']) setDefault(status, key, {});
  }
  if (before['qosClass'] !== undefined) setDefault(after, 'qosClass', before['qosClass']);
  if (before['observedGeneration'] !== undefined) setDefault(after, 'observedGeneration', before['observedGeneration']);
}

function validateStatus(next: ApiObject, _old: ApiObject, errors: FieldErrors): void {
  for (const [index, condition] of recordsOf(at(next, 'status', 'conditions')).entries()) {
    if (condition['status'] === undefined || condition['status'] === '') {
      errors.required(`status.conditions[${index}].status`);
    }
  }
}

export function isTerminalPod(pod: ApiObject): boolean {
  const phase = at(pod, 'status', 'phase');
  return phase === 'Failed' || phase === 'Succeeded';
}

const field =
  (...path: string[]) =>
  (object: ApiObject): string => {
    const value = at(object, ...path);
    return typeof value === 'string'
      ? value
      : typeof value === 'number' || typeof value === 'boolean'
        ? `${value}`
        : '';
  };

export const podRules: Rules = {
  hasStatus: true,
  hasGeneration: true,
  statusMetadata: 'free',
  returnsDeleted: true,
  defaults: defaultPod,
  prepareCreate,
  prepareStatus,
  validate: (pod, errors) => validatePodSpec(recordOf(pod.spec), 'spec', errors),
  validateUpdate,
  validateStatus,
  graceful: true,
  fields: {
    'spec.nodeName': field('spec', 'nodeName'),
    'spec.restartPolicy': field('spec', 'restartPolicy'),
    'spec.schedulerName': field('spec', 'schedulerName'),
    'spec.serviceAccountName': field('spec', 'serviceAccountName'),
    'spec.hostNetwork': (pod) => String(at(pod, 'spec', 'hostNetwork') === true),
    'status.phase': field('status', 'phase'),
    'status.podIP': field('status', 'podIP'),
    'status.nominatedNodeName': field('status', 'nominatedNodeName'),
  },
};

export { field as fieldAt };
