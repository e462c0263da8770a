/** Where the time of a release goes, by the API server's audit log: until each write of it is accepted, in their order. */
import type { AuditEvent } from '../../test/support/control-plane.ts';
import { nodeFenceName } from '../../src/api/fence-names.ts';
import { markdownTable, percentile } from './table.ts';

export const phaseNames = ['the record', 'the quarantine', 'volumesInUse', 'the pods'] as const;

/** How long each took, from the end of the one before. */
export type Phases = readonly number[];

export interface Release {
  isMine: (event: AuditEvent) => boolean;
  node: string;
  startedAt: number;
  isPodOf: (pod: string) => boolean;
}

export function phasesOf(events: readonly AuditEvent[], { isMine, node, startedAt, isPodOf }: Release): Phases {
  const mine = events.filter((event) => isMine(event) && acceptedAt(event) >= startedAt);
  const first = (verb: string, path: string): number => Math.min(...mine.filter(is(verb, path)).map(acceptedAt));
  const deleted = mine.filter(({ verb, objectRef }) => {
    return verb === 'delete' && objectRef?.resource === 'pods' && isPodOf(objectRef.name ?? '');
  });
  const ends = [
    first('update', `nodefences/${nodeFenceName(node)}/status`),
    first('patch', `nodes/${node}/`),
    first('patch', `nodes/${node}/status`),
    Math.max(...deleted.map(acceptedAt)),
  ];
  return ends.map((end, index) => end - (ends[index - 1] ?? startedAt));
}

function is(verb: string, path: string): (event: AuditEvent) => boolean {
  return ({ verb: its, objectRef: { resource, name, subresource = '' } = {} }) =>
    its === verb && `${resource}/${name}/${subresource}` === path;
}

/** The middle of each, and where the slowest release of all spent its time. */
export function renderPhases(rows: readonly { what: string; phases: readonly Phases[] }[]): string {
  const total = (phases: Phases): number => phases.reduce((sum, one) => sum + one, 0);
  return markdownTable(
    ['ms until accepted, each after the one before', ...phaseNames],
    rows.flatMap(({ what, phases }) => {
      const slowest = phases.toSorted((a, b) => total(b) - total(a))[0] ?? [];
      const middle = phaseNames.map((_, index) => {
        const sorted = phases.map((one) => one[index] ?? NaN).toSorted((a, b) => a - b);
        return percentile(sorted, 0.5).toFixed(0);
      });
      return [
        [`${what}, P50`, ...middle],
        [`${what}, the slowest`, ...phaseNames.map((_, index) => (slowest[index] ?? NaN).toFixed(0))],
      ];
    }),
  );
}

export interface Asked {
  /** From the beginning of the release. */
  atMs: number;
  tookMs: number;
  who: string;
  what: string;
  code: number;
}

/** All that was asked of the API server in that time, by anybody, watches left out. */
export function askedWithin(events: readonly AuditEvent[], fromMs: number, forMs: number): Asked[] {
  return events
    .filter(({ verb }) => verb !== 'watch')
    .map((event): Asked => {
      const { verb, userAgent = '', user, objectRef, responseStatus } = event;
      const { resource = '', name = '', subresource = '' } = objectRef ?? {};
      const startedAt = timeOf(event.requestReceivedTimestamp);
      return {
        atMs: startedAt - fromMs,
        tookMs: acceptedAt(event) - startedAt,
        who: `${user.username} ${userAgent}`,
        what: [verb, resource, name, subresource].filter((part) => part !== '').join(' '),
        code: responseStatus?.code ?? 0,
      };
    })
    .filter(({ atMs, tookMs }) => atMs <= forMs && atMs + tookMs >= 0)
    .toSorted((a, b) => a.atMs - b.atMs);
}

/** When the answer was complete. */
export function acceptedAt(event: AuditEvent | undefined): number {
  return event === undefined ? NaN : timeOf(event.stageTimestamp);
}

export function timeOf(text: string): number {
  // Date drops what is below a millisecond.
  return Date.parse(text) + Number(text.match(/\.\d{3}(\d{3})/)?.[1] ?? 0) / 1000;
}
