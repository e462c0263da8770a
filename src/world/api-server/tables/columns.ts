/** What a table shows of each resource, as kubectl's users know it. */
import type { ApiObject, JsonRecord } from '../object.ts';
import { at, listOf, plainText, recordOf, recordsOf, textOf } from '../object.ts';
import { since } from './ages.ts';
import type { Column } from './column.ts';
import { ageColumn, nameColumn } from './column.ts';
import { nodeColumns, podColumns } from './machines.ts';

function text(name: string, ...path: string[]): Column {
  return { name, cell: (object) => shown(at(object, ...path)) };
}

function count(name: string, ...path: string[]): Column {
  return { name, type: 'integer', cell: (object) => Number(at(object, ...path) ?? 0) };
}

function shown(value: unknown, missing = '<none>'): unknown {
  return value === undefined || value === null || value === '' ? missing : value;
}

const wide = (column: Column): Column => ({ ...column, priority: 1 });

function containers(field: string): (object: ApiObject) => string {
  return (object) =>
    recordsOf(at(object, 'spec', 'template', 'spec', 'containers'))
      .map((container) => textOf(container[field]))
      .join(',');
}

const containerNames: Column = { name: 'Containers', priority: 1, cell: containers('name') };
const images: Column = { name: 'Images', priority: 1, cell: containers('image') };
const selector: Column = {
  name: 'Selector',
  priority: 1,
  cell: (object) => labels(at(object, 'spec', 'selector', 'matchLabels')),
};

function labels(map: unknown): string {
  const entries = Object.entries(recordOf(map)).map(([key, value]) => `${key}=${String(value)}`);
  return entries.length === 0 ? '<none>' : entries.join(',');
}

const readyOf: Column = {
  name: 'Ready',
  cell: (object) =>
    `${Number(at(object, 'status', 'readyReplicas') ?? 0)}/${Number(at(object, 'spec', 'replicas') ?? 0)}`,
};

const modes: Record<string, string> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
const accessModes = (...path: string[]): Column => ({
  name: 'Access Modes',
  cell: (object) =>
    listOf(at(object, ...path))
      .map((mode) => modes[textOf(mode)] ?? mode)
      .join(','),
});

/** A claim or volume that is being deleted says so instead of its phase. */
const phase: Column = {
  name: 'Status',
  cell: (object) =>
    object.metadata.deletionTimestamp === undefined ? shown(at(object, 'status', 'phase')) : 'Terminating',
};

function jobStatus(job: ApiObject): string {
  const found = recordsOf(at(job, 'status', 'conditions')).filter(({ status }) => status === 'True');
  for (const type of ['Complete', 'Failed', 'Suspended']) if (found.some((one) => one['type'] === type)) return type;
  return job.metadata.deletionTimestamp === undefined ? 'Running' : 'Terminating';
}

function jobDuration(job: ApiObject, nowMs: number): string {
  const start = at(job, 'status', 'startTime');
  if (typeof start !== 'string') return '';
  const end = at(job, 'status', 'completionTime');
  return since(start, typeof end === 'string' ? Date.parse(end) : nowMs);
}

function eventTime(event: ApiObject): unknown {
  return (
    at(event, 'series', 'lastObservedTime') ??
    event['lastTimestamp'] ??
    event['deprecatedLastTimestamp'] ??
    event['eventTime'] ??
    event.metadata.creationTimestamp
  );
}

const about = (event: ApiObject): JsonRecord => recordOf(event['involvedObject'] ?? event['regarding']);

