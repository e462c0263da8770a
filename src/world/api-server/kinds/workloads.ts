/** The controllers' objects: their defaults, and what may not change once they exist. */
import type { RuleContext, Rules } from '../kind.ts';
import type { ApiObject, JsonRecord } from '../object.ts';
import { at, isRecord, plainText, recordOf, recordsOf, sameJson } from '../object.ts';
import { objectSelector } from '../selectors.ts';
import type { FieldErrors } from '../status-error.ts';
import { unreadable } from './core.ts';
import { defaultPodSpec, fieldAt, setDefault, validatePodSpec } from './pod.ts';
import { defaultClaim } from './storage.ts';

function templateOf(object: ApiObject): JsonRecord {
  const spec = (object.spec ??= {});
  const template = (spec['template'] ??= {}) as JsonRecord;
  template['metadata'] ??= {};
  defaultPodSpec((template['spec'] ??= {}) as JsonRecord);
  return spec;
}

function validateTemplate(object: ApiObject, errors: FieldErrors): void {
  const spec = recordOf(object.spec);
  const labels = at(spec, 'template', 'metadata', 'labels');
  if (!isRecord(spec['selector'])) errors.required('spec.selector');
  const matches = isRecord(spec['selector']) && objectSelector(spec['selector'])(labels as Record<string, string>);
  if (!matches) {
    errors.invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`');
  }
  const podSpec = recordOf(at(spec, 'template', 'spec'));
  // A StatefulSet's pods also get a volume for each of its claim templates.
  const claims = recordsOf(spec['volumeClaimTemplates']).map((claim) => ({ name: at(claim, 'metadata', 'name') }));
  const volumes = [...recordsOf(podSpec['volumes']), ...claims];
  validatePodSpec({ ...podSpec, volumes }, 'spec.template.spec', errors);
}

function validateReplicas(object: ApiObject, errors: FieldErrors): void {
  const replicas = at(object, 'spec', 'replicas');
  if (typeof replicas === 'number' && replicas < 0) {
    errors.invalid('spec.replicas', replicas, 'must be greater than or equal to 0');
  }
}

/** A number of replicas that is none cannot even be read. */
function decodeReplicas(kind: string): (body: JsonRecord) => void {
  return (body) => {
    const replicas = at(body, 'spec', 'replicas');
    if (replicas !== undefined && replicas !== null && !Number.isInteger(replicas)) {
      throw unreadable(kind, `${kind}Spec.spec.replicas`, { value: replicas, type: 'int32' });
    }
  };
}

function immutableSelector(next: ApiObject, old: ApiObject, errors: FieldErrors): void {
  const selector = at(next, 'spec', 'selector');
  if (!sameJson(selector, at(old, 'spec', 'selector'))) {
    errors.invalid('spec.selector', selector, 'field is immutable');
  }
}

const statefulSetChangeable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];
const statefulSetMessage =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

export const statefulSetRules: Rules = {
  decode: decodeReplicas('StatefulSet'),
  hasStatus: true,
  hasGeneration: true,
  defaults(object) {
    const spec = templateOf(object);
    setDefault(spec, 'replicas', 1);
    setDefault(spec, 'serviceName', '');
    setDefault(spec, 'podManagementPolicy', 'OrderedReady');
    setDefault(spec, 'updateStrategy', { type: 'RollingUpdate' });
    const strategy = spec['updateStrategy'] as JsonRecord;
    setDefault(strategy, 'type', 'RollingUpdate');
    if (strategy['type'] === 'RollingUpdate') {
      setDefault(strategy, 'rollingUpdate', {});
      setDefault(strategy['rollingUpdate'] as JsonRecord, 'partition', 0);
    }
    setDefault(spec, 'revisionHistoryLimit', 10);
    setDefault(spec, 'persistentVolumeClaimRetentionPolicy', { whenDeleted: 'Retain', whenScaled: 'Retain' });
    for (const claim of recordsOf(spec['volumeClaimTemplates'])) {
      setDefault(claim, 'kind', 'PersistentVolumeClaim');
      setDefault(claim, 'apiVersion', 'v1');
      defaultClaim(claim as ApiObject);
      setDefault(claim, 'status', { phase: 'Pending' });
    }
  },
  prepareCreate: (object) => void (object.status = { replicas: 0, availableReplicas: 0 }),
  prepareStatus(next) {
    const status = (next.status ??= {});
    setDefault(status, 'replicas', 0);
    setDefault(status, 'availableReplicas', 0);
  },
  validate(object, errors) {
    validateTemplate(object, errors);
    validateReplicas(object, errors);
  },
  validateUpdate(next, old, errors) {
    const rest = (object: ApiObject): JsonRecord =>
      Object.fromEntries(Object.entries(object.spec ?? {}).filter(([key]) => !statefulSetChangeable.includes(key)));
    if (!sameJson(rest(next), rest(old))) errors.forbidden('spec', statefulSetMessage);
  },
};

export const deploymentRules: Rules = {
  countsAnnotations: true,
  decode: decodeReplicas('Deployment'),
  hasStatus: true,
  hasGeneration: true,
  defaults(object) {
    const spec = templateOf(object);
    setDefault(spec, 'replicas', 1);
    setDefault(spec, 'strategy', {});
    const strategy = spec['strategy'] as JsonRecord;
    setDefault(strategy, 'type', 'RollingUpdate');
    if (strategy['type'] === 'RollingUpdate') {
      setDefault(strategy, 'rollingUpdate', {});
      setDefault(strategy['rollingUpdate'] as JsonRecord, 'maxUnavailable', '25%');
      setDefault(strategy['rollingUpdate'] as JsonRecord, 'maxSurge', '25%');
    }
    setDefault(spec, 'revisionHistoryLimit', 10);
    setDefault(spec, 'progressDeadlineSeconds', 600);
  },
  prepareCreate: (object) => void (object.status = {}),
  validate(object, errors) {
    validateTemplate(object, errors);
    validateReplicas(object, errors);
  },
  validateUpdate: immutableSelector,
};

export const replicaSetRules: Rules = {
  decode: decodeReplicas('ReplicaSet'),
  hasStatus: true,
  hasGeneration: true,
  defaults(object) {
    setDefault(templateOf(object), 'replicas', 1);
  },
  prepareCreate: (object) => void (object.status = { replicas: 0 }),
  prepareStatus: (next) => setDefault((next.status ??= {}), 'replicas', 0),
  validate(object, errors) {
    validateTemplate(object, errors);
    validateReplicas(object, errors);
  },
  validateUpdate: immutableSelector,
  fields: { 'status.replicas': (object) => plainText(at(object, 'status', 'replicas'), '0') },
};

const daemonSetCounts = ['currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady'];

function defaultDaemonSetStatus(object: ApiObject): void {
  const status = (object.status ??= {});
  for (const key of daemonSetCounts) setDefault(status, key, 0);
}

export const daemonSetRules: Rules = {
  hasStatus: true,
  hasGeneration: true,
  defaults(object) {
    const spec = templateOf(object);
    setDefault(spec, 'updateStrategy', {});
    const strategy = spec['updateStrategy'] as JsonRecord;
    setDefault(strategy, 'type', 'RollingUpdate');
    if (strategy['type'] === 'RollingUpdate') {
      setDefault(strategy, 'rollingUpdate', {});
      setDefault(strategy['rollingUpdate'] as JsonRecord, 'maxUnavailable', 1);
      setDefault(strategy['rollingUpdate'] as JsonRecord, 'maxSurge', 0);
    }
    setDefault(spec, 'revisionHistoryLimit', 10);
  },
  prepareCreate(object) {
    object.status = {};
    defaultDaemonSetStatus(object);
    const annotations = { ...object.metadata.annotations, 'deprecated.daemonset.template.generation': '1' };
    object.metadata.annotations = annotations;
  },
  prepareStatus: defaultDaemonSetStatus,
  validate: validateTemplate,
  validateUpdate: immutableSelector,
};

function prepareJob(job: ApiObject, context: RuleContext): void {
  job.status = {};
  const spec = (job.spec ??= {});
  if (spec['manualSelector'] === true || !context.has('jobSelector')) return;
  const uid = job.metadata.uid ?? '';
  const { name } = job.metadata;
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  const template = spec['template'] as JsonRecord;
  const metadata = recordOf(template['metadata']);
  template['metadata'] = { ...metadata, labels: { ...recordOf(metadata['labels']), ...labels } };
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

export const jobRules: Rules = {
  hasStatus: true,
  hasGeneration: true,
  defaults(job) {
    const spec = templateOf(job);
    if (spec['completions'] === undefined && spec['parallelism'] === undefined) {
      spec['completions'] = 1;
      spec['parallelism'] = 1;
    }
    setDefault(spec, 'parallelism', 1);
    setDefault(spec, 'backoffLimit', 6);
    setDefault(spec, 'completionMode', 'NonIndexed');
    setDefault(spec, 'suspend', false);
    setDefault(spec, 'manualSelector', false);
    setDefault(spec, 'podReplacementPolicy', 'TerminatingOrFailed');
    const labels = recordOf(at(spec, 'template', 'metadata', 'labels'));
    if (job.metadata.labels === undefined && Object.keys(labels).length > 0) {
      job.metadata.labels = labels as Record<string, string>;
    }
  },
  prepareCreate(job, context) {
    prepareJob(job, context);
    const labels = at(job, 'spec', 'template', 'metadata', 'labels') as Record<string, string> | undefined;
    job.metadata.labels = { ...labels, ...job.metadata.labels };
  },
  validate(job, errors) {
    validatePodSpec(recordOf(at(job, 'spec', 'template', 'spec')), 'spec.template.spec', errors);
    const policy = at(job, 'spec', 'template', 'spec', 'restartPolicy');
    if (policy === 'Always') errors.notSupported('spec.template.spec.restartPolicy', policy, ['OnFailure', 'Never']);
  },
  validateUpdate(next, old, errors) {
    immutableSelector(next, old, errors);
    const template = at(next, 'spec', 'template');
    if (!sameJson(template, at(old, 'spec', 'template')) && at(old, 'spec', 'suspend') !== true) {
      errors.invalid('spec.template', template, 'field is immutable');
    }
  },
  fields: { 'status.successful': fieldAt('status', 'succeeded') },
};
