/** What holds of every release, judged by the order in which the API server took the writes. */
import assert from 'node:assert/strict';
import { QUARANTINE_KEY } from '../../src/api/release-view.ts';
import { attachNameOf } from '../../src/world/objects/volumes.ts';
import type { AuditEvent } from '../support/control-plane.ts';
import type { Moment } from './history.ts';
import type { Row } from './row.ts';

/** When the node first had the taint; the first time after `since`. */
export function tainted(row: Row, key: string, since = 0): number {
  const moment = row
    .nodeMoments()
    .find(({ revision, object }) => revision > since && object.spec?.taints?.some((taint) => taint.key === key));
  assert.ok(moment, `${row.name} never had the taint ${key}`);
  return moment.revision;
}

export function untainted(row: Row, key: string, since: number): Promise<Moment<unknown>> {
  return row.world.until(`the taint ${key} to leave ${row.name}`, () =>
    row
      .nodeMoments()
      .find(({ revision, object }) => revision > since && !object.spec?.taints?.some((taint) => taint.key === key)),
  );
}

/** Quarantine, then the volume out of volumesInUse, then the first touch of the pod. */
export function inOrder(row: Row, app: string, driver: string, count = 1): void {
  const quarantined = tainted(row, QUARANTINE_KEY);
  const touched = row
    .podMoments(app)
    .find(({ type, object }) => object.status?.phase === 'Failed' || type === 'deleted')?.revision;
  assert.ok(touched !== undefined, `nobody touched the pod of ${row.name}/${app}`);
  const isFree = (entries: readonly string[] = []): boolean =>
    Array.from({ length: count }, (_, index) => attachNameOf(driver, row.volume(app, index))).every(
      (entry) => !entries.includes(entry),
    );
  const freed = row
    .nodeMoments()
    .find(({ revision, object }) => revision >= quarantined && isFree(object.status?.volumesInUse))?.revision;
  assert.ok(freed !== undefined, `the volumes of ${row.name}/${app} stay in volumesInUse`);
  assert.ok(quarantined < touched, `quarantine at ${quarantined}, the pod was touched at ${touched}`);
  assert.ok(freed < touched, `freed at ${freed}, the pod was touched at ${touched}`);
}

/** The record of the basis was there before the pod was touched. */
export function recordedFirst(row: Row, app: string, basis: string): void {
  const recorded = row.world.history.of('nodeFences', ({ spec, status }) => {
    if (spec.node !== row.name) return false;
    return (status?.releases ?? []).some(
      (record) => record.basis === basis && record.pods.some(({ uid }) => uid === row.oldUid(app)),
    );
  })[0]?.revision;
  assert.ok(recorded !== undefined, `no record of ${row.name}/${app} on the basis ${basis}`);
  const touched = row
    .podMoments(app)
    .find(({ type, object }) => object.status?.phase === 'Failed' || type === 'deleted')?.revision;
  assert.ok(touched !== undefined && recorded < touched, `recorded at ${recorded}, touched at ${touched}`);
}

/** Once detached from the failed node it is not attached to it again: attach-detach does so after 29 s if it may. */
export function neverAttachedAgain(row: Row, app: string, index = 0): void {
  const volume = row.volume(app, index);
  const moments = row.world.history.of(
    'volumeAttachments',
    ({ spec }) => spec.nodeName === row.name && spec.source.persistentVolumeName === volume,
  );
  assert.deepEqual(
    moments.map(({ type }) => type).filter((type) => type !== 'updated'),
    ['added', 'deleted'],
    `${volume} on ${row.name}`,
  );
}

export function stillAttached(row: Row, app: string, index = 0): void {
  const volume = row.volume(app, index);
  const here = row.world.history
    .now('volumeAttachments')
    .filter(({ spec }) => spec.source.persistentVolumeName === volume);
  assert.deepEqual(
    here.map(({ spec, status }) => `${spec.nodeName} ${status?.attached}`),
    [`${row.name} true`],
  );
}

/** The replacement goes on where the old pod stopped, and nobody wrote beside it. */
export function oneWriter(row: Row, app: string, index = 0): void {
  const report = row.world.storage.ledger.report(row.volume(app, index));
  assert.ok(report, `nobody ever wrote to ${row.volume(app, index)}`);
  assert.deepEqual([report.mostWriters, report.dataIntact], [1, true]);
  assert.ok(report.records >= 2, `${report.records} records`);
}

/** The pod of before is still there, and nobody but its kubelet has ever touched it. */
export function untouched(row: Row, app: string, asked: readonly AuditEvent[]): void {
  const now = row.left(app);
  assert.ok(now, `the old pod of ${row.name}/${app} is gone`);
  assert.equal(now.status?.phase, 'Running');
  assert.deepEqual(touches(row, app, asked), []);
}

/** What the operator asked of the API server about this pod. */
export function touches(row: Row, app: string, asked: readonly AuditEvent[]): string[] {
  const { name } = row.old(app).metadata;
  return asked
    .filter(({ objectRef }) => objectRef?.resource === 'pods' && objectRef.namespace === row.name)
    .filter(({ objectRef, verb }) => objectRef?.name === name && verb !== 'get')
    .map(({ verb, objectRef }) => (objectRef?.subresource === undefined ? verb : `${verb} ${objectRef.subresource}`));
}

/** When the operator first touched the pod, by the API server's clock. */
export function touchedAtMs(row: Row, app: string, asked: readonly AuditEvent[]): number {
  const { name } = row.old(app).metadata;
  const first = asked.find(
    ({ objectRef }) => objectRef?.resource === 'pods' && objectRef.namespace === row.name && objectRef.name === name,
  );
  assert.ok(first, `the operator never touched ${row.name}/${app}`);
  return Date.parse(first.requestReceivedTimestamp);
}

/** Its time to terminate was up, by the clock that set it. */
export function afterItsTime(row: Row, app: string, asked: readonly AuditEvent[]): void {
  const deadline = row
    .podMoments(app)
    .map(({ object }) => object.metadata)
    .find(
      ({ deletionTimestamp, deletionGracePeriodSeconds }) =>
        deletionTimestamp !== undefined && deletionGracePeriodSeconds !== 0,
    );
  const untilMs = Date.parse(deadline?.deletionTimestamp ?? '');
  const touched = touchedAtMs(row, app, asked);
  assert.ok(touched > untilMs, `touched ${untilMs - touched} ms too early`);
}