const events: Column[] = [
  { name: 'Last Seen', cell: (event, nowMs) => since(eventTime(event), nowMs) },
  text('Type', 'type'),
  text('Reason', 'reason'),
  { name: 'Object', cell: (event) => `${textOf(about(event)['kind']).toLowerCase()}/${textOf(about(event)['name'])}` },
  { name: 'Subobject', priority: 1, cell: (event) => textOf(about(event)['fieldPath']) },
  {
    name: 'Source',
    priority: 1,
    cell: (event) =>
      textOf(at(event, 'source', 'component')) || textOf(event['reportingComponent'] ?? event['reportingController']),
  },
  { name: 'Message', cell: (event) => textOf(event['message'] ?? event['note']).trim() },
  {
    name: 'First Seen',
    priority: 1,
    cell: (event, nowMs) =>
      since(event['firstTimestamp'] ?? event['eventTime'] ?? event.metadata.creationTimestamp, nowMs),
  },
  {
    name: 'Count',
    type: 'integer',
    priority: 1,
    cell: (event) => Number(at(event, 'series', 'count') ?? event['count'] ?? 1),
  },
  { ...nameColumn, priority: 1 },
];

const volumes: Column[] = [
  nameColumn,
  text('Capacity', 'spec', 'capacity', 'storage'),
  accessModes('spec', 'accessModes'),
  text('Reclaim Policy', 'spec', 'persistentVolumeReclaimPolicy'),
  phase,
  {
    name: 'Claim',
    cell: (volume) => {
      const claim = recordOf(at(volume, 'spec', 'claimRef'));
      return claim['name'] === undefined ? '' : `${textOf(claim['namespace'])}/${textOf(claim['name'])}`;
    },
  },
  { name: 'StorageClass', cell: (volume) => textOf(at(volume, 'spec', 'storageClassName')) },
  {
    name: 'VolumeAttributesClass',
    cell: (volume) => shown(at(volume, 'spec', 'volumeAttributesClassName'), '<unset>'),
  },
  { name: 'Reason', cell: (volume) => textOf(at(volume, 'status', 'reason')) },
  ageColumn,
  wide(text('VolumeMode', 'spec', 'volumeMode')),
];

const claims: Column[] = [
  nameColumn,
  phase,
  { name: 'Volume', cell: (claim) => textOf(at(claim, 'spec', 'volumeName')) },
  { name: 'Capacity', cell: (claim) => textOf(at(claim, 'status', 'capacity', 'storage')) },
  accessModes('status', 'accessModes'),
  { name: 'StorageClass', cell: (claim) => textOf(at(claim, 'spec', 'storageClassName')) },
  { name: 'VolumeAttributesClass', cell: (claim) => shown(at(claim, 'spec', 'volumeAttributesClassName'), '<unset>') },
  ageColumn,
  wide(text('VolumeMode', 'spec', 'volumeMode')),
];

function ports(service: ApiObject): string {
  const all = recordsOf(at(service, 'spec', 'ports')).map(
    ({ port, protocol }) => `${String(port)}/${textOf(protocol)}`,
  );
  return all.length === 0 ? '<none>' : all.join(',');
}

const dataCount: Column = {
  name: 'Data',
  type: 'string',
  cell: (object) => Object.keys({ ...recordOf(object['data']), ...recordOf(object['binaryData']) }).length,
};

