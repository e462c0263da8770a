/** Which nodes could not be fenced, by what the operator has found out: nobody should learn it in the outage. */
import type { FenceDevice } from '../api/fence-device.ts';
import type { KubeObject } from '../kube/client.ts';
import type { NodeStatus, Unfenceable } from './node-status.ts';
import { renderTable } from './table.ts';

export type ReadDevice = KubeObject & Partial<Pick<FenceDevice, 'spec' | 'status'>>;

export function unfenceableOf(devices: readonly ReadDevice[], node: string): Pick<NodeStatus, 'unfenceable'> {
  const unfenceable = devices
    .filter(({ spec }) => spec?.node === node)
    .flatMap(({ metadata: { name: device }, status = {} }) => {
      const { wrong, fenceable, reason = '', message = '', unnamedSince } = status;
      // Nobody would fence it by this one.
      if (unnamedSince !== undefined) return [];
      if (wrong !== undefined) return [{ device, reason: wrong.reason, message: wrong.message }];
      return fenceable === false ? [{ device, reason, message }] : [];
    });
  return unfenceable.length === 0 ? {} : { unfenceable };
}

export function renderUnfenceable(found: readonly { node: string; unfenceable?: readonly Unfenceable[] }[]): string {
  const rows = found.flatMap(({ node, unfenceable = [] }) =>
    unfenceable.map(({ device, reason, message }) => [node, device, reason, message.replaceAll(/\s+/g, ' ')]),
  );
  return rows.length === 0 ? '' : `\n${renderTable(['COULD NOT BE FENCED', 'BY', 'REASON', 'WHY'], rows)}`;
}
