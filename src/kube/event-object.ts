/** Events of events.k8s.io/v1 as the API server accepts them. */
import { createHash } from 'node:crypto';
import type { KubeObject } from './client.ts';
import { microTime } from './micro-time.ts';

export interface ObjectReference {
  apiVersion: string;
  kind: string;
  name: string;
  /** Absent for cluster-scoped objects. */
  namespace?: string;
  /** The object's own; `kubectl describe` finds the events of an object by it, for nodes too. */
  uid: string;
}

export interface EventInput {
  regarding: ObjectReference;
  related?: ObjectReference;
  type: 'Normal' | 'Warning';
  /** Why, as a constant in CamelCase. */
  reason: string;
  /** What was done or left undone because of it. The server insists on one. */
  action: string;
  /** For people. More than 1024 bytes are cut. */
  note: string;
}

export interface EventSeries {
  count: number;
  lastObservedTime: string;
}

export interface EventObject extends KubeObject {
  metadata: KubeObject['metadata'] & { namespace: string };
  eventTime: string;
  reportingController: string;
  reportingInstance: string;
  regarding: ObjectReference;
  related?: ObjectReference;
  type: string;
  reason: string;
  action: string;
  note: string;
  series?: EventSeries;
}

export interface Reporter {
  /** A qualified name: `fenceline.dev/operator`. */
  reportingController: string;
  /** Which process. */
  reportingInstance: string;
}

const maxNoteBytes = 1024;
const maxInstanceBytes = 128;
const maxNameLength = 253;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** `sequence` tells apart what one process reports about the same object in the same millisecond. */
export function eventObject(input: EventInput, reporter: Reporter, wallMs: number, sequence: number): EventObject {
  const eventTime = microTime(wallMs);
  const { regarding, related, type, reason, action } = input;
  const event: EventObject = {
    metadata: {
      name: eventName(regarding.name, [regarding.uid, reporter.reportingInstance, eventTime, String(sequence)]),
      namespace: regarding.namespace ?? 'default',
    },
    eventTime,
    reportingController: reporter.reportingController,
    reportingInstance: cutToBytes(reporter.reportingInstance, maxInstanceBytes),
    regarding,
    type,
    reason,
    action,
    note: cutToBytes(input.note, maxNoteBytes),
  };
  if (related !== undefined) event.related = related;
  return event;
}

/** The object's name and something unique, as client-go has it: people recognise it, and so does `kubectl get events`. */
function eventName(objectName: string, unique: string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(unique)).digest('hex');
  const name = `${objectName}.${hash.slice(0, 16)}`;
  // Not every object's name is one for an Event: some hold a colon, or fill the whole length.
  return name.length <= maxNameLength && dnsSubdomain.test(name) ? name : `event.${hash.slice(0, 32)}`;
}

export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const ellipsis = '…';
  let end = maxBytes - Buffer.byteLength(ellipsis);
  // Never in the middle of a character: continuation bytes of UTF-8 begin with the bits 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end) + ellipsis;
}