/** By group and plural; what is not here has a name and an age. */
export const columns: Record<string, Column[]> = {
  '/pods': podColumns,
  '/nodes': nodeColumns,
  '/events': events,
  '/persistentvolumes': volumes,
  '/persistentvolumeclaims': claims,
  '/namespaces': [nameColumn, text('Status', 'status', 'phase'), ageColumn],
  '/configmaps': [nameColumn, dataCount, ageColumn],
  '/secrets': [nameColumn, text('Type', 'type'), dataCount, ageColumn],
  '/serviceaccounts': [
    nameColumn,
    { name: 'Secrets', cell: (account) => listOf(account['secrets']).length },
    ageColumn,
  ],
  '/services': [
    nameColumn,
    text('Type', 'spec', 'type'),
    text('Cluster-IP', 'spec', 'clusterIP'),
    { name: 'External-IP', cell: (service) => shown(listOf(at(service, 'spec', 'externalIPs')).join(',')) },
    { name: 'Port(s)', cell: ports },
    ageColumn,
    { name: 'Selector', priority: 1, cell: (service) => labels(at(service, 'spec', 'selector')) },
  ],
  'apps/statefulsets': [nameColumn, readyOf, ageColumn, containerNames, images],
  'apps/deployments': [
    nameColumn,
    readyOf,
    count('Up-to-date', 'status', 'updatedReplicas'),
    count('Available', 'status', 'availableReplicas'),
    ageColumn,
    containerNames,
    images,
    selector,
  ],
  'apps/replicasets': [
    nameColumn,
    count('Desired', 'spec', 'replicas'),
    count('Current', 'status', 'replicas'),
    count('Ready', 'status', 'readyReplicas'),
    ageColumn,
    containerNames,
    images,
    selector,
  ],
  'apps/daemonsets': [
    nameColumn,
    count('Desired', 'status', 'desiredNumberScheduled'),
    count('Current', 'status', 'currentNumberScheduled'),
    count('Ready', 'status', 'numberReady'),
    count('Up-to-date', 'status', 'updatedNumberScheduled'),
    count('Available', 'status', 'numberAvailable'),
    { name: 'Node Selector', cell: (set) => labels(at(set, 'spec', 'template', 'spec', 'nodeSelector')) },
    ageColumn,
    containerNames,
    images,
    selector,
  ],
  'batch/jobs': [
    nameColumn,
    { name: 'Status', cell: jobStatus },
    {
      name: 'Completions',
      cell: (job) => `${Number(at(job, 'status', 'succeeded') ?? 0)}/${plainText(at(job, 'spec', 'completions'), '1')}`,
    },
    { name: 'Duration', cell: jobDuration },
    ageColumn,
    containerNames,
    images,
    selector,
  ],
  'policy/poddisruptionbudgets': [
    nameColumn,
    { name: 'Min Available', cell: (budget) => plainText(at(budget, 'spec', 'minAvailable'), 'N/A') },
    { name: 'Max Unavailable', cell: (budget) => plainText(at(budget, 'spec', 'maxUnavailable'), 'N/A') },
    count('Allowed Disruptions', 'status', 'disruptionsAllowed'),
    ageColumn,
  ],
  'coordination.k8s.io/leases': [nameColumn, text('Holder', 'spec', 'holderIdentity'), ageColumn],
  'storage.k8s.io/volumeattachments': [
    nameColumn,
    text('Attacher', 'spec', 'attacher'),
    text('PV', 'spec', 'source', 'persistentVolumeName'),
    text('Node', 'spec', 'nodeName'),
    { name: 'Attached', type: 'boolean', cell: (attachment) => at(attachment, 'status', 'attached') === true },
    ageColumn,
  ],
  'storage.k8s.io/csinodes': [
    nameColumn,
    { name: 'Drivers', type: 'integer', cell: (node) => listOf(at(node, 'spec', 'drivers')).length },
    ageColumn,
  ],
  'storage.k8s.io/csidrivers': [
    nameColumn,
    { name: 'AttachRequired', type: 'boolean', cell: (driver) => at(driver, 'spec', 'attachRequired') === true },
    { name: 'PodInfoOnMount', type: 'boolean', cell: (driver) => at(driver, 'spec', 'podInfoOnMount') === true },
    ageColumn,
  ],
  'storage.k8s.io/storageclasses': [
    nameColumn,
    text('Provisioner', 'provisioner'),
    text('ReclaimPolicy', 'reclaimPolicy'),
    text('VolumeBindingMode', 'volumeBindingMode'),
    {
      name: 'AllowVolumeExpansion',
      type: 'string',
      cell: (storageClass) => storageClass['allowVolumeExpansion'] === true,
    },
    ageColumn,
  ],
  'apiextensions.k8s.io/customresourcedefinitions': [nameColumn, text('Created At', 'metadata', 'creationTimestamp')],
};
