/** The tables of nodes and pods, which say more than their objects do at first sight. */
import type { ApiObject, JsonRecord } from '../object.ts';
import { at, plainText, recordOf, recordsOf, textOf } from '../object.ts';
import type { Column } from './column.ts';
import { ageColumn, nameColumn } from './column.ts';

function nodeStatus(node: ApiObject): string {
  const ready = recordsOf(at(node, 'status', 'conditions')).find(({ type }) => type === 'Ready');
  const words = [ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady'];
  if (at(node, 'spec', 'unschedulable') === true) words.push('SchedulingDisabled');
  return words.join(',');
}

function nodeRoles({ metadata }: ApiObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.keys(metadata.labels ?? {}).filter((key) => key.startsWith(prefix));
  return (
    roles
      .map((key) => key.slice(prefix.length))
      .sort()
      .join(',') || '<none>'
  );
}

function nodeAddress(type: string): Column['cell'] {
  return (node) => {
    const found = recordsOf(at(node, 'status', 'addresses')).find((address) => address['type'] === type);
    return textOf(found?.['address']) || '<none>';
  };
}

function nodeInfo(key: string): Column['cell'] {
  return (node) => textOf(at(node, 'status', 'nodeInfo', key)) || '<unknown>';
}

export const nodeColumns: Column[] = [
  nameColumn,
  { name: 'Status', cell: nodeStatus },
  { name: 'Roles', cell: nodeRoles },
  ageColumn,
  { name: 'Version', cell: (node) => textOf(at(node, 'status', 'nodeInfo', 'kubeletVersion')) },
  { name: 'Internal-IP', priority: 1, cell: nodeAddress('InternalIP') },
  { name: 'External-IP', priority: 1, cell: nodeAddress('ExternalIP') },
  { name: 'OS-Image', priority: 1, cell: nodeInfo('osImage') },
  { name: 'Kernel-Version', priority: 1, cell: nodeInfo('kernelVersion') },
  { name: 'Container-Runtime', priority: 1, cell: nodeInfo('containerRuntimeVersion') },
];

function statuses(pod: ApiObject): JsonRecord[] {
  return recordsOf(at(pod, 'status', 'containerStatuses'));
}

/** What kubectl calls the status of a pod: the worst thing that can be said of it. */
function podStatus(pod: ApiObject): string {
  let reason = textOf(at(pod, 'status', 'reason')) || textOf(at(pod, 'status', 'phase'));
  for (const status of statuses(pod)) {
    const waiting = textOf(at(status, 'state', 'waiting', 'reason'));
    const ended = recordOf(at(status, 'state', 'terminated'));
    if (waiting !== '') reason = waiting;
    else if (textOf(ended['reason']) !== '') reason = textOf(ended['reason']);
    else if (ended['exitCode'] !== undefined) reason = `ExitCode:${plainText(ended['exitCode'])}`;
  }
  if (pod.metadata.deletionTimestamp === undefined) return reason;
  return textOf(at(pod, 'status', 'reason')) === 'NodeLost' ? 'Unknown' : 'Terminating';
}

function podReady(pod: ApiObject): string {
  const ready = statuses(pod).filter((status) => status['ready'] === true).length;
  return `${ready}/${recordsOf(at(pod, 'spec', 'containers')).length}`;
}

function podRestarts(pod: ApiObject): string {
  return String(statuses(pod).reduce((sum, status) => sum + Number(status['restartCount'] ?? 0), 0));
}

const field =
  (...path: string[]): Column['cell'] =>
  (pod) =>
    textOf(at(pod, ...path)) || '<none>';

export const podColumns: Column[] = [
  nameColumn,
  { name: 'Ready', cell: podReady },
  { name: 'Status', cell: podStatus },
  { name: 'Restarts', cell: podRestarts },
  ageColumn,
  { name: 'IP', priority: 1, cell: field('status', 'podIP') },
  { name: 'Node', priority: 1, cell: field('spec', 'nodeName') },
  { name: 'Nominated Node', priority: 1, cell: field('status', 'nominatedNodeName') },
  { name: 'Readiness Gates', priority: 1, cell: () => '<none>' },
];
