/** Namespaces, Leases, budgets, Services, Secrets and Events. */
import { typeOf } from '../decode.ts';
import type { Rules } from '../kind.ts';
import type { ApiObject, JsonRecord } from '../object.ts';
import { at, isRecord, recordOf, recordsOf, sameJson, textOf } from '../object.ts';
import type { ApiError } from '../status-error.ts';
import { badRequest } from '../status-error.ts';
import { fieldAt, setDefault } from './pod.ts';

export const namespaceRules: Rules = {
  hasStatus: true,
  name: 'label',
  returnsDeleted: true,
  prepareCreate(namespace, context) {
    const { name, labels } = namespace.metadata;
    namespace.status = { phase: 'Active' };
    if (context.has('namespaceLabel')) namespace.metadata.labels = { ...labels, 'kubernetes.io/metadata.name': name };
    const finalizers = (at(namespace, 'spec', 'finalizers') ?? []) as string[];
    namespace.spec = { finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'] };
  },
  prepareUpdate(next, old) {
    // They are emptied through a subresource of their own.
    next.spec = { ...next.spec, finalizers: at(old, 'spec', 'finalizers') };
    next.metadata.labels = { ...next.metadata.labels, 'kubernetes.io/metadata.name': next.metadata.name };
  },
  prepareStatus: (next, old) => {
    setDefault((next.status ??= {}), 'phase', at(old, 'status', 'phase'));
  },
  fields: { 'status.phase': fieldAt('status', 'phase'), name: (namespace) => namespace.metadata.name },
};

export const leaseRules: Rules = {
  decode(lease) {
    for (const key of ['renewTime', 'acquireTime']) {
      const time = at(lease, 'spec', key);
      if (time === undefined || time === null || !Number.isNaN(Date.parse(textOf(time)))) continue;
      throw badRequest(`Lease in version "v1" cannot be handled as a Lease: parsing time ${JSON.stringify(time)}`);
    }
  },
  createOnUpdate: true,
  unconditionalUpdate: false,
  defaults: (lease) => void (lease.spec ??= {}),
  prepareCreate(lease, context) {
    const time = textOf(at(lease, 'spec', 'renewTime'));
    if (time !== '' && !context.has('leaseTimes')) recordOf(lease.spec)['renewTime'] = `${time.slice(0, 19)}Z`;
  },
  validate(lease, errors) {
    const seconds = at(lease, 'spec', 'leaseDurationSeconds');
    if (typeof seconds === 'number' && seconds <= 0) {
      errors.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0');
    }
    const transitions = at(lease, 'spec', 'leaseTransitions');
    if (typeof transitions === 'number' && transitions < 0) {
      errors.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0');
    }
  },
};

const budgetCounts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'];

function defaultBudgetStatus(budget: ApiObject): void {
  const status = (budget.status ??= {});
  for (const key of budgetCounts) setDefault(status, key, 0);
}

export const budgetRules: Rules = {
  hasStatus: true,
  hasGeneration: true,
  unconditionalUpdate: false,
  prepareCreate(budget) {
    budget.status = {};
    defaultBudgetStatus(budget);
  },
  prepareStatus: defaultBudgetStatus,
  validate(budget, errors) {
    const { minAvailable, maxUnavailable } = recordOf(budget.spec);
    if (minAvailable !== undefined && maxUnavailable !== undefined) {
      const shown = { MinAvailable: minAvailable, MaxUnavailable: maxUnavailable };
      errors.invalid('spec', shown, 'minAvailable and maxUnavailable cannot be both set');
    }
    for (const [key, value] of Object.entries({ minAvailable, maxUnavailable })) {
      if (typeof value === 'number' && value < 0) {
        errors.invalid(`spec.${key}`, value, 'must be greater than or equal to 0');
      }
    }
  },
  validateStatus(budget, _old, errors) {
    for (const key of budgetCounts) {
      const value = at(budget, 'status', key);
      if (typeof value === 'number' && value < 0) {
        errors.invalid(`status.${key}`, value, 'must be greater than or equal to 0');
      }
    }
  },
};

export const serviceRules: Rules = {
  hasStatus: true,
  name: 'label1035',
  returnsDeleted: true,
  createOnUpdate: true,
  defaults(service) {
    const spec = (service.spec ??= {});
    setDefault(spec, 'type', 'ClusterIP');
    setDefault(spec, 'sessionAffinity', 'None');
    setDefault(spec, 'ipFamilies', ['IPv4']);
    setDefault(spec, 'ipFamilyPolicy', 'SingleStack');
    setDefault(spec, 'internalTrafficPolicy', 'Cluster');
    for (const port of recordsOf(spec['ports'])) {
      setDefault(port, 'protocol', 'TCP');
      setDefault(port, 'targetPort', port['port']);
    }
  },
  prepareCreate(service, context) {
    service.status = { loadBalancer: {} };
    const spec = (service.spec ??= {});
    if (spec['type'] === 'ExternalName') return;
    const last = Math.floor(context.random() * 65_000);
    setDefault(spec, 'clusterIP', `10.96.${last >> 8}.${(last & 255) + 1}`);
    setDefault(spec, 'clusterIPs', [spec['clusterIP']]);
  },
  prepareUpdate(next, old) {
    const spec = (next.spec ??= {});
    for (const key of ['clusterIP', 'clusterIPs']) {
      const before = at(old, 'spec', key);
      if (before !== undefined) setDefault(spec, key, before);
    }
  },
  validate(service, errors) {
    const ports = recordsOf(at(service, 'spec', 'ports'));
    const headless = at(service, 'spec', 'clusterIP') === 'None' || at(service, 'spec', 'type') === 'ExternalName';
    if (ports.length === 0 && !headless) errors.required('spec.ports');
  },
  validateUpdate(next, old, errors) {
    const now = at(next, 'spec', 'clusterIPs');
    if (!sameJson(now, at(old, 'spec', 'clusterIPs'))) {
      errors.invalid('spec.clusterIPs[0]', now, 'may not change once set');
    }
  },
};

export const secretRules: Rules = {
  defaults(secret) {
    setDefault(secret, 'type', 'Opaque');
    const plain = secret['stringData'];
    if (!isRecord(plain)) return;
    const data: JsonRecord = { ...recordOf(secret['data']) };
    for (const [key, value] of Object.entries(plain)) data[key] = Buffer.from(textOf(value)).toString('base64');
    secret['data'] = data;
    delete secret['stringData'];
  },
  validateUpdate(next, old, errors) {
    if (next['type'] !== old['type']) errors.invalid('type', next['type'], 'field is immutable');
    if (old['immutable'] === true && !sameJson(next['data'], old['data'])) {
      errors.forbidden('data', 'field is immutable when `immutable` is set');
    }
  },
  fields: { type: (secret) => textOf(secret['type']) },
};

export const configMapRules: Rules = {
  decode(body) {
    for (const value of Object.values(recordOf(body['data']))) {
      if (typeof value === 'string' || value === null) continue;
      throw unreadable('ConfigMap', 'ConfigMap.data', { value, type: 'string' });
    }
  },
  validateUpdate(next, old, errors) {
    if (old['immutable'] === true && !sameJson(next['data'], old['data'])) {
      errors.forbidden('data', 'field is immutable when `immutable` is set');
    }
  },
};

/** What the decoder of a typed object says to a value of another type; `field` with the name of its Go type. */
export function unreadable(kind: string, field: string, { value, type }: { value: unknown; type: string }): ApiError {
  const what = `json: cannot unmarshal ${typeOf(value)} into Go struct field ${field} of type ${type}`;
  return badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${what}`);
}

const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

/** Stored as core Events. */
export const eventRules: Rules = {
  createOnUpdate: true,
  defaults(event) {
    setDefault(event, 'source', {});
    for (const key of ['firstTimestamp', 'lastTimestamp', 'eventTime']) setDefault(event, key, null);
    setDefault(event, 'reportingComponent', '');
    setDefault(event, 'reportingInstance', '');
    setDefault(event, 'involvedObject', {});
  },
  validate(event, errors) {
    const { namespace = '' } = event.metadata;
    const about = textOf(at(event, 'involvedObject', 'namespace'));
    const expected = about === '' ? 'default' : about;
    if (namespace !== expected && !(about === '' && namespace === 'kube-system')) {
      errors.invalid('involvedObject.namespace', about, 'does not match event.namespace');
    }
  },
  fields: {
    ...Object.fromEntries(
      referenceFields.map((key) => [`involvedObject.${key}`, fieldAt('involvedObject', key)] as const),
    ),
    reason: fieldAt('reason'),
    reportingComponent: fieldAt('reportingComponent'),
    source: fieldAt('source', 'component'),
    type: fieldAt('type'),
  },
};

/** The younger API insists on more. */
export const newEventRules: Rules = {
  ...eventRules,
  validateCreate(event, errors) {
    if (event['eventTime'] === null) {
      errors.required('eventTime');
      return;
    }
    for (const [key, shown] of [
      ['reportingComponent', 'reportingController'],
      ['reportingInstance', 'reportingInstance'],
      ['action', 'action'],
      ['reason', 'reason'],
    ] as const) {
      if (textOf(event[key]) === '') errors.required(shown);
    }
  },
};

const renamed: [stored: string, shown: string][] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

/** events.k8s.io speaks of the same objects in other words. */
export function eventFromStored(event: ApiObject): ApiObject {
  const shown: ApiObject = { ...event, apiVersion: 'events.k8s.io/v1' };
  for (const [from, to] of renamed) {
    if (event[from] !== undefined) shown[to] = event[from];
    delete shown[from];
  }
  for (const key of ['reportingController', 'reportingInstance']) if (shown[key] === '') delete shown[key];
  return shown;
}

export function eventToStored(event: ApiObject): ApiObject {
  const stored: ApiObject = { ...event, apiVersion: 'v1' };
  for (const [to, from] of renamed) {
    if (event[from] !== undefined) stored[to] = event[from];
    delete stored[from];
  }
  return stored;
}
